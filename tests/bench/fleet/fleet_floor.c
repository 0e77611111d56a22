/* SPDX-License-Identifier: Apache-2.0
 *
 * As the principal does, each process reads at most so many topics with one consumer, and the busy
 * agent has a consumer of its own. librdkafka puts records of the busy agent together for 5 ms, its
 * own default, so that the broker gets few requests; those of the others go at once.
 */
#include "tests/bench/fleet/fleet_floor.h"

#include "schema/topics.h"
#include "tests/bench/base/payload.h"
#include "tests/bench/fleet/hub_file.h"
#include "tests/bench/transport/member.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define TOPICS_MAX 100 /* of a consumer */
#define PORTION    32
#define BEHIND     10 /* agents.c */
#define READY_MS   60000
#define TEXT_MAX   (64u * 1024)
#define LIFE_MAX_S 3600

enum { QUICK, TOGETHER, PRODUCERS };

typedef struct {
    const ab_bench_fleet_floor *floor;
    ab_direction in;
    rd_kafka_t *producers[PRODUCERS];
} side;

typedef struct {
    const side *side;
    rd_kafka_t *rk;
    int topics;
} reader;

static rd_kafka_t *open_handle(const ab_bench_fleet_floor *f, rd_kafka_type_t type,
                               const char *const (*rows)[2], size_t count)
{
    char why[256] = "";
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    bool ok = rd_kafka_conf_set(conf, "bootstrap.servers", f->topics.broker, why, sizeof(why)) ==
              RD_KAFKA_CONF_OK;
    for (size_t i = 0; i < count && ok; i++)
        ok = rd_kafka_conf_set(conf, rows[i][0], rows[i][1], why, sizeof(why)) == RD_KAFKA_CONF_OK;
    rd_kafka_t *rk = ok ? rd_kafka_new(type, conf, why, sizeof(why)) : NULL;
    if (rk == NULL)
        ab_bench_die("no client", why);
    return rk;
}

/* --- writing --- */

static rd_kafka_t *open_producer(const ab_bench_fleet_floor *f, const char *linger_ms)
{
    const char *const rows[][2] = {{"enable.idempotence", "true"},
                                   {"compression.type", "lz4"},
                                   {"socket.nagle.disable", "true"},
                                   {"linger.ms", linger_ms}};
    return open_handle(f, RD_KAFKA_PRODUCER, rows, sizeof(rows) / sizeof(rows[0]));
}

static void produce(const side *s, unsigned agent, ab_str key, ab_str data)
{
    char name[16], topic[AB_TOPIC_NAME_MAX];
    rd_kafka_t *rk = s->producers[agent == s->floor->noisy ? TOGETHER : QUICK];
    (void)snprintf(name, sizeof(name), "w%u", agent);
    if (!ab_topic_format(s->floor->topics.prefix, s->in == AB_UP ? AB_DOWN : AB_UP, name, false,
                         topic))
        ab_bench_die(name, "has no topic");
    const rd_kafka_vu_t record[] = {
        {.vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = topic},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = 0},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {(void *)(uintptr_t)key.ptr, key.len}},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {(void *)(uintptr_t)data.ptr, data.len}}};
    rd_kafka_error_t *failed = rd_kafka_produceva(rk, record, sizeof(record) / sizeof(record[0]));
    if (failed != NULL)
        ab_bench_die(topic, rd_kafka_error_string(failed));
    (void)rd_kafka_poll(rk, 0);
}

static void change(const side *s, const ab_bench_hub_change *c)
{
    char key[64];
    ab_buf text;
    (void)snprintf(key, sizeof(key), "Application/w%u/app-%u", c->agent, c->app);
    ab_buf_init(&text, TEXT_MAX);
    ab_bench_application(&text, c->app, c->revision, AB_BENCH_HUB_BYTES);
    produce(s, c->agent, ab_str_of(key), ab_buf_str(&text));
    ab_buf_fini(&text);
}

static void write_changes(const side *s)
{
    struct pollfd p = {.fd = s->floor->changes, .events = POLLIN};
    for (;;) {
        ab_bench_hub_change c[PORTION];
        (void)poll(&p, 1, 1000);
        ssize_t n = read(p.fd, c, sizeof(c));
        for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(c[0]); i++)
            change(s, &c[i]);
    }
}

/* --- reading --- */

/* In effect, and answered. */
static void answer(const side *s, const rd_kafka_message_t *m)
{
    static const char status[] =
        "{\"health\":{\"status\":\"Healthy\"},\"sync\":{\"revision\":"
        "\"0123456789012345678901234567890123456789\",\"status\":\"Synced\"}}";
    ab_bench_fleet_track *track = s->floor->track;
    ab_direction direction = AB_DOWN;
    char agent[64];
    bool live = false;
    unsigned revision = ab_bench_revision((ab_str){m->payload, m->len});
    if (revision < AB_BENCH_TIMED_MAX)
        __atomic_store_n(&track->arrived_ns[revision], ab_bench_now_ns(), __ATOMIC_SEQ_CST);
    if (ab_topic_parse(s->floor->topics.prefix, rd_kafka_topic_name(m->rkt), &direction, agent,
                       &live))
        produce(s, (unsigned)strtoul(agent + 1, NULL, 10), (ab_str){m->key, m->key_len},
                (ab_str){status, sizeof(status) - 1});
}

