/* SPDX-License-Identifier: Apache-2.0
 *
 * Where objects live: the interface that every store implements. A store has Kubernetes semantics
 * (uid, resourceVersion, generation, finalizers, deletionTimestamp), whatever is behind it.
 * tests/conformance/store runs one suite over every implementation.
 *
 * Everything happens on the loop thread. No call blocks; calls on one object take effect in the
 * order they were made, calls on different objects run concurrently. A `done` runs exactly once,
 * later, never from inside the call; after `stop` has finished no upcall follows.
 */
#pragma once

#include "base/config/config.h"
#include "base/json/object.h"
#include "base/observe/log.h"
#include "base/observe/metrics.h"

#include <uv.h>

/* The annotation that patch_status writes. */
#define AB_STORE_STATUS_VERSION "argobus.io/status-version"

typedef struct ab_store ab_store;
typedef struct ab_store_op ab_store_op; /* store/op.h, for those who implement a store */

typedef enum {
    AB_STORE_UPDATED, /* exists: initial listing, or created, or changed. Also after our own writes.
                       */
    AB_STORE_DELETED, /* was deleted: the store observed it. Its watch was continuous, from the
                         last UPDATED of the object to this deletion (Kubernetes: an
                         event of the watch; folder: inotify told of the file, or the write was
                         ours). `object` is its last known state */
    AB_STORE_ABSENT, /* does not exist, and nobody observed its deletion: a list made after a gap of
                        the watch does not have it. The store may have been restored from a backup,
                        or emptied. `object` is its last known state */
    AB_STORE_LIST_DONE, /* every object that can be read was reported as UPDATED; `object` is NULL.
                           Once per start. An object that was not reported may still exist: create
                           it, but delete nothing because of it */
    AB_STORE_SYNCED, /* every object was reported as UPDATED, none is unreadable; `object` is NULL.
                        Once per start, after LIST_DONE; late or never while something cannot be
                        read */
    AB_STORE_INTERRUPTED, /* the watch of something broke off, as it does before a store can be
                             replaced by one from a backup; `object` is NULL. What is read or
                             written until RESUMED may already be of another store. A store that
                             cannot be replaced while it is watched reports none of these */
    AB_STORE_REPLACED,    /* it is another store than it was, which does not know what this one
                             showed last: it was restored from a backup. `object` is NULL. Once
                             after INTERRUPTED, before what it lost is reported */
    AB_STORE_RESUMED,     /* all is watched again, from where it broke off or from a new list, whose
                             changes were reported before; `object` is NULL. Late or never while
                             something cannot be read */
} ab_store_change;

/* Result of an operation. `object` is the state after it (NULL after removal or failure), borrowed.
 */
typedef void (*ab_store_done)(void *arg, ab_err code, ab_object *object, const ab_error *err);

typedef struct {
    /** One change, borrowed object. Changes of one object come in order; intermediate states may be
     * skipped. The last one never is, even when only its resourceVersion differs: a caller that
     * read the object before may wait for that version. */
    void (*on_change)(void *arg, ab_store_change change, ab_object *object);
    /** Something cannot be read: a broken manifest, a refused list. `where` is a file, URL or key;
     * the message says what to do. An object that cannot be read now keeps its last known state: it
     * is not DELETED. */
    void (*on_fault)(void *arg, const char *where, const ab_error *err);
    void *arg;
} ab_store_events;

/* What to watch. A store may report more than that: the receiver filters again. */
typedef struct {
    const char *kind;      /* "Application", ...; NULL ends a list of these */
    const char *namespace; /* only there; NULL: everywhere */
    const char *selector;  /* Kubernetes label selector; NULL: all */
    const char *name;      /* only the object of this name; NULL: all */
} ab_store_watch;

/* What a store is given at start; everything borrowed, must outlive the store. */
typedef struct {
    uv_loop_t *loop;
    const ab_config *config; /* reads store.* */
    ab_log *log;
    ab_metrics *metrics;
    const ab_clock *clock;
    const ab_store_watch *watches; /* one per kind; listed in this order */
    ab_store_events events;
} ab_store_env;

/* Conditions of a write; zero-initialised = none. Absent strings are not checked. */
typedef struct {
    ab_str version;      /* resourceVersion must be this, else CONFLICT */
    ab_str uid;          /* uid must be this, else CONFLICT */
    bool must_not_exist; /* else EXISTS */
    bool must_exist;     /* else NOTFOUND */
} ab_store_condition;

