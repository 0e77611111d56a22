/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "transport/kafka/topic_check_priv.h"

/** No handle yet: see ab_kafka_group_start. */
void ab_kafka_consumer_init(ab_kafka *k);
/** Name what is to be received, from the position that follows from the findings: it begins with
 * ab_kafka_group_assign_all. @return CONFIG, FATAL, NOMEM, UNAVAILABLE */
AB_MUST_USE ab_err ab_kafka_consumer_assign(ab_kafka_link *l, const ab_kafka_findings *f,
                                            ab_error *err);
/** What was assigned is received from now on; tells of a gap. */
void ab_kafka_consumer_begin(ab_kafka_link *l, const ab_kafka_findings *f);
/** Stop receiving. */
void ab_kafka_consumer_remove(ab_kafka_link *l);
/** Bring the lag gauges up to date. */
void ab_kafka_consumer_measure(ab_kafka *k);
