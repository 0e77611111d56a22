/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/shared_kafka_priv.h"

#include "base/core/digest.h"
#include "schema/attributes.h"
#include "transport/kafka/client/errors.h"
#include "transport/kafka/client/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MS 250
/* Of one handle: the cost of a fetch grows with their square (group.c of the transport). */
#define TOPICS_MAX 200

struct ab_bench_shared_consumer {
    ab_bench_shared_consumer *next;
    ab_bench_shared_kafka *shared;
    ab_kafka_handle *handle;
    rd_kafka_topic_partition_list_t *topics; /* NULL: they are assigned */
};

typedef struct {
    ab_delivery base; /* first */
    ab_bench_shared_member *member;
    uint64_t number; /* of the offset */
} delivery;

typedef struct {
    ab_bench_shared_member *member;
    ab_lane lane;
    ab_event *event;
    ab_sent done;
    void *arg;
} outgoing;

static void *must_have(void *made)
{
    if (made == NULL)
        ab_bench_die("simulated agents", "out of memory");
    return made;
}

/* --- sending --- */

static void on_report(const rd_kafka_message_t *report)
{
    outgoing *s = report->_private;
    ab_error err = {0};
    ab_err e = report->err == RD_KAFKA_RESP_ERR_NO_ERROR
                   ? AB_ERR_OK
                   : ab_kafka_fail(&err, report->err, "not sent");
    if (e == AB_ERR_OK && s->lane == AB_LANE_STATE)
        s->member->sent = report->offset;
    s->done(s->arg, e, e == AB_ERR_OK ? NULL : &err);
    ab_event_unref(s->event);
    free(s);
}

static void on_sent(void *arg, ab_kafka_handle *h, rd_kafka_event_t *event)
{
    const rd_kafka_message_t *report = NULL;
    (void)arg;
    (void)h;
    while ((report = rd_kafka_event_message_next(event)) != NULL)
        on_report(report);
}

ab_err ab_bench_shared_send(ab_bench_shared_member *m, ab_lane lane, ab_event *event, ab_sent done,
                            void *arg)
{
    rd_kafka_t *rk = ab_kafka_handle_rk(m->shared->producer[lane]);
    outgoing *s = must_have(malloc(sizeof(*s)));
    *s = (outgoing){m, lane, ab_event_ref(event), done, arg};
    if (m->out[lane] == NULL)
        m->out[lane] = must_have(rd_kafka_topic_new(rk, m->up[lane], NULL));
    if (ab_kafka_record_produce(rk, m->out[lane], event, s) == RD_KAFKA_RESP_ERR_NO_ERROR)
        return AB_ERR_OK;
    ab_event_unref(event);
    free(s);
    return AB_ERR_UNAVAILABLE;
}

/* --- receiving --- */

/* The event of a record; what is not the principal's may not be there. */
static ab_event *decode(const ab_bench_shared_member *m, const rd_kafka_message_t *record)
{
    ab_event *event = NULL;
    ab_error err = {0};
    const char *reason = NULL;
    ab_bench_must(ab_kafka_record_decode(record, true, &event, &reason, &err), m->name, &err);
    if (!ab_str_is(ab_event_attr(event, AB_CE_SOURCE), AB_SOURCE_PRINCIPAL))
        ab_bench_die(m->name, "an event is not from the principal");
    return event;
}

/* Takes the event over. */
static void deliver(ab_bench_shared_member *m, ab_lane lane, ab_event *event, uint64_t number)
{
    const ab_transport_events *up = &m->base.env.events;
    delivery *d = must_have(malloc(sizeof(*d)));
    *d = (delivery){{.agent = m->name, .lane = lane, .event = event}, m, number};
    up->on_event(up->arg, &d->base);
}

static void take_state(ab_bench_shared_member *m, ab_event *event, int64_t offset, bool hello)
{
    uint64_t number = 0;
    if (hello) {
        ab_offsets_pass(&m->offsets, offset + 1);
        ab_bench_shared_commit_note(m);
        ab_event_unref(event);
        return;
    }
    ab_bench_must(ab_offsets_open(&m->offsets, offset, &number), m->name, NULL);
    deliver(m, AB_LANE_STATE, event, number);
}

static void take_live(ab_bench_shared_member *m, ab_event *event, bool hello)
{
    if (!hello) {
        deliver(m, AB_LANE_LIVE, event, 0);
        return;
    }
    ab_bench_shared_hello_hear(m, event);
    ab_event_unref(event);
}

