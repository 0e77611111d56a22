/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/store/places.h"

#include <assert.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    char path[PATH_MAX];
    char setting[PATH_MAX + 32];
} directory;

static void *directory_make(void)
{
    const char *tmp = getenv("TMPDIR");
    directory *d = calloc(1, sizeof(*d));
    assert(d != NULL);
    (void)snprintf(d->path, sizeof(d->path), "%s/argobus-store-XXXXXX", tmp == NULL ? "/tmp" : tmp);
    if (mkdtemp(d->path) == NULL) {
        free(d);
        return NULL;
    }
    (void)snprintf(d->setting, sizeof(d->setting), "store.directory.path=%s", d->path);
    return d;
}

static const char *directory_setting(void *place, size_t i)
{
    const directory *d = place;
    return i == 0 ? "store.kind=directory" : i == 1 ? d->setting : NULL;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void directory_destroy(void *place)
{
    directory *d = place;
    (void)nftw(d->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(d);
}

const char *directory_place_path(void *place)
{
    const directory *d = place;
    return d->path;
}

static const char *never_missing(void)
{
    return NULL;
}

const store_place directory_place = {
    .name = "directory",
    .missing = never_missing,
    .make = directory_make,
    .setting = directory_setting,
    .destroy = directory_destroy,
};

/* A namespace of its own in the cluster of AB_KUBECONFIG. The store creates it. */
typedef struct {
    char namespace[64];
    char kubeconfig[PATH_MAX + 64];
} kubernetes;

static const char *kubernetes_missing(void)
{
    return getenv("AB_KUBECONFIG") == NULL ? "AB_KUBECONFIG names no cluster" : NULL;
}

static void *kubernetes_make(void)
{
    static unsigned count;
    struct timespec now;
    kubernetes *k = calloc(1, sizeof(*k));
    assert(k != NULL);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)snprintf(k->namespace, sizeof(k->namespace), "conformance-%lld-%d-%u",
                   (long long)now.tv_sec, (int)getpid(), count++);
    (void)snprintf(k->kubeconfig, sizeof(k->kubeconfig), "store.kubernetes.kubeconfig=%s",
                   getenv("AB_KUBECONFIG"));
    return k;
}

static const char *kubernetes_setting(void *place, size_t i)
{
    const kubernetes *k = place;
    const char *const settings[] = {"store.kind=kubernetes", k->kubeconfig,
                                    "store.kubernetes.create-namespaces=conformance-*", NULL};
    return settings[i];
}

static const char *kubernetes_namespace(void *place)
{
    const kubernetes *k = place;
    return k->namespace;
}

static const store_place kubernetes_place = {
    .name = "kubernetes",
    .missing = kubernetes_missing,
    .make = kubernetes_make,
    .setting = kubernetes_setting,
    .namespace = kubernetes_namespace,
    .destroy = free,
    .status_counts = true,
    .has_schema = true,
    .has_collector = true,
};

const store_place *const store_places[] = {&directory_place, &kubernetes_place, NULL};
