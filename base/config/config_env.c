/* SPDX-License-Identifier: Apache-2.0
 *
 * Options from the environment and from --set.
 */
#include "base/config/config_priv.h"
#include "base/core/edit_distance.h"

#include <string.h>

#define ENV_PREFIX "ARGOBUS_"

/* Kubernetes puts ARGOBUS_PRINCIPAL_SERVICE_HOST, ..._PORT_8443_TCP_ADDR and the like into every
 * container of a namespace that has a service of such a name. They are nobody's mistake. */
static bool is_service_link(ab_str name, ab_str value)
{
    static const char *const marks[] = {"_SERVICE_HOST", "_SERVICE_PORT"};
    for (size_t i = 0; i < 2; i++) {
        if (memmem(name.ptr, name.len, marks[i], strlen(marks[i])) != NULL)
            return true;
    }
    if (memmem(value.ptr, value.len, "://", 3) != NULL && name.len > 5 &&
        memcmp(name.ptr + name.len - 5, "_PORT", 5) == 0)
        return true;
    const char *port = memmem(name.ptr, name.len, "_PORT_", 6);
    return port != NULL && port + 6 < name.ptr + name.len && port[6] >= '0' && port[6] <= '9';
}

static ab_value *find_by_env(const ab_config *c, ab_str name)
{
    ab_buf known = ab_buf_up_to(512);
    ab_value *found = NULL;
    for (size_t i = 0; i < c->count && found == NULL; i++) {
        ab_buf_clear(&known);
        ab_option_env_name(c->values[i].option->name, &known);
        if (ab_str_eq(ab_buf_str(&known), name))
            found = &c->values[i];
    }
    ab_buf_fini(&known);
    return found;
}

static ab_err unknown_variable(const ab_config *c, ab_str name, ab_error *err)
{
    size_t best = 0;
    ab_buf known = ab_buf_up_to(512);
    ab_buf nearest = ab_buf_up_to(512);
    for (size_t i = 0; i < c->count; i++) {
        ab_buf_clear(&known);
        ab_option_env_name(c->values[i].option->name, &known);
        size_t d = ab_edit_distance(name, ab_buf_str(&known));
        if (nearest.len == 0 || d < best) {
            best = d;
            ab_buf_clear(&nearest);
            ab_buf_put(&nearest, ab_buf_str(&known));
        }
    }
    ab_err e = ab_fail(err, AB_ERR_CONFIG,
                       "environment: unknown variable \"%.*s\": the nearest is \"%.*s\"",
                       AB_STR_ARG(name), AB_STR_ARG(ab_buf_str(&nearest)));
    ab_buf_fini(&known);
    ab_buf_fini(&nearest);
    return e;
}

static ab_err read_variable(ab_config *c, const char *variable, ab_error *err)
{
    const char *eq = strchr(variable, '=');
    if (eq == NULL || strncmp(variable, ENV_PREFIX, sizeof(ENV_PREFIX) - 1) != 0)
        return AB_ERR_OK;
    ab_str name = {variable, (size_t)(eq - variable)};
    ab_str value = ab_str_of(eq + 1);
    ab_value *v = find_by_env(c, name);
    if (v == NULL)
        return is_service_link(name, value) ? AB_ERR_OK : unknown_variable(c, name, err);
    ab_err e = ab_value_from_text(c, v, value, err);
    if (e != AB_ERR_OK) {
        ab_error_prefix(err, "environment: %.*s", AB_STR_ARG(name));
        return e;
    }
    v->origin = AB_ORIGIN_ENV;
    return AB_ERR_OK;
}

ab_err ab_config_read_env(ab_config *c, char *const *env, ab_error *err)
{
    for (size_t i = 0; env != NULL && env[i] != NULL; i++) {
        ab_err e = read_variable(c, env[i], err);
        if (e != AB_ERR_OK)
            return e;
    }
    return AB_ERR_OK;
}

/* The map that `name` is a key of: kafka.librdkafka for kafka.librdkafka.linger.ms. */
static ab_value *find_map(const ab_config *c, ab_str name, ab_str *key)
{
    for (size_t i = 0; i < c->count; i++) {
        const ab_option *o = c->values[i].option;
        ab_str rest = ab_str_after(name, o->name);
        if (o->kind == AB_OPT_MAP && rest.len > 1 && rest.ptr[0] == '.') {
            *key = ab_str_skip(rest, 1);
            return &c->values[i];
        }
    }
    return NULL;
}

static ab_err unknown_set_key(const ab_config *c, ab_str name, ab_error *err)
{
    ab_buf hint = ab_buf_up_to(512);
    ab_config_suggest(c, name, true, &hint);
    ab_err e = ab_fail(err, AB_ERR_CONFIG, "--set: unknown key \"%.*s\"%.*s", AB_STR_ARG(name),
                       AB_STR_ARG(ab_buf_str(&hint)));
    ab_buf_fini(&hint);
    return e;
}

static ab_err set_one(ab_config *c, const char *text, ab_error *err)
{
    const char *eq = strchr(text, '=');
    if (eq == NULL)
        return ab_fail(err, AB_ERR_CONFIG, "--set: \"%s\" has no \"=\": write --set key=value",
                       text);
    ab_str name = {text, (size_t)(eq - text)};
    ab_str value = ab_str_of(eq + 1);
    ab_str key = AB_STR_NONE;
    ab_value *v = ab_config_find(c, name);
    ab_value *map = v == NULL ? find_map(c, name, &key) : NULL;
    if (v == NULL && map == NULL)
        return unknown_set_key(c, name, err);
    ab_err e = map != NULL ? ab_value_put_pair(map, key, value, err)
                           : ab_value_from_text(c, v, value, err);
    if (e != AB_ERR_OK) {
        ab_error_prefix(err, "--set");
        return e;
    }
    (map != NULL ? map : v)->origin = AB_ORIGIN_SET;
    return AB_ERR_OK;
}

ab_err ab_config_read_set(ab_config *c, const char *const *set, size_t count, ab_error *err)
{
    for (size_t i = 0; i < count; i++) {
        ab_err e = set_one(c, set[i], err);
        if (e != AB_ERR_OK)
            return e;
    }
    return AB_ERR_OK;
}
