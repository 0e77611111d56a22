/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/base/expiry.h"

#include "schema/attributes.h"
#include "tests/bench/base/process.h"

#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <string.h>

#define REQUEST_MS 20000
#define WAIT_NS    (180 * 1000000000LL)
#define LOOK_MS    1000

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "argobus-bench: %s: %s\n", what, why);
    return 1;
}

static rd_kafka_t *open_handle(const char *broker, rd_kafka_type_t type)
{
    char why[256] = "";
    const char *const settings[][2] = {{"bootstrap.servers", broker},
                                       {"group.id", "argobus-bench-expiry"},
                                       {"enable.partition.eof", "true"}};
    size_t count = type == RD_KAFKA_CONSUMER ? 3 : 1;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++)
        ok = rd_kafka_conf_set(conf, settings[i][0], settings[i][1], why, sizeof(why)) ==
             RD_KAFKA_CONF_OK;
    rd_kafka_t *rk = ok ? rd_kafka_new(type, conf, why, sizeof(why)) : NULL;
    if (rk != NULL)
        return rk;
    rd_kafka_conf_destroy(conf);
    (void)fail("no client", why);
    return NULL;
}

/* --- asking the broker --- */

static bool succeeded(rd_kafka_resp_err_t code, const char *what)
{
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        (void)fail(what, rd_kafka_err2str(code));
    return code == RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* What the broker says to one request about one thing. */
static rd_kafka_resp_err_t read_answer(rd_kafka_event_t *event)
{
    size_t n = 0;
    if (event == NULL)
        return RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return rd_kafka_event_error(event);
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_DELETEGROUPS_RESULT) {
        const rd_kafka_group_result_t **groups =
            rd_kafka_DeleteGroups_result_groups(rd_kafka_event_DeleteGroups_result(event), &n);
        const rd_kafka_error_t *error = rd_kafka_group_result_error(groups[0]);
        return error == NULL ? RD_KAFKA_RESP_ERR_NO_ERROR : rd_kafka_error_code(error);
    }
    const rd_kafka_ConfigResource_t **resources =
        rd_kafka_AlterConfigs_result_resources(rd_kafka_event_AlterConfigs_result(event), &n);
    return rd_kafka_ConfigResource_error(resources[0]);
}

static rd_kafka_resp_err_t await(rd_kafka_queue_t *queue)
{
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, REQUEST_MS);
    rd_kafka_resp_err_t code = read_answer(event);
    if (event != NULL)
        rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    return code;
}

/* All that is out of date goes at the next chance; the active segment is never cleaned, so it is
 * closed at the next record. */
static bool hasten(rd_kafka_t *rk, const char *topic)
{
    static const char *const settings[][2] = {
        {"cleanup.policy", "compact"},      {"segment.ms", "100"},
        {"min.cleanable.dirty.ratio", "0"}, {"delete.retention.ms", "0"},
        {"max.message.bytes", "4194304"},
    };
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_ConfigResource_t *r = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        (void)rd_kafka_ConfigResource_set_config(r, settings[i][0], settings[i][1]);
    rd_kafka_AlterConfigs(rk, &r, 1, NULL, queue);
    bool ok = succeeded(await(queue), "the topic's settings stay");
    rd_kafka_ConfigResource_destroy(r);
    return ok;
}

static bool forget_position(rd_kafka_t *rk, const char *group)
{
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_DeleteGroup_t *gone = rd_kafka_DeleteGroup_new(group);
    rd_kafka_DeleteGroups(rk, &gone, 1, NULL, queue);
    bool ok = succeeded(await(queue), "the reader's position stays");
    rd_kafka_DeleteGroup_destroy(gone);
    return ok;
}

/* --- looking at the log --- */

typedef struct {
    size_t records; /* of objects */
    size_t tombstones;
} content;

static void count(const rd_kafka_message_t *m, content *found)
{
    static const char control[] = AB_KEY_CONTROL;
    if (m->key_len >= sizeof(control) - 1 && memcmp(m->key, control, sizeof(control) - 1) == 0)
        return;
    if (m->payload == NULL)
        found->tombstones++;
    else
        found->records++;
}

static bool read_all(rd_kafka_t *rk, content *found)
{
    *found = (content){0};
    for (;;) {
        rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, REQUEST_MS);
        rd_kafka_resp_err_t code = m == NULL ? RD_KAFKA_RESP_ERR__TIMED_OUT : m->err;
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            count(m, found);
        if (m != NULL)
            rd_kafka_message_destroy(m);
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
            return code == RD_KAFKA_RESP_ERR__PARTITION_EOF;
    }
}

static bool look(const ab_bench_expiry *e, content *found)
{
    rd_kafka_t *rk = open_handle(e->broker, RD_KAFKA_CONSUMER);
    if (rk == NULL)
        return false;
    rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(all, e->topic, 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
    bool ok = rd_kafka_assign(rk, all) == RD_KAFKA_RESP_ERR_NO_ERROR && read_all(rk, found);
    rd_kafka_topic_partition_list_destroy(all);
    (void)rd_kafka_consumer_close(rk);
    rd_kafka_destroy(rk);
    return ok;
}

static int wait_until_clean(const ab_bench_expiry *e)
{
    content found = {0};
    int64_t end = ab_bench_now_ns() + WAIT_NS;
    while (look(e, &found) && ab_bench_now_ns() < end) {
        if (found.tombstones == 0 && found.records == e->left)
            return 0;
        ab_bench_pause(LOOK_MS);
    }
    fprintf(stderr, "argobus-bench: %s still has %zu records and %zu tombstones, not %zu and 0\n",
            e->topic, found.records, found.tombstones, e->left);
    return 1;
}

static int expire(const void *arg)
{
    const ab_bench_expiry *e = arg;
    rd_kafka_t *rk = open_handle(e->broker, RD_KAFKA_PRODUCER);
    if (rk == NULL)
        return 1;
    bool ok = hasten(rk, e->topic) && forget_position(rk, e->group);
    rd_kafka_destroy(rk);
    return ok ? wait_until_clean(e) : 1;
}

bool ab_bench_expire(const ab_bench_expiry *e)
{
    return ab_bench_wait(ab_bench_fork(expire, e));
}
