/* SPDX-License-Identifier: Apache-2.0
 *
 * One direction of a durable transport, in memory: a log with offsets that keeps the newest event
 * of each key, delivers in order, and after a restart of its reader delivers again from the lowest
 * offset that was not acknowledged.
 */
#pragma once

#include "event/event.h"

typedef struct fake_log fake_log;
typedef struct fake_delivery fake_delivery;

fake_log *fake_log_new(void);
void fake_log_free(fake_log *l);

/* The writer. */
void fake_log_append(fake_log *l, ab_event *event);
/** Higher than every epoch in the log so far, also before it was lost. */
uint64_t fake_log_next_epoch(fake_log *l);
/** The newest event of each key that is not ended. */
void fake_log_heads(const fake_log *l, void (*visit)(void *arg, const ab_event *head), void *arg);

/* The reader. */
bool fake_log_has_next(const fake_log *l);
/** The next event, in order; to be acknowledged once. */
fake_delivery *fake_log_next(fake_log *l);
ab_event *fake_delivery_event(const fake_delivery *d);
void fake_log_ack(fake_log *l, fake_delivery *d);
/** The reader is gone, and with it what it did not acknowledge. */
void fake_log_reader_restarts(fake_log *l);
/** Everything comes again from the beginning; open deliveries may still be acknowledged. */
void fake_log_replay(fake_log *l);
/** Drop what newer events of the same key replace; tombstones too where the reader is past them. */
void fake_log_compact(fake_log *l);

/** The log is deleted and made again: nothing is in it. Open deliveries may still be acknowledged.
 */
void fake_log_lose(fake_log *l);

/** Events ever appended. */
size_t fake_log_appended(const fake_log *l);
/** Deliveries that are not acknowledged. */
size_t fake_log_open(const fake_log *l);
