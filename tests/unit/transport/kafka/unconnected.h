/* SPDX-License-Identifier: Apache-2.0
 *
 * A Kafka transport with one link, to agent w1, and no broker: what librdkafka is given stays with
 * it.
 */
#pragma once

#include "transport/kafka/kafka_priv.h"

typedef struct {
    uv_loop_t loop;
    ab_config *config;
    ab_kafka kafka;
    ab_kafka_link *link;
} ab_unconnected;

/** @param set  configuration beside the broker, ended by NULL; NULL = none */
void ab_unconnected_open(ab_unconnected *u, const char *const *set);
/** Run the loop until `holds`; the test fails when it does not within 30 s. */
void ab_unconnected_until(ab_unconnected *u, bool (*holds)(void *arg), void *arg);
/** Once handles and links that the test added are closed. */
void ab_unconnected_close(ab_unconnected *u);
