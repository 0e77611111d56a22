/* SPDX-License-Identifier: Apache-2.0
 *
 * PRINCIPAL; at an agent nothing happens.
 */
#pragma once

#include "transport/kafka/link_priv.h"

/** The agent's position is asked for at once. */
void ab_kafka_positions_begin(ab_kafka_link *l);
/** It is not served any more: the broker need not be asked. */
void ab_kafka_positions_leave(ab_kafka_link *l);
/** Something is in our log that may not be in effect at the agent. */
void ab_kafka_positions_want(ab_kafka_link *l);
/** The agent has returned: perhaps to a position that it had passed before. */
void ab_kafka_positions_return(ab_kafka_link *l);
/** Have the position of an absent agent committed again, when it is time. @return when to look
 * again */
int64_t ab_kafka_positions_look(ab_kafka_link *l, int64_t now);
/** Ask for the positions that are due. */
void ab_kafka_positions_tick(ab_kafka *k);
/** Close the handle; what it was asked is asked again later. */
void ab_kafka_positions_close(ab_kafka *k);
