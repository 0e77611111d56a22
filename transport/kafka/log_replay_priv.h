/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "transport/kafka/topic_check_priv.h"

/** Read our own log to its end: from the findings of a topic check. @return NOMEM */
AB_MUST_USE ab_err ab_kafka_log_replay_start(ab_kafka_link *l, const ab_kafka_findings *f,
                                             ab_error *err);
/** Stop reading it. */
void ab_kafka_log_replay_stop(ab_kafka_link *l);
/** Take up links that waited for their turn; close the reader when it has nothing to do. */
void ab_kafka_log_replay_run(ab_kafka *k);
/** Defer the link when its log stays silent. @return when to look again */
int64_t ab_kafka_log_replay_look(ab_kafka_link *l, int64_t now);
