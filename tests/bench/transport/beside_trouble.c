/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/transport/beside.h"

#include "tests/bench/base/process.h"
#include "tests/bench/base/topics.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>

#define REQUEST_MS 20000
#define LOOK_MS    5
#define LARGEST    "4194304"
#define ABSENT     2 /* number of the broker that does not run */
#define BROKERS    3
#define ERRORS     100 /* that are kept ready */
#define FETCH      1   /* number of the request in the Kafka protocol */

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "argobus-bench: %s: %s\n", what, why);
    return 1;
}

static void set_health(ab_bench_control *c, ab_bench_health is)
{
    __atomic_store_n(&c->is, is, __ATOMIC_SEQ_CST);
}

static void wait_to_break(ab_bench_control *c)
{
    set_health(c, AB_BENCH_WELL);
    while (!__atomic_load_n(&c->break_now, __ATOMIC_SEQ_CST))
        ab_bench_pause(LOOK_MS);
}

/* --- refused --- */

/* The error of the one topic that a request was about. */
static rd_kafka_resp_err_t read_answer(rd_kafka_event_t *event)
{
    size_t n = 0;
    if (event == NULL)
        return RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return rd_kafka_event_error(event);
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_CREATETOPICS_RESULT)
        return rd_kafka_topic_result_error(
            rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &n)[0]);
    return rd_kafka_ConfigResource_error(
        rd_kafka_AlterConfigs_result_resources(rd_kafka_event_AlterConfigs_result(event), &n)[0]);
}

static bool succeeded(rd_kafka_queue_t *queue, const char *what)
{
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, REQUEST_MS);
    rd_kafka_resp_err_t code = read_answer(event);
    if (event != NULL)
        rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR || fail(what, rd_kafka_err2str(code)) == 0;
}

static int32_t find_broker(rd_kafka_t *rk)
{
    const rd_kafka_metadata_t *metadata = NULL;
    int32_t id = -1;
    if (rd_kafka_metadata(rk, 0, NULL, &metadata, REQUEST_MS) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return id;
    if (metadata->broker_cnt > 0)
        id = metadata->brokers[0].id;
    rd_kafka_metadata_destroy(metadata);
    return id;
}

/* With a second replica at a broker that never runs. */
static bool make_topic(rd_kafka_t *rk, const char *name)
{
    char why[256] = "";
    int32_t replicas[] = {find_broker(rk), ABSENT};
    rd_kafka_NewTopic_t *topic = rd_kafka_NewTopic_new(name, 1, -1, why, sizeof(why));
    if (rd_kafka_NewTopic_set_replica_assignment(topic, 0, replicas, 2, why, sizeof(why)) !=
        RD_KAFKA_RESP_ERR_NO_ERROR)
        return fail("no topic", why) == 0;
    (void)rd_kafka_NewTopic_set_config(topic, "cleanup.policy", "compact");
    (void)rd_kafka_NewTopic_set_config(topic, "max.message.bytes", LARGEST);
    (void)rd_kafka_NewTopic_set_config(topic, "min.insync.replicas", "1");
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_CreateTopics(rk, &topic, 1, NULL, queue);
    bool ok = succeeded(queue, "no topic with a replica at an absent broker 2 (kafka-dev absent)");
    rd_kafka_NewTopic_destroy(topic);
    return ok;
}

/* All settings are given: what is not named becomes the broker's default. */
static bool need_both_replicas(rd_kafka_t *rk, const char *topic)
{
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_ConfigResource_t *r = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
    (void)rd_kafka_ConfigResource_set_config(r, "cleanup.policy", "compact");
    (void)rd_kafka_ConfigResource_set_config(r, "max.message.bytes", LARGEST);
    (void)rd_kafka_ConfigResource_set_config(r, "min.insync.replicas", "2");
    rd_kafka_AlterConfigs(rk, &r, 1, NULL, queue);
    bool ok = succeeded(queue, "the topic's settings stay");
    rd_kafka_ConfigResource_destroy(r);
    return ok;
}

int ab_bench_refuse(const void *arg)
{
    const ab_bench_beside *site = arg;
    ab_bench_control *c = site->control;
    char topic[128];
    (void)snprintf(topic, sizeof(topic), "%s.down.w0.state", site->prefix);
    (void)snprintf(c->address, sizeof(c->address), "%s", site->broker);
    rd_kafka_t *rk = ab_bench_open_client(site->broker);
    if (rk == NULL || !make_topic(rk, topic))
        return 1;
    wait_to_break(c);
    if (!need_both_replicas(rk, topic))
        return 1;
    set_health(c, AB_BENCH_BROKEN);
    for (;;)
        ab_bench_pause(LOOK_MS);
}

/* --- silent --- */

static bool make_topics(rd_kafka_mock_cluster_t *cluster, const ab_bench_beside *site)
{
    static const char *const kinds[] = {"down", "up"};
    static const char *const lanes[] = {"state", "live"};
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    /* The cluster overlooks what it is asked while it returns from the last request, for a second.
     */
    for (unsigned i = 0; i < site->agents * 4 && code == RD_KAFKA_RESP_ERR_NO_ERROR; i++) {
        char topic[128];
        (void)snprintf(topic, sizeof(topic), "%s.%s.w%u.%s", site->prefix, kinds[i & 1], i / 4,
                       lanes[i >> 1 & 1]);
        ab_bench_pause(1);
        code = rd_kafka_mock_topic_create(cluster, topic, 1, 1);
        ab_bench_pause(1);
        /* The first of w0 is alone with its broker. */
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            code = rd_kafka_mock_partition_set_leader(cluster, topic, 0,
                                                      i == 0 ? 1 : 2 + (int32_t)(i / 4 % 2));
    }
    return code == RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Each fetch takes one. */
static void fail_fetches(rd_kafka_mock_cluster_t *cluster)
{
    size_t left = 0;
    (void)rd_kafka_mock_broker_error_stack_cnt(cluster, 1, FETCH, &left);
    for (; left < ERRORS; left++)
        (void)rd_kafka_mock_broker_push_request_error_rtts(
            cluster, 1, FETCH, 1, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, 0);
}

int ab_bench_silence(const void *arg)
{
    const ab_bench_beside *site = arg;
    ab_bench_control *c = site->control;
    char why[256] = "";
    rd_kafka_t *host = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), why, sizeof(why));
    if (host == NULL)
        return fail("no mock cluster", why);
    rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(host, BROKERS);
    if (cluster == NULL || !make_topics(cluster, site))
        return fail("no mock cluster", "it makes no topics");
    (void)snprintf(c->address, sizeof(c->address), "%s", rd_kafka_mock_cluster_bootstraps(cluster));
    wait_to_break(c);
    for (;;) {
        fail_fetches(cluster);
        set_health(c, AB_BENCH_BROKEN);
        ab_bench_pause(LOOK_MS);
    }
}
