/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/kafka.h"

#include "base/core/digest.h"
#include "schema/attributes.h"
#include "transport/kafka/client/threads.h"
#include "transport/kafka/commit_priv.h"
#include "transport/kafka/consumer_priv.h"
#include "transport/kafka/credential_reload_priv.h"
#include "transport/kafka/group_priv.h"
#include "transport/kafka/live_priv.h"
#include "transport/kafka/log_replay_priv.h"
#include "transport/kafka/member_priv.h"
#include "transport/kafka/positions_priv.h"
#include "transport/kafka/presence_priv.h"
#include "transport/kafka/producer_priv.h"
#include "transport/kafka/receive_priv.h"
#include "transport/kafka/refusal_priv.h"
#include "transport/kafka/removal_priv.h"
#include "transport/kafka/topic_check_priv.h"

#include <assert.h>

#define LAG_MS 5000
/* A slot of the wheel; all of them are less than a minute. */
#define WHEEL_MS 100
/* How long a stop waits for librdkafka's threads to end. */
#define DESTROY_MS 2000

static void release(ab_kafka *k)
{
    ab_kafka_receive_forget(k);
    ab_kafka_removal_leave(k);
    ab_kafka_link *l = NULL;
    while ((l = TAILQ_FIRST(&k->links)) != NULL) {
        ab_kafka_positions_leave(l);
        ab_kafka_link_unref(l);
    }
    ab_kafka_producers_fini(&k->producers[AB_LANE_STATE]);
    ab_kafka_producers_fini(&k->producers[AB_LANE_LIVE]);
    ab_map_free(k->links_by_name, NULL);
    ab_kafka_settings_fini(&k->settings);
}

static ab_err kafka_check(const ab_config *config, ab_role role, const char *agent, ab_error *err)
{
    const ab_transport_env env = {.config = config, .role = role, .agent = agent};
    ab_kafka_settings settings = {0};
    ab_err e = ab_kafka_settings_init(&settings, &env, err);
    ab_kafka_settings_fini(&settings);
    return e;
}

/* The parts of which a link is part while it is served. */
static void withdraw(ab_kafka_link *l)
{
    ab_kafka_consumer_remove(l);
    ab_kafka_log_replay_stop(l);
    ab_kafka_live_close(l);
}

static ab_err kafka_init(ab_transport *self, const ab_transport_env *env, ab_error *err)
{
    ab_kafka *k = (ab_kafka *)self;
    TAILQ_INIT(&k->links);
    ab_link_init(&k->to_check);
    ab_link_init(&k->to_measure);
    ab_wheel_init(&k->wheel, WHEEL_MS, ab_clock_mono_ms(env->clock));
    TAILQ_INIT(&k->to_read);
    TAILQ_INIT(&k->removals);
    TAILQ_INIT(&k->deliveries);
    TAILQ_INIT(&k->failed);
    ab_link_init(&k->ask_soon);
    ab_link_init(&k->ask_later);
    ab_link_init(&k->ask_under_way);
    ab_kafka_host_init(&k->host, env->loop, env->log, env->clock);
    k->withdraw = withdraw;
    ab_kafka_consumer_init(k);
    ab_kafka_live_init(k);
    ab_kafka_member_init(k);
    ab_kafka_producers_init(&k->producers[AB_LANE_STATE], k, AB_LANE_STATE);
    ab_kafka_producers_init(&k->producers[AB_LANE_LIVE], k, AB_LANE_LIVE);
    k->links_by_name = ab_map_new();
    ab_err e = AB_ERR_OK;
    if (k->links_by_name == NULL)
        e = ab_fail(err, AB_ERR_NOMEM, "kafka: out of memory");
    else if (ab_uuid(k->instance) != AB_ERR_OK)
        e = ab_fail(err, AB_ERR_NOMEM, "kafka: random number generator failed");
    else
        e = ab_kafka_settings_init(&k->settings, env, err);
    if (e != AB_ERR_OK)
        release(k);
    return e;
}

static void tell_failed(ab_kafka *k)
{
    ab_kafka_send *s = NULL;
    while ((s = TAILQ_FIRST(&k->failed)) != NULL) {
        TAILQ_REMOVE(&k->failed, s, at);
        ab_error err = {0};
        ab_err e = ab_fail(&err, s->failed, "%s", s->why == NULL ? "out of memory" : s->why);
        ab_kafka_send_finish(s, e, &err);
    }
}

/* What must not happen from inside a call or while an event of librdkafka is given out. */
static void on_wake(uv_async_t *wake)
{
    ab_kafka *k = wake->data;
    tell_failed(k);
    ab_kafka_log_replay_run(k);
    ab_kafka_removal_start(k);
    ab_kafka_topic_check_start(k);
}

