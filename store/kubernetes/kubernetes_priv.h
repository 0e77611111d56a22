/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the Kubernetes store and what they share.
 *
 *   kubernetes.c  the store's slots: start, stop, what each call asks for
 *   watch.c       one kind: list, watch, list again (known.c: what it remembers)
 *   queue.c       operations wait here, one line per object, and end here
 *   write.c       the requests that an operation makes
 *   namespace.c   creates namespaces where that is allowed
 *   patch.c       the texts that are sent
 *   request.c     one request (status.c: what a refusal means, stream.c: long answers)
 *   access.c      which server, and who we are there
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
    size_t listed; /* watchers that have their first list */
    bool synced;
    ab_kube_queue *queue;
    ab_patterns *create_namespaces;
    int64_t timeout_ms;
    ab_metric *objects;
    bool stopping;
    void (*stopped)(void *arg);
    void *stopped_arg;
};

/* --- fault.c --- */

/** Report a fault, count and log it. */
void ab_kube_fault(ab_kube *k, const char *where, const ab_error *err);

/* --- watch.c --- */

/** @param listed  called when it has its first list, or a whole one after it
 *  @return NULL when out of memory */
ab_kube_watcher *ab_kube_watcher_new(ab_kube *k, const ab_store_watch *watch,
                                     void (*listed)(ab_kube *k));
void ab_kube_watcher_free(ab_kube_watcher *w);
/** Begin with the list. */
void ab_kube_watcher_start(ab_kube_watcher *w);
/** End what is under way; no upcall follows. */
void ab_kube_watcher_stop(ab_kube_watcher *w);
/** Its last list was read to the end and nothing in it was unreadable. */
bool ab_kube_watcher_is_whole(const ab_kube_watcher *w);

/* --- queue.c --- */

/* The request that an operation makes now. */
typedef enum {
    AB_KUBE_STEP_READ,
    AB_KUBE_STEP_CREATE,
    AB_KUBE_STEP_PATCH,
    AB_KUBE_STEP_PATCH_FIRST, /* status of an object without annotations */
    AB_KUBE_STEP_DELETE,
    AB_KUBE_STEP_NAMESPACE,
} ab_kube_step;

struct ab_kube_op {
    ab_store_op base;
    ab_kube *kube;
    ab_kube_lane *lane; /* NULL once it has ended */
    /* How far it is. */
    const ab_kube_resource *resource;
    ab_kube_step step;
    bool begun;
    bool namespace_made;
    unsigned turns; /* answers after which another request could follow */
    uint64_t begun_ms;
};

/** @param run  makes an operation's first request, or the one that was held
 *  @return NULL when out of memory */
ab_kube_queue *ab_kube_queue_new(ab_kube *k, void (*run)(ab_kube_op *op));
/** Free it and what waits in it, without upcalls; NULL is allowed. */
void ab_kube_queue_free(ab_kube_queue *q);
/** Accept an operation, which is moved. One with `code` set is refused with that. */
void ab_kube_submit(ab_kube_op *op);
/** Report what came of it and free it. */
void ab_kube_op_end(ab_kube_op *op, ab_err code, ab_object *object, const ab_error *err);
/** As end, for one that made no request: reports its `code` later. */
void ab_kube_op_refuse(ab_kube_op *op);
/** The server is busy: begin the operation's request again after `ms`, and send less at once. */
void ab_kube_op_hold(ab_kube_op *op, int64_t ms);
/** The server has answered in time: send more at once again, up to what is configured. */
void ab_kube_queue_relax(ab_kube_queue *q);
/** Refuse what has not begun; `idle` is called once, later, when nothing is under way. */
void ab_kube_queue_drain(ab_kube_queue *q, void (*idle)(ab_kube *k));

/* --- write.c --- */

/** For the queue's `run`. */
void ab_kube_op_run(ab_kube_op *op);

/* --- namespace.c --- */

/** Append the text of a namespace to be created. @return DENIED when that is not allowed, NOMEM */
AB_MUST_USE ab_err ab_kube_namespace_text(const ab_kube *k, ab_str ns, ab_buf *out, ab_error *err);
