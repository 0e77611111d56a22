/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/merge.h"

static bool list_has(ab_jsonv list, ab_str text)
{
    if (text.ptr == NULL)
        return false;
    for (ab_jsonv v = ab_json_first(list); ab_json_present(v); v = ab_json_next(v))
        if (ab_str_eq(ab_json_plain(v), text))
            return true;
    return false;
}

/* The member of `map` that has the name of `member`. */
static ab_jsonv namesake(ab_jsonv map, ab_jsonv member)
{
    ab_str name = ab_json_plain_key(member);
    if (name.ptr != NULL)
        return ab_json_get_str(map, name);
    for (ab_jsonv v = ab_json_first(map); ab_json_present(v); v = ab_json_next(v))
        if (ab_str_eq(ab_json_raw_key(v), ab_json_raw_key(member)))
            return v;
    return (ab_jsonv){0};
}

static const ab_merge_rule *rule_for(ab_str name, const ab_merge_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ab_str_is(name, rules[i].name))
            return &rules[i];
    return NULL;
}

struct map_merge {
    ab_jsonw *w;
    ab_jsonv source;
    ab_jsonv owned;
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
static void merge_here(const struct map_merge *m, ab_jsonv here)
{
    ab_str name = ab_json_plain_key(here);
    const ab_merge_rule *rule = rule_for(name, m->rules, m->rule_count);
    if (rule != NULL && (rule->dropped || rule->value.ptr != NULL))
        return; /* a value is written at the end */
    if (is_exempt(m, name)) {
        ab_jsonw_member(m->w, here);
        return;
    }
    ab_jsonv said = namesake(m->source, here);
    if (ab_json_present(said))
        ab_jsonw_member(m->w, said);
    else if (!list_has(m->owned, name))
        ab_jsonw_member(m->w, here);
}

void ab_merge_map(ab_jsonw *w, ab_jsonv here, ab_jsonv source, ab_jsonv owned,
                  const ab_merge_rule *rules, size_t rule_count, const char *prefix)
{
    struct map_merge m = {w, source, owned, rules, rule_count, prefix};
    ab_jsonw_object(w);
    for (ab_jsonv v = ab_json_first(here); ab_json_present(v); v = ab_json_next(v))
        merge_here(&m, v);
    for (ab_jsonv v = ab_json_first(source); ab_json_present(v); v = ab_json_next(v)) {
        if (!is_exempt(&m, ab_json_plain_key(v)) && !ab_json_present(namesake(here, v)))
            ab_jsonw_member(w, v);
    }
    for (size_t i = 0; i < rule_count; i++)
        if (rules[i].value.ptr != NULL)
            ab_jsonw_key_str(w, rules[i].name, rules[i].value);
    ab_jsonw_object_end(w);
}

void ab_merge_list(ab_jsonw *w, ab_jsonv here, ab_jsonv source, ab_jsonv owned)
{
    ab_jsonw_array(w);
    for (ab_jsonv v = ab_json_first(here); ab_json_present(v); v = ab_json_next(v)) {
        ab_str text = ab_json_plain(v);
        if (list_has(source, text) || !list_has(owned, text))
            ab_jsonw_value(w, v);
    }
    for (ab_jsonv v = ab_json_first(source); ab_json_present(v); v = ab_json_next(v))
        if (!list_has(here, ab_json_plain(v)))
            ab_jsonw_value(w, v);
    ab_jsonw_array_end(w);
}

static void owned_names(ab_jsonw *w, const char *what, ab_jsonv map, ab_jsonv before)
{
    ab_jsonv earlier = ab_json_get(before, what);
    ab_jsonw_key(w, ab_str_of(what));
    ab_jsonw_array(w);
    for (ab_jsonv v = ab_json_first(map); ab_json_present(v); v = ab_json_next(v)) {
        ab_str name = ab_json_plain_key(v);
        if (name.ptr != NULL && !list_has(earlier, name))
            ab_jsonw_str(w, name);
    }
    for (ab_jsonv v = ab_json_first(earlier); ab_json_present(v); v = ab_json_next(v))
        ab_jsonw_value(w, v);
    ab_jsonw_array_end(w);
}

void ab_merge_owned(const ab_object *source, ab_jsonv before, ab_buf *out)
{
    ab_jsonw w = ab_jsonw_to(out);
    ab_jsonw_object(&w);
    owned_names(&w, "labels", ab_object_meta(source, "labels"), before);
    owned_names(&w, "annotations", ab_object_meta(source, "annotations"), before);
    ab_jsonw_key(&w, AB_STR("finalizers"));
    ab_merge_list(&w, ab_json_get(before, "finalizers"), ab_object_meta(source, "finalizers"),
                  (ab_jsonv){0});
    ab_jsonw_object_end(&w);
}
