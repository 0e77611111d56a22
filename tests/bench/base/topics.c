/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/base/topics.h"

#include "schema/topics.h"
#include "tests/bench/base/process.h"
#include "tests/bench/base/settings.h"
#include "transport/kafka/client/topics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUEST_MS      60000
#define TOPICS_MAX      20000
#define TOPICS_OF_AGENT 4
#define AT_ONCE         500
#define MADE_AT_ONCE    100
#define MAKE_NS         (60 * 1000000000LL)
#define LOOK_MS         50
#define MAKE_MAX_S      1800

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

/* --- making them --- */

/* As the principal makes them. */
static bool read_settings(const ab_bench_topics *t, ab_kafka_settings *out)
{
    static ab_bench_settings set;
    ab_config *config = NULL;
    ab_error err = {0};
    ab_bench_set(&set, "transport=kafka");
    ab_bench_set(&set, "kafka.brokers=%s", t->broker);
    ab_bench_set(&set, "kafka.insecure=true");
    ab_bench_set(&set, "kafka.prefix=%s", t->prefix);
    ab_bench_set(&set, "kafka.replication-factor=1");
    ab_bench_set(&set, "kafka.min-insync-replicas=1");
    ab_err e = ab_bench_settings_load(&set, &config, &err);
    const ab_transport_env env = {.config = config, .role = AB_ROLE_PRINCIPAL};
    if (e == AB_ERR_OK)
        e = ab_kafka_settings_init(out, &env, &err);
    if (e != AB_ERR_OK)
        (void)fail("settings", err.text);
    return e == AB_ERR_OK;
}

static bool are_usable(const ab_kafka_topic_state *topics, size_t count)
{
    size_t usable = 0;
    for (size_t i = 0; i < count; i++)
        usable += topics[i].usable ? 1 : 0;
    return usable == count;
}

static bool make_some(const ab_kafka_settings *s, rd_kafka_t *rk, ab_kafka_topic_state *topics,
                      size_t count)
{
    int64_t end = ab_bench_now_ns() + MAKE_NS;
    ab_error err = {0};
    while (ab_bench_now_ns() < end) {
        ab_err e = ab_kafka_topics_inspect(s, rk, topics, count, &err);
        if (e == AB_ERR_OK && are_usable(topics, count))
            return true;
        if (e == AB_ERR_OK)
            ab_kafka_topics_make(s, rk, topics, count);
        ab_bench_pause(LOOK_MS);
    }
    (void)fail("topics are not made in time", topics[0].name);
    return false;
}

/* With a client of its own, which asks for no other topics than these. */
static bool make_batch(const ab_bench_topics *t, const ab_kafka_settings *s,
                       ab_kafka_topic_state *topics, size_t count)
{
    rd_kafka_t *rk = ab_bench_open_client(t->broker);
    bool ok = rk != NULL && make_some(s, rk, topics, count);
    if (rk != NULL)
        rd_kafka_destroy(rk);
    return ok;
}

static bool name_topics(const ab_bench_topics *t, ab_kafka_topic_state *topics,
                        char (*names)[AB_TOPIC_NAME_MAX])
{
    bool ok = true;
    for (size_t i = 0; i < t->agents * TOPICS_OF_AGENT && ok; i++) {
        char agent[16];
        bool live = i % 2 == 1;
        (void)snprintf(agent, sizeof(agent), "w%zu", i / TOPICS_OF_AGENT);
        topics[i] = (ab_kafka_topic_state){.name = names[i], .agent = "", .live = live};
        ok = ab_topic_format(t->prefix, i / 2 % 2 == 0 ? AB_DOWN : AB_UP, agent, live, names[i]);
    }
    return ok;
}

static int make_all(const void *arg)
{
    const ab_bench_topics *t = arg;
    (void)alarm(MAKE_MAX_S);
    size_t count = t->agents * TOPICS_OF_AGENT;
    ab_kafka_settings settings = {0};
    ab_kafka_topic_state *topics = calloc(count, sizeof(*topics));
    char(*names)[AB_TOPIC_NAME_MAX] = calloc(count, sizeof(*names));
    bool ok = topics != NULL && names != NULL && read_settings(t, &settings) &&
              name_topics(t, topics, names);
    for (size_t i = 0; i < count && ok; i += MADE_AT_ONCE) {
        size_t left = count - i;
        ok = make_batch(t, &settings, &topics[i], left < MADE_AT_ONCE ? left : MADE_AT_ONCE);
    }
    return ok ? 0 : 1;
}

bool ab_bench_topics_make(const ab_bench_topics *t)
{
    return ab_bench_wait(ab_bench_fork(make_all, t));
}