static void on_uv_closed(uv_handle_t *handle)
{
    ab_kafka *k = handle->data;
    if (--k->open_uv > 0)
        return;
    k->stop = AB_STOP_DONE;
    k->stopped(k->stopped_arg);
}

static void stop_step(ab_kafka *k)
{
    if (k->stop == AB_STOP_DRAIN &&
        (ab_kafka_credential_reload_is_drained(k) || ab_kafka_now(k) >= k->stop_by_ms)) {
        k->hurry = true;
        k->stop = AB_STOP_JOBS;
    }
    if (k->stop == AB_STOP_JOBS && k->host.jobs == 0) {
        ab_kafka_credential_reload_close(k, AB_ERR_CLOSED);
        tell_failed(k);
        k->stop_by_ms = ab_kafka_now(k) + DESTROY_MS;
        k->stop = AB_STOP_HANDLES;
    }
    if (k->stop == AB_STOP_HANDLES &&
        (ab_kafka_host_reap(&k->host) ||
         (k->host.closing == 0 && ab_kafka_now(k) >= k->stop_by_ms))) {
        ab_kafka_host_abandon(&k->host);
        k->running = false;
        uv_close((uv_handle_t *)&k->tick, on_uv_closed);
        uv_close((uv_handle_t *)&k->wake, on_uv_closed);
    }
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* An upcall may remove it meanwhile. */
static void look_at(ab_kafka_link *l, int64_t now)
{
    int64_t next = ab_kafka_presence_look(l, now);
    if (!l->removed)
        next = earlier(next, ab_kafka_log_replay_look(l, now));
    if (!l->removed)
        next = earlier(next, ab_kafka_producer_look(l, AB_LANE_STATE, now));
    if (!l->removed)
        next = earlier(next, ab_kafka_producer_look(l, AB_LANE_LIVE, now));
    if (!l->removed)
        next = earlier(next, ab_kafka_topic_check_look(l, now));
    if (!l->removed)
        next = earlier(next, ab_kafka_positions_look(l, now));
    if (next != INT64_MAX)
        ab_kafka_link_look_at(l, next);
}

static void look_at_links(ab_kafka *k, int64_t now)
{
    ab_link due;
    ab_link_init(&due);
    ab_wheel_turn(&k->wheel, now, &due);
    for (ab_link *at = ab_list_pop(&due); at != NULL; at = ab_list_pop(&due)) {
        ab_kafka_link *l = ab_kafka_link_ref(AB_LINK_OF(at, ab_kafka_link, timer.at));
        look_at(l, now);
        ab_kafka_link_unref(l);
    }
}

static ab_err open_producers(ab_kafka *k, ab_error *err)
{
    ab_err e = ab_kafka_producers_open(&k->producers[AB_LANE_STATE], err);
    return e == AB_ERR_OK ? ab_kafka_producers_open(&k->producers[AB_LANE_LIVE], err) : e;
}

static void keep_producers(ab_kafka *k)
{
    ab_error err = {0};
    ab_kafka_producers_tick(&k->producers[AB_LANE_STATE]);
    ab_kafka_producers_tick(&k->producers[AB_LANE_LIVE]);
    if (open_producers(k, &err) != AB_ERR_OK)
        AB_DEBUG(k->base.env.log, KAFKA, "the producer is not ready", AB_KV("error", err.text));
}

static void on_tick(uv_timer_t *timer)
{
    ab_kafka *k = timer->data;
    int64_t now = ab_kafka_now(k);
    if (k->stop != AB_STOP_NO) {
        ab_kafka_producers_tick(&k->producers[AB_LANE_LIVE]);
        stop_step(k);
        return;
    }
    ab_kafka_host_reap(&k->host);
    if (!k->closed) {
        ab_kafka_credential_reload_tick(k);
        keep_producers(k);
        if (k->base.certificate_is_new)
            ab_kafka_presence_changed(k);
        look_at_links(k, now);
        if (k->settings.role == AB_ROLE_AGENT)
            ab_kafka_member_tick(k);
        else
            ab_kafka_positions_tick(k);
        ab_kafka_log_replay_run(k);
        ab_kafka_removal_start(k);
        ab_kafka_topic_check_start(k);
    }
    if (now >= k->commit_due_ms) {
        k->commit_due_ms = now + k->settings.commit_ms;
        ab_kafka_commit(k);
    }
    if (now >= k->lag_due_ms) {
        k->lag_due_ms = now + LAG_MS;
        ab_kafka_consumer_measure(k);
    }
}

static uint64_t tick_interval(const ab_kafka_settings *s)
{
    int64_t shortest = s->heartbeat_ms < s->commit_ms ? s->heartbeat_ms : s->commit_ms;
    int64_t interval = shortest / 4;
    if (interval < 20)
        interval = 20;
    return interval > 500 ? 500 : (uint64_t)interval;
}

/* Due for a topic check at once. */
static ab_err add_link(ab_kafka *k, const char *agent, ab_kafka_link **out, ab_error *err)
{
    ab_err e = ab_kafka_link_new(k, agent, out, err);
    if (e != AB_ERR_OK)
        return e;
    ab_kafka_positions_begin(*out);
    (void)ab_kafka_topic_check_look(*out, ab_kafka_now(k));
    return AB_ERR_OK;
}

static ab_err kafka_start(ab_transport *self, ab_error *err)
{
    ab_kafka *k = (ab_kafka *)self;
    ab_kafka_threads_give_way();
    if (uv_async_init(self->env.loop, &k->wake, on_wake) != 0)
        return ab_fail(err, AB_ERR_FATAL, "kafka: cannot register with the event loop");
    k->wake.data = k;
    uv_timer_init(self->env.loop, &k->tick); /* cannot fail */
    k->tick.data = k;
    k->open_uv = 2;
    k->running = true;
    uint64_t interval = tick_interval(&k->settings);
    uv_timer_start(&k->tick, on_tick, interval, interval);
    ab_kafka_link *own = NULL;
    ab_err e = AB_ERR_OK;
    if (k->settings.role == AB_ROLE_AGENT)
        e = add_link(k, self->env.agent, &own, err);
    if (e == AB_ERR_OK)
        e = ab_kafka_group_start(&k->groups, err);
    if (e == AB_ERR_OK)
        e = ab_kafka_live_start(k, err);
    if (e == AB_ERR_OK)
        e = open_producers(k, err);
    if (e == AB_ERR_OK)
        ab_kafka_positions_tick(k);
    if (e == AB_ERR_OK)
        ab_kafka_topic_check_start(k);
    return e == AB_ERR_OK || e == AB_ERR_NOMEM ? e : AB_ERR_FATAL;
}

static ab_err kafka_add_agent(ab_transport *self, const char *agent, ab_error *err)
{
    ab_kafka *k = (ab_kafka *)self;
    ab_kafka_link *l = NULL;
    ab_err e = add_link(k, agent, &l, err);
    if (e != AB_ERR_OK)
        return e;
    ab_kafka_removal_call_off(k, agent);
    ab_kafka_positions_tick(k);
    ab_kafka_topic_check_start(k);
    return AB_ERR_OK;
}

static bool kafka_remove_agent(ab_transport *self, const char *agent)
{
    ab_kafka *k = (ab_kafka *)self;
    ab_kafka_link *l = ab_kafka_link_find(k, agent);
    if (l == NULL)
        return false;
    bool ours = k->settings.topics == AB_TOPICS_CREATE;
    if (k->running && !ours)
        ab_kafka_commit(k);
    if (ours)
        ab_kafka_removal_want(l);
    ab_kafka_positions_leave(l);
    ab_kafka_link_remove(l);
    return ours;
}

static ab_err kafka_send(ab_transport *self, const char *agent, ab_lane lane, ab_event *event,
                         int64_t deadline_ms, ab_sent done, void *arg)
{
    ab_kafka *k = (ab_kafka *)self;
    if (k->closed)
        return AB_ERR_CLOSED;
    ab_kafka_link *l = ab_kafka_link_find(k, agent == NULL ? self->env.agent : agent);
    if (l == NULL)
        return AB_ERR_NOTFOUND;
    if (l->phase != AB_LINK_READY || ab_kafka_refusal_is_on(l) || k->renewing)
        return AB_ERR_UNAVAILABLE;
    ab_kafka_producer *p = ab_kafka_producer_of(l, lane);
    if (p == NULL || p->broken)
        return AB_ERR_UNAVAILABLE;
    /* What librdkafka has is sent when there is a broker again, also where a newer state follows.
     */
    if (lane == AB_LANE_STATE && k->host.broker != RD_KAFKA_RESP_ERR_NO_ERROR)
        return AB_ERR_UNAVAILABLE;
    if (!ab_kafka_producer_admits(l, lane, event))
        return AB_ERR_FULL;
    ab_kafka_send *s = NULL;
    if (ab_kafka_send_new(l, lane, event, deadline_ms, done, arg, &s) != AB_ERR_OK)
        return AB_ERR_UNAVAILABLE;
    ab_kafka_producer_send(p, s);
    return AB_ERR_OK;
}

static void kafka_ack(ab_transport *self, ab_delivery *delivery, ab_verdict verdict)
{
    ab_kafka_receive_ack((ab_kafka *)self, delivery, verdict);
}

static ab_pending *kafka_pending(ab_transport *self, const char *agent, ab_direction direction)
{
    ab_kafka_link *l = ab_kafka_link_find((ab_kafka *)self, agent);
    if (l == NULL)
        return NULL;
    return direction == AB_DOWN ? &l->down : &l->up;
}

/* Nothing that was sent to it has been confirmed for a while. */
static bool is_stuck(const ab_kafka_link *l)
{
    return l->phase == AB_LINK_READY && l->share[AB_LANE_STATE].stuck;
}

static bool is_ready(const ab_kafka_link *l)
{
    return l->phase == AB_LINK_READY && !is_stuck(l) && !ab_kafka_refusal_is_on(l);
}

static void say_why(const ab_kafka_link *l, ab_buf *why)
{
    ab_buf_printf(why, "kafka: agent %s: ", l->name);
    if (is_stuck(l))
        ab_buf_printf(why, "topic %s takes no events", l->topics[AB_KAFKA_OUT_STATE]);
    else if (l->phase == AB_LINK_READY)
        ab_buf_printf(why, "refused by the principal: %s", l->peer.refused);
    else
        ab_buf_puts(why, l->phase == AB_LINK_READ ? "our own log is being read" : l->why.text);
}

static ab_err kafka_refuse(ab_transport *self, const char *agent, const char *why)
{
    ab_kafka_link *l = ab_kafka_link_find((ab_kafka *)self, agent);
    return l == NULL ? AB_ERR_OK : ab_kafka_refusal_set(l, why);
}

static bool kafka_ready(ab_transport *self, ab_buf *why)
{
    const ab_kafka *k = (const ab_kafka *)self;
    if (!k->running || k->closed) {
        ab_buf_puts(why, "kafka: not running");
        return false;
    }
    if (k->host.broker != RD_KAFKA_RESP_ERR_NO_ERROR) {
        ab_buf_printf(why, "kafka: cannot reach any broker: %s",
                      k->host.broker_why[0] != '\0' ? k->host.broker_why
                                                    : rd_kafka_err2str(k->host.broker));
        return false;
    }
    size_t waiting = 0;
    const ab_kafka_link *first = NULL;
    const ab_kafka_link *l = NULL;
    TAILQ_FOREACH(l, &k->links, at)
    {
        if (l->removed || is_ready(l))
            continue;
        first = first == NULL ? l : first;
        waiting++;
    }
    if (first == NULL && k->member.why.code == AB_ERR_OK)
        return true;
    if (first == NULL) {
        ab_buf_printf(why, "kafka: %s", k->member.why.text);
        return false;
    }
    say_why(first, why);
    if (waiting > 1)
        ab_buf_printf(why, " (and %zu more)", waiting - 1);
    return false;
}

static void kafka_close(ab_transport *self)
{
    ab_kafka *k = (ab_kafka *)self;
    k->closed = true;
}

static void kafka_stop(ab_transport *self, int64_t deadline_ms, void (*stopped)(void *arg),
                       void *arg)
{
    ab_kafka *k = (ab_kafka *)self;
    assert(k->running && k->stop == AB_STOP_NO);
    k->closed = true;
    k->stopped = stopped;
    k->stopped_arg = arg;
    k->stop_by_ms = ab_kafka_now(k) + deadline_ms;
    k->stop = AB_STOP_DRAIN;
    ab_kafka_link *l = NULL;
    TAILQ_FOREACH(l, &k->links, at)
    {
        if (k->settings.role == AB_ROLE_AGENT && !l->removed)
            ab_kafka_presence_speak(l, true);
    }
    uv_timer_start(&k->tick, on_tick, 0, 20);
}

static void kafka_fini(ab_transport *self)
{
    ab_kafka *k = (ab_kafka *)self;
    assert(!k->running);
    release(k);
}

static const ab_options *const options[] = {&ab_kafka_options, NULL};

const ab_transport_ops ab_kafka_transport = {
    .name = "kafka",
    .caps = AB_CAP_DURABLE | AB_CAP_LOG_REPLAY | AB_CAP_BROKER,
    .options = options,
    .size = sizeof(ab_kafka),
    .check = kafka_check,
    .init = kafka_init,
    .start = kafka_start,
    .add_agent = kafka_add_agent,
    .remove_agent = kafka_remove_agent,
    .send = kafka_send,
    .ack = kafka_ack,
    .pending = kafka_pending,
    .refuse = kafka_refuse,
    .ready = kafka_ready,
    .close = kafka_close,
    .stop = kafka_stop,
    .fini = kafka_fini,
};
