/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "transport/kafka/kafka_priv.h"

/* An event on its way. */
typedef struct ab_kafka_send {
    TAILQ_ENTRY(ab_kafka_send) at;
    ab_kafka_link *link;
    ab_event *event; /* librdkafka reads its data until it has reported, or is destroyed */
    ab_lane lane;
    int64_t deadline_ms; /* LIVE, monotonic */
    ab_sent done;        /* NULL once told */
    void *arg;
    /* For those that failed before librdkafka had them. There are thousands of sends at a time. */
    ab_err failed;
    char *why; /* NULL: there was no memory to keep it */
} ab_kafka_send;

/** No handle yet. */
void ab_kafka_producer_init(ab_kafka_producer *p, ab_kafka *k, ab_kafka_kind kind);
/** Make its handle unless there is one. @return UNAVAILABLE (in back-off), CONFIG, FATAL */
AB_MUST_USE ab_err ab_kafka_producer_open(ab_kafka_producer *p, ab_error *err);
/** The producer of this lane. */
ab_kafka_producer *ab_kafka_producer_of(ab_kafka *k, ab_lane lane);
/** Whether the link may send this event now; else on_writable follows. */
bool ab_kafka_producer_admits(const ab_kafka_producer *p, ab_kafka_link *l, const ab_event *event);
/** Produce, admitted or not; `s` belongs to the producer until told. */
void ab_kafka_producer_send(ab_kafka_producer *p, ab_kafka_send *s);
/** Fail all that is on its way, drop the handle. Its data stays until the handle is destroyed. */
void ab_kafka_producer_close(ab_kafka_producer *p, ab_err code);
/** Notice that nothing of this link is confirmed any more, or that it has room again.
 * @return when to look again */
int64_t ab_kafka_producer_look(ab_kafka_producer *p, ab_kafka_link *l, int64_t now);
/** Deadlines, rebuilding. */
void ab_kafka_producer_tick(ab_kafka_producer *p);
/** An event for a link, owned by the caller. LIVE: to be given up `deadline_ms` from now.
 * @return NOMEM */
AB_MUST_USE ab_err ab_kafka_producer_send_new(ab_kafka_link *l, ab_lane lane, ab_event *event,
                                              int64_t deadline_ms, ab_sent done, void *arg,
                                              ab_kafka_send **out);
/** Tell the outcome (once) and free it. Never from inside an op: see
 * ab_kafka_producer_send_fail_later. */
void ab_kafka_producer_send_finish(ab_kafka_send *s, ab_err code, const ab_error *err);
/** Free it, untold. */
void ab_kafka_producer_send_drop(ab_kafka_send *s);
