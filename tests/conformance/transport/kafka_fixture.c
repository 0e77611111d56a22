/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/transport/kafka_fixture.h"

#include "transport/kafka/kafka.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* Larger ones are TOOBIG. */
#define EVENT_MAX (256 * 1024)

typedef struct {
    rd_kafka_t *admin;
    char prefix[64];
} lab;

static void open_topics(ab_ends *ends)
{
    static int number;
    lab *own = calloc(1, sizeof(*own));
    assert_non_null(own);
    ends->state = own;
    own->admin = ab_broker_admin_new();
    snprintf(own->prefix, sizeof(own->prefix), "test-%d-%d", (int)getpid(), ++number);
    char address[32];
    ab_broker_address("plain", address);
    ab_ends_set(ends, "kafka.brokers=%s", address);
    ab_ends_set(ends, "kafka.insecure=true");
    ab_ends_set(ends, "kafka.prefix=%s", own->prefix);
    ab_ends_set(ends, "kafka.topics=create");
    ab_ends_set(ends, "kafka.replication-factor=1");
    ab_ends_set(ends, "kafka.min-insync-replicas=1");
    ab_ends_set(ends, "kafka.message-max=%d", EVENT_MAX);
    ab_ends_set(ends, "kafka.commit-interval=100ms");
    ab_ends_set(ends, "kafka.linger=0ms");
    ab_ends_set(ends, "transport.heartbeat=200ms");
}

static void close_topics(ab_ends *ends)
{
    lab *own = ends->state;
    rd_kafka_destroy(own->admin);
    free(own);
}

static const ab_transport_ops *ops(ab_ends *ends)
{
    (void)ends;
    return &ab_kafka_transport;
}

void ab_kafka_fixture_init(ab_kafka_fixture *fixture)
{
    fixture->tables[0] = ab_transport_options;
    fixture->tables[1] = *ab_kafka_transport.options[0];
    fixture->base = (ab_ends_fixture){
        .name = "kafka",
        .event_max = EVENT_MAX,
        .broker = true,
        .small_queue = "kafka.queue=256KiB",
        .tables = fixture->tables,
        .table_count = 2,
        .open = open_topics,
        .close = close_topics,
        .ops = ops,
    };
}

rd_kafka_t *ab_kafka_admin(const ab_ends *ends)
{
    const lab *own = ends->state;
    return own->admin;
}

const char *ab_kafka_prefix(const ab_ends *ends)
{
    const lab *own = ends->state;
    return own->prefix;
}

const char *ab_kafka_topic_name(const ab_ends *ends, const char *rest, char out[AB_KAFKA_TOPIC_MAX])
{
    int len = snprintf(out, AB_KAFKA_TOPIC_MAX, "%s.%s", ab_kafka_prefix(ends), rest);
    assert_in_range(len, 1, AB_KAFKA_TOPIC_MAX - 1);
    return out;
}

void ab_kafka_make_topics(const ab_ends *ends, const char *agent)
{
    static const char *const ways[] = {"down", "up"};
    for (size_t i = 0; i < 2; i++) {
        char rest[128];
        char topic[AB_KAFKA_TOPIC_MAX];
        snprintf(rest, sizeof(rest), "%s.%s.state", ways[i], agent);
        ab_broker_topic_create(ab_kafka_admin(ends), ab_kafka_topic_name(ends, rest, topic), 1,
                               "compact");
        snprintf(rest, sizeof(rest), "%s.%s.live", ways[i], agent);
        ab_broker_topic_create(ab_kafka_admin(ends), ab_kafka_topic_name(ends, rest, topic), 1,
                               "delete");
    }
}

int64_t ab_kafka_committed(const ab_ends *ends, const char *group, const char *topic)
{
    char name[AB_KAFKA_TOPIC_MAX];
    char full[AB_KAFKA_TOPIC_MAX];
    rd_kafka_t *admin = ab_kafka_admin(ends);
    rd_kafka_topic_partition_list_t *asked = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(asked, ab_kafka_topic_name(ends, topic, full), 0);
    rd_kafka_ListConsumerGroupOffsets_t *request =
        rd_kafka_ListConsumerGroupOffsets_new(ab_kafka_topic_name(ends, group, name), asked);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(admin);
    rd_kafka_ListConsumerGroupOffsets(admin, &request, 1, NULL, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 120000);
    assert_non_null(event);
    size_t count = 0;
    const rd_kafka_group_result_t **groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
        rd_kafka_event_ListConsumerGroupOffsets_result(event), &count);
    assert_int_equal(count, 1);
    const rd_kafka_topic_partition_list_t *found = rd_kafka_group_result_partitions(groups[0]);
    int64_t position = found == NULL || found->cnt == 0 ? -1 : found->elems[0].offset;
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_ListConsumerGroupOffsets_destroy(request);
    rd_kafka_topic_partition_list_destroy(asked);
    return position;
}
