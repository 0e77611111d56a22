/* SPDX-License-Identifier: Apache-2.0
 *
 * The received events of one object that are not dealt with yet, in order, and when to try again. A
 * state that waits is replaced by a newer state directly behind it; commands are neither replaced
 * nor overtaken.
 *
 * Pure; loop thread. Embedded in the object's record.
 */
#pragma once

#include "base/core/clock.h"
#include "schema/catalogue.h"
#include "sync/version.h"

typedef struct ab_task {
    struct ab_task *next;
    ab_event *event;
    void *delivery;
    ab_type type;
    ab_version version;
    bool begun; /* its owner has taken it up: it is not replaced any more */
    bool wrote; /* the store was written for it: its latency is measured when it is finished */
    int64_t received_us;           /* wall clock, as the next two; all 0: nobody asks */
    int64_t asked_us, answered_us; /* the last write to the store for it */
} ab_task;

typedef struct {
    ab_task *head;
    ab_task *tail;
    int64_t retry_at;      /* mono_ms; 0 = not waiting */
    int64_t failing_since; /* mono_ms; 0 = not failing */
    ab_backoff backoff;
} ab_inbox;

/** Is the type a command (set-operation, terminate-operation, refresh)? */
bool ab_task_is_command(ab_type type);

/** What an event is, which is no tombstone, from an agent of this mode or to one. @return why it is
 * refused: "type", "not_allowed"; NULL: it is not */
const char *ab_task_classify(const ab_event *event, ab_direction direction, ab_mode_set mode,
                             ab_target *target, ab_type *type);

void ab_inbox_init(ab_inbox *in);
/** Drop all tasks without acknowledging them. */
void ab_inbox_fini(ab_inbox *in);
/**
 * Add an event at the end, or in place of a waiting state.
 *
 * @param task        event (a reference is taken), delivery, type, version; copied
 * @param superseded  the delivery that need not be dealt with any more, to be acknowledged; NULL if
 * none
 */
AB_MUST_USE ab_err ab_inbox_push(ab_inbox *in, const ab_task *task, void **superseded);
/** The head is a begun state behind which a newer state waits. */
bool ab_inbox_head_superseded(const ab_inbox *in);
/** Drop the head and give back its delivery. There must be one. */
void *ab_inbox_pop(ab_inbox *in);

/** Wait `ms` before the next try. */
void ab_inbox_retry_after(ab_inbox *in, int64_t now_ms, int64_t ms);
/** Wait for the next delay of the back-off. */
void ab_inbox_back_off(ab_inbox *in, int64_t now_ms);
/** Something went well: neither waiting nor failing. */
void ab_inbox_succeeded(ab_inbox *in);
/** A try failed: how long it has been failing, milliseconds. */
int64_t ab_inbox_failing_ms(ab_inbox *in, int64_t now_ms);
