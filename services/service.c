/* SPDX-License-Identifier: Apache-2.0 */
#include "services/service.h"

#include "net/timer.h"
#include "schema/attributes.h"

#include <stdio.h>

#define TICK_MS 250
/* A disk that is almost full takes some writes and refuses others. */
#define TELL_UNSAVED_MS 60000

/* The store has logged and counted it. */
static void on_fault(void *arg, const char *where, const ab_error *err)
{
    (void)arg;
    (void)where;
    (void)err;
}

static void on_fatal(void *arg, const ab_error *err)
{
    const ab_service *s = arg;
    ab_daemon_fatal(s->daemon, err);
}

const char *ab_service_tls(const ab_config *config, const char *what)
{
    char name[64];
    snprintf(name, sizeof(name), "%s.tls.%s", ab_config_str(config, "transport"), what);
    return ab_config_str(config, name);
}

const char *ab_service_file(const ab_config *config, const char *option, const char *what)
{
    const char *own = ab_config_str(config, option);
    return own != NULL ? own : ab_service_tls(config, what);
}

ab_err ab_service_make_store(ab_service *s, const ab_store_watch *watches, ab_store_events events,
                             ab_error *err)
{
    ab_store_env env = {
        .loop = s->daemon->loop,
        .config = s->daemon->config,
        .log = s->daemon->log,
        .metrics = s->daemon->metrics,
        .clock = s->daemon->clock,
        .watches = watches,
        .events = events,
    };
    env.events.on_fault = on_fault;
    return ab_store_new(&env, &s->store, err);
}

ab_err ab_service_make_transport(ab_service *s, ab_transport_env env, ab_error *err)
{
    env.loop = s->daemon->loop;
    env.config = s->daemon->config;
    env.log = s->daemon->log;
    env.metrics = s->daemon->metrics;
    env.clock = s->daemon->clock;
    env.namespace = ab_config_str(env.config, "store.namespace");
    env.by_destination = ab_config_is(env.config, "mapping", "destination");
    env.events.on_fatal = on_fatal;
    return ab_transport_new(&env, &s->transport, err);
}

static void transport_stopped(void *arg)
{
    const ab_service *s = arg;
    ab_daemon_stopped(s->daemon);
}

static void try_finish(ab_service *s)
{
    if (s->finishing || s->store_running || !s->is_drained(s))
        return;
    s->finishing = true;
    if (s->connecting)
        ab_transport_stop(s->transport, ab_config_int(s->daemon->config, "stop.timeout") / 2,
                          transport_stopped, s);
    else
        ab_daemon_stopped(s->daemon);
}

bool ab_service_can_save(const ab_service *s, ab_buf *why)
{
    const ab_error *failure = s->state_db == NULL ? NULL : ab_state_db_failure(s->state_db);
    if (failure == NULL || failure->code == AB_ERR_OK)
        return true;
    ab_buf_printf(why, "cannot write the state database: %s", failure->text);
    return false;
}

static void watch_state_db(ab_service *s)
{
    const ab_daemon *d = s->daemon;
    int64_t now = ab_clock_mono_ms(d->clock);
    if (s->state_db == NULL)
        return;
    const ab_error *failure = ab_state_db_failure(s->state_db);
    bool unsaved = failure->code != AB_ERR_OK;
    ab_metric_set(ab_metric_get(d->metrics, AB_METRIC_GAUGE, "argobus_state_database_failing",
                                "1 while the state database cannot be written.", NULL, 0),
                  unsaved ? 1 : 0);
    if (unsaved == s->unsaved || now < s->tell_unsaved_ms)
        return;
    s->unsaved = unsaved;
    if (unsaved) {
        AB_ERROR(d->log, MAIN, "cannot write the state database; what is received waits",
                 AB_KV("error", failure->text));
        return;
    }
    s->tell_unsaved_ms = now + TELL_UNSAVED_MS;
    AB_INFO(d->log, MAIN, "the state database can be written again; continuing");
}

static void on_tick(uv_timer_t *timer)
{
    ab_service *s = timer->data;
    watch_state_db(s);
    if (s->stopping)
        try_finish(s);
    else
        s->on_tick(s);
    ab_traces_tick(s->traces);
}

ab_err ab_service_start(ab_service *s, ab_error *err)
{
    s->tick = ab_timer_new(s->daemon->loop, s);
    if (s->tick == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "no timer");
    (void)uv_timer_start(s->tick, on_tick, TICK_MS, TICK_MS); /* fails only for a closing handle */
    ab_err e = ab_store_start(s->store, err);
    s->store_running = e == AB_ERR_OK;
    return e;
}

ab_err ab_service_connect(ab_service *s, ab_error *err)
{
    s->connecting = true;
    return ab_transport_start(s->transport, err);
}

static void store_stopped(void *arg)
{
    ab_service *s = arg;
    s->store_running = false;
    if (s->stopping)
        try_finish(s);
}

void ab_service_stop(ab_service *s)
{
    s->stopping = true;
    if (s->connecting)
        ab_transport_close(s->transport);
    ab_store_stop(s->store, store_stopped, s);
}

void ab_service_release(ab_service *s)
{
    if (s->store_running)
        ab_store_stop(s->store, store_stopped, s);
    while (s->store_running)
        (void)uv_run(s->daemon->loop, UV_RUN_ONCE);
    ab_timer_free(s->tick);
    ab_transport_free(s->transport);
    ab_store_free(s->store);
    ab_traces_free(s->traces);
}

bool ab_service_is_connected(const ab_service *s, ab_buf *why)
{
    if (!s->connecting) {
        ab_buf_puts(why, "the principal's identity is not known yet");
        return false;
    }
    return ab_transport_ready(s->transport, why);
}

static void refuse_live(ab_service *s, const ab_delivery *delivery)
{
    static const ab_label label = {"reason", {"live", sizeof("live") - 1}};
    ab_metric_add(ab_metric_get(s->daemon->metrics, AB_METRIC_COUNTER,
                                "argobus_events_refused_total",
                                "Received events that were not accepted.", &label, 1),
                  1);
    AB_DEBUG(s->daemon->log, MAIN, "live event refused", AB_KV("agent", delivery->agent),
             AB_KV("type", ab_event_attr(delivery->event, AB_CE_TYPE)));
}

/* Of a session, or of argocd-agent's wire. */
static bool is_of_live_access(const ab_event *event)
{
    ab_target target;
    ab_str about = ab_event_attr(event, AB_CE_DATASCHEMA);
    return ab_target_parse(about.ptr, about.len, &target) &&
           (target == AB_TARGET_LIVE || target == AB_TARGET_RESOURCE || target == AB_TARGET_REDIS ||
            target == AB_TARGET_CONTAINER_LOG || target == AB_TARGET_TERMINAL ||
            target == AB_TARGET_CLUSTER_CACHE_INFO);
}

bool ab_service_takes(ab_service *s, ab_delivery *delivery)
{
    if (delivery->lane == AB_LANE_STATE)
        return true;
    if (s->on_live != NULL && is_of_live_access(delivery->event))
        s->on_live(s, delivery->agent, delivery->event);
    else
        refuse_live(s, delivery);
    ab_transport_ack(s->transport, delivery, AB_VERDICT_APPLIED);
    return false;
}

bool ab_service_is_ready(const ab_service *s, ab_buf *why)
{
    if (!s->listed) {
        ab_buf_puts(why, "the store has not been read yet");
        return false;
    }
    return ab_service_is_connected(s, why);
}
