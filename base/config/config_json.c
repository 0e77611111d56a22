/* SPDX-License-Identifier: Apache-2.0
 *
 * What the configuration file gives for an option: checked for its type, then read as text.
 */
#include "base/config/config_priv.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (64u * 1024)

/* The type of what was found, for "got the number 5". */
static const char *type_words(ab_span_type t)
{
    static const char *const words[] = {
        [AB_SPAN_NONE] = "nothing",       [AB_SPAN_NULL] = "nothing",
        [AB_SPAN_FALSE] = "the switch ",  [AB_SPAN_TRUE] = "the switch ",
        [AB_SPAN_NUMBER] = "the number ", [AB_SPAN_STRING] = "the text ",
        [AB_SPAN_ARRAY] = "a list",       [AB_SPAN_OBJECT] = "a map",
    };
    return words[t];
}

static ab_err wrong_type(const ab_option *o, ab_spanv v, bool text_wanted, ab_error *err)
{
    ab_span_type t = ab_span_typeof(v);
    bool scalar =
        t == AB_SPAN_FALSE || t == AB_SPAN_TRUE || t == AB_SPAN_NUMBER || t == AB_SPAN_STRING;
    ab_str raw = scalar ? ab_span_raw(v) : AB_STR("");
    ab_buf shown = ab_buf_secret_up_to(TEXT_MAX);
    ab_buf_put(&shown, (ab_str){raw.ptr, raw.len > 60 ? 60 : raw.len});
    if (text_wanted && scalar && !o->secret)
        ab_buf_puts(&shown, ": put it in quotes");
    ab_err e = ab_option_wrong(o, type_words(t), ab_buf_str(&shown), err);
    ab_buf_fini(&shown);
    return e;
}

static bool wants_text(ab_opt_kind kind)
{
    return kind == AB_OPT_STRING || kind == AB_OPT_ENUM || kind == AB_OPT_FILE ||
           kind == AB_OPT_PATH || kind == AB_OPT_DURATION || kind == AB_OPT_SIZE;
}

/* Whether YAML typed the value as the option wants it. */
static bool has_scalar_type(ab_opt_kind kind, ab_span_type t)
{
    if (kind == AB_OPT_BOOL)
        return t == AB_SPAN_FALSE || t == AB_SPAN_TRUE;
    if (kind == AB_OPT_INT)
        return t == AB_SPAN_NUMBER;
    if (kind == AB_OPT_SIZE && t == AB_SPAN_NUMBER)
        return true;
    return wants_text(kind) && t == AB_SPAN_STRING;
}

/* Content of a string, without the NUL characters that would cut it. */
static ab_err copy_text(const ab_option *o, ab_spanv v, ab_buf *out, ab_error *err)
{
    if (ab_span_copy(v, out) != AB_ERR_OK)
        return ab_fail(err, AB_ERR_CONFIG, "%s: a text is longer than %u bytes", o->name, TEXT_MAX);
    ab_str s = ab_buf_str(out);
    if (s.len > 0 && memchr(s.ptr, '\0', s.len) != NULL)
        return ab_fail(err, AB_ERR_CONFIG, "%s: the value contains a NUL character", o->name);
    return AB_ERR_OK;
}

static ab_err scalar_from_json(const ab_config *c, ab_value *v, ab_spanv json, ab_error *err)
{
    const ab_option *o = v->option;
    ab_span_type t = ab_span_typeof(json);
    if (!has_scalar_type(o->kind, t))
        return wrong_type(o, json, wants_text(o->kind), err);
    if (t != AB_SPAN_STRING)
        return ab_value_from_text(c, v, ab_span_raw(json), err);
    ab_buf text = ab_buf_secret_up_to(TEXT_MAX);
    ab_err e = copy_text(o, json, &text, err);
    if (e == AB_ERR_OK)
        e = ab_value_from_text(c, v, ab_buf_str(&text), err);
    ab_buf_fini(&text);
    return e;
}

/* A string member of a list or map. */
static ab_err add_string(const ab_option *o, ab_group *g, const char *key, ab_spanv v,
                         ab_error *err)
{
    if (ab_span_typeof(v) != AB_SPAN_STRING) {
        ab_option shown = *o;
        shown.secret = o->secret || (key != NULL && ab_key_names_a_secret(key));
        ab_err e = wrong_type(&shown, v, true, err);
        if (key != NULL)
            ab_error_prefix(err, "key \"%s\"", key);
        return e;
    }
    ab_buf text = ab_buf_secret_up_to(TEXT_MAX);
    ab_err e = copy_text(o, v, &text, err);
    if (e == AB_ERR_OK && ab_group_add(g, key == NULL ? NULL : strdup(key),
                                       ab_str_dup(ab_buf_str(&text))) != AB_ERR_OK)
        e = ab_fail(err, AB_ERR_NOMEM, "out of memory");
    ab_buf_fini(&text);
    return e;
}

/* The key of a map is wanted without escapes: it is a name. */
static ab_err plain_key(const ab_option *o, ab_spanv v, char **out, ab_error *err)
{
    ab_str key = ab_span_plain_key(v);
    if (key.ptr == NULL || key.len == 0)
        return ab_fail(err, AB_ERR_CONFIG, "%s: a key is empty or has quotes or control characters",
                       o->name);
    *out = ab_str_dup(key);
    return *out == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory") : AB_ERR_OK;
}

