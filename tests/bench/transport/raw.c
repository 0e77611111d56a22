/* SPDX-License-Identifier: Apache-2.0
 *
 * librdkafka alone: the limit that our transport is measured against. Its defaults, save for what
 * the transport has too: all in-sync replicas, idempotence, compression, no linger, and a topic
 * like ours, since the broker compacts it while it is written.
 * Records have the same keys and values, and no headers; those of raw.headers have what of one of
 * our events the CloudEvents binding wants as headers: what no event in binary mode goes without.
 */
#include "tests/bench/transport/run.h"

#include "event/codec_kafka.h"
#include "schema/attributes.h"
#include "tests/bench/base/process.h"
#include "tests/bench/transport/event.h"

#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 30000

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "raw: %s: %s\n", what, why);
    return 1;
}

static int fail_code(const char *what, rd_kafka_resp_err_t code)
{
    return fail(what, rd_kafka_err2str(code));
}

typedef struct {
    const char *key;
    const char *value;
} setting;

typedef char topic_name[sizeof(((ab_bench_run *)NULL)->name) + sizeof(".raw")];

static void name_topic(const ab_bench_run *run, topic_name out)
{
    (void)snprintf(out, sizeof(topic_name), "%s.raw", run->name);
}

static rd_kafka_t *open_handle(const ab_bench_run *run, rd_kafka_type_t type, const setting *rows,
                               size_t count)
{
    char why[256] = "";
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    bool ok = rd_kafka_conf_set(conf, "bootstrap.servers", run->broker, why, sizeof(why)) ==
              RD_KAFKA_CONF_OK;
    for (size_t i = 0; i < count && ok; i++)
        ok = rd_kafka_conf_set(conf, rows[i].key, rows[i].value, why, sizeof(why)) ==
             RD_KAFKA_CONF_OK;
    rd_kafka_t *rk = ok ? rd_kafka_new(type, conf, why, sizeof(why)) : NULL;
    if (rk == NULL) {
        rd_kafka_conf_destroy(conf);
        (void)fail("no client", why);
    }
    return rk;
}

/* --- the sending process --- */

/* librdkafka wants pointers that are not const, and copies. */
static void *unconst(const char *ptr)
{
    union {
        const char *in;
        void *out;
    } u = {.in = ptr};
    return u.out;
}

static bool is_required(ab_str name)
{
    return ab_str_is(name, "ce_id") || ab_str_is(name, "ce_source") ||
           ab_str_is(name, "ce_specversion") || ab_str_is(name, "ce_type") ||
           ab_str_is(name, "content-type");
}

static rd_kafka_headers_t *make_headers(const ab_record *record)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(record->header_count);
    for (size_t i = 0; i < record->header_count; i++) {
        const ab_header *h = &record->headers[i];
        if (is_required(h->name)) /* adding fails only to read-only ones */
            (void)rd_kafka_header_add(headers, h->name.ptr, (ssize_t)h->name.len, h->value.ptr,
                                      (ssize_t)h->value.len);
    }
    return headers;
}

/* Those of the run's first event. */
static rd_kafka_headers_t *sample_headers(const ab_bench_run *run)
{
    ab_error err = {0};
    ab_event *event = NULL;
    if (ab_bench_event(run->pool, 0, AB_SOURCE_PRINCIPAL, 1, &event, &err) != AB_ERR_OK) {
        (void)fail("no event", err.text);
        return NULL;
    }
    ab_record record;
    ab_kafka_encode(event, &record);
    rd_kafka_headers_t *headers = make_headers(&record);
    ab_event_unref(event);
    return headers;
}

/* @param sample  copied; NULL = no headers */
static rd_kafka_resp_err_t produce(rd_kafka_t *rk, rd_kafka_topic_t *topic, ab_str data,
                                   const char *key, const rd_kafka_headers_t *sample)
{
    rd_kafka_headers_t *headers = sample == NULL ? NULL : rd_kafka_headers_copy(sample);
    const rd_kafka_vu_t parts[] = {
        {.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = topic},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = 0},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {unconst(key), strlen(key)}},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {unconst(data.ptr), data.len}},
        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers},
    };
    const size_t count = sizeof(parts) / sizeof(parts[0]) - (headers == NULL ? 1 : 0);
    rd_kafka_error_t *failed = rd_kafka_produceva(rk, parts, count);
    rd_kafka_resp_err_t code = rd_kafka_error_code(failed);
    if (failed != NULL && headers != NULL)
        rd_kafka_headers_destroy(headers);
    rd_kafka_error_destroy(failed);
    return code;
}

static rd_kafka_resp_err_t send_one(rd_kafka_t *rk, rd_kafka_topic_t *topic,
                                    const ab_bench_run *run, size_t i,
                                    const rd_kafka_headers_t *sample)
{
    char key[32];
    ab_bench_key(i, key);
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__QUEUE_FULL;
    while (code == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
        code = produce(rk, topic, ab_bench_pool_at(run->pool, i), key, sample);
        rd_kafka_poll(rk, code == RD_KAFKA_RESP_ERR__QUEUE_FULL ? 10 : 0);
    }
    return code;
}

static bool wait_go(const ab_bench_run *run)
{
    uint64_t count = 0;
    return read(run->go_fd, &count, sizeof(count)) == sizeof(count);
}

static rd_kafka_resp_err_t send_all(rd_kafka_t *rk, rd_kafka_topic_t *topic,
                                    const ab_bench_run *run, const rd_kafka_headers_t *sample)
{
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    for (size_t i = 0; i < run->count && code == RD_KAFKA_RESP_ERR_NO_ERROR; i++) {
        ab_bench_sending(run, i);
        code = send_one(rk, topic, run, i, sample);
        if (run->one_by_one && !wait_go(run))
            return RD_KAFKA_RESP_ERR__FAIL;
    }
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? rd_kafka_flush(rk, WAIT_MS) : code;
}

