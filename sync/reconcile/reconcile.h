/* SPDX-License-Identifier: Apache-2.0
 *
 * Bringing an object to what it is to be: the one engine of both ends. A record is what is known of
 * one object; what it is to be, what may be written of it and what is to be reported is said by its
 * type. The engine holds the order:
 *
 *      an event, a change in the store, an answer, time
 *                            |
 *                            v
 *      +-----------------> advance   nothing is awaited, and it is time to try
 *      |                     |
 *      |                     |  1. a newer state waits behind the head     -> the head is finished
 *      |                     |  2. the head is new, and is no command      -> begin: SAVE
 *      |                     |  3. the object is not as desired            -> reconcile: GET, LOAD,
 *      |                     |                                                APPLY, STATUS, REMOVE
 *      |                     |  4. it is as desired, for this head         -> the head is finished
 *      |                     |  5. the head is a command                   -> execute: GET, APPLY, STATUS
 *      |                     |  6. nothing is left to do                   -> rest: a report that is due
 *      |                     v
 *    IDLE <---------- one effect is awaited
 *      |                     |
 *      |  got, wrote,        |
 *      |  saved, loaded      |  fail
 *      +---------------------+--------------> back off, and try again when it is time;
 *                                             deferred when it is refused, or fails for too long
 *
 * One effect at a time per record; records are independent of each other. What changes while one is
 * awaited counts more than its answer: `changed_meanwhile`. A finished head is acknowledged. A
 * deferred one is, too, so that nothing waits behind it; the record goes on trying.
 *
 * Pure; loop thread.
 */
#pragma once

#include "base/core/list.h"
#include "base/observe/log.h"
#include "base/observe/metrics.h"
#include "sync/inbox.h"
#include "sync/object/application.h"
#include "sync/reconcile/effects.h"

/* Which answer is awaited. */
typedef enum {
    AB_STEP_IDLE,
    AB_STEP_GET,
    AB_STEP_APPLY,  /* all of the object but its status */
    AB_STEP_STATUS, /* its status */
    AB_STEP_REMOVE,
    AB_STEP_SAVE,
    AB_STEP_LOAD
} ab_step;

typedef struct ab_record ab_record;

/* What all records of one machine share. */
typedef struct {
    const ab_effects *effects; /* borrowed */
    const ab_clock *clock;     /* borrowed */
    ab_log *log;
    int64_t defer_after_ms; /* after so long of failing, a record no longer holds its delivery */
    bool stopped;           /* no record advances */
    ab_link due;            /* records that the next tick looks at */
    struct {
        ab_metric *writes, *deferred, *stale, *reverts, *latency;
    } metrics;
} ab_reconciler;

/* What an object is to be, what may be written of it, and what is to be reported. */
typedef struct {
    /** Take up the head, which is no command. It is begun when it is saved; a type that saves
     * nothing begins it at once. */
    void (*begin)(ab_record *r, ab_task *head);
    /** The object is as desired for the head, which is about to be finished. May be NULL. */
    void (*finished)(ab_record *r);
    /** Is nothing to be done about the object? */
    bool (*is_as_desired)(const ab_record *r);
    /** One step towards that. @return true when the engine may go on at once */
    bool (*reconcile)(ab_record *r);
    /** The object is as desired, and the head is a command: execute it, or leave it.
     * @return true when the engine may go on at once. NULL: there are no commands */
    bool (*execute)(ab_record *r);
    /** Nothing is left to do, or only what `rest_at` is for. May be NULL. */
    void (*rest)(ab_record *r);

    /** The object as it is; NULL: there is none. Not called when it changed meanwhile. */
    void (*got)(ab_record *r, ab_object *object);
    /** A write was answered (ab_step says which), and did not fail. `object`: as it is now; NULL:
     * gone. May be NULL. */
    void (*wrote)(ab_record *r, ab_step step, ab_object *object);
    /** A write failed: learn from it what the store has. May be NULL: nothing is learnt.
     * @return true when it is dealt with; else the engine fails the record */
    bool (*refused)(ab_record *r, ab_step step, ab_err code, const ab_error *err);
    /** A write has undone a change here that nobody asked for: log it. NULL where none is noted.
     * @param change  as in ab_reconcile_note_revert */
    void (*reverted)(const ab_record *r, const char *change);
    /** The received state is safe: it is in effect. NULL: nothing is saved. */
    void (*saved)(ab_record *r);
    /** The row was read: it is r->row. `object`: as in ab_reconcile_load; NULL when it has changed
     * meanwhile. */
    void (*loaded)(ab_record *r, ab_object *object);

    /** What is known of the object may be wrong: look at it again. */
    void (*look_again)(ab_record *r);
    /** It cannot be as desired for now: say so where users look. May be NULL. */
    void (*deferred)(ab_record *r, const ab_error *err);
    /** A round is over: count the record as what it is now. May be NULL. */
    void (*count)(ab_record *r);
    /** Is nothing known any more, and nothing awaited? It is freed then. NULL: never. */
    bool (*is_over)(const ab_record *r);
    /** Take it out of its owner's books and free it. NULL where is_over is. */
    void (*free)(ab_record *r);
} ab_record_type;

