/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a Kubernetes store, which its modules share. They call downwards only:
 *
 *   kubernetes.c  the store's slots: start, stop, what each call asks for
 *   watch.c       one kind: list, watch, list again
 *   collection.c  the objects of a kind (known.c: what it remembers), what is reported of them
 *   write.c       the requests that an operation makes, also for its namespace
 *   queue.c       operations wait here, one line per object, and end here
 *   patch.c       the texts that are sent
 *   request.c     one request (status.c: what a refusal means, stream.c: long answers)
 *   access/       which server, and who we are there
 *
 * All of this lives on the loop thread.
 */
#pragma once

#include "base/core/map.h"
#include "base/core/pattern.h"
#include "store/kubernetes/known.h"
#include "store/kubernetes/request.h"
#include "store/kubernetes/resource.h"
#include "store/op.h"

/* Bytes of one object or event. An API server takes 3 MiB of a client and 1.5 MiB for etcd. */
#define AB_KUBE_OBJECT_MAX (8u * 1024 * 1024)

typedef struct ab_kube ab_kube;
typedef struct ab_kube_watcher ab_kube_watcher;
typedef struct ab_kube_queue ab_kube_queue;
typedef struct ab_kube_lane ab_kube_lane;
typedef struct ab_kube_op ab_kube_op;

struct ab_kube {
    ab_store base;
    ab_kube_access *access;
    ab_kube_client *client;
    ab_kube_watcher **watchers; /* one per env.watches, in order */
    size_t watcher_count;
    size_t listed;      /* watchers that have their first list */
    size_t interrupted; /* watchers whose watch broke off */
    bool replaced;      /* reported in this interruption */
    bool synced;
    ab_kube_queue *queue;
    ab_patterns *create_namespaces;
    int64_t timeout_ms;
    ab_metric *objects;
    bool stopping;
    void (*stopped)(void *arg);
    void *stopped_arg;
};