/* A topic that the client does not know yet would cost the first record a second. */
static bool learn_topic(rd_kafka_t *rk, rd_kafka_topic_t *topic)
{
    const struct rd_kafka_metadata *metadata = NULL;
    bool found = false;
    int64_t end = ab_bench_now_ns() + WAIT_MS * 1000000LL;
    while (!found && ab_bench_now_ns() < end) {
        if (rd_kafka_metadata(rk, 0, topic, &metadata, WAIT_MS) != RD_KAFKA_RESP_ERR_NO_ERROR)
            return false;
        const struct rd_kafka_metadata_topic *t = &metadata->topics[0];
        found = t->partition_cnt == 1 && t->partitions[0].leader >= 0;
        rd_kafka_metadata_destroy(metadata);
        if (!found)
            ab_bench_pause(20);
    }
    return found;
}

static int send_with(const ab_bench_run *run, const rd_kafka_headers_t *sample)
{
    const setting rows[] = {
        {"enable.idempotence", "true"},          {"acks", "all"},    {"compression.type", "lz4"},
        {"queue.buffering.max.kbytes", "65536"}, {"linger.ms", "0"},
    };
    rd_kafka_t *rk = open_handle(run, RD_KAFKA_PRODUCER, rows, sizeof(rows) / sizeof(rows[0]));
    if (rk == NULL)
        return 1;
    topic_name name;
    name_topic(run, name);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, name, NULL);
    if (!wait_go(run) || !learn_topic(rk, topic))
        return fail("no topic", name);
    rd_kafka_resp_err_t code = send_all(rk, topic, run, sample);
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(rk);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? 0 : fail_code("not sent", code);
}

static int run_sender(const void *run)
{
    return send_with(run, NULL);
}

static int run_sender_of_headers(const void *run)
{
    rd_kafka_headers_t *sample = sample_headers(run);
    if (sample == NULL)
        return 1;
    int code = send_with(run, sample);
    rd_kafka_headers_destroy(sample);
    return code;
}

/* --- the receiving process --- */

/* librdkafka takes a record's headers apart when they are asked for, which the transport does. */
static void look_at(const rd_kafka_message_t *m)
{
    rd_kafka_headers_t *headers = NULL;
    (void)rd_kafka_message_headers(m, &headers);
}

/* What of transport/kafka/client/topics.c makes work for the broker. */
static rd_kafka_resp_err_t configure(rd_kafka_NewTopic_t *topic)
{
    static const setting rows[] = {{"cleanup.policy", "compact"},
                                   {"segment.bytes", "33554432"},
                                   {"min.cleanable.dirty.ratio", "0.3"},
                                   {"message.timestamp.type", "LogAppendTime"}};
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && code == 0; i++)
        code = rd_kafka_NewTopic_set_config(topic, rows[i].key, rows[i].value);
    return code;
}

static rd_kafka_resp_err_t make_topic(rd_kafka_t *rk, const char *name)
{
    char why[256];
    rd_kafka_NewTopic_t *topic = rd_kafka_NewTopic_new(name, 1, 1, why, sizeof(why));
    if (topic == NULL)
        return RD_KAFKA_RESP_ERR__INVALID_ARG;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_resp_err_t code = configure(topic);
    rd_kafka_CreateTopics(rk, &topic, 1, NULL, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, WAIT_MS);
    if (event == NULL)
        code = RD_KAFKA_RESP_ERR__TIMED_OUT;
    else if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        code = rd_kafka_event_error(event);
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_NewTopic_destroy(topic);
    return code;
}

static rd_kafka_resp_err_t assign(rd_kafka_t *rk, const char *name)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, name, 0)->offset = 0;
    rd_kafka_resp_err_t code = rd_kafka_assign(rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    return code;
}

/* Reaching the end of the empty topic is being ready; offsets are committed in the background. */
static rd_kafka_resp_err_t receive_all(rd_kafka_t *rk, const ab_bench_run *run)
{
    bool ready = false;
    bool last = false;
    for (size_t i = 0; !last;) {
        rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, WAIT_MS);
        if (m == NULL)
            return RD_KAFKA_RESP_ERR__TIMED_OUT;
        rd_kafka_resp_err_t code = m->err;
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
            look_at(m);
            ab_bench_arrived(run, i);
        }
        rd_kafka_message_destroy(m);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
            last = ab_bench_acknowledged(run, i++);
        } else if (code != RD_KAFKA_RESP_ERR__PARTITION_EOF) {
            return code;
        } else if (!ready) {
            ready = true;
            ab_bench_go(run);
        }
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static int run_receiver(const void *arg)
{
    const ab_bench_run *run = arg;
    const setting rows[] = {{"group.id", run->name}, {"enable.partition.eof", "true"}};
    rd_kafka_t *rk = open_handle(run, RD_KAFKA_CONSUMER, rows, sizeof(rows) / sizeof(rows[0]));
    if (rk == NULL)
        return 1;
    rd_kafka_poll_set_consumer(rk);
    topic_name name;
    name_topic(run, name);
    rd_kafka_resp_err_t code = make_topic(rk, name);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, name, NULL);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && !learn_topic(rk, topic))
        code = RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
    rd_kafka_topic_destroy(topic);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        code = assign(rk, name);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        code = receive_all(rk, run);
    rd_kafka_consumer_close(rk);
    rd_kafka_destroy(rk);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? 0 : fail_code("not received", code);
}

const ab_bench_carrier ab_bench_raw = {"raw", run_sender, run_receiver};
const ab_bench_carrier ab_bench_raw_headers = {"raw.headers", run_sender_of_headers, run_receiver};
