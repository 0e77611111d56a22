/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kubernetes/access/access_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Files that KUBECONFIG may name. */
#define FILES_MAX 16

/* Kubeconfig files as they were read. */
typedef struct {
    char *paths[FILES_MAX];
    ab_buf texts[FILES_MAX];
    size_t count;
} files;

/* What is done with them: one context is read, or the names of all are appended. */
typedef struct {
    const char *context; /* NULL: the current one */
    ab_kubeconfig *out;  /* NULL: names are wanted */
    ab_buf *names;
} wanted;

static const char *option(const ab_config *config, const char *name)
{
    const char *value = ab_config_str(config, name);
    return value == NULL || value[0] == '\0' ? NULL : value;
}

static ab_err add_file(files *f, ab_str path, ab_error *err)
{
    if (f->count == FILES_MAX)
        return ab_fail(err, AB_ERR_CONFIG, "KUBECONFIG names more than %d files", FILES_MAX);
    char *copy = ab_str_dup(path);
    if (copy == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for a path");
    f->paths[f->count] = copy;
    ab_buf_init(&f->texts[f->count], AB_KUBE_FILE_MAX);
    ab_err e = ab_file_read(copy, &f->texts[f->count++], NULL, err);
    return e == AB_ERR_OK || e == AB_ERR_NOMEM || e == AB_ERR_NOTFOUND ? e : AB_ERR_CONFIG;
}

static void drop_last(files *f)
{
    f->count--;
    free(f->paths[f->count]);
    ab_buf_wipe(&f->texts[f->count]);
}

/* As kubectl: files that are not there are passed over. */
static ab_err add_list(files *f, const char *list, ab_error *err)
{
    ab_err e = AB_ERR_OK;
    while (e == AB_ERR_OK && *list != '\0') {
        size_t len = strcspn(list, ":");
        e = len == 0 ? AB_ERR_OK : add_file(f, (ab_str){list, len}, err);
        if (e == AB_ERR_NOTFOUND) {
            drop_last(f);
            e = AB_ERR_OK;
        }
        list += len + (list[len] == ':');
    }
    if (e == AB_ERR_OK && f->count == 0)
        e = ab_fail(err, AB_ERR_CONFIG, "none of the files in KUBECONFIG exists");
    return e;
}

static ab_err read_files(files *f, const wanted *w, ab_error *err)
{
    ab_kubeconfig_file views[FILES_MAX];
    for (size_t i = 0; i < f->count; i++)
        views[i] = (ab_kubeconfig_file){f->paths[i], ab_buf_str(&f->texts[i])};
    return w->out == NULL ? ab_kubeconfig_contexts(views, f->count, w->names, err)
                          : ab_kubeconfig_read(views, f->count, w->context, w->out, err);
}

static ab_err from_list(const char *list, const wanted *w, ab_error *err)
{
    files f = {.count = 0};
    ab_err e = add_list(&f, list, err);
    if (e == AB_ERR_OK)
        e = read_files(&f, w, err);
    while (f.count > 0)
        drop_last(&f);
    return e;
}

static ab_err from_file(const char *path, const wanted *w, ab_error *err)
{
    files f = {.count = 0};
    ab_err e = add_file(&f, ab_str_of(path), err);
    if (e == AB_ERR_NOTFOUND)
        e = AB_ERR_CONFIG;
    if (e == AB_ERR_OK)
        e = read_files(&f, w, err);
    while (f.count > 0)
        drop_last(&f);
    return e;
}

/* NULL: out of memory. */
static char *path_in(const char *folder, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static bool is_in_pod(const ab_kube_places *p)
{
    if (p->host == NULL || p->host[0] == '\0' || p->port == NULL)
        return false;
    char *token = path_in(p->service_account, "token");
    bool there = token != NULL && access(token, F_OK) == 0;
    free(token);
    return there;
}

static ab_err from_pod(const ab_kube_places *p, const wanted *w, ab_error *err)
{
    if (w->out == NULL)
        return AB_ERR_OK;
    if (w->context != NULL)
        return ab_fail(err, AB_ERR_CONFIG,
                       "store.kubernetes.context is set, and a pod's service account has no "
                       "contexts; set store.kubernetes.kubeconfig too, or leave it out");
    ab_kubeconfig k = {0};
    bool v6 = strchr(p->host, ':') != NULL;
    if (asprintf(&k.server, "https://%s%s%s:%s", v6 ? "[" : "", p->host, v6 ? "]" : "", p->port) <
        0)
        k.server = NULL;
    k.ca.path = path_in(p->service_account, "ca.crt");
    k.token.path = path_in(p->service_account, "token");
    if (k.server == NULL || k.ca.path == NULL || k.token.path == NULL) {
        ab_kubeconfig_fini(&k);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the service account");
    }
    *w->out = k;
    return AB_ERR_OK;
}

static ab_err from_home(const char *home, const wanted *w, ab_error *err)
{
    char *path = home == NULL ? NULL : path_in(home, ".kube/config");
    ab_err e;
    if (path != NULL && access(path, F_OK) == 0)
        e = from_file(path, w, err);
    else
        e = ab_fail(err, AB_ERR_CONFIG,
                    "no API server configured: found no service account of a pod, no KUBECONFIG "
                    "and no ~/.kube/config; set store.kubernetes.kubeconfig");
    free(path);
    return e;
}

static ab_err look(const ab_kube_places *places, const ab_config *config, const wanted *w,
                   ab_error *err)
{
    const char *file = option(config, "store.kubernetes.kubeconfig");
    if (file != NULL)
        return from_file(file, w, err);
    if (places->kubeconfigs != NULL && places->kubeconfigs[0] != '\0')
        return from_list(places->kubeconfigs, w, err);
    if (is_in_pod(places))
        return from_pod(places, w, err);
    return from_home(places->home, w, err);
}

ab_err ab_kube_find(const ab_kube_places *places, const ab_config *config, ab_kubeconfig *out,
                    ab_error *err)
{
    wanted w = {.context = option(config, "store.kubernetes.context"), .out = out};
    return look(places, config, &w, err);
}

ab_err ab_kube_find_contexts(const ab_kube_places *places, const ab_config *config, ab_buf *names,
                             ab_error *err)
{
    return look(places, config, &(wanted){.names = names}, err);
}
