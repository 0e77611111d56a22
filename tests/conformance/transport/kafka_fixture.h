/* SPDX-License-Identifier: Apache-2.0
 *
 * The Kafka transport put to the test: each test has topics and groups of its own on the real
 * broker.
 */
#pragma once

#include "tests/conformance/transport/ends.h"
#include "tests/support/kafka/broker.h"

typedef struct {
    ab_ends_fixture base; /* first */
    ab_options tables[2];
} ab_kafka_fixture;

/** Fill it in; it must outlive the tests. */
void ab_kafka_fixture_init(ab_kafka_fixture *fixture);

/** The administrator's client of these ends. */
rd_kafka_t *ab_kafka_admin(const ab_ends *ends);
/** kafka.prefix of these ends. */
const char *ab_kafka_prefix(const ab_ends *ends);

#define AB_KAFKA_TOPIC_MAX 250
/** Full name of a topic of these ends: `rest` is e.g. "up.w1.state". Gives `out` back. */
const char *ab_kafka_topic_name(const ab_ends *ends, const char *rest,
                                char out[AB_KAFKA_TOPIC_MAX]);
/** Make the four topics of an agent, as an administrator would. */
void ab_kafka_make_topics(const ab_ends *ends, const char *agent);
/** The position that a group of these ends, e.g. "agent.w1", has committed in a topic of theirs;
 * negative = none. */
int64_t ab_kafka_committed(const ab_ends *ends, const char *group, const char *topic);
