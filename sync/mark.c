/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/mark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLD_TEXT ((AB_MARK_RUNS_MAX + 1) * AB_VERSION_TEXT)
#define WRITE_ID  "write_id" /* no agent is called so: it is no DNS label */

ab_err ab_mark_init(ab_mark *m)
{
    *m = (ab_mark){.told = ab_map_new()};
    return m->told == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

void ab_mark_fini(ab_mark *m)
{
    ab_map_free(m->told, free);
    *m = (ab_mark){0};
}

/* Cut what is before the next space off `rest`. */
static ab_str next_word(ab_str *rest)
{
    const char *space = memchr(rest->ptr, ' ', rest->len);
    size_t len = space == NULL ? rest->len : (size_t)(space - rest->ptr);
    ab_str word = {rest->ptr, len};
    len += space != NULL;
    *rest = (ab_str){rest->ptr + len, rest->len - len};
    return word;
}

/* @return false when it cannot be read */
static bool parse_told(ab_str text, ab_mark_told *out)
{
    ab_version version;
    *out = (ab_mark_told){0};
    if (ab_version_parse(next_word(&text), &out->all) != AB_ERR_OK)
        return false;
    while (text.len > 0) {
        if (ab_version_parse(next_word(&text), &version) != AB_ERR_OK)
            return false;
        ab_mark_add_run(out, version);
    }
    return true;
}

static ab_err load_member(ab_mark *m, ab_jsonv member)
{
    ab_mark_told told;
    ab_str name = ab_json_plain_key(member);
    ab_str text = ab_json_plain(member);
    if (ab_str_is(name, WRITE_ID) && text.len < sizeof(m->id))
        snprintf(m->id, sizeof(m->id), "%.*s", AB_STR_ARG(text));
    else if (text.len > 0 && parse_told(text, &told))
        return ab_mark_set(m, name, &told);
    return AB_ERR_OK;
}

ab_err ab_mark_load(ab_mark *m, const ab_object *object)
{
    ab_mark fresh;
    ab_err e = ab_mark_init(&fresh);
    if (e != AB_ERR_OK)
        return e;
    ab_jsonv data = object == NULL ? (ab_jsonv){0} : ab_object_field(object, "data");
    for (ab_jsonv v = ab_json_first(data); ab_json_present(v) && e == AB_ERR_OK;
         v = ab_json_next(v))
        e = load_member(&fresh, v);
    if (e != AB_ERR_OK) {
        ab_mark_fini(&fresh);
        return e;
    }
    ab_mark_fini(m);
    *m = fresh;
    return AB_ERR_OK;
}

ab_mark_told ab_mark_of(const ab_mark *m, ab_str agent)
{
    const ab_mark_told *told = ab_map_find(m->told, agent);
    return told == NULL ? (ab_mark_told){0} : *told;
}

bool ab_mark_covers(const ab_mark_told *told, ab_version version)
{
    bool covered = ab_version_cmp(version, told->all) <= 0;
    for (size_t i = 0; i < told->count; i++)
        covered |=
            told->runs[i].epoch == version.epoch && ab_version_cmp(version, told->runs[i]) <= 0;
    return covered && !ab_version_is_none(version);
}

void ab_mark_add_run(ab_mark_told *told, ab_version version)
{
    size_t i = 0;
    while (i < told->count && told->runs[i].epoch != version.epoch)
        i++;
    if (i == AB_MARK_RUNS_MAX) {
        memmove(told->runs, told->runs + 1, sizeof(told->runs) - sizeof(told->runs[0]));
        i--;
    }
    told->runs[i] = version;
    told->count = i + 1 > told->count ? i + 1 : told->count;
}

ab_err ab_mark_set(ab_mark *m, ab_str agent, const ab_mark_told *told)
{
    void *old = NULL;
    ab_mark_told *value = malloc(sizeof(*value));
    if (value == NULL)
        return AB_ERR_NOMEM;
    *value = *told;
    ab_err e = ab_map_put(m->told, agent, value, &old);
    free(e == AB_ERR_OK ? old : value);
    return e;
}

static void format_told(const ab_mark_told *told, char out[TOLD_TEXT])
{
    ab_version_format(told->all, out);
    for (size_t i = 0; i < told->count; i++) {
        size_t len = strlen(out);
        out[len] = ' ';
        ab_version_format(told->runs[i], out + len + 1);
    }
}

static void write_data(const ab_mark *m, ab_jsonw *w)
{
    char text[TOLD_TEXT];
    ab_jsonw_object(w);
    ab_jsonw_key_str(w, WRITE_ID, ab_str_of(m->id));
    for (ab_map_iter i = ab_map_first(m->told); i.entry != NULL; ab_map_next(&i)) {
        format_told(i.value, text);
        ab_jsonw_key(w, i.key);
        ab_jsonw_str(w, ab_str_of(text));
    }
    ab_jsonw_object_end(w);
}

ab_err ab_mark_object(const ab_mark *m, const char *namespace, ab_object **out)
{
    ab_buf text;
    ab_buf_init(&text, AB_JSON_SIZE_MAX);
    ab_jsonw w = ab_jsonw_to(&text);
    ab_jsonw_object(&w);
    ab_jsonw_key_str(&w, "apiVersion", AB_STR("v1"));
    ab_jsonw_key_str(&w, "kind", AB_STR("ConfigMap"));
    ab_jsonw_key(&w, AB_STR("metadata"));
    ab_jsonw_object(&w);
    ab_jsonw_key_str(&w, "name", AB_STR(AB_MARK_NAME));
    ab_jsonw_key_str(&w, "namespace", ab_str_of(namespace));
    ab_jsonw_object_end(&w);
    ab_jsonw_key(&w, AB_STR("data"));
    write_data(m, &w);
    ab_jsonw_object_end(&w);
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        e = ab_object_parse(ab_buf_str(&text), out, NULL);
    ab_buf_fini(&text);
    return e;
}
