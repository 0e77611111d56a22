/* SPDX-License-Identifier: Apache-2.0
 *
 * An event on its way, and who is to be told what became of it.
 */
#pragma once

#include "transport/kafka/kafka_priv.h"

typedef struct ab_kafka_send {
    TAILQ_ENTRY(ab_kafka_send) at;
    ab_kafka_link *link;
    ab_event *event; /* librdkafka reads its data until it has reported, or is destroyed */
    ab_lane lane;
    bool alone;          /* in its request */
    int64_t deadline_ms; /* LIVE, monotonic */
    ab_sent done;        /* NULL once told */
    void *arg;
    /* For those that failed before librdkafka had them. There are thousands of sends at a time. */
    ab_err failed;
    char *why; /* NULL: there was no memory to keep it */
} ab_kafka_send;

/** An event for a link, owned by the caller. LIVE: to be given up `deadline_ms` from now.
 * @return NOMEM */
AB_MUST_USE ab_err ab_kafka_send_new(ab_kafka_link *l, ab_lane lane, ab_event *event,
                                     int64_t deadline_ms, ab_sent done, void *arg,
                                     ab_kafka_send **out);
/** Say why librdkafka or a broker did not take it, and what to do. A right that is missing is
 * logged too: it is the same for all events. */
void ab_kafka_send_explain(const ab_kafka_send *s, rd_kafka_resp_err_t code, ab_error *err);
/** Tell the outcome (once) and free it. Never from inside an op: see
 * ab_kafka_send_fail_later. */
void ab_kafka_send_finish(ab_kafka_send *s, ab_err code, const ab_error *err);
/** Free it, untold. */
void ab_kafka_send_drop(ab_kafka_send *s);
/** Tell the outcome, unless it was told. */
void ab_kafka_send_tell(ab_kafka_send *s, ab_err code, const ab_error *err);
/** Tell it at the next turn of the loop, and free it. `text` is copied. */
void ab_kafka_send_fail_later(ab_kafka_send *s, ab_err code, const char *text);
