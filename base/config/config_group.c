/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists, maps and lists of maps: the values that have parts.
 */
#include "base/config/config_priv.h"

#include <stdlib.h>
#include <string.h>

/* Any value may be a secret, as sasl.password of a map is. */
static void free_value(char *value)
{
    if (value != NULL)
        explicit_bzero(value, strlen(value));
    free(value);
}

ab_err ab_group_add(ab_group *g, char *key, char *value)
{
    ab_pair *pairs = realloc(g->pairs, (g->count + 1) * sizeof(*pairs));
    if (pairs != NULL)
        g->pairs = pairs;
    if (pairs == NULL || value == NULL) {
        free(key);
        free_value(value);
        return AB_ERR_NOMEM;
    }
    g->pairs[g->count++] = (ab_pair){key, value};
    return AB_ERR_OK;
}

void ab_group_fini(ab_group *g)
{
    for (size_t i = 0; i < g->count; i++) {
        free(g->pairs[i].key);
        free_value(g->pairs[i].value);
    }
    free(g->pairs);
    *g = (ab_group){0};
}

void ab_value_set_groups(ab_value *v, ab_group *groups, size_t count)
{
    for (size_t i = 0; i < v->group_count; i++)
        ab_group_fini(&v->groups[i]);
    free(v->groups);
    v->groups = groups;
    v->group_count = count;
}

ab_err ab_value_set_group(ab_value *v, ab_group *g, ab_error *err)
{
    ab_group *groups = calloc(1, sizeof(*groups));
    if (groups == NULL) {
        ab_group_fini(g);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    }
    groups[0] = *g;
    ab_value_set_groups(v, groups, 1);
    return AB_ERR_OK;
}

static ab_err add_item(const ab_option *o, ab_group *g, ab_str item, ab_error *err)
{
    if (item.len == 0)
        return ab_fail(err, AB_ERR_CONFIG, "%s: an entry between commas is empty", o->name);
    if (ab_group_add(g, NULL, ab_str_dup(item)) != AB_ERR_OK)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    return AB_ERR_OK;
}

ab_err ab_value_list_from_text(ab_value *v, ab_str text, ab_error *err)
{
    ab_group g = {0};
    ab_str rest = text.len == 0 ? AB_STR_NONE : text;
    while (rest.ptr != NULL) {
        ab_err e = add_item(v->option, &g, ab_str_cut(&rest, ','), err);
        if (e != AB_ERR_OK) {
            ab_group_fini(&g);
            return e;
        }
    }
    return ab_value_set_group(v, &g, err);
}

static ab_pair *find_pair(ab_group *g, ab_str key)
{
    for (size_t i = 0; i < g->count; i++) {
        if (ab_str_is(key, g->pairs[i].key))
            return &g->pairs[i];
    }
    return NULL;
}

ab_err ab_value_put_pair(ab_value *v, ab_str key, ab_str value, ab_error *err)
{
    ab_group none = {0};
    if (v->group_count == 0 && ab_value_set_group(v, &none, err) != AB_ERR_OK)
        return AB_ERR_NOMEM;
    char *text = ab_str_dup(value);
    ab_pair *old = find_pair(&v->groups[0], key);
    if (text == NULL || old == NULL) {
        if (ab_group_add(&v->groups[0], ab_str_dup(key), text) != AB_ERR_OK)
            return ab_fail(err, AB_ERR_NOMEM, "out of memory");
        return AB_ERR_OK;
    }
    free_value(old->value);
    old->value = text;
    return AB_ERR_OK;
}
