/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "transport/kafka/kafka_priv.h"
#include "transport/kafka/send_priv.h"

/** None yet. */
void ab_kafka_producers_init(ab_kafka_producers *all, ab_kafka *k, ab_lane lane);
/** Make the handles that are not there, at least one. @return UNAVAILABLE (in back-off), CONFIG,
 * FATAL, NOMEM */
AB_MUST_USE ab_err ab_kafka_producers_open(ab_kafka_producers *all, ab_error *err);
/** Deadlines, rebuilding. */
void ab_kafka_producers_tick(ab_kafka_producers *all);
/** Whether nothing is on its way. */
bool ab_kafka_producers_are_idle(const ab_kafka_producers *all);
/** Fail all that is on its way, drop the handles. Its data stays until they are destroyed. */
void ab_kafka_producers_close(ab_kafka_producers *all, ab_err code);
/** Closed, and no link left. */
void ab_kafka_producers_fini(ab_kafka_producers *all);
/** The handle of the first one, an agent's only one; NULL: it is not there now. */
ab_kafka_handle *ab_kafka_producers_first(const ab_kafka_producers *all);
/** The link's producer for this lane. @return NULL: it has no handle now */
ab_kafka_producer *ab_kafka_producer_of(ab_kafka_link *l, ab_lane lane);
/** Whether the link may send this event now; else on_writable follows. */
bool ab_kafka_producer_admits(ab_kafka_link *l, ab_lane lane, const ab_event *event);
/** Produce, admitted or not; `s` belongs to the producer until told. */
void ab_kafka_producer_send(ab_kafka_producer *p, ab_kafka_send *s);
/** Notice that nothing of this link is confirmed any more, or that it has room again, or that
 * events of it were held for long enough.
 * @return when to look again */
int64_t ab_kafka_producer_look(ab_kafka_link *l, ab_lane lane, int64_t now);
