/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "transport/kafka/link_priv.h"

/** Take in one record of the link's incoming state topic: a hello, or an event to deliver. */
void ab_kafka_receive_state(ab_kafka_link *l, const rd_kafka_message_t *m);
/** The same of its live topic. */
void ab_kafka_receive_live(ab_kafka_link *l, const rd_kafka_message_t *m);
/** An error event of a handle that reads what peers send. The end of a partition is none. */
void ab_kafka_receive_error(ab_kafka *k, rd_kafka_event_t *event);
/** Count and log a record that is skipped. `reason`: a word for the metric. */
void ab_kafka_receive_refuse(ab_kafka *k, const char *topic, const char *reason,
                             const ab_error *err);
/** As ab_transport_ops.ack. */
void ab_kafka_receive_ack(ab_kafka *k, ab_delivery *given, ab_verdict verdict);
/** Release the deliveries that were never acknowledged. */
void ab_kafka_receive_forget(ab_kafka *k);
