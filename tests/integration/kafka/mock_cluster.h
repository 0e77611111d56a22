/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends of the Kafka transport on librdkafka's mock cluster, which shows faults that a real broker
 * does not show on demand. It has no admin requests, so the topics are external. Every failure
 * fails the test.
 */
#pragma once

#include "tests/conformance/transport/ends.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#define AB_MOCK_BROKERS 3

/* Numbers of requests in the Kafka protocol. */
enum {
    AB_MOCK_PRODUCE = 0,
    AB_MOCK_FETCH = 1,
    AB_MOCK_LIST_OFFSETS = 2,
    AB_MOCK_OFFSET_COMMIT = 8,
    AB_MOCK_OFFSET_FETCH = 9,
    AB_MOCK_FIND_COORDINATOR = 10
};

typedef struct {
    ab_ends_fixture base; /* first */
    ab_options tables[2];
} ab_mock_fixture;

/** Fill it in; it must outlive the tests.
 * @param name  a literal
 * @param open  calls ab_mock_open */
void ab_mock_fixture_init(ab_mock_fixture *fixture, const char *name, void (*open)(ab_ends *ends));
/** The cluster, with the topics of w1 to w<agents>, and the settings for it.
 * @param leader  broker that leads all topics; 0: any, for each */
void ab_mock_open(ab_ends *ends, unsigned agents, int32_t leader);
rd_kafka_mock_cluster_t *ab_mock_cluster(const ab_ends *ends);
/** Let a broker lead a topic, e.g. "down.w1.state"; -1: none does. */
void ab_mock_lead(const ab_ends *ends, const char *topic, int32_t broker);
/** From now on this broker answers such requests with an error, for longer than a test runs, and
 * each of them so many milliseconds late. */
void ab_mock_fail(const ab_ends *ends, int32_t broker, int16_t request, rd_kafka_resp_err_t code,
                  int late_ms);
/** From now on this broker takes requests and answers none. */
void ab_mock_silence(const ab_ends *ends, int32_t broker);
/** Let a broker coordinate a group, e.g. "principal". */
void ab_mock_coordinate(const ab_ends *ends, const char *group, int32_t broker);
