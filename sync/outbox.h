/* SPDX-License-Identifier: Apache-2.0
 *
 * What waits to be sent to one peer. Events about one object form a lane: they go in order, one in
 * flight at a time, and a newer state replaces a state that still waits directly behind it in the
 * lane. A command is never replaced and never overtaken. Lanes are independent. A failed send stays
 * at the head of its lane and is tried again, so memory is bounded by one state per object plus the
 * commands asked for.
 *
 * A peer with very many changes is not to take from the others what a broker and a machine have:
 * while more than 250 changes a second are put, a lane rests for half a second after each of its
 * events, so that of an object that changes again and again the states between are not sent. A
 * command ends the rest; lanes of AB_KEY_CONTROL do not rest.
 *
 * Pure: no I/O, no clock; loop thread.
 */
#pragma once

#include "base/core/clock.h"
#include "event/event.h"

typedef struct ab_outbox ab_outbox;
typedef struct ab_outgoing ab_outgoing; /* one event that is in flight */

/* An event that was given with a token is safe (sent, refused for good, or replaced by a newer
 * state of its object): what waited for it need not wait any more. Called from inside put and done;
 * must not call the outbox. */
typedef void (*ab_outbox_safe)(void *arg, void *token);

/** @param safe  see above; NULL when no tokens are used
 *  @return NULL when out of memory */
ab_outbox *ab_outbox_new(ab_outbox_safe safe, void *arg);
/* Is told of each event: that it waits, and that it is over. A state that replaces another one
 * takes its place, and nothing is told. Must not call the outbox. */
typedef struct {
    void (*waits)(void *arg, const ab_event *event);
    void (*over)(void *arg, const ab_event *event);
    void *arg;
} ab_outbox_watcher;
/** Told of those that wait already, and of all from now on. `watcher` is copied. */
void ab_outbox_watch(ab_outbox *o, const ab_outbox_watcher *watcher);
/** Forget everything, without `safe` or `over`; NULL is allowed. What is in flight must not be
 * given to done any more. */
void ab_outbox_free(ab_outbox *o);

/** Drop every event, giving its token back; what is in flight must not be given to done any more.
 */
void ab_outbox_drop(ab_outbox *o);

/**
 * Add an event at the end of its object's lane.
 *
 * @param object   key of the object the event is about: the lane
 * @param event    the outbox takes its own reference
 * @param command  never replaced
 * @param token    NULL, or what `safe` gets
 * @param now_ms   mono_ms
 * @return NOMEM; nothing is put then
 */
AB_MUST_USE ab_err ab_outbox_put(ab_outbox *o, ab_str object, ab_event *event, bool command,
                                 void *token, int64_t now_ms);

/** The next event that may be sent at `now_ms`, now in flight; NULL when there is none. */
ab_outgoing *ab_outbox_next(ab_outbox *o, int64_t now_ms);
ab_event *ab_outgoing_event(const ab_outgoing *g);

/** The transport did not take it (FULL, UNAVAILABLE): it waits at the head of its lane as before.
 */
void ab_outbox_return(ab_outbox *o, ab_outgoing *g);

/**
 * The send ended. OK or a permanent failure ends the event; anything else puts it back, or drops it
 * when a newer state waits behind it, and pauses the outbox for a growing delay.
 */
void ab_outbox_done(ab_outbox *o, ab_outgoing *g, ab_err code, int64_t now_ms);

/** Does a state of this object wait, or is it in flight? What is asked of it meanwhile says nothing
 * about it. */
bool ab_outbox_has(const ab_outbox *o, ab_str object);
/** The object in whose lane an event with this partitionkey waits or is in flight, rather than a
 * lane of that key alone; absent: none does. Goes through all. Borrowed until the next call. */
ab_str ab_outbox_lane_of(const ab_outbox *o, ab_str key);
/** Call `visit` for each event that waits or is in flight, those of one object in order. */
void ab_outbox_each(const ab_outbox *o, void (*visit)(void *arg, const ab_event *event), void *arg);

/** Does nothing wait, and does no lane rest? The outbox has nothing to give until the next put. */
bool ab_outbox_is_idle(const ab_outbox *o);
/** Events waiting or in flight. */
size_t ab_outbox_count(const ab_outbox *o);
/** Bytes of their attributes and data. */
size_t ab_outbox_bytes(const ab_outbox *o);
/** Until when nothing is given out after a failure, as mono_ms; 0 when not paused. */
int64_t ab_outbox_paused_until(const ab_outbox *o);