static void *read_all(void *arg)
{
    const reader *r = arg;
    const uint64_t one = 1;
    int ended = 0;
    for (;;) {
        rd_kafka_message_t *m = rd_kafka_consumer_poll(r->rk, 1000);
        if (m == NULL)
            continue;
        if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF && ended < r->topics) {
            ended++;
            if (write(r->side->floor->ready_fd, &one, sizeof(one)) != sizeof(one))
                ab_bench_die("a reader", "cannot say that it is ready");
        } else if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR && r->side->in == AB_DOWN)
            answer(r->side, m);
        rd_kafka_message_destroy(m);
    }
    return NULL;
}

static void start_reader(const side *s, unsigned first, unsigned count)
{
    const ab_bench_topics *t = &s->floor->topics;
    const char *const rows[][2] = {{"group.id", t->prefix}, {"enable.partition.eof", "true"}};
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)count);
    reader *r = calloc(1, sizeof(*r));
    pthread_t thread;
    if (r == NULL)
        ab_bench_die("a reader", "out of memory");
    *r = (reader){s, open_handle(s->floor, RD_KAFKA_CONSUMER, rows, 2), (int)count};
    for (unsigned i = first; i < first + count; i++) {
        char name[16], topic[AB_TOPIC_NAME_MAX];
        (void)snprintf(name, sizeof(name), "w%u", i);
        if (!ab_topic_format(t->prefix, s->in, name, false, topic))
            ab_bench_die(name, "has no topic");
        rd_kafka_topic_partition_list_add(list, topic, 0)->offset = RD_KAFKA_OFFSET_END;
    }
    rd_kafka_poll_set_consumer(r->rk);
    if (rd_kafka_assign(r->rk, list) != RD_KAFKA_RESP_ERR_NO_ERROR ||
        pthread_create(&thread, NULL, read_all, r) != 0)
        ab_bench_die("a reader", "cannot start");
    rd_kafka_topic_partition_list_destroy(list);
}

static void start_readers(const side *s)
{
    unsigned all = s->floor->topics.agents, noisy = s->floor->noisy;
    unsigned count = 0;
    for (unsigned first = 0; first < all; first += count) {
        unsigned left = (first < noisy ? noisy : all) - first;
        count = first == noisy && s->in == AB_DOWN ? 1 : left < TOPICS_MAX ? left : TOPICS_MAX;
        start_reader(s, first, count);
    }
}

/* --- the processes --- */

static void open_side(side *s, const void *arg, ab_direction in)
{
    (void)alarm(LIFE_MAX_S);
    s->floor = arg;
    s->in = in;
    s->producers[QUICK] = open_producer(arg, "0");
    s->producers[TOGETHER] = open_producer(arg, "5");
    start_readers(s);
}

static int run_hub(const void *arg)
{
    static side s;
    open_side(&s, arg, AB_UP);
    write_changes(&s);
    return 0;
}

static int run_agents(const void *arg)
{
    static side s;
    (void)setpriority(PRIO_PROCESS, 0, BEHIND);
    open_side(&s, arg, AB_DOWN);
    for (;;)
        (void)pause();
    return 0;
}

static bool wait_ready(const ab_bench_fleet_floor *f)
{
    uint64_t ready = 0;
    struct pollfd p = {.fd = f->ready_fd, .events = POLLIN};
    while (ready < 2 * (uint64_t)f->topics.agents) {
        uint64_t more = 0;
        if (poll(&p, 1, READY_MS) != 1 || read(p.fd, &more, sizeof(more)) != sizeof(more)) {
            fprintf(stderr, "argobus-bench: librdkafka has read %llu of %u topics\n",
                    (unsigned long long)ready, 2 * f->topics.agents);
            return false;
        }
        ready += more;
    }
    return true;
}

bool ab_bench_fleet_floor_start(ab_bench_fleet_floor *f)
{
    f->ready_fd = eventfd(0, EFD_CLOEXEC);
    f->pids[0] = ab_bench_fork(run_hub, f);
    f->pids[1] = ab_bench_fork(run_agents, f);
    return f->ready_fd >= 0 && f->pids[0] > 0 && f->pids[1] > 0 && wait_ready(f);
}

void ab_bench_fleet_floor_stop(ab_bench_fleet_floor *f)
{
    for (int i = 0; i < 2; i++)
        if (f->pids[i] > 0 && kill(f->pids[i], SIGKILL) == 0)
            (void)waitpid(f->pids[i], NULL, 0);
    if (f->ready_fd >= 0)
        (void)close(f->ready_fd);
}
