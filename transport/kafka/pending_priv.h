/* SPDX-License-Identifier: Apache-2.0
 *
 * PRINCIPAL; at an agent nothing happens.
 */
#pragma once

#include "transport/kafka/link_priv.h"

/** Our log is read from its beginning up to `log_end`. */
void ab_kafka_pending_begin(ab_kafka_link *l, int64_t log_end);
/** This event is in our log, as was read there or as the delivery report says. `ended`: as a
 * tombstone. */
void ab_kafka_pending_write(ab_kafka_link *l, const ab_event *event, bool ended,
                            const rd_kafka_message_t *m);
/** The record, this event, is about to be delivered to the layer above. */
void ab_kafka_pending_receive(ab_kafka_link *l, const ab_event *event, const rd_kafka_message_t *m);
