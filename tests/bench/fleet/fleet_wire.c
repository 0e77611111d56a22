/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/fleet_wire.h"

#include "base/json/document.h"
#include "schema/attributes.h"
#include "schema/topics.h"
#include "tests/bench/base/process.h"

#include <stdio.h>
#include <string.h>

#define POLL_MS   1000
#define SAME_MS   120000 /* the agents' stores are written at their leisure */
#define SHAPE_MAX 2048
#define DATA_MAX  (4 * 1024 * 1024)
#define KINDS_MAX 64
#define KINDS_MIN 3 /* hellos on both lanes, Applications */
#define LANES     2
#define AGENTS    2
#define ALL_LOGS  ((1U << AGENTS * LANES) - 1)

static const char *const names[AGENTS] = {"w0", "w1"};

/* Records of one shape. */
typedef struct {
    char shape[SHAPE_MAX];
    unsigned written[AGENTS];
} kind;

typedef struct {
    kind kinds[KINDS_MAX];
    size_t count;
    unsigned ended; /* logs that were read to their ends, one bit for each */
    char error[256];
} records;

static bool fail(const char *what, const char *why)
{
    fprintf(stderr, "argobus-bench: %s: %s\n", what, why);
    return false;
}

/* --- the shape of a record --- */

static bool is_hello(const rd_kafka_message_t *m)
{
    return ab_str_is((ab_str){m->key, m->key_len}, AB_KEY_HELLO);
}

/* What a resync has to say depends on who begins it, and is of the sync core, which is the same. */
static bool is_compared(const rd_kafka_message_t *m)
{
    static const char ctl[] = "ctl/";
    bool control = m->key_len > strlen(ctl) && memcmp(m->key, ctl, strlen(ctl)) == 0;
    return m->key_len > 0 && (!control || is_hello(m));
}

/* Application/argocd/app-0 is one of many. */
static void add_key(const rd_kafka_message_t *m, ab_buf *out)
{
    const char *key = m->key;
    const char *slash = is_hello(m) ? NULL : memchr(key, '/', m->key_len);
    ab_buf_printf(out, "%.*s, headers", (int)(slash == NULL ? m->key_len : (size_t)(slash - key)),
                  key);
}

/* Of a thousand records one has it: what ends in ".000Z" the record's own time does not say. */
static bool is_of_chance(const char *header)
{
    return strcmp(header, "ce_" AB_CE_TIME) == 0;
}

static void add_headers(const rd_kafka_message_t *m, ab_buf *out)
{
    rd_kafka_headers_t *headers = NULL;
    const char *name = NULL;
    const void *value = NULL;
    size_t len = 0;
    if (rd_kafka_message_headers(m, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return;
    for (size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &len) == RD_KAFKA_RESP_ERR_NO_ERROR;
         i++)
        if (!is_of_chance(name))
            ab_buf_printf(out, " %s", name);
}

static void add_data(const rd_kafka_message_t *m, ab_buf *out)
{
    cJSON *doc = NULL;
    ab_error err = {0};
    ab_buf_puts(out, ", data");
    if (m->len == 0 ||
        ab_doc_parse((ab_str){m->payload, m->len}, DATA_MAX, &doc, &err) != AB_ERR_OK) {
        ab_buf_printf(out, m->len == 0 ? ": none" : ": no JSON");
        return;
    }
    for (const cJSON *member = doc->child; member != NULL; member = member->next)
        ab_buf_printf(out, " %s", member->string == NULL ? "[]" : member->string);
    cJSON_Delete(doc);
}

/* The kind with this shape, a new one unless it is there; NULL: there is no room. */
static kind *find_kind(records *r, const char *shape, size_t len)
{
    size_t i = 0;
    while (i < r->count && strcmp(r->kinds[i].shape, shape) != 0)
        i++;
    if (i == KINDS_MAX)
        return NULL;
    if (i == r->count)
        memcpy(r->kinds[r->count++].shape, shape, len + 1);
    return &r->kinds[i];
}

static bool count_record(records *r, int agent, const char *lane, const rd_kafka_message_t *m)
{
    ab_buf shape;
    ab_buf_init(&shape, SHAPE_MAX - 1);
    ab_buf_printf(&shape, "%s: ", lane);
    add_key(m, &shape);
    add_headers(m, &shape);
    add_data(m, &shape);
    kind *k = ab_buf_status(&shape) == AB_ERR_OK ? find_kind(r, shape.ptr, shape.len) : NULL;
    if (k != NULL)
        k->written[agent]++;
    ab_buf_fini(&shape);
    return k != NULL || fail("a record of an agent", "is too large, or of too many kinds");
}

/* --- reading the logs --- */

static rd_kafka_t *open_consumer(const char *broker)
{
    char why[256] = "";
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    bool ok =
        rd_kafka_conf_set(conf, "bootstrap.servers", broker, why, sizeof(why)) ==
            RD_KAFKA_CONF_OK &&
        rd_kafka_conf_set(conf, "group.id", "fleet-wire", why, sizeof(why)) == RD_KAFKA_CONF_OK &&
        rd_kafka_conf_set(conf, "enable.auto.commit", "false", why, sizeof(why)) ==
            RD_KAFKA_CONF_OK &&
        rd_kafka_conf_set(conf, "enable.partition.eof", "true", why, sizeof(why)) ==
            RD_KAFKA_CONF_OK;
    rd_kafka_t *rk = ok ? rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why)) : NULL;
    if (rk != NULL)
        return rk;
    rd_kafka_conf_destroy(conf);
    (void)fail("no consumer", why);
    return NULL;
}

