/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/fleet_wire.h"

#include "base/json/document.h"
#include "schema/attributes.h"
#include "schema/topics.h"
#include "tests/bench/base/process.h"

#include <stdio.h>
#include <string.h>

#define POLL_MS   30000
#define MORE_MS   1000  /* until one more record, when all are read */
#define SAME_MS   30000 /* the agents' stores are written at their leisure */
#define SHAPE_MAX 2048
#define DATA_MAX  (4 * 1024 * 1024)
#define KINDS_MAX 64
#define KINDS_MIN 3 /* hellos on both lanes, Applications */
#define LANES     2
#define AGENTS    2

/* The different shapes of an agent's records. */
typedef struct {
    char text[KINDS_MAX][SHAPE_MAX];
    size_t count;
} shapes;

static bool fail(const char *what, const char *why)
{
    fprintf(stderr, "argobus-bench: %s: %s\n", what, why);
    return false;
}

static bool has(const shapes *s, const char *text)
{
    size_t i = 0;
    while (i < s->count && strcmp(s->text[i], text) != 0)
        i++;
    return i < s->count;
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

/* Keep the shape unless it is there. */
static bool keep(shapes *s, const char *lane, const rd_kafka_message_t *m)
{
    ab_buf shape;
    ab_buf_init(&shape, SHAPE_MAX - 1);
    ab_buf_printf(&shape, "%s: ", lane);
    add_key(m, &shape);
    add_headers(m, &shape);
    add_data(m, &shape);
    bool known = ab_buf_status(&shape) == AB_ERR_OK && has(s, shape.ptr);
    bool ok = known || (ab_buf_status(&shape) == AB_ERR_OK && s->count < KINDS_MAX);
    if (ok && !known)
        memcpy(s->text[s->count++], shape.ptr, shape.len + 1);
    ab_buf_fini(&shape);
    return ok ? true : fail("a record of an agent", "is too large, or of too many kinds");
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
    static const char *const names[AGENTS] = {"w0", "w1"};
    char topic[AB_TOPIC_NAME_MAX];
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(AGENTS * LANES);
    bool ok = true;
    for (int i = 0; i < AGENTS * LANES; i++) {
        ok = ok && ab_topic_format(prefix, AB_UP, names[i / LANES], i % LANES == 1, topic);
        rd_kafka_topic_partition_list_add(list, topic, 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
    }
    ok = ok && rd_kafka_assign(rk, list) == RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_topic_partition_list_destroy(list);
    return ok;
}

/* Which of the logs a record, or the end of one, is of; -1 with an error on stderr. */
static int find_log(const char *prefix, const rd_kafka_message_t *m)
{
    ab_direction direction = AB_UP;
    char agent[64];
    bool live = false;
    if (m->rkt != NULL &&
        ab_topic_parse(prefix, rd_kafka_topic_name(m->rkt), &direction, agent, &live))
        return (agent[1] - '0') * LANES + (live ? 1 : 0);
    (void)fail("agents' topics", rd_kafka_message_errstr(m));
    return -1;
}

static bool take(int log, const rd_kafka_message_t *m, shapes found[AGENTS])
{
    if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR)
        return fail("agents' topics", rd_kafka_message_errstr(m));
    return !is_compared(m) || keep(&found[log / LANES], log % LANES == 1 ? "live" : "state", m);
}

/* Up to what the logs have now: one that grows meanwhile ends more than once. */
static bool read_all(rd_kafka_t *rk, const char *prefix, shapes found[AGENTS])
{
    unsigned ended = 0;
    bool ok = true;
    while (ok && ended != (1U << AGENTS * LANES) - 1) {
        rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, POLL_MS);
        if (m == NULL)
            return fail("agents' topics", "nothing was received");
        int log = find_log(prefix, m);
        if (log >= 0 && m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
            ended |= 1U << log;
        else
            ok = log >= 0 && take(log, m, found);
        rd_kafka_message_destroy(m);
    }
    return ok;
}

/* One record more, if one comes. */
static bool read_more(rd_kafka_t *rk, const char *prefix, shapes found[AGENTS])
{
    rd_kafka_message_t *m = rd_kafka_consumer_poll(rk, MORE_MS);
    if (m == NULL)
        return true;
    int log = find_log(prefix, m);
    bool ok = log >= 0 && (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF || take(log, m, found));
    rd_kafka_message_destroy(m);
    return ok;
}

/* --- */

static const char *lacks(const shapes *part, const shapes *whole)
{
    for (size_t i = 0; i < part->count; i++)
        if (!has(whole, part->text[i]))
            return part->text[i];
    return NULL;
}

static bool is_part_of(const shapes *part, const shapes *whole, const char *whose)
{
    const char *what = lacks(part, whole);
    return what == NULL || fail(whose, what);
}

static bool is_same(const shapes found[AGENTS])
{
    return found[0].count >= KINDS_MIN && lacks(&found[0], &found[1]) == NULL &&
           lacks(&found[1], &found[0]) == NULL;
}

static bool read_until_same(rd_kafka_t *rk, const char *prefix, shapes found[AGENTS])
{
    int64_t end_ns = ab_bench_now_ns() + SAME_MS * INT64_C(1000000);
    bool ok = read_all(rk, prefix, found);
    while (ok && !is_same(found) && ab_bench_now_ns() < end_ns)
        ok = read_more(rk, prefix, found);
    return ok;
}

static int compare(const void *arg)
{
    const ab_bench_topics *t = arg;
    static shapes found[AGENTS];
    rd_kafka_t *rk = open_consumer(t->broker);
    if (rk == NULL || !assign(rk, t->prefix) || !read_until_same(rk, t->prefix, found))
        return 1;
    bool real = is_part_of(&found[0], &found[1], "only a real agent writes");
    bool simulated = is_part_of(&found[1], &found[0], "only a simulated agent writes");
    bool both = found[0].count >= KINDS_MIN;
    if (!both)
        (void)fail("a real agent", "has not written hellos on both lanes and Applications");
    return real && simulated && both ? 0 : 1;
}

bool ab_bench_fleet_wire_is_same(const ab_bench_topics *t)
{
    return ab_bench_wait(ab_bench_fork(compare, t));
}
