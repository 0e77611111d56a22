/* SPDX-License-Identifier: Apache-2.0
 *
 * What the broker knows about links; one topic check at a time, each for many links.
 */
#pragma once

#include "transport/kafka/link_priv.h"

/** Put the link among those that are due, when it is. @return when to look again */
int64_t ab_kafka_topic_check_look(ab_kafka_link *l, int64_t now);
/** Start one for the links that are due, unless one runs. */
void ab_kafka_topic_check_start(ab_kafka *k);

/* What one has found of a link. */
typedef struct {
    int64_t committed; /* of the group, in state; negative = none */
    int64_t in_low;
    int64_t in_high;
    int64_t in_sent; /* the peer had written up to here before, as it says; -1 = not known */
    int64_t in_live_high;
    int64_t out_low;
    int64_t out_high;
} ab_kafka_findings;