typedef enum { AB_PROPAGATE_BACKGROUND, AB_PROPAGATE_FOREGROUND } ab_propagation;

typedef struct ab_store_ops {
    const char *name; /* value of store.kind */
    size_t size;      /* of the implementation's struct, whose first member is ab_store */
    size_t op_size;   /* of its operation, whose first member is ab_store_op */

    /** Take the configuration; `self` is zeroed. May read, must not upcall. @return CONFIG, NOMEM,
     * IO */
    ab_err (*init)(ab_store *self, const ab_store_env *env, ab_error *err);
    /** Begin to list and watch. @return IO; later trouble comes by on_fault */
    ab_err (*start)(ab_store *self, ab_error *err);
    /** Take an operation over and report what comes of it, once, later: ab_store_apply and those
     * after it say what each does. One with `code` set is refused with that. */
    void (*submit)(ab_store *self, ab_store_op *op);
    /** Refuse new work (calls then report CLOSED), finish what was begun, call `stopped` once. */
    void (*stop)(ab_store *self, void (*stopped)(void *arg), void *arg);
    /** Release everything; after stopped, or after a failed or missing start. */
    void (*fini)(ab_store *self);
} ab_store_ops;

struct ab_store {
    const ab_store_ops *ops;
    ab_store_env env;
};

/** The stores built in, NULL-terminated. */
extern const ab_store_ops *const ab_store_table[];
/** store.kind and the options of every store. */
extern const ab_options ab_store_options;

/**
 * Make the store that store.kind names.
 * @param env  copied; what it points to is borrowed
 * @param out  owned by the caller: ab_store_free
 * @return CONFIG, NOMEM, IO
 */
AB_MUST_USE ab_err ab_store_new(const ab_store_env *env, ab_store **out, ab_error *err);
/** fini and free; NULL is allowed. Only when stopped or never started. */
void ab_store_free(ab_store *s);

/* The ops by function call. */

/** See the slot `start`. */
AB_MUST_USE ab_err ab_store_start(ab_store *s, ab_error *err);
/**
 * Create the object, or replace everything of it but .status. The store sets uid, resourceVersion,
 * generation (rises when .spec changes; in Kubernetes also with the .status of a kind that has no
 * status subresource) and creationTimestamp; what the text says of these is ignored, as is, in
 * Kubernetes, what the kind's schema does not have. An object with deletionTimestamp whose last
 * finalizer is removed by this write is gone after it. A write that changes nothing is not made and
 * succeeds. done: OK; CONFLICT, EXISTS, NOTFOUND (conditions); INVALID, TOOBIG, DENIED, UNSUPPORTED
 * (this object, now and again); NOSPACE, IO, UNAVAILABLE, TIMEOUT (try again).
 */
void ab_store_apply(ab_store *s, ab_object *object, const ab_store_condition *condition,
                    ab_store_done done, void *arg);
/**
 * Replace .status, and set annotation argobus.io/status-version to `version` in the same write (not
 * when absent). Nothing else changes.
 * @param status  JSON text of an object; copied
 * done: as apply; NOTFOUND when the object is not there.
 */
void ab_store_patch_status(ab_store *s, ab_str key, ab_str status, ab_str version,
                           const ab_store_condition *condition, ab_store_done done, void *arg);
/**
 * Delete. With finalizers (FOREGROUND adds "foregroundDeletion" where a garbage collector removes
 * it; a store without one does not) the object gets a deletionTimestamp and stays until they are
 * gone. done: OK when it is gone or marked; NOTFOUND; CONFLICT; else as apply.
 */
void ab_store_remove(ab_store *s, ab_str key, const ab_store_condition *condition,
                     ab_propagation propagation, ab_store_done done, void *arg);
/** Read one object. done: OK with the object; NOTFOUND; IO. */
void ab_store_get(ab_store *s, ab_str key, ab_store_done done, void *arg);
/** See the slot `stop`. */
void ab_store_stop(ab_store *s, void (*stopped)(void *arg), void *arg);

/** Report something that cannot be read, log and count it. For those who implement a store.
 * @param reason  label of argobus_store_faults_total */
void ab_store_fault(const ab_store *s, const char *reason, const char *where, const ab_error *err);
