/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "transport/kafka/link_priv.h"

/** No handle yet. */
void ab_kafka_live_init(ab_kafka *k);
/** PRINCIPAL: one handle at once, so that topic checks have one to prepare. @return CONFIG, FATAL,
 * NOMEM
 */
AB_MUST_USE ab_err ab_kafka_live_start(ab_kafka *k, ab_error *err);
/** Read the peer's live topic, from this offset on. @return CONFIG, FATAL, NOMEM, UNAVAILABLE */
AB_MUST_USE ab_err ab_kafka_live_open(ab_kafka_link *l, int64_t from, ab_error *err);
/** Stop reading it. */
void ab_kafka_live_close(ab_kafka_link *l);