static bool assign(rd_kafka_t *rk, const char *prefix)
{
    char topic[AB_TOPIC_NAME_MAX];
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(AGENTS * LANES);
    bool ok = true;
    for (int i = 0; i < AGENTS * LANES; i++) {
        ok = ok && ab_topic_format(prefix, AB_UP, names[i / LANES], i % LANES == 1, topic);
        rd_kafka_topic_partition_list_add(list, topic, 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
    }
    ok = ok && rd_kafka_assign(rk, list) == RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_topic_partition_list_destroy(list);
    return ok || fail("agents' topics", "cannot be read");
}

/* Which of the logs a record, or the end of one, is of; -1: of none. */
static int find_log(const char *prefix, const rd_kafka_message_t *m)
{
    ab_direction direction = AB_UP;
    char agent[64];
    bool live = false;
    if (m->rkt == NULL ||
        !ab_topic_parse(prefix, rd_kafka_topic_name(m->rkt), &direction, agent, &live))
        return -1;
    return (agent[1] - '0') * LANES + (live ? 1 : 0);
}

/* An error is of a broker that is busy, which librdkafka asks again. */
static bool take(records *r, const char *prefix, const rd_kafka_message_t *m)
{
    int log = find_log(prefix, m);
    if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF && log >= 0)
        r->ended |= 1U << log;
    else if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR || log < 0)
        (void)snprintf(r->error, sizeof(r->error), "%s", rd_kafka_message_errstr(m));
    else if (is_compared(m))
        return count_record(r, log / LANES, log % LANES == 1 ? "live" : "state", m);
    return true;
}

/* --- */

static bool is_of_both(const kind *k)
{
    return k->written[0] > 0 && k->written[1] > 0;
}

static bool is_same(const records *r)
{
    size_t both = 0;
    while (both < r->count && is_of_both(&r->kinds[both]))
        both++;
    return r->ended == ALL_LOGS && r->count >= KINDS_MIN && both == r->count;
}

/* What one of both has not written yet may come. */
static bool read_until_same(rd_kafka_t *rk, const char *prefix, records *r)
{
    int64_t end_ns = ab_bench_now_ns() + SAME_MS * INT64_C(1000000);
    bool ok = true;
    while (ok && !is_same(r) && ab_bench_now_ns() < end_ns) {
        rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, POLL_MS);
        ok = m == NULL || take(r, prefix, m);
        if (m != NULL)
            rd_kafka_message_destroy(m);
    }
    return ok;
}

static void report(const records *r)
{
    fprintf(stderr,
            "argobus-bench: the records of %s, a real agent, and %s, a simulated one, are not of "
            "the same kinds after %d s:\n",
            names[0], names[1], SAME_MS / 1000);
    for (size_t i = 0; i < r->count; i++)
        fprintf(stderr, "argobus-bench: %c %u of %s, %u of %s: %s\n",
                is_of_both(&r->kinds[i]) ? ' ' : '!', r->kinds[i].written[0], names[0],
                r->kinds[i].written[1], names[1], r->kinds[i].shape);
    if (r->count < KINDS_MIN)
        (void)fail("fewer kinds than hellos on both lanes and Applications", "agents are stuck");
    for (int i = 0; i < AGENTS * LANES; i++)
        if ((r->ended & 1U << i) == 0)
            fprintf(stderr, "argobus-bench: the %s log of %s was not read to its end\n",
                    i % LANES == 1 ? "live" : "state", names[i / LANES]);
    if (r->error[0] != '\0')
        (void)fail("last error of the broker", r->error);
}

static int compare(const void *arg)
{
    const ab_bench_topics *t = arg;
    static records r;
    rd_kafka_t *rk = open_consumer(t->broker);
    if (rk == NULL || !assign(rk, t->prefix) || !read_until_same(rk, t->prefix, &r))
        return 1;
    if (is_same(&r))
        return 0;
    report(&r);
    return 1;
}

bool ab_bench_fleet_wire_is_same(const ab_bench_topics *t)
{
    return ab_bench_wait(ab_bench_fork(compare, t));
}
