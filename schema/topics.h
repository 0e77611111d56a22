/* SPDX-License-Identifier: Apache-2.0
 *
 * Kafka topic and group names: <prefix>.<down|up>.<agent>.<state|live>. Agent names are DNS-1123
 * labels, so the dot delimits without ambiguity.
 */
#pragma once

#include "schema/catalogue.h"

/* Longest legal Kafka topic name is 249. */
#define AB_TOPIC_NAME_MAX 250

/** Format a topic name. @return false when prefix or agent make no legal name (then `out` is empty)
 */
bool ab_topic_format(const char *prefix, ab_direction direction, const char *agent, bool live,
                     char out[AB_TOPIC_NAME_MAX]);
/** Take a topic name apart; `agent` gets the NUL-terminated label (64 bytes are enough).
 *  @return false when it is none of ours under this prefix */
bool ab_topic_parse(const char *prefix, const char *topic, ab_direction *direction, char agent[64],
                    bool *live);
/** "<prefix>.agent.<agent>", the consumer group of an agent. @return false when it makes no legal
 * name */
bool ab_group_agent(const char *prefix, const char *agent, char out[AB_TOPIC_NAME_MAX]);
/** "<prefix>.agent.<agent>.live", the group whose one member is the agent. @return as
 * ab_group_agent
 */
bool ab_group_agent_live(const char *prefix, const char *agent, char out[AB_TOPIC_NAME_MAX]);
/** "<prefix>.principal". */
bool ab_group_principal(const char *prefix, char out[AB_TOPIC_NAME_MAX]);
