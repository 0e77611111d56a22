/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "transport/kafka/link_priv.h"

/** PRINCIPAL: what this agent is told from now on. @param why  NULL: it is not refused
 *  @return NOMEM */
AB_MUST_USE ab_err ab_kafka_refusal_set(ab_kafka_link *l, const char *why);
/** AGENT: what a hello says that was written after the principal had ours; "": not refused. */
void ab_kafka_refusal_hear(ab_kafka_link *l, const char *reason);
/** AGENT: the principal refuses us, so that nothing is sent and nothing delivered. */
bool ab_kafka_refusal_is_on(const ab_kafka_link *l);
