/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may give how much to the producers. All agents share their queue, and one whose partition
 * refuses what is sent, or whose broker is silent, must not fill it: what it may have shrinks as
 * the queue fills, so that there is always room for one more; and what has made no progress for a
 * while no longer counts against the others. Every agent may have one event under way at any time,
 * so each is told of room by its own reports, and nobody looks at all agents for one.
 *
 * Rejected: equal parts of the queue. They need a count of agents that are active, and one busy
 * agent among 3,000 idle ones would crawl.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An event of this size is let in whenever the agent has no other under way. */
#define AB_SHARE_FLOOR ((size_t)32 * 1024)

/* So much state is let in before the broker has confirmed any of it: what it refuses is sent again,
 * in whole batches, ten times a second, on the connection that all agents use. Live events are not
 * sent again: of them it is what one session has under way. */
#define AB_SHARE_FIRST      ((size_t)256 * 1024)
#define AB_SHARE_FIRST_LIVE ((size_t)1024 * 1024)

/* The queue of the producers of one lane. */
typedef struct {
    size_t max;       /* bytes that flow, of all agents; all in all it is three times that at most,
                         and AB_SHARE_FLOOR for each agent */
    size_t first;     /* bytes of one agent, before any is confirmed: AB_SHARE_FIRST */
    int64_t stuck_ms; /* without progress for so long, an agent's events are stuck */
    size_t flowing;   /* bytes of agents whose events are confirmed */
    size_t stuck;     /* bytes of the others */
} ab_budget;

/* One agent's part of it. */
typedef struct {
    size_t bytes;
    size_t count;
    size_t proven;       /* bytes confirmed since it last had none under way, or was stuck */
    size_t full_at;      /* bytes when it was refused; 0 = it was not */
    int64_t progress_ms; /* when an event was confirmed last, or the first one came */
    bool stuck;          /* nothing is confirmed: only one event at a time, to see when that ends */
    bool waits;          /* it was refused, and is to be told when there is room */
} ab_share;

/** Whether an event of this size may be added now. False: `waits` is set. Loop thread, as all. */
bool ab_share_admits(const ab_budget *b, ab_share *s, size_t bytes);
/** It was added. */
void ab_share_take(ab_budget *b, ab_share *s, size_t bytes, int64_t now_ms);
/** It has left. `confirmed`: the broker has it, or refused it for good: the way is free. */
void ab_share_give(ab_budget *b, ab_share *s, size_t bytes, bool confirmed, int64_t now_ms);
/** What it has under way is forgotten, with the producer that has it. */
void ab_share_leave(ab_budget *b, ab_share *s);
/** Notice that nothing has been confirmed for too long. */
void ab_share_check(ab_budget *b, ab_share *s, int64_t now_ms);
/** How much one agent may have of `all` when `used` of it is taken: as much as is left, but never
 * less than `least` and never more than `most`. */
size_t ab_share_of_rest(size_t all, size_t used, size_t least, size_t most);
/** True once after `waits`, when it is worth to try again: it may still be refused. */
bool ab_share_wakes(ab_share *s);