static void receive(const ab_bench_shared_kafka *k, const rd_kafka_message_t *record)
{
    ab_direction direction = AB_UP;
    bool live = false;
    char agent[64];
    const char *topic = rd_kafka_topic_name(record->rkt);
    ab_bench_shared_member *m = NULL;
    if (ab_topic_parse(k->settings.prefix, topic, &direction, agent, &live))
        m = ab_map_find(k->members, ab_str_of(agent));
    if (m == NULL || direction != AB_DOWN)
        ab_bench_die(topic, "nobody here reads it");
    ab_event *event = decode(m, record);
    bool hello = ab_str_is(ab_event_attr(event, AB_CE_PARTITIONKEY), AB_KEY_HELLO);
    if (live)
        take_live(m, event, hello);
    else
        take_state(m, event, record->offset, hello);
}

static void on_received(void *arg, ab_kafka_handle *h, rd_kafka_event_t *event)
{
    const ab_bench_shared_consumer *c = arg;
    const rd_kafka_message_t *record = NULL;
    (void)h;
    while ((record = rd_kafka_event_message_next(event)) != NULL)
        receive(c->shared, record);
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR &&
        code != RD_KAFKA_RESP_ERR__PARTITION_EOF)
        ab_bench_die("a consumer", rd_kafka_event_error_string(event));
}

/* From their beginnings: the topics have just been made. */
static void want_topic(ab_bench_shared_kafka *k, ab_lane lane, const char *topic)
{
    ab_bench_shared_consumer *c = k->consumers[lane];
    ab_error err = {0};
    if (c == NULL || c->topics == NULL || c->topics->cnt == TOPICS_MAX) {
        c = must_have(calloc(1, sizeof(*c)));
        c->shared = k;
        c->next = k->consumers[lane];
        c->topics = rd_kafka_topic_partition_list_new(TOPICS_MAX);
        k->consumers[lane] = c;
        /* One of live topics would be a member of an agent's group. */
        ab_bench_must(ab_kafka_handle_open(&k->host, &k->settings, AB_KAFKA_CONSUMER, on_received,
                                           c, &c->handle, &err),
                      "no consumer", &err);
    }
    rd_kafka_topic_partition_list_add(c->topics, topic, 0)->offset = 0;
}

static void assign(ab_bench_shared_consumer *first)
{
    for (ab_bench_shared_consumer *c = first; c != NULL && c->topics != NULL; c = c->next) {
        rd_kafka_resp_err_t code = rd_kafka_assign(ab_kafka_handle_rk(c->handle), c->topics);
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
            ab_bench_die("topics cannot be assigned", rd_kafka_err2str(code));
        rd_kafka_topic_partition_list_destroy(c->topics);
        c->topics = NULL;
    }
}

/* --- an agent's transport --- */

static ab_err member_init(ab_transport *self, const ab_transport_env *env, ab_error *err)
{
    ab_bench_shared_member *m = (ab_bench_shared_member *)self;
    (void)snprintf(m->name, sizeof(m->name), "%s", env->agent);
    m->committed = m->sent = -1;
    ab_offsets_init(&m->offsets, 0);
    ab_link_init(&m->in_moved);
    return ab_uuid(m->instance) == AB_ERR_OK
               ? AB_ERR_OK
               : ab_fail(err, AB_ERR_NOMEM, "random number generator failed");
}

static bool name_all(ab_bench_shared_member *m, const char *prefix)
{
    bool ok = ab_group_agent(prefix, m->name, m->group);
    for (int lane = 0; lane < 2; lane++) {
        bool live = lane == AB_LANE_LIVE;
        ok = ok && ab_topic_format(prefix, AB_DOWN, m->name, live, m->down[lane]) &&
             ab_topic_format(prefix, AB_UP, m->name, live, m->up[lane]);
    }
    return ok;
}

static ab_err member_start(ab_transport *self, ab_error *err)
{
    ab_bench_shared_member *m = (ab_bench_shared_member *)self;
    ab_bench_shared_kafka *k = m->shared;
    if (!name_all(m, k->settings.prefix))
        return ab_fail(err, AB_ERR_INVALID, "no topic or group can be named after %s", m->name);
    want_topic(k, AB_LANE_STATE, m->down[AB_LANE_STATE]);
    want_topic(k, AB_LANE_LIVE, m->down[AB_LANE_LIVE]);
    return ab_map_put(k->members, ab_str_of(m->name), m, NULL);
}

static ab_err member_send(ab_transport *self, const char *agent, ab_lane lane, ab_event *event,
                          int64_t deadline_ms, ab_sent done, void *arg)
{
    ab_bench_shared_member *m = (ab_bench_shared_member *)self;
    (void)agent;
    (void)deadline_ms;
    return m->ready ? ab_bench_shared_send(m, lane, event, done, arg) : AB_ERR_UNAVAILABLE;
}

static void member_ack(ab_transport *self, ab_delivery *given, ab_verdict verdict)
{
    delivery *d = (delivery *)given;
    (void)self;
    if (given->lane == AB_LANE_STATE && verdict == AB_VERDICT_APPLIED) {
        ab_offsets_done(&d->member->offsets, d->number);
        ab_bench_shared_commit_note(d->member);
    }
    ab_event_unref(given->event);
    free(d);
}

