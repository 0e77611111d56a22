/* SPDX-License-Identifier: Apache-2.0
 *
 * Whoever writes an object chooses how many names it has. So they are looked up in an index, one
 * for each map and list: comparing each with each took minutes for an object that an API server
 * accepts, in which nothing else was done.
 */
#include "sync/object/merge.h"

#include "base/core/map.h"

/* ----- indexes ----- */

/* Its name, if `v` is a member; `room` holds one that has escapes. Of a list, a string without. */
static ab_str name_of(ab_spanv v, ab_buf *room)
{
    ab_str raw = ab_span_raw_key(v);
    ab_str plain = raw.ptr == NULL ? ab_span_plain(v) : ab_span_plain_key(v);
    if (raw.ptr == NULL || plain.ptr != NULL)
        return plain;
    ab_buf_clear(room);
    (void)ab_span_unescape((ab_str){raw.ptr + 1, raw.len - 2}, room);
    return ab_buf_str(room);
}

/* What has which name in a map or a list; NULL when out of memory, which `out` tells then. */
static ab_map *index_of(ab_spanv values, ab_buf *out)
{
    ab_map *index = ab_map_new();
    ab_err e = index == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
    ab_buf room = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    for (ab_spanv v = ab_span_first(values); ab_span_present(v) && e == AB_ERR_OK;
         v = ab_span_next(v)) {
        ab_str name = name_of(v, &room);
        e = ab_buf_status(&room);
        if (e == AB_ERR_OK && name.ptr != NULL)
            e = ab_map_put(index, name, (void *)((uintptr_t)v.node + 1), NULL);
    }
    ab_buf_fini(&room);
    if (e == AB_ERR_OK)
        return index;
    ab_map_free(index, NULL);
    if (out->status == AB_ERR_OK)
        out->status = e;
    return NULL;
}

static bool has(const ab_map *index, ab_str name)
{
    return index != NULL && name.ptr != NULL && ab_map_find(index, name) != NULL;
}

/* The member of `map` with this name. */
static ab_spanv find(const ab_map *index, ab_spanv map, ab_str name)
{
    uintptr_t found = index == NULL || name.ptr == NULL ? 0 : (uintptr_t)ab_map_find(index, name);
    return found == 0 ? (ab_spanv){0} : (ab_spanv){map.doc, (uint32_t)(found - 1)};
}

/* ----- maps ----- */

static const ab_merge_rule *rule_for(ab_str name, const ab_merge_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ab_str_is(name, rules[i].name))
            return &rules[i];
    return NULL;
}

struct map_merge {
    ab_spanw *w;
    ab_spanv source;
    ab_map *sources, *locals, *owned; /* indexes */
    ab_buf name;                      /* of the member that is looked at */
    const ab_merge_rule *rules;
    size_t rule_count;
    const char *prefix;
};

static bool is_exempt(const struct map_merge *m, ab_str name)
{
    return rule_for(name, m->rules, m->rule_count) != NULL ||
           (m->prefix != NULL && ab_str_starts(name, m->prefix));
}

/* A member that stands here: kept, replaced by the source's, or dropped. */
static void merge_local(struct map_merge *m, ab_spanv local)
{
    ab_str name = name_of(local, &m->name);
    const ab_merge_rule *rule = rule_for(name, m->rules, m->rule_count);
    if (rule != NULL && (rule->dropped || rule->value.ptr != NULL))
        return; /* a value is written at the end */
    if (is_exempt(m, name)) {
        ab_spanw_member(m->w, local);
        return;
    }
    ab_spanv own = find(m->sources, m->source, name);
    if (ab_span_present(own))
        ab_spanw_member(m->w, own);
    else if (!has(m->owned, name))
        ab_spanw_member(m->w, local);
}

static void merge_source(struct map_merge *m, ab_spanv source)
{
    ab_str name = name_of(source, &m->name);
    if (!is_exempt(m, name) && !has(m->locals, name))
        ab_spanw_member(m->w, source);
}

void ab_merge_map(ab_spanw *w, ab_spanv local, ab_spanv source, ab_spanv owned,
                  const ab_merge_rule *rules, size_t rule_count, const char *prefix)
{
    struct map_merge m = {.w = w,
                          .source = source,
                          .sources = index_of(source, w->buf),
                          .locals = index_of(local, w->buf),
                          .owned = index_of(owned, w->buf),
                          .rules = rules,
                          .rule_count = rule_count,
                          .prefix = prefix};
    ab_buf_init(&m.name, AB_SPAN_SIZE_MAX);
    ab_spanw_object(w);
    for (ab_spanv v = ab_span_first(local); ab_span_present(v); v = ab_span_next(v))
        merge_local(&m, v);
    for (ab_spanv v = ab_span_first(source); ab_span_present(v); v = ab_span_next(v))
        merge_source(&m, v);
    for (size_t i = 0; i < rule_count; i++)
        if (rules[i].value.ptr != NULL)
            ab_spanw_key_str(w, rules[i].name, rules[i].value);
    ab_spanw_object_end(w);
    if (ab_buf_status(&m.name) != AB_ERR_OK && w->buf->status == AB_ERR_OK)
        w->buf->status = ab_buf_status(&m.name);
    ab_buf_fini(&m.name);
    ab_map_free(m.sources, NULL);
    ab_map_free(m.locals, NULL);
    ab_map_free(m.owned, NULL);
}

/* ----- lists ----- */

void ab_merge_list(ab_spanw *w, ab_spanv local, ab_spanv source, ab_spanv owned)
{
    ab_map *sources = index_of(source, w->buf);
    ab_map *locals = index_of(local, w->buf);
    ab_map *before = index_of(owned, w->buf);
    ab_spanw_array(w);
    for (ab_spanv v = ab_span_first(local); ab_span_present(v); v = ab_span_next(v)) {
        ab_str text = ab_span_plain(v);
        if (has(sources, text) || !has(before, text))
            ab_spanw_value(w, v);
    }
    for (ab_spanv v = ab_span_first(source); ab_span_present(v); v = ab_span_next(v))
        if (!has(locals, ab_span_plain(v)))
            ab_spanw_value(w, v);
    ab_spanw_array_end(w);
    ab_map_free(sources, NULL);
    ab_map_free(locals, NULL);
    ab_map_free(before, NULL);
}

static void owned_names(ab_spanw *w, const char *what, ab_spanv map, ab_spanv before)
{
    ab_spanv earlier = ab_span_get(before, what);
    ab_map *known = index_of(earlier, w->buf);
    ab_spanw_key_array(w, what);
    for (ab_spanv v = ab_span_first(map); ab_span_present(v); v = ab_span_next(v)) {
        ab_str name = ab_span_plain_key(v);
        if (name.ptr != NULL && !has(known, name))
            ab_spanw_str(w, name);
    }
    for (ab_spanv v = ab_span_first(earlier); ab_span_present(v); v = ab_span_next(v))
        ab_spanw_value(w, v);
    ab_spanw_array_end(w);
    ab_map_free(known, NULL);
}

void ab_merge_owned(const ab_object *source, ab_spanv before, ab_buf *out)
{
    ab_spanw w = ab_spanw_object_to(out);
    owned_names(&w, "labels", ab_object_meta(source, "labels"), before);
    owned_names(&w, "annotations", ab_object_meta(source, "annotations"), before);
    ab_spanw_key(&w, AB_STR("finalizers"));
    ab_merge_list(&w, ab_span_get(before, "finalizers"), ab_object_meta(source, "finalizers"),
                  (ab_spanv){0});
    ab_spanw_object_end(&w);
}
