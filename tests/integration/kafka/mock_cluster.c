/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/integration/kafka/mock_cluster.h"

#include "transport/kafka/kafka.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define FAILURES  1000
#define SILENT_MS 3600000 /* longer than a test runs */

typedef struct {
    rd_kafka_t *host; /* the cluster lives in it */
    rd_kafka_mock_cluster_t *cluster;
} mock;

/* The thread of the cluster looks for a request like this one, then reads the byte that woke it:
 * what comes between the two is not seen for a second. So it is given time to wait again. */
static void let_it_wait(void)
{
    (void)poll(NULL, 0, 1);
}

static void lead(const mock *m, const char *topic, int32_t broker)
{
    let_it_wait();
    assert_int_equal(rd_kafka_mock_partition_set_leader(m->cluster, topic, 0, broker),
                     RD_KAFKA_RESP_ERR_NO_ERROR);
}

static void make_topics(const mock *m, unsigned agents, int32_t leader)
{
    for (unsigned i = 0; i < 4 * agents; i++) {
        char topic[64];
        snprintf(topic, sizeof(topic), "mock.%s.w%u.%s", i % 2 == 0 ? "down" : "up", i / 4 + 1,
                 i / 2 % 2 == 0 ? "state" : "live");
        let_it_wait();
        assert_int_equal(rd_kafka_mock_topic_create(m->cluster, topic, 1, AB_MOCK_BROKERS),
                         RD_KAFKA_RESP_ERR_NO_ERROR);
        if (leader > 0)
            lead(m, topic, leader);
    }
}

static void set_all(ab_ends *ends, const char *brokers)
{
    ab_ends_set(ends, "kafka.brokers=%s", brokers);
    ab_ends_set(ends, "kafka.insecure=true");
    ab_ends_set(ends, "kafka.prefix=mock");
    ab_ends_set(ends, "kafka.topics=external");
    ab_ends_set(ends, "kafka.commit-interval=100ms");
    ab_ends_set(ends, "kafka.linger=0ms");
    ab_ends_set(ends, "transport.heartbeat=200ms");
    /* The mock does not check sequences: with several requests under way it takes a later batch for
     * the answer to one that it has lost. */
    ab_ends_set(ends, "kafka.librdkafka.max.in.flight=1");
    ab_ends_set(ends, "kafka.librdkafka.reconnect.backoff.max.ms=200");
    ab_ends_set(ends, "kafka.librdkafka.topic.metadata.refresh.interval.ms=500");
}

void ab_mock_open(ab_ends *ends, unsigned agents, int32_t leader)
{
    mock *m = calloc(1, sizeof(*m));
    assert_non_null(m);
    ends->state = m;
    char why[512];
    m->host = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), why, sizeof(why));
    assert_non_null(m->host);
    m->cluster = rd_kafka_mock_cluster_new(m->host, AB_MOCK_BROKERS);
    assert_non_null(m->cluster);
    make_topics(m, agents, leader);
    set_all(ends, rd_kafka_mock_cluster_bootstraps(m->cluster));
}

static void close_cluster(ab_ends *ends)
{
    mock *m = ends->state;
    rd_kafka_mock_cluster_destroy(m->cluster);
    rd_kafka_destroy(m->host);
    free(m);
}

static const ab_transport_ops *ops(ab_ends *ends)
{
    (void)ends;
    return &ab_kafka_transport;
}

void ab_mock_fixture_init(ab_mock_fixture *fixture, const char *name, void (*open)(ab_ends *ends))
{
    fixture->tables[0] = ab_transport_options;
    fixture->tables[1] = *ab_kafka_transport.options[0];
    fixture->base = (ab_ends_fixture){
        .name = name,
        .tables = fixture->tables,
        .table_count = 2,
        .open = open,
        .close = close_cluster,
        .ops = ops,
    };
}

rd_kafka_mock_cluster_t *ab_mock_cluster(const ab_ends *ends)
{
    const mock *m = ends->state;
    return m->cluster;
}

void ab_mock_lead(const ab_ends *ends, const char *topic, int32_t broker)
{
    char name[64];
    snprintf(name, sizeof(name), "mock.%s", topic);
    lead(ends->state, name, broker);
}

void ab_mock_fail(const ab_ends *ends, int32_t broker, int16_t request, rd_kafka_resp_err_t code,
                  int late_ms)
{
    for (int n = 0; n < FAILURES; n++)
        assert_int_equal(rd_kafka_mock_broker_push_request_error_rtts(ab_mock_cluster(ends), broker,
                                                                      request, 1, code, late_ms),
                         RD_KAFKA_RESP_ERR_NO_ERROR);
}

void ab_mock_silence(const ab_ends *ends, int32_t broker)
{
    assert_int_equal(rd_kafka_mock_broker_set_rtt(ab_mock_cluster(ends), broker, SILENT_MS),
                     RD_KAFKA_RESP_ERR_NO_ERROR);
}

void ab_mock_coordinate(const ab_ends *ends, const char *group, int32_t broker)
{
    char name[64];
    snprintf(name, sizeof(name), "mock.%s", group);
    assert_int_equal(rd_kafka_mock_coordinator_set(ab_mock_cluster(ends), "group", name, broker),
                     RD_KAFKA_RESP_ERR_NO_ERROR);
}
