/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of a peer's state is under way here: the partition of an agent that has too much open is
 * paused, so that what all of them have stays bounded.
 */
#pragma once

#include "transport/kafka/link_priv.h"

/** Pause or resume the link's partition, as what is open says. */
void ab_kafka_flow_control(ab_kafka_link *l);
/** Pause or resume it whatever is open. Nothing where it is so already, or not assigned. */
void ab_kafka_flow_pause(ab_kafka_link *l, bool paused);
/** This record was taken from the queue of the group, which must have the partition.
 * @param paused  whether the partition is */
void ab_kafka_flow_taken(ab_kafka_group *g, const rd_kafka_message_t *m, bool paused);
