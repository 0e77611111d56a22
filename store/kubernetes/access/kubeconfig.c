/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a kubeconfig as kubectl does, and says what it cannot do instead of passing over it: a user
 * who is impersonated or an unverified server must not turn into something else in silence.
 */
#include "store/kubernetes/access/kubeconfig.h"

#include "base/yaml/yaml.h"
#include "store/kubernetes/access/kubeconfig_plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names of contexts that an error lists. */
#define NAMES_MAX 160

typedef struct {
    const char *path;
    ab_span *doc; /* NULL: the file is empty */
} layer;

typedef struct {
    layer *layers;
    size_t count;
    ab_error *err;
} reader;

/* ----- cluster ----- */

static bool is_loopback(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t len = strlen(names[i]);
        if (strncmp(host, names[i], len) == 0 && strchr(":/", host[len]) != NULL)
            return true;
    }
    return false;
}

static ab_err check_server(char *server, ab_error *err)
{
    if (server == NULL)
        return ab_fail(err, AB_ERR_CONFIG, "server is missing; set it to https://host:port");
    const char *host = strstr(server, "://");
    host = host == NULL ? "" : host + 3;
    for (const char *c = server; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~' || strchr("?#@\"\\", *c) != NULL)
            return ab_fail(err, AB_ERR_CONFIG, "server is not a URL; set it to https://host:port");
    bool plain = strncmp(server, "http://", 7) == 0;
    if (plain && !is_loopback(host))
        return ab_fail(err, AB_ERR_CONFIG,
                       "server %s is not encrypted; use https:// (http:// only to localhost)",
                       server);
    if ((!plain && strncmp(server, "https://", 8) != 0) || strchr(":/", host[0]) != NULL)
        return ab_fail(err, AB_ERR_CONFIG, "server %s is not of the form https://host:port",
                       server);
    for (size_t len = strlen(server); server[len - 1] == '/'; len--)
        server[len - 1] = '\0';
    return AB_ERR_OK;
}

static ab_err read_cluster(const ab_kubeconfig_entry *from, ab_kubeconfig *out)
{
    bool unverified = false;
    ab_err e = ab_kubeconfig_take_flag(from, "insecure-skip-tls-verify", &unverified);
    if (e == AB_ERR_OK && unverified)
        e = ab_fail(from->err, AB_ERR_CONFIG,
                    "insecure-skip-tls-verify is not supported: the server is always verified; "
                    "give its CA as certificate-authority-data instead");
    if (e == AB_ERR_OK)
        e = ab_kubeconfig_take(from, "server", &out->server);
    if (e == AB_ERR_OK)
        e = check_server(out->server, from->err);
    if (e == AB_ERR_OK)
        e = ab_kubeconfig_take(from, "tls-server-name", &out->server_name);
    if (e == AB_ERR_OK)
        e = ab_kubeconfig_take(from, "proxy-url", &out->proxy);
    return e == AB_ERR_OK ? ab_kubeconfig_take_pem(from, "certificate-authority", &out->ca) : e;
}

/* ----- user ----- */

static ab_err check_user(const ab_kubeconfig_entry *user)
{
    static const struct {
        const char *name;
        const char *instead;
    } refused[] = {
        {"auth-provider", "use exec with the provider's plugin"},
        {"username", "API servers no longer take passwords; use a client certificate or a token"},
        {"password", "API servers no longer take passwords; use a client certificate or a token"},
        {"as", "use credentials of the user itself"},
        {"as-uid", "use credentials of the user itself"},
        {"as-groups", "use credentials of the user itself"},
        {"as-user-extra", "use credentials of the user itself"},
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (ab_kubeconfig_is_set(ab_span_get(user->map, refused[i].name)))
            return ab_fail(user->err, AB_ERR_CONFIG, "%s is not supported; %s", refused[i].name,
                           refused[i].instead);
    return AB_ERR_OK;
}

static ab_err read_token(const ab_kubeconfig_entry *user, ab_kube_text *out)
{
    ab_err e = ab_kubeconfig_take_path(user, "tokenFile", &out->path);
    return e == AB_ERR_OK && out->path == NULL ? ab_kubeconfig_take(user, "token", &out->text) : e;
}

static ab_err check_one_way(const ab_kubeconfig_entry *user, const ab_kubeconfig *k)
{
    bool cert = ab_kube_text_given(&k->cert);
    if (cert != ab_kube_text_given(&k->key))
        return ab_fail(user->err, AB_ERR_CONFIG, "client-%s is missing beside client-%s",
                       cert ? "key" : "certificate", cert ? "certificate" : "key");
    if (k->plugin.command != NULL && (cert || ab_kube_text_given(&k->token)))
        return ab_fail(user->err, AB_ERR_CONFIG, "exec and a %s are both set; keep one of them",
                       cert ? "client certificate" : "token");
    return AB_ERR_OK;
}

static ab_err read_user(const ab_kubeconfig_entry *user, ab_kubeconfig *out)
{
    ab_err e = check_user(user);
    if (e == AB_ERR_OK)
        e = ab_kubeconfig_take_pem(user, "client-certificate", &out->cert);
    if (e == AB_ERR_OK)
        e = ab_kubeconfig_take_pem(user, "client-key", &out->key);
    if (e == AB_ERR_OK)
        e = read_token(user, &out->token);
    ab_kubeconfig_entry exec = *user;
    exec.map = ab_span_get(user->map, "exec");
    if (e == AB_ERR_OK && ab_kubeconfig_is_set(exec.map))
        e = ab_kubeconfig_take_plugin(&exec, &out->plugin);
    return e == AB_ERR_OK ? check_one_way(user, out) : e;
}

/* ----- the file as a whole ----- */

static ab_err keep_document(void *arg, ab_str json, size_t line)
{
    layer *l = arg;
    (void)line;
    return l->doc == NULL ? ab_span_parse(json, &l->doc, NULL) : AB_ERR_UNSUPPORTED;
}

static ab_err parse_layer(const ab_kubeconfig_file *file, layer *out, ab_error *err)
{
    ab_error why = {0};
    out->path = file->path;
    ab_err e = ab_yaml_to_json(file->text, &ab_yaml_default_limits, keep_document, out, &why);
    if (e == AB_ERR_NOMEM)
        return ab_fail(err, e, "out of memory for %s", file->path);
    if (e == AB_ERR_UNSUPPORTED)
        return ab_fail(err, AB_ERR_CONFIG, "%s: more than one document", file->path);
    if (e != AB_ERR_OK)
        return ab_fail(err, AB_ERR_CONFIG, "%s: %s", file->path, why.text);
    if (out->doc != NULL && ab_span_typeof(ab_span_root(out->doc)) != AB_SPAN_OBJECT)
        return ab_fail(err, AB_ERR_CONFIG, "%s: a kubeconfig must be a map", file->path);
    return AB_ERR_OK;
}

static ab_spanv top(const layer *l, const char *name)
{
    return l->doc == NULL ? (ab_spanv){0} : ab_span_get(ab_span_root(l->doc), name);
}

/* `list` is "clusters", `item` "cluster". */
static bool find(const reader *r, const char *list, const char *item, const char *name,
                 ab_kubeconfig_entry *out)
{
    for (size_t i = 0; i < r->count; i++) {
        ab_spanv v = ab_span_first(top(&r->layers[i], list));
        for (; ab_span_present(v); v = ab_span_next(v)) {
            if (!ab_span_is(ab_span_get(v, "name"), name))
                continue;
            *out = (ab_kubeconfig_entry){r->layers[i].path, ab_span_get(v, item), r->err};
            return true;
        }
    }
    return false;
}

static ab_err no_context(const reader *r, const char *wanted)
{
    ab_buf names = ab_buf_up_to(NAMES_MAX);
    for (size_t i = 0; i < r->count; i++) {
        ab_spanv v = ab_span_first(top(&r->layers[i], "contexts"));
        for (; ab_span_present(v); v = ab_span_next(v))
            ab_buf_printf(&names, "%s%.*s", names.len == 0 ? "" : ", ",
                          AB_STR_ARG(ab_span_plain(ab_span_get(v, "name"))));
    }
    const char *known = names.len == 0 ? "none" : names.ptr;
    const char *path = r->layers[0].path;
    ab_err e = wanted == NULL
                   ? ab_fail(r->err, AB_ERR_CONFIG,
                             "%s has no current-context; name one of its contexts "
                             "(store.kubernetes.context, or --context of argobusctl): %s",
                             path, known)
                   : ab_fail(r->err, AB_ERR_CONFIG, "%s has no context \"%s\"; its contexts: %s",
                             path, wanted, known);
    ab_buf_fini(&names);
    return e;
}

static ab_err current_context(const reader *r, char **out)
{
    for (size_t i = 0; i < r->count && *out == NULL; i++) {
        ab_err e = ab_kubeconfig_take_text(top(&r->layers[i], "current-context"), "current-context",
                                           out, r->err);
        if (e != AB_ERR_OK) {
            ab_error_prefix(r->err, "%s", r->layers[i].path);
            return e;
        }
    }
    return *out == NULL ? no_context(r, NULL) : AB_ERR_OK;
}

typedef ab_err (*read_part)(const ab_kubeconfig_entry *from, ab_kubeconfig *out);

static ab_err read_cluster_and_extension(const ab_kubeconfig_entry *from, ab_kubeconfig *out)
{
    ab_err e = read_cluster(from, out);
    return e == AB_ERR_OK ? ab_kubeconfig_take_extension(from, &out->plugin) : e;
}

/* The cluster or user that a context names. */
static ab_err read_named(const reader *r, const ab_kubeconfig_entry *context, const char *item,
                         read_part read, ab_kubeconfig *out)
{
    char *name = NULL;
    char list[16];
    ab_kubeconfig_entry found = {0};
    (void)snprintf(list, sizeof(list), "%ss", item);
    ab_err e = ab_kubeconfig_take(context, item, &name);
    if (e == AB_ERR_OK && name == NULL)
        e = ab_fail(r->err, AB_ERR_CONFIG, "%s: the context names no %s", context->path, item);
    else if (e == AB_ERR_OK && !find(r, list, item, name, &found))
        e = ab_fail(r->err, AB_ERR_CONFIG, "%s: the context's %s \"%s\" does not exist",
                    context->path, item, name);
    else if (e == AB_ERR_OK && (e = read(&found, out)) != AB_ERR_OK)
        ab_error_prefix(r->err, "%s: %s \"%s\"", found.path, item, name);
    free(name);
    return e;
}

static ab_err read_context(const reader *r, const char *name, ab_kubeconfig *out)
{
    ab_kubeconfig_entry context = {0};
    if (!find(r, "contexts", "context", name, &context))
        return no_context(r, name);
    ab_err e = read_named(r, &context, "cluster", read_cluster_and_extension, out);
    if (e == AB_ERR_OK)
        e = read_named(r, &context, "user", read_user, out);
    return e;
}

static ab_err read_layers(const reader *r, const char *context, ab_kubeconfig *out)
{
    char *current = NULL;
    ab_err e = context == NULL ? current_context(r, &current) : AB_ERR_OK;
    if (e == AB_ERR_OK)
        e = read_context(r, context == NULL ? current : context, out);
    free(current);
    return e;
}

static void close_layers(reader *r)
{
    for (size_t i = 0; i < r->count; i++)
        ab_span_free(r->layers[i].doc);
    free(r->layers);
}

/* @param out  to be closed also after a failure */
static ab_err open_layers(const ab_kubeconfig_file *files, size_t count, reader *out, ab_error *err)
{
    *out = (reader){.layers = calloc(count, sizeof(layer)), .count = count, .err = err};
    if (out->layers == NULL) {
        out->count = 0;
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the kubeconfig");
    }
    ab_err e = AB_ERR_OK;
    for (size_t i = 0; e == AB_ERR_OK && i < count; i++)
        e = parse_layer(&files[i], &out->layers[i], err);
    return e;
}

ab_err ab_kubeconfig_read(const ab_kubeconfig_file *files, size_t count, const char *context,
                          ab_kubeconfig *out, ab_error *err)
{
    reader r;
    ab_kubeconfig read = {0};
    ab_err e = open_layers(files, count, &r, err);
    if (e == AB_ERR_OK)
        e = read_layers(&r, context, &read);
    if (e == AB_ERR_OK)
        *out = read;
    else
        ab_kubeconfig_fini(&read);
    close_layers(&r);
    return e;
}

static bool is_first(const reader *r, size_t layer_index, const char *name)
{
    reader before = {.layers = r->layers, .count = layer_index};
    ab_kubeconfig_entry found;
    return !find(&before, "contexts", "context", name, &found);
}

ab_err ab_kubeconfig_contexts(const ab_kubeconfig_file *files, size_t count, ab_buf *names,
                              ab_error *err)
{
    reader r;
    ab_err e = open_layers(files, count, &r, err);
    for (size_t i = 0; e == AB_ERR_OK && i < count; i++) {
        ab_spanv v = ab_span_first(top(&r.layers[i], "contexts"));
        for (; e == AB_ERR_OK && ab_span_present(v); v = ab_span_next(v)) {
            char *name = NULL;
            e = ab_kubeconfig_take_text(ab_span_get(v, "name"), "name", &name, err);
            if (name != NULL && ab_str_is_printable(ab_str_of(name)) && is_first(&r, i, name))
                ab_buf_printf(names, "%s\n", name);
            free(name);
        }
    }
    close_layers(&r);
    return e == AB_ERR_OK ? ab_buf_status(names) : e;
}

static void free_list(char **list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        ab_kube_wipe(list[i]);
    free(list);
}

void ab_kubeconfig_fini(ab_kubeconfig *k)
{
    free(k->server);
    free(k->server_name);
    ab_kube_wipe(k->proxy);
    ab_kube_text_fini(&k->ca);
    ab_kube_text_fini(&k->cert);
    ab_kube_text_fini(&k->key);
    ab_kube_text_fini(&k->token);
    free(k->plugin.command);
    free_list(k->plugin.args);
    free_list(k->plugin.env);
    free(k->plugin.api);
    free(k->plugin.hint);
    free(k->plugin.cluster_config);
    *k = (ab_kubeconfig){0};
}
