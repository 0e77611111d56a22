/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by store/kubernetes/ *.c only.
 */
#pragma once

#include "base/map.h"
#include "base/pattern.h"
#include "store/kubernetes/request.h"
#include "store/store.h"

typedef struct ab_kube ab_kube;
typedef struct ab_kube_watcher ab_kube_watcher;
typedef struct ab_kube_writes ab_kube_writes;

/* What the API calls a kind. */
typedef struct {
    const char *kind;
    const char *api;    /* "/api/v1", "/apis/argoproj.io/v1alpha1" */
    const char *plural; /* "applications" */
    bool namespaced;
} ab_kube_resource;

/* resource.c */
/** NULL for a kind that we do not know. */
const ab_kube_resource *ab_kube_resource_of(ab_str kind);
/** Append the path of a collection (`name` absent) or an object; `ns` absent: every namespace. */
void ab_kube_path(const ab_kube_resource *r, ab_str ns, ab_str name, ab_buf *out);

struct ab_kube {
    ab_store base;
    ab_kube_access *access;
    ab_kube_client *client;
    ab_kube_watcher **watchers; /* one per env.watches, in order */
    size_t watcher_count;
    ab_kube_writes *writes;
    bool stopping;
};

/* watch.c: one kind: list in pages, watch from there, list again after 410 or when the server's
 * resourceVersion went back. Keeps per object its key, uid and resourceVersion only. */
ab_kube_watcher *ab_kube_watcher_new(ab_kube *k, const ab_store_watch *watch);
void ab_kube_watcher_free(ab_kube_watcher *w);
/** Begin with the list. `listed` (kubernetes.c) is called once, when it is complete. */
void ab_kube_watcher_start(ab_kube_watcher *w);
void ab_kube_watcher_stop(ab_kube_watcher *w);

/* write.c: apply, patch_status, remove, get. Per object one request at a time, in order; objects
 * concurrently up to store.kubernetes.concurrency. */
ab_kube_writes *ab_kube_writes_new(ab_kube *k, ab_error *err);
void ab_kube_writes_free(ab_kube_writes *w);
void ab_kube_apply(ab_store *self, ab_object *object, const ab_store_condition *condition,
                   ab_store_done done, void *arg);
void ab_kube_patch_status(ab_store *self, ab_str key, ab_str status, ab_str version,
                          const ab_store_condition *condition, ab_store_done done, void *arg);
void ab_kube_remove(ab_store *self, ab_str key, const ab_store_condition *condition,
                    ab_propagation propagation, ab_store_done done, void *arg);
void ab_kube_get(ab_store *self, ab_str key, ab_store_done done, void *arg);
/** Nothing is under way or waits. `idle` is called once, when that is so. */
void ab_kube_writes_drain(ab_kube_writes *w, void (*idle)(ab_kube *k));

/* kubernetes.c */
/** A watcher has its first list: the next one begins; after the last LISTED and SYNCED. */
void ab_kube_listed(ab_kube *k, ab_kube_watcher *w);
