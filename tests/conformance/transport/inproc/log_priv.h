/* SPDX-License-Identifier: Apache-2.0
 *
 * One direction of one agent: a log that keeps the newest event per key in the order of sending,
 * and how far its one reader has got. Outlives both ends.
 */
#pragma once

#include "base/core/map.h"
#include "event/event.h"

#include <sys/queue.h>

typedef struct ab_inproc_record {
    TAILQ_ENTRY(ab_inproc_record) at;
    uint64_t seq;
    ab_event *event;
} ab_inproc_record;

typedef struct {
    TAILQ_HEAD(, ab_inproc_record) records;
    ab_map *newest;         /* key to its record */
    ab_inproc_record *next; /* what the reader gets next; NULL = it is at the end */
    uint64_t last_seq;
    uint64_t committed; /* the reader is done with all up to here */
    uint64_t epoch;     /* highest that was written or given out */
    uint64_t instance;  /* how often it was begun again */
    bool was_read;      /* a reader has been here */
} ab_inproc_log;

/** @return NOMEM */
AB_MUST_USE ab_err ab_inproc_log_init(ab_inproc_log *log);
/** Also of a zeroed one. */
void ab_inproc_log_fini(ab_inproc_log *log);
/** Forget everything, as a topic that was deleted and made again. */
void ab_inproc_log_reset(ab_inproc_log *log);
/** Add an event, in place of an older one of its key. @return NOMEM */
AB_MUST_USE ab_err ab_inproc_log_append(ab_inproc_log *log, ab_event *event);
/** Go back to what is not committed. */
void ab_inproc_log_rewind(ab_inproc_log *log);
/** The next record for the reader, NULL at the end. Valid until the next call. */
const ab_inproc_record *ab_inproc_log_read(ab_inproc_log *log);
/** The reader is done with `event`, which was record `seq`, and all before it. A tombstone has then
 * served. */
void ab_inproc_log_commit(ab_inproc_log *log, uint64_t seq, const ab_event *event);