static ab_err add_member(const ab_option *o, ab_group *g, ab_spanv v, ab_error *err)
{
    char *key = NULL;
    ab_err e = plain_key(o, v, &key, err);
    if (e != AB_ERR_OK)
        return e;
    if (o->kind == AB_OPT_OBJECTS && !ab_choice_has(o->choices, ab_str_of(key)))
        e = ab_fail(err, AB_ERR_CONFIG, "%s: unknown key \"%s\": the keys are %s", o->name, key,
                    o->choices);
    if (e == AB_ERR_OK)
        e = add_string(o, g, key, v, err);
    free(key);
    return e;
}

static ab_err group_from_json(const ab_option *o, ab_spanv json, ab_group *out, ab_error *err)
{
    ab_group g = {0};
    for (ab_spanv v = ab_span_first(json); ab_span_present(v); v = ab_span_next(v)) {
        ab_err e =
            o->kind == AB_OPT_LIST ? add_string(o, &g, NULL, v, err) : add_member(o, &g, v, err);
        if (e != AB_ERR_OK) {
            ab_group_fini(&g);
            return e;
        }
    }
    *out = g;
    return AB_ERR_OK;
}

static ab_err one_group_from_json(ab_value *v, ab_spanv json, ab_error *err)
{
    const ab_option *o = v->option;
    ab_span_type want = o->kind == AB_OPT_LIST ? AB_SPAN_ARRAY : AB_SPAN_OBJECT;
    if (ab_span_typeof(json) != want)
        return wrong_type(o, json, false, err);
    ab_group g = {0};
    ab_err e = group_from_json(o, json, &g, err);
    return e != AB_ERR_OK ? e : ab_value_set_group(v, &g, err);
}

static const char *name_in(const ab_group *g)
{
    for (size_t i = 0; i < g->count; i++) {
        if (strcmp(g->pairs[i].key, "name") == 0)
            return g->pairs[i].value;
    }
    return NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Every map of a list has a name of its own. Sorted, because there may be thousands. */
static ab_err check_names(const ab_option *o, const ab_group *groups, size_t count, ab_error *err)
{
    const char **names = calloc(count + 1, sizeof(*names));
    if (names == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    ab_err e = AB_ERR_OK;
    for (size_t i = 0; i < count && e == AB_ERR_OK; i++) {
        names[i] = name_in(&groups[i]);
        if (names[i] == NULL)
            e = ab_fail(err, AB_ERR_CONFIG, "%s: entry %zu has no name", o->name, i + 1);
    }
    if (e == AB_ERR_OK)
        qsort(names, count, sizeof(*names), compare_names);
    for (size_t i = 1; i < count && e == AB_ERR_OK; i++) {
        if (strcmp(names[i - 1], names[i]) == 0)
            e = ab_fail(err, AB_ERR_CONFIG, "%s: the name \"%s\" is given twice", o->name,
                        names[i]);
    }
    free(names);
    return e;
}

static ab_err resolve_paths(const ab_config *c, const ab_option *o, ab_group *g, ab_error *err)
{
    for (size_t i = 0; i < g->count && o->paths != NULL; i++) {
        ab_pair *p = &g->pairs[i];
        if (!ab_choice_has(o->paths, ab_str_of(p->key)))
            continue;
        char *path = ab_config_resolve_path(c, ab_str_of(p->value));
        if (path == NULL)
            return ab_fail(err, AB_ERR_NOMEM, "out of memory");
        free(p->value);
        p->value = path;
    }
    return AB_ERR_OK;
}

static ab_err objects_from_json(const ab_config *c, ab_value *v, ab_spanv json, ab_error *err)
{
    const ab_option *o = v->option;
    if (ab_span_typeof(json) != AB_SPAN_ARRAY)
        return wrong_type(o, json, false, err);
    ab_value made = {.option = o};
    made.groups = calloc(ab_span_count(json) + 1, sizeof(*made.groups));
    if (made.groups == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    ab_err e = AB_ERR_OK;
    for (ab_spanv item = ab_span_first(json); ab_span_present(item) && e == AB_ERR_OK;
         item = ab_span_next(item)) {
        ab_group *g = &made.groups[made.group_count++];
        e = ab_span_typeof(item) == AB_SPAN_OBJECT ? group_from_json(o, item, g, err)
                                                   : wrong_type(o, item, false, err);
        if (e == AB_ERR_OK)
            e = resolve_paths(c, o, g, err);
    }
    if (e == AB_ERR_OK)
        e = check_names(o, made.groups, made.group_count, err);
    if (e != AB_ERR_OK) {
        ab_value_set_groups(&made, NULL, 0);
        return e;
    }
    ab_value_set_groups(v, made.groups, made.group_count);
    return AB_ERR_OK;
}

ab_err ab_value_from_json(const ab_config *c, ab_value *v, ab_spanv json, ab_error *err)
{
    if (ab_span_typeof(json) == AB_SPAN_NULL)
        return ab_fail(err, AB_ERR_CONFIG, "%s: has no value: give one or remove the line",
                       v->option->name);
    if (v->option->kind == AB_OPT_OBJECTS)
        return objects_from_json(c, v, json, err);
    if (v->option->kind == AB_OPT_LIST || v->option->kind == AB_OPT_MAP)
        return one_group_from_json(v, json, err);
    return scalar_from_json(c, v, json, err);
}
