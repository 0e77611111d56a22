/* SPDX-License-Identifier: Apache-2.0
 *
 * A configuration is one value per row of the tables, in their order. Sources are read from the
 * weakest to the strongest, each overwriting the values of the one before.
 */
#include "base/config/config_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static ab_err read_defaults(ab_config *c, ab_error *err)
{
    for (size_t i = 0; i < c->count; i++) {
        ab_value *v = &c->values[i];
        if (v->option->deflt == NULL)
            continue;
        ab_err e = ab_value_from_text(c, v, ab_str_of(v->option->deflt), err);
        if (e != AB_ERR_OK) {
            ab_error_prefix(err, "default");
            return e;
        }
        v->origin = AB_ORIGIN_DEFAULT;
    }
    return AB_ERR_OK;
}

static ab_err read_sources(ab_config *c, const ab_config_sources *sources, ab_error *err)
{
    ab_err e = read_defaults(c, err);
    if (e == AB_ERR_OK)
        e = ab_config_read_file(c, err);
    if (e == AB_ERR_OK)
        e = ab_config_read_env(c, sources->env, err);
    if (e == AB_ERR_OK)
        e = ab_config_read_set(c, sources->set, sources->set_count, err);
    return e;
}

static char *folder_of(const char *file)
{
    const char *slash = file == NULL ? NULL : strrchr(file, '/');
    if (slash == NULL)
        return strdup(".");
    return strndup(file, slash == file ? 1 : (size_t)(slash - file));
}

/* A configuration with every value unset. */
static ab_config *new_config(const ab_options *tables, size_t table_count, const char *file)
{
    size_t count = 0;
    for (size_t i = 0; i < table_count; i++)
        count += tables[i].count;
    ab_config *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return NULL;
    c->file = file == NULL ? NULL : strdup(file);
    c->folder = folder_of(file);
    c->values = calloc(count + 1, sizeof(*c->values));
    if ((file != NULL && c->file == NULL) || c->folder == NULL || c->values == NULL) {
        ab_config_free(c);
        return NULL;
    }
    for (size_t i = 0; i < table_count; i++) {
        for (size_t k = 0; k < tables[i].count; k++)
            c->values[c->count++].option = &tables[i].rows[k];
    }
    return c;
}

ab_err ab_config_load(const ab_options *tables, size_t table_count,
                      const ab_config_sources *sources, ab_config **out, ab_error *err)
{
    ab_config *c = new_config(tables, table_count, sources->file);
    if (c == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    ab_err e = read_sources(c, sources, err);
    if (e != AB_ERR_OK) {
        ab_config_free(c);
        return e;
    }
    *out = c;
    return AB_ERR_OK;
}

void ab_config_free(ab_config *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->count; i++)
        ab_value_clear(&c->values[i]);
    free(c->values);
    free(c->folder);
    free(c->file);
    free(c);
}

static const ab_value *value_of(const ab_config *c, const char *name)
{
    const ab_value *v = ab_config_find(c, ab_str_of(name));
    assert(v != NULL);
    return v;
}

/* The only group of a list or map, NULL when it is empty. */
static const ab_group *group_of(const ab_config *c, const char *name, ab_opt_kind kind)
{
    const ab_value *v = value_of(c, name);
    assert(v->option->kind == kind);
    (void)kind;
    return v->group_count == 0 ? NULL : &v->groups[0];
}

const char *ab_config_str(const ab_config *c, const char *name)
{
    const ab_value *v = value_of(c, name);
    ab_opt_kind kind = v->option->kind;
    assert(kind == AB_OPT_STRING || kind == AB_OPT_ENUM || kind == AB_OPT_FILE ||
           kind == AB_OPT_PATH);
    (void)kind;
    return v->text;
}

bool ab_config_is(const ab_config *c, const char *name, const char *text)
{
    return ab_str_is(ab_str_of(ab_config_str(c, name)), text);
}

bool ab_config_bool(const ab_config *c, const char *name)
{
    const ab_value *v = value_of(c, name);
    assert(v->option->kind == AB_OPT_BOOL);
    return v->number != 0;
}

int64_t ab_config_int(const ab_config *c, const char *name)
{
    const ab_value *v = value_of(c, name);
    ab_opt_kind kind = v->option->kind;
    assert(kind == AB_OPT_INT || kind == AB_OPT_DURATION || kind == AB_OPT_SIZE);
    (void)kind;
    return v->number;
}

size_t ab_config_count(const ab_config *c, const char *name)
{
    const ab_value *v = value_of(c, name);
    ab_opt_kind kind = v->option->kind;
    assert(kind == AB_OPT_LIST || kind == AB_OPT_MAP || kind == AB_OPT_OBJECTS);
    if (kind == AB_OPT_OBJECTS)
        return v->group_count;
    return v->group_count == 0 ? 0 : v->groups[0].count;
}

const char *ab_config_item(const ab_config *c, const char *name, size_t i)
{
    const ab_group *g = group_of(c, name, AB_OPT_LIST);
    assert(g != NULL && i < g->count);
    return g->pairs[i].value;
}

void ab_config_pair(const ab_config *c, const char *name, size_t i, const char **key,
                    const char **value)
{
    const ab_group *g = group_of(c, name, AB_OPT_MAP);
    assert(g != NULL && i < g->count);
    *key = g->pairs[i].key;
    *value = g->pairs[i].value;
}

const char *ab_config_field(const ab_config *c, const char *name, size_t i, const char *field)
{
    const ab_value *v = value_of(c, name);
    assert(v->option->kind == AB_OPT_OBJECTS && i < v->group_count);
    const ab_group *g = &v->groups[i];
    for (size_t k = 0; k < g->count; k++) {
        if (strcmp(g->pairs[k].key, field) == 0)
            return g->pairs[k].value;
    }
    return NULL;
}

bool ab_config_is_set(const ab_config *c, const char *name)
{
    return value_of(c, name)->origin > AB_ORIGIN_DEFAULT;
}

void ab_config_restart_needed(const ab_config *before, const ab_config *after, ab_buf *out)
{
    assert(before->count == after->count);
    for (size_t i = 0; i < before->count; i++) {
        const ab_option *o = before->values[i].option;
        if (!o->reloadable && !ab_value_eq(&before->values[i], &after->values[i]))
            ab_buf_printf(out, "%s\n", o->name);
    }
}
