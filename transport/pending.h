/* SPDX-License-Identifier: Apache-2.0
 *
 * The changes that are not in effect at their receiver, in one direction, of one agent: distinct
 * objects and commands. The lag of a consumer group counts records, and so counts an object that
 * changed ten times while its receiver was away as ten; here it counts once.
 *
 * A change is pending while something holds it (an outbox, a queue, a delivery that is not
 * acknowledged), while the newest record of its key lies at or after the receiver's position in
 * the log, or while the receiver has deferred its object. Answers, reports and control records are
 * not changes. Every call costs the same however much is pending; memory is one entry for each
 * pending key. Pure; loop thread.
 */
#pragma once

#include "base/core/clock.h"
#include "base/core/list.h"
#include "base/core/map.h"
#include "event/event.h"
#include "transport/log_marks.h"

/* The receiver's position is not known. */
#define AB_PENDING_UNKNOWN INT64_C(-1)

typedef struct {
    const ab_clock *clock; /* NULL: nothing is accounted */
    ab_map *keys;          /* those pending; NULL until the first */
    ab_link held;          /* those that something holds, the oldest first */
    ab_link written;       /* those that are in the log, by the offset of the newest record */
    int64_t position;      /* the receiver needs the log from here on */
    int64_t first_offset; /* of the oldest record of a change at or after the position; -1 = none */
    int64_t first_ms;     /* when that was written, wall clock */
    ab_log_marks marks;   /* of changes in the log, while the position is not known */
    size_t unread;        /* records that are in the log and were not received yet */
    bool incomplete;      /* there was no memory for a key */
} ab_pending;

/**
 * Begin: nothing is pending.
 * @param clock     borrowed; NULL: all calls do nothing
 * @param position  AB_PENDING_UNKNOWN, or 0 where there is no log
 */
void ab_pending_init(ab_pending *p, const ab_clock *clock, int64_t position);
/** Release everything; also of a zeroed one. */
void ab_pending_fini(ab_pending *p);

/** Something holds this event, since `since_ms` (wall clock). */
void ab_pending_hold(ab_pending *p, const ab_event *event, int64_t since_ms);
/** The same, since now. */
void ab_pending_hold_now(ab_pending *p, const ab_event *event);
/** It does not any more. Once for each hold. */
void ab_pending_release(ab_pending *p, const ab_event *event);
/**
 * The object of this key was deferred, or is not any more: its receiver has acknowledged the change
 * and cannot put it into effect. It counts from the first call on; saying the same again does
 * nothing.
 * @param key  of the object's changes
 */
void ab_pending_defer(ab_pending *p, ab_str key, bool deferred);

/**
 * The event is in the log. A command that has ended was answered, and is no longer pending.
 * @param ended       it is a tombstone
 * @param offset      higher than any before
 * @param written_ms  wall clock
 */
void ab_pending_write(ab_pending *p, const ab_event *event, bool ended, int64_t offset,
                      int64_t written_ms);
/** Everything below `position` is in effect at the receiver. AB_PENDING_UNKNOWN: nothing is known
 * of it. */
void ab_pending_pass(ab_pending *p, int64_t position);
/** What is in the log is not known any more, as before it is read; the position stays. */
void ab_pending_forget_log(ab_pending *p);
/** So many records are in the log that nobody here has seen: each counts. */
void ab_pending_set_unread(ab_pending *p, size_t count);

/** Is anything of this key pending, as far as known? */
bool ab_pending_has(const ab_pending *p, ab_str key);
/** Whether records in the log are pending, other than those that were not received. */
bool ab_pending_is_written(const ab_pending *p);
/** False while the figures below are not the truth: the position is not known, or memory ran out.
 */
bool ab_pending_is_known(const ab_pending *p);
/** Distinct objects and commands, and unread records. */
size_t ab_pending_count(const ab_pending *p);
/** Since when the oldest of them has been pending, wall clock in milliseconds; 0 when there is
 * none. An unread record does not count. */
int64_t ab_pending_since_ms(const ab_pending *p);
/** How long that is, in milliseconds. */
int64_t ab_pending_age_ms(const ab_pending *p);

/* One of them. */
typedef struct {
    ab_str key;       /* "<kind>/<namespace>/<name>" as its sender calls it, or a command's */
    int64_t since_ms; /* wall clock: since when it has not been in effect, as far as known */
    int64_t age_ms;   /* how long that is */
    bool deferred;    /* its receiver has acknowledged it, and cannot put it into effect */
    bool held;        /* something holds it: an outbox, a queue, an open delivery */
    bool written;     /* it is in the log, and its receiver has not acknowledged it */
    bool ends;        /* the newest change is a deletion */
} ab_pending_item;
/** @return false: no more of them. Must not change the ab_pending. */
typedef bool (*ab_pending_visitor)(void *arg, const ab_pending_item *item);
/** Call `visit` for each key: first those that something holds, the oldest first, then those that
 * are only in the log, in the order of their newest records. Unread records have no key. */
void ab_pending_each(const ab_pending *p, ab_pending_visitor visit, void *arg);
