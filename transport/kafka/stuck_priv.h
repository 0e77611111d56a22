/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells in the log that a link's topic takes no events, and that it takes some again.
 */
#pragma once

#include "transport/kafka/kafka_priv.h"

/** While the share of the link's state is stuck. @return when to look again */
int64_t ab_kafka_stuck_look(ab_kafka_link *l, int64_t now);
/** An event of its state was confirmed. */
void ab_kafka_stuck_end(ab_kafka_link *l);
