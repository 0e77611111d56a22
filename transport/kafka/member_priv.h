/* SPDX-License-Identifier: Apache-2.0
 *
 * AGENT only: the reader of the live topic.
 */
#pragma once

#include "transport/kafka/link_priv.h"

/** It has not joined. */
void ab_kafka_member_init(ab_kafka *k);
/** Join the group that reads the live topic, from this offset on. @return CONFIG, FATAL, NOMEM,
 * UNAVAILABLE */
AB_MUST_USE ab_err ab_kafka_member_open(ab_kafka *k, int64_t from, ab_error *err);
/** Leave it. */
void ab_kafka_member_close(ab_kafka *k);
/** Join again after a failure; see whether the process that displaced us has gone. */
void ab_kafka_member_tick(ab_kafka *k);
