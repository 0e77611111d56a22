/* SPDX-License-Identifier: Apache-2.0
 *
 * The topics of agents that are gone for good; one agent at a time.
 */
#pragma once

#include "transport/kafka/link_priv.h"

/** Delete the topics of this link, from the next tick on; a few times, if need be. It need not be
 * served any more. */
void ab_kafka_removal_want(ab_kafka_link *l);
/** The agent is served again. What is not deleted yet stays, save for what is under way. */
void ab_kafka_removal_call_off(ab_kafka *k, const char *agent);
/** True while a deletion of this agent's topics is under way. */
bool ab_kafka_removal_holds(const ab_kafka *k, const char *agent);
/** Begin with the one that is due, unless one, or a topic check, runs. */
void ab_kafka_removal_start(ab_kafka *k);
/** Log what stays behind, and forget about it. */
void ab_kafka_removal_leave(ab_kafka *k);
