/* SPDX-License-Identifier: Apache-2.0
 *
 * PRINCIPAL; at an agent nothing happens.
 */
#pragma once

#include "transport/kafka/link_priv.h"

/** Nothing is pending, as far as known. */
void ab_kafka_pending_init(ab_kafka_link *l);
/** It is not served any more: the broker need not be asked. */
void ab_kafka_pending_leave(ab_kafka_link *l);
/** Our log is read from its beginning up to `log_end`. */
void ab_kafka_pending_begin(ab_kafka_link *l, int64_t log_end);
/** This record, an event, is in our log, as was read there. */
void ab_kafka_pending_read(ab_kafka_link *l, const ab_event *event, const rd_kafka_message_t *m);
/** The event is in our log, as the delivery report says. */
void ab_kafka_pending_sent(ab_kafka_link *l, const ab_event *event, const rd_kafka_message_t *m);
/** The record, this event, is about to be delivered to the layer above. */
void ab_kafka_pending_receive(ab_kafka_link *l, const ab_event *event, const rd_kafka_message_t *m);
/** Ask for the positions that are due. */
void ab_kafka_pending_tick(ab_kafka *k);
/** The agent has returned. */
void ab_kafka_pending_hurry(ab_kafka_link *l);
/** The handle for questions about positions, made at first use. Borrowed until the next tick, or
 * while k->keeping. NULL: it cannot be made, which is logged. */
rd_kafka_t *ab_kafka_asker(ab_kafka *k);
/** Close it; what it was asked is asked again later. */
void ab_kafka_asker_close(ab_kafka *k);
