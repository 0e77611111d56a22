/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/merge.h"

static bool list_has(ab_spanv list, ab_str text)
{
    if (text.ptr == NULL)
        return false;
    for (ab_spanv v = ab_span_first(list); ab_span_present(v); v = ab_span_next(v))
        if (ab_str_eq(ab_span_plain(v), text))
            return true;
    return false;
}

/* The member of `map` that has the name of `member`. */
static ab_spanv namesake(ab_spanv map, ab_spanv member)
{
    ab_str name = ab_span_plain_key(member);
    if (name.ptr != NULL)
        return ab_span_get_str(map, name);
    for (ab_spanv v = ab_span_first(map); ab_span_present(v); v = ab_span_next(v))
        if (ab_str_eq(ab_span_raw_key(v), ab_span_raw_key(member)))
            return v;
    return (ab_spanv){0};
}

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
    ab_spanv owned;
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
static void merge_local(const struct map_merge *m, ab_spanv local)
{
    ab_str name = ab_span_plain_key(local);
    const ab_merge_rule *rule = rule_for(name, m->rules, m->rule_count);
    if (rule != NULL && (rule->dropped || rule->value.ptr != NULL))
        return; /* a value is written at the end */
    if (is_exempt(m, name)) {
        ab_spanw_member(m->w, local);
        return;
    }
    ab_spanv own = namesake(m->source, local);
    if (ab_span_present(own))
        ab_spanw_member(m->w, own);
    else if (!list_has(m->owned, name))
        ab_spanw_member(m->w, local);
}

void ab_merge_map(ab_spanw *w, ab_spanv local, ab_spanv source, ab_spanv owned,
                  const ab_merge_rule *rules, size_t rule_count, const char *prefix)
{
    struct map_merge m = {w, source, owned, rules, rule_count, prefix};
    ab_spanw_object(w);
    for (ab_spanv v = ab_span_first(local); ab_span_present(v); v = ab_span_next(v))
        merge_local(&m, v);
    for (ab_spanv v = ab_span_first(source); ab_span_present(v); v = ab_span_next(v)) {
        if (!is_exempt(&m, ab_span_plain_key(v)) && !ab_span_present(namesake(local, v)))
            ab_spanw_member(w, v);
    }
    for (size_t i = 0; i < rule_count; i++)
        if (rules[i].value.ptr != NULL)
            ab_spanw_key_str(w, rules[i].name, rules[i].value);
    ab_spanw_object_end(w);
}

void ab_merge_list(ab_spanw *w, ab_spanv local, ab_spanv source, ab_spanv owned)
{
    ab_spanw_array(w);
    for (ab_spanv v = ab_span_first(local); ab_span_present(v); v = ab_span_next(v)) {
        ab_str text = ab_span_plain(v);
        if (list_has(source, text) || !list_has(owned, text))
            ab_spanw_value(w, v);
    }
    for (ab_spanv v = ab_span_first(source); ab_span_present(v); v = ab_span_next(v))
        if (!list_has(local, ab_span_plain(v)))
            ab_spanw_value(w, v);
    ab_spanw_array_end(w);
}

static void owned_names(ab_spanw *w, const char *what, ab_spanv map, ab_spanv before)
{
    ab_spanv earlier = ab_span_get(before, what);
    ab_spanw_key(w, ab_str_of(what));
    ab_spanw_array(w);
    for (ab_spanv v = ab_span_first(map); ab_span_present(v); v = ab_span_next(v)) {
        ab_str name = ab_span_plain_key(v);
        if (name.ptr != NULL && !list_has(earlier, name))
            ab_spanw_str(w, name);
    }
    for (ab_spanv v = ab_span_first(earlier); ab_span_present(v); v = ab_span_next(v))
        ab_spanw_value(w, v);
    ab_spanw_array_end(w);
}

void ab_merge_owned(const ab_object *source, ab_spanv before, ab_buf *out)
{
    ab_spanw w = ab_spanw_to(out);
    ab_spanw_object(&w);
    owned_names(&w, "labels", ab_object_meta(source, "labels"), before);
    owned_names(&w, "annotations", ab_object_meta(source, "annotations"), before);
    ab_spanw_key(&w, AB_STR("finalizers"));
    ab_merge_list(&w, ab_span_get(before, "finalizers"), ab_object_meta(source, "finalizers"),
                  (ab_spanv){0});
    ab_spanw_object_end(&w);
}
