/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kubernetes/access/kubeconfig_plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXEC_API "client.authentication.k8s.io/"

/* The part of a cluster that is for plugins. */
ab_err ab_kubeconfig_take_extension(const ab_kubeconfig_entry *cluster, ab_kube_plugin *out)
{
    ab_spanv list = ab_span_get(cluster->map, "extensions");
    for (ab_spanv v = ab_span_first(list); ab_span_present(v); v = ab_span_next(v)) {
        if (!ab_span_is(ab_span_get(v, "name"), EXEC_API "exec"))
            continue;
        ab_spanv config = ab_span_get(v, "extension");
        if (!ab_kubeconfig_is_set(config))
            return AB_ERR_OK;
        out->cluster_config = ab_str_dup(ab_span_raw(config));
        return out->cluster_config != NULL
                   ? AB_ERR_OK
                   : ab_fail(cluster->err, AB_ERR_NOMEM, "out of memory for extensions");
    }
    return AB_ERR_OK;
}

static ab_err check_list(const ab_kubeconfig_entry *from, const char *name)
{
    ab_span_type type = ab_span_typeof(ab_span_get(from->map, name));
    if (type == AB_SPAN_ARRAY || type == AB_SPAN_NULL || type == AB_SPAN_NONE)
        return AB_ERR_OK;
    return ab_fail(from->err, AB_ERR_CONFIG, "exec.%s is not a list", name);
}

static ab_err read_args(const ab_kubeconfig_entry *exec, ab_kube_plugin *out)
{
    ab_err e = check_list(exec, "args");
    if (e != AB_ERR_OK)
        return e;
    ab_spanv args = ab_span_get(exec->map, "args");
    out->args = calloc(ab_span_count(args) + 2, sizeof(*out->args));
    if (out->args == NULL || (out->args[0] = ab_str_dup(ab_str_of(out->command))) == NULL)
        return ab_fail(exec->err, AB_ERR_NOMEM, "out of memory for exec.args");
    char **to = out->args + 1;
    for (ab_spanv v = ab_span_first(args); ab_span_present(v); v = ab_span_next(v), to++) {
        e = ab_kubeconfig_take_text(v, "exec.args", to, exec->err);
        if (e == AB_ERR_OK && *to == NULL && (*to = ab_str_dup(AB_STR(""))) == NULL)
            e = ab_fail(exec->err, AB_ERR_NOMEM, "out of memory for exec.args");
        if (e != AB_ERR_OK)
            return e;
    }
    return AB_ERR_OK;
}

static ab_err read_variable(ab_spanv v, char **out, ab_error *err)
{
    char *name = NULL;
    char *value = NULL;
    ab_err e = ab_kubeconfig_take_text(ab_span_get(v, "name"), "exec.env name", &name, err);
    if (e == AB_ERR_OK)
        e = ab_kubeconfig_take_text(ab_span_get(v, "value"), "exec.env value", &value, err);
    if (e == AB_ERR_OK && (name == NULL || strchr(name, '=') != NULL))
        e = ab_fail(err, AB_ERR_CONFIG, "exec.env has an entry without a name");
    if (e == AB_ERR_OK && asprintf(out, "%s=%s", name, value == NULL ? "" : value) < 0) {
        *out = NULL;
        e = ab_fail(err, AB_ERR_NOMEM, "out of memory for exec.env");
    }
    free(name);
    ab_kube_wipe(value);
    return e;
}

static ab_err read_env(const ab_kubeconfig_entry *exec, ab_kube_plugin *out)
{
    ab_err e = check_list(exec, "env");
    if (e != AB_ERR_OK)
        return e;
    ab_spanv env = ab_span_get(exec->map, "env");
    out->env = calloc(ab_span_count(env) + 1, sizeof(*out->env));
    if (out->env == NULL)
        return ab_fail(exec->err, AB_ERR_NOMEM, "out of memory for exec.env");
    size_t i = 0;
    for (ab_spanv v = ab_span_first(env); e == AB_ERR_OK && ab_span_present(v); v = ab_span_next(v))
        e = read_variable(v, &out->env[i++], exec->err);
    return e;
}

static ab_err check_plugin(const ab_kubeconfig_entry *exec, const ab_kube_plugin *p)
{
    if (p->command == NULL)
        return ab_fail(exec->err, AB_ERR_CONFIG, "exec.command is missing");
    if (p->api == NULL ||
        (strcmp(p->api, EXEC_API "v1") != 0 && strcmp(p->api, EXEC_API "v1beta1") != 0))
        return ab_fail(exec->err, AB_ERR_CONFIG,
                       "exec.apiVersion is \"%s\"; supported are " EXEC_API "v1 and v1beta1",
                       p->api == NULL ? "" : p->api);
    if (ab_span_is(ab_span_get(exec->map, "interactiveMode"), "Always"))
        return ab_fail(exec->err, AB_ERR_CONFIG,
                       "exec.interactiveMode is Always, but there is no terminal; use a plugin "
                       "that needs none");
    return AB_ERR_OK;
}

ab_err ab_kubeconfig_take_plugin(const ab_kubeconfig_entry *exec, ab_kube_plugin *out)
{
    ab_err e = ab_kubeconfig_take(exec, "command", &out->command);
    if (e == AB_ERR_OK && out->command != NULL && strchr(out->command, '/') != NULL)
        e = ab_kubeconfig_resolve(exec, &out->command);
    if (e == AB_ERR_OK)
        e = ab_kubeconfig_take(exec, "apiVersion", &out->api);
    if (e == AB_ERR_OK)
        e = check_plugin(exec, out);
    if (e == AB_ERR_OK)
        e = ab_kubeconfig_take(exec, "installHint", &out->hint);
    if (e == AB_ERR_OK)
        e = ab_kubeconfig_take_flag(exec, "provideClusterInfo", &out->cluster);
    if (e == AB_ERR_OK)
        e = read_args(exec, out);
    return e == AB_ERR_OK ? read_env(exec, out) : e;
}