/* An agent serves none, and here runs until its process is killed. */

static ab_err member_add_agent(ab_transport *self, const char *agent, ab_error *err)
{
    (void)self;
    return ab_fail(err, AB_ERR_INVALID, "an agent does not serve %s", agent);
}

static bool member_remove_agent(ab_transport *self, const char *agent)
{
    (void)self;
    (void)agent;
    return false;
}

static bool member_ready(ab_transport *self, ab_buf *why)
{
    (void)why;
    return ((ab_bench_shared_member *)self)->ready;
}

static void member_close(ab_transport *self)
{
    (void)self;
}

static void member_stop(ab_transport *self, int64_t deadline_ms, void (*stopped)(void *arg),
                        void *arg)
{
    (void)self;
    (void)deadline_ms;
    stopped(arg);
}

static const ab_options *const no_options[] = {NULL};

static const ab_transport_ops member_ops = {
    .name = "shared kafka",
    .caps = AB_CAP_DURABLE | AB_CAP_LOG_REPLAY | AB_CAP_BROKER,
    .options = no_options,
    .size = sizeof(ab_bench_shared_member),
    .init = member_init,
    .start = member_start,
    .add_agent = member_add_agent,
    .remove_agent = member_remove_agent,
    .send = member_send,
    .ack = member_ack,
    .ready = member_ready,
    .close = member_close,
    .stop = member_stop,
    .fini = member_close,
};

/* --- all of them --- */

static void begin(ab_bench_shared_member *m)
{
    const ab_transport_events *up = &m->base.env.events;
    up->on_gap(up->arg, m->name, AB_GAP_FIRST);
    ab_bench_shared_hello_first(m);
}

static void on_tick(uv_timer_t *timer)
{
    ab_bench_shared_kafka *k = timer->data;
    int64_t now_ms = ab_clock_mono_ms(&ab_clock_real);
    for (ab_map_iter i = ab_map_first(k->members); i.entry != NULL; ab_map_next(&i))
        ab_bench_shared_hello_tick(i.value, now_ms);
    ab_bench_shared_commit_tick(k, now_ms);
}

static void on_begin(uv_timer_t *timer)
{
    ab_bench_shared_kafka *k = timer->data;
    assign(k->consumers[AB_LANE_STATE]);
    assign(k->consumers[AB_LANE_LIVE]);
    for (ab_map_iter i = ab_map_first(k->members); i.entry != NULL; ab_map_next(&i))
        begin(i.value);
    (void)uv_timer_start(timer, on_tick, TICK_MS, TICK_MS);
}

/* Of what the agents share, nothing depends on the name of one. */
static void read_settings(ab_bench_shared_kafka *k)
{
    static ab_bench_settings settings;
    ab_config *config = NULL;
    ab_error err = {0};
    settings.count = 0;
    k->process->configure(k->process->configure_arg, &settings);
    ab_bench_must(ab_bench_settings_load(&settings, &config, &err), "configuration", &err);
    const ab_transport_env env = {.config = config, .role = AB_ROLE_AGENT, .agent = "shared"};
    ab_bench_must(ab_kafka_settings_init(&k->settings, &env, &err), "settings", &err);
}

static ab_kafka_handle *open_producer(ab_bench_shared_kafka *k, ab_kafka_kind kind)
{
    ab_error err = {0};
    ab_kafka_handle *h = NULL;
    ab_bench_must(ab_kafka_handle_open(&k->host, &k->settings, kind, on_sent, k, &h, &err),
                  "no producer", &err);
    return h;
}

ab_bench_shared_kafka *ab_bench_shared_kafka_new(ab_bench_host *h)
{
    ab_bench_shared_kafka *k = must_have(calloc(1, sizeof(*k)));
    k->process = h;
    ab_kafka_host_init(&k->host, &h->loop, h->log, &ab_clock_real);
    k->members = must_have(ab_map_new());
    ab_link_init(&k->moved);
    read_settings(k);
    k->producer[AB_LANE_STATE] = open_producer(k, AB_KAFKA_PRODUCER);
    k->producer[AB_LANE_LIVE] = open_producer(k, AB_KAFKA_LIVE_PRODUCER);
    k->committer = ab_bench_shared_commit_open(k);
    (void)uv_timer_init(&h->loop, &k->tick);
    k->tick.data = k;
    (void)uv_timer_start(&k->tick, on_begin, 0, 0);
    return k;
}

ab_transport *ab_bench_shared_kafka_member(ab_bench_shared_kafka *k, const char *agent,
                                           const ab_transport_events *events)
{
    ab_transport *made = ab_bench_member_of(k->process, &member_ops, agent, events);
    ((ab_bench_shared_member *)made)->shared = k;
    return made;
}
