/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/topics.h"

#include "tests/bench/process.h"

#include <stdio.h>
#include <string.h>

#define REQUEST_MS 60000
#define TOPICS_MAX 20000
#define AT_ONCE    500

typedef struct {
    rd_kafka_DeleteTopic_t *topic[TOPICS_MAX];
    size_t count;
} list;

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "argobus-bench: %s: %s\n", what, why);
    return 1;
}

rd_kafka_t *ab_bench_open_client(const char *broker)
{
    char why[256] = "";
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_t *rk = NULL;
    if (rd_kafka_conf_set(conf, "bootstrap.servers", broker, why, sizeof(why)) == RD_KAFKA_CONF_OK)
        rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof(why));
    if (rk != NULL)
        return rk;
    rd_kafka_conf_destroy(conf);
    (void)fail("no client", why);
    return NULL;
}

static bool is_of(const char *topic, const char *prefix)
{
    size_t len = strlen(prefix);
    return strncmp(topic, prefix, len) == 0 && topic[len] == '.';
}

static rd_kafka_resp_err_t find(rd_kafka_t *rk, const char *prefix, list *out)
{
    const struct rd_kafka_metadata *all = NULL;
    rd_kafka_resp_err_t code = rd_kafka_metadata(rk, 1, NULL, &all, REQUEST_MS);
    for (int i = 0; code == RD_KAFKA_RESP_ERR_NO_ERROR && i < all->topic_cnt; i++)
        if (is_of(all->topics[i].topic, prefix) && out->count < TOPICS_MAX)
            out->topic[out->count++] = rd_kafka_DeleteTopic_new(all->topics[i].topic);
    if (all != NULL)
        rd_kafka_metadata_destroy(all);
    return code;
}

static rd_kafka_resp_err_t read_answers(rd_kafka_event_t *event)
{
    size_t n = 0;
    if (event == NULL)
        return RD_KAFKA_RESP_ERR__TIMED_OUT;
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    const rd_kafka_DeleteTopics_result_t *result = rd_kafka_event_DeleteTopics_result(event);
    const rd_kafka_topic_result_t **each = rd_kafka_DeleteTopics_result_topics(result, &n);
    for (size_t i = 0; i < n && code == RD_KAFKA_RESP_ERR_NO_ERROR; i++)
        code = rd_kafka_topic_result_error(each[i]);
    return code;
}

static rd_kafka_resp_err_t delete_some(rd_kafka_t *rk, rd_kafka_DeleteTopic_t **topics,
                                       size_t count)
{
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_DeleteTopics(rk, topics, count, NULL, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, REQUEST_MS);
    rd_kafka_resp_err_t code = read_answers(event);
    if (event != NULL)
        rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    return code;
}

static rd_kafka_resp_err_t delete_them(rd_kafka_t *rk, list *topics)
{
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    for (size_t i = 0; i < topics->count && code == RD_KAFKA_RESP_ERR_NO_ERROR; i += AT_ONCE) {
        size_t left = topics->count - i;
        code = delete_some(rk, &topics->topic[i], left < AT_ONCE ? left : AT_ONCE);
    }
    return code;
}

static int delete_all(const void *arg)
{
    const ab_bench_topics *t = arg;
    static list topics;
    rd_kafka_t *rk = ab_bench_open_client(t->broker);
    if (rk == NULL)
        return 1;
    rd_kafka_resp_err_t code = find(rk, t->prefix, &topics);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        code =
            topics.count == 0 ? RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART : delete_them(rk, &topics);
    rd_kafka_DeleteTopic_destroy_array(topics.topic, topics.count);
    rd_kafka_destroy(rk);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR
               ? 0
               : fail("topics cannot be deleted", rd_kafka_err2str(code));
}

bool ab_bench_topics_delete(const ab_bench_topics *t)
{
    return ab_bench_wait(ab_bench_fork(delete_all, t));
}