/* First member of what is known of one object. */
struct ab_record {
    ab_asker asker; /* first */
    const ab_record_type *type;
    ab_reconciler *reconciler;
    const char *key; /* of the object; owned by whoever embeds this */
    ab_inbox inbox;  /* what is not dealt with yet */
    ab_step step;
    bool changed_meanwhile; /* a change was seen since the effect that is awaited was asked for */
    bool is_deferred;       /* since it last was as desired */
    ab_err deferred_for;    /* what the log says about that */
    const char *reverting;  /* what is to be undone of what was changed here; NULL: nothing */
    bool is_abandoned;      /* the answer that is awaited means nothing any more */
    int purpose;            /* the type's own: what the awaited effect is for; 0 unless it says so
                               before it asks */
    int answering;          /* the purpose of the one whose answer is handled */
    int64_t rest_at;        /* mono_ms: when `rest` has something to do; 0: it has not */
    const ab_received_state *row; /* its row, borrowed while its answer is handled; else NULL */
    ab_object *after_load;        /* to be reconciled when the row is read; may be NULL */
    ab_link in_due;
};

/**
 * How long a change takes from its sender's queue to this store is measured, which
 * argobus_change_latency_seconds shows: the version of an event is its writer's clock
 * (sync/writer.h), so both clocks must agree. Only events whose object was written for them count.
 * @param r  to be filled; effects, clock and log are borrowed
 * @param direction  in which the events that this machine receives travel
 */
void ab_reconciler_init(ab_reconciler *r, const ab_effects *effects, const ab_clock *clock,
                        ab_log *log, ab_metrics *metrics, int64_t defer_after_ms,
                        ab_direction direction);
/** Time has passed: try again what is due, free what is over. Costs nothing for the other records.
 */
void ab_reconciler_tick(ab_reconciler *r);

/** Before all else. @param key  must live as long as the record */
void ab_record_init(ab_record *r, const ab_record_type *type, ab_reconciler *reconciler,
                    const char *key);
/** Deliveries that are not dealt with are dropped without being acknowledged. */
void ab_record_fini(ab_record *r);

/** Is nothing awaited, and is it time to try? */
bool ab_reconcile_may_advance(const ab_record *r);
/** Do the next thing, if nothing is awaited and there is one. */
void ab_reconcile_advance(ab_record *r);
/** As ab_reconcile_advance, but count only, and have the tick look at the record if need be. */
void ab_reconcile_tend(ab_record *r);
/** Have the next tick do that: nothing follows from it now. */
void ab_reconcile_tend_later(ab_record *r);
/** Take an event: put it in the inbox, and advance. @return NOMEM; nothing is taken then */
AB_MUST_USE ab_err ab_reconcile_deliver(ab_record *r, const ab_task *task);
/** The head when it has been begun: what is awaited is for it then. Else NULL. */
ab_task *ab_reconcile_head(const ab_record *r);
/** The head is dealt with: acknowledge and drop it. There must be one. */
void ab_reconcile_finish_head(ab_record *r);
/** What is not dealt with, and what is awaited, means nothing any more: finish all. */
void ab_reconcile_abandon(ab_record *r);
/**
 * Is the head's state newer than this version? An older one is finished, one of that very version
 * (delivered again) makes the object be looked at again.
 * @return true when it is to be saved
 */
bool ab_reconcile_is_newer(ab_record *r, ab_version known);

/** Milliseconds of the monotonic clock. */
int64_t ab_reconcile_now(const ab_record *r);
/** It succeeded: it is neither failing nor waiting. */
void ab_reconcile_succeeded(ab_record *r);
/** A step failed: back off, or defer, by the class of `code`. `err` may be NULL. */
void ab_reconcile_fail(ab_record *r, ab_err code, const ab_error *err);
/** What the head needs is not there yet: look again soon. */
void ab_reconcile_wait(ab_record *r);
/** Only a change elsewhere helps: look again in a second. When that is too long, it is deferred,
 * without a head once. @param why  for users */
void ab_reconcile_await_change(ab_record *r, const char *why);
/** A change here that nobody asked for is about to be undone, unless it is the head, or what was
 * deferred, that is written. It is counted, and `reverted`, when that has succeeded, however often
 * it is tried. @param change  static: what it was */
void ab_reconcile_note_revert(ab_record *r, const char *change);

/* Effects; the answer comes to the type. */
void ab_reconcile_get(ab_record *r);
/** @param version  see ab_effects.apply */
void ab_reconcile_apply(ab_record *r, ab_object *object, ab_str version);
/** As ab_reconcile_apply. The record fails when the text is not an object. */
void ab_reconcile_apply_text(ab_record *r, const ab_buf *text, ab_str version);
/** As ab_reconcile_apply, of `object` with these changes. */
void ab_reconcile_edit(ab_record *r, const ab_object *object, const ab_app_edit *edit);
void ab_reconcile_patch_status(ab_record *r, ab_str status, ab_str stamp,
                               const ab_precondition *must_be);
void ab_reconcile_remove(ab_record *r, const ab_precondition *must_be, bool foreground);
/** The head is begun with this. */
void ab_reconcile_save(ab_record *r, const ab_received_state *received);
/** Read the row. @param object  what `loaded` goes on with, unless it changes meanwhile; NULL:
 * nothing */
void ab_reconcile_load(ab_record *r, ab_object *object);
/**
 * The object that the row holds.
 *
 * @param object  as in ab_reconcile_load, when the row must be read first
 * @param out     owned by the caller
 * @return false: it is being read, or that failed
 */
bool ab_reconcile_received(ab_record *r, ab_object *object, ab_object **out);
