/* SPDX-License-Identifier: Apache-2.0
 *
 * When the principal holds a resync with each of its agents: at once when there is cause to and
 * nothing is in the way, again with a growing delay after a failure, and from then on periodically;
 * so many at once and no more. An agent is in one list, and moves when something about it changes,
 * so that no call passes over all agents.
 *
 * No agent holds others up: one that says nothing for 30 s has failed, and one whose turn takes
 * long while others wait gives way and goes behind them. Its next turn may be twice as long, so
 * that a slow agent with many objects comes to an end, too. Ending it by the speed at which pages
 * arrive would need no second attempt, but there is no speed that every honest agent reaches. For
 * whom the longest turn is too short, it may run on, one such agent at a time: the others have the
 * rest of the room meanwhile.
 *
 *                 due                  is ready                room
 *   (no list) ---------> (no list) -------------> ripe -----------------> running
 *    periodic --its time------^  ^                                        |     |
 *        ^                       |   delay over                  failed   |     |
 *        |                       +---------------- retrying <-------------+     |
 *        +----------------------------------------------------------------------+ both agree
 *
 * From running back to ripe: the turn was over, and others waited.
 *
 * Pure; loop thread.
 */
#pragma once

#include "base/core/list.h"
#include "sync/resync/resync.h"

typedef struct ab_resync_turn ab_resync_turn;

typedef struct {
    ab_resync_env env; /* of all its turns */
    int64_t period_ms; /* between the resyncs of one agent that have no other cause; 0: none */
    size_t max;        /* running at once */
    size_t running_count;
    ab_resync_turn *longest; /* of those that run, the one that may run on; NULL: none */
    ab_link running, ripe, retrying;
    ab_link periodic; /* in the order of when they are due */
} ab_resync_queue;

/* One agent in it. Read by others, written here only. */
struct ab_resync_turn {
    ab_resync_queue *queue;
    ab_resync resync;
    ab_link *list; /* that it is in; NULL: none */
    ab_link in_list;
    const char *why; /* one is due; NULL: none is */
    int64_t at;      /* mono_ms: not before then; in `periodic`, when the next one is due */
    bool was_held;   /* once: from then on periodically */
    int64_t begun_at;
    int64_t turn_ms; /* that one may take while others wait */
    ab_backoff backoff;
};

/** Before all else. @param env  without arg, writer and agent: those of each turn */
void ab_resync_queue_init(ab_resync_queue *q, const ab_resync_env *env, int64_t period_ms,
                          size_t max);
/** Make a turn of this queue, which lives longer. All is borrowed: see ab_resync_env. */
void ab_resync_queue_join(ab_resync_queue *q, ab_resync_turn *t, void *arg, ab_writer *writer,
                          const char *agent);
/** Leave it; of a zeroed one too. */
void ab_resync_queue_leave(ab_resync_turn *t);

/** A resync is due with this agent. @param why  lives on */
void ab_resync_queue_due(ab_resync_turn *t, const char *why);
/** What the role's `is_ready` depends on may have changed. Begins none. */
void ab_resync_queue_sort(ab_resync_turn *t);
/** Begin those that nothing is in the way of, as many as there is room for. */
void ab_resync_queue_go(ab_resync_queue *q);
/** Time has passed. */
void ab_resync_queue_tick(ab_resync_queue *q);
/** Give up the one that is under way. */
void ab_resync_queue_stop(ab_resync_turn *t);

/* For the role. */
/** As ab_resync_queue_due, but not sooner after the last one than agents may ask for one: what
 * calls for it may go on for long. */
void ab_resync_queue_again(ab_resync_turn *t, const char *why);
/** The agent answered one that is over. Another one follows: after a failure, no sooner for this.
 */
void ab_resync_queue_late(ab_resync_turn *t);
/** One is over. @param why  it failed, lives on; NULL: both ends agree */
void ab_resync_queue_over(ab_resync_turn *t, const char *why);
