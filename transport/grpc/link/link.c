/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/link/link.h"

#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "transport/grpc/link/link_priv.h"

#include <stdio.h>
#include <stdlib.h>

/* Of acknowledgements in memory; far more than can be open. */
#define ACKS_CAP (64u * 1024 * 1024)

/* ----- life ----- */

static void get_metrics(ab_grpc_link *l)
{
    ab_metrics *m = l->env->env->metrics;
    const char *const lanes[] = {"state", "live"};
    for (int lane = AB_LANE_STATE; lane <= AB_LANE_LIVE; lane++) {
        const ab_label labels[] = {{"agent", ab_str_of(l->agent)},
                                   {"lane", ab_str_of(lanes[lane])}};
        l->metrics.received[lane] =
            ab_metric_get(m, AB_METRIC_COUNTER, "argobus_events_received_total",
                          "Events received from peers.", labels, 2);
        l->metrics.sent[lane] =
            ab_metric_get(m, AB_METRIC_COUNTER, "argobus_events_sent_total",
                          "Events that the transport has accepted for delivery.", labels, 2);
    }
    const ab_label agent = {"agent", ab_str_of(l->agent)};
    l->metrics.unacknowledged = ab_metric_get(m, AB_METRIC_GAUGE, "argobus_unacknowledged",
                                              "Events delivered and not yet in effect.", &agent, 1);
    l->metrics.last_seen =
        ab_metric_get(m, AB_METRIC_GAUGE, "argobus_peer_last_seen_timestamp_seconds",
                      "When the peer was last heard, seconds since 1970; 0: not yet.", &agent, 1);
    l->metrics.peer_up = ab_metric_get(m, AB_METRIC_GAUGE, "argobus_peer_up",
                                       "1 while the peer's hello arrives in time.", &agent, 1);
}

static void name_sources(ab_grpc_link *l)
{
    bool principal = l->env->env->role == AB_ROLE_PRINCIPAL;
    snprintf(principal ? l->source : l->peer_source, sizeof(l->source), "%s", AB_SOURCE_PRINCIPAL);
    snprintf(principal ? l->peer_source : l->source, sizeof(l->source), "%s%s", AB_SOURCE_AGENT,
             l->agent);
}

/* Of an agent that has not been here since we started nothing is known: a comparison will tell. */
static void begin_pending(ab_grpc_link *l)
{
    bool principal = l->env->env->role == AB_ROLE_PRINCIPAL;
    const ab_clock *clock = principal ? l->env->env->clock : NULL;
    ab_pending_init(&l->down, clock, AB_PENDING_UNKNOWN);
    ab_pending_init(&l->up, clock, AB_PENDING_UNKNOWN);
}

ab_err ab_grpc_link_new(ab_grpc_link_env *env, const char *agent, ab_grpc_link **out, ab_error *err)
{
    if (!ab_str_is_dns_label(ab_str_of(agent)))
        return ab_fail(err, AB_ERR_INVALID, "agent name \"%s\" is not a DNS label", agent);
    ab_grpc_link *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for agent %s", agent);
    l->env = env;
    ab_link_init(&l->woken_at);
    ab_link_init(&l->retired_at);
    begin_pending(l);
    ab_grpc_sendq_init(&l->queue, &l->down);
    l->received = (ab_rpc_budget){.max = env->queue_bytes, .parent = env->received};
    snprintf(l->agent, sizeof(l->agent), "%s", agent);
    name_sources(l);
    ab_grpc_live_init(l);
    STAILQ_INIT(&l->finished);
    TAILQ_INIT(&l->open);
    TAILQ_INIT(&l->held);
    TAILQ_INIT(&l->acked);
    ab_buf_init(&l->acks, ACKS_CAP);
    ab_grpc_link_serve(l);
    l->fresh = env->env->replay || env->gone_epoch > 0; /* a former link may have been its own */
    *out = l;
    return AB_ERR_OK;
}

void ab_grpc_link_free(ab_grpc_link *l)
{
    if (l == NULL)
        return;
    ab_link_remove(&l->woken_at);
    ab_link_remove(&l->retired_at);
    if (l->last_epoch > l->env->gone_epoch)
        l->env->gone_epoch = l->last_epoch;
    ab_grpc_outbound_fini(l);
    ab_grpc_inbound_fini(l);
    ab_pending_fini(&l->down);
    ab_pending_fini(&l->up);
    free(l);
}

const char *ab_grpc_link_agent(const ab_grpc_link *l)
{
    return l->agent;
}

void ab_grpc_link_serve(ab_grpc_link *l)
{
    ab_link_remove(&l->retired_at);
    l->served = true;
    l->epoch = 0;
    ab_pending_pass(&l->down, AB_PENDING_UNKNOWN);
    ab_pending_pass(&l->up, AB_PENDING_UNKNOWN);
    l->peer.instance[0] = '\0';
    get_metrics(l);
    ab_grpc_handshake_begin(l);
}

ab_pending *ab_grpc_link_pending(ab_grpc_link *l, ab_direction direction)
{
    return direction == AB_DOWN ? &l->down : &l->up;
}

bool ab_grpc_link_is_served(const ab_grpc_link *l)
{
    return l->served;
}

/* Tells that the peer is gone, unless it was told already. */
static void cut(ab_grpc_link *l, const char *why)
{
    const ab_grpc_stream_ops *ops = l->ops;
    void *stream = l->stream;
    if (stream == NULL)
        return;
    ab_grpc_link_detach(l, stream);
    ops->cut(stream, why);
}

void ab_grpc_link_retire(ab_grpc_link *l)
{
    l->served = false;
    l->fresh = true;
    l->starved = false;
    ab_grpc_outbound_drop(l, AB_ERR_CLOSED);
    l->peer.up = false; /* nothing is told of it any more */
    ab_metrics_drop_agent(l->env->env->metrics, ab_str_of(l->agent));
    l->metrics = (ab_grpc_link_metrics){0};
    cut(l, "this agent is no longer served");
    ab_list_append(&l->env->retired, &l->retired_at);
    ab_grpc_tell_wake(l);
}

void ab_grpc_link_use(ab_grpc_link *l)
{
    l->calls++;
}

void ab_grpc_link_leave(ab_grpc_link *l)
{
    l->calls--;
}

static bool is_over(const ab_grpc_link *l)
{
    bool all_told = !ab_link_is_in_use(&l->woken_at) && STAILQ_EMPTY(&l->finished);
    return l->calls == 0 && all_told && TAILQ_EMPTY(&l->open) && TAILQ_EMPTY(&l->live.open);
}

ab_grpc_link *ab_grpc_link_find_over(const ab_grpc_link_env *env)
{
    for (ab_list_iter i = ab_list_first(&env->retired); i.link != NULL; ab_list_next(&i)) {
        ab_grpc_link *l = AB_LINK_OF(i.link, ab_grpc_link, retired_at);
        if (is_over(l))
            return l;
    }
    return NULL;
}

void ab_grpc_link_refuse(ab_grpc_link *l)
{
    l->refused = l->stream != NULL;
    ab_grpc_tell_wake(l);
}

/* ----- streams ----- */

void ab_grpc_link_attach(ab_grpc_link *l, const ab_grpc_stream_ops *ops, void *stream)
{
    cut(l, AB_GRPC_REPLACED);
    l->ops = ops;
    l->stream = stream;
    l->streams++;
    l->blocked = false;
    l->paused = false;
    l->lost = false;
    l->refused = false;
    l->called[0] = '\0';
    l->hello_sent = false;
    /* An agent speaks when it has heard which epoch the principal knows of it. */
    l->hello_due = l->env->env->role == AB_ROLE_PRINCIPAL;
    ab_grpc_tell_wake(l);
}

void ab_grpc_link_detach(ab_grpc_link *l, const void *stream)
{
    if (l->stream == NULL || l->stream != stream)
        return;
    l->ops = NULL;
    l->stream = NULL;
    l->peer.window = 0; /* until the next hello, before which nothing is heard */
    l->hello_due = false;
    ab_grpc_live_reset(l, "the stream has ended");
    ab_grpc_sendq_rewind(&l->queue);
    ab_grpc_inbound_reset(l);
    ab_grpc_handshake_gone(l);
    ab_grpc_tell_wake(l);
}

void *ab_grpc_link_stream(const ab_grpc_link *l)
{
    return l->stream;
}

const char *ab_grpc_link_instance(const ab_grpc_link *l)
{
    return l->instance;
}

bool ab_grpc_link_is_peer(const ab_grpc_link *l, ab_str instance)
{
    return l->greeted && ab_str_is(instance, l->peer.instance);
}

bool ab_grpc_link_is_up(const ab_grpc_link *l)
{
    return l->greeted;
}

void ab_grpc_link_take(ab_grpc_link *l, const void *stream, ab_event *event)
{
    if (l->stream == NULL || l->stream != stream)
        return;
    ab_str target = ab_event_attr(event, AB_CE_DATASCHEMA);
    /* The answer to a command has the same target, and is an event like any other. */
    if (ab_event_attr(event, AB_CE_ACKNOWLEDGES).ptr != NULL)
        ab_grpc_outbound_acknowledged(l, event);
    else if (ab_str_is(target, ab_target_name(AB_TARGET_HEARTBEAT)))
        ab_grpc_handshake_hear(l, event);
    else
        ab_grpc_inbound_take(l, event);
}

void ab_grpc_link_receive(ab_grpc_link *l, const void *stream, ab_str message)
{
    ab_error err = {0};
    ab_event *event = NULL;
    if (l->stream == NULL || l->stream != stream)
        return;
    ab_err e = ab_grpc_read_event(message, &event, &err);
    if (e == AB_ERR_NOMEM)
        ab_grpc_tell_fatal(l, e, "an event");
    else if (e != AB_ERR_OK)
        ab_grpc_tell_refused(l, "parse", &err);
    else
        ab_grpc_link_take(l, stream, event);
    ab_event_unref(event);
}

void ab_grpc_link_writable(ab_grpc_link *l, const void *stream)
{
    if (l->stream == NULL || l->stream != stream)
        return;
    l->blocked = false;
    ab_grpc_link_run(l);
}

/* Acknowledgements first: they make room at the other side. */
static void transmit_due(ab_grpc_link *l)
{
    ab_err e = ab_grpc_handshake_say(l);
    if (e == AB_ERR_OK && l->hello_sent)
        e = ab_grpc_inbound_send_acks(l);
    if (e == AB_ERR_OK && l->greeted)
        e = ab_grpc_outbound_send(l);
    if (e == AB_ERR_NOMEM)
        ab_grpc_tell_fatal(l, e, "sending");
    l->blocked = e != AB_ERR_OK;
}

static void transmit(ab_grpc_link *l)
{
    if (l->stream != NULL && !l->blocked)
        transmit_due(l);
}

static void cut_misnamed(ab_grpc_link *l)
{
    char why[256];
    snprintf(why, sizeof(why),
             "the login is that of agent %s, and the process calls itself %s: correct agent.name, "
             "or give it credentials of its own",
             l->agent, l->called);
    l->called[0] = '\0';
    cut(l, why);
}

/* What the upcalls gave us goes at once, while it is in the processor's caches. */
void ab_grpc_link_run(ab_grpc_link *l)
{
    if (l->refused)
        cut(l, "the control plane refuses the agent's mode; the next login tells why");
    l->refused = false;
    if (l->called[0] != '\0')
        cut_misnamed(l);
    ab_grpc_live_run(l);
    transmit(l);
    ab_grpc_receipt_report(l);
    ab_grpc_outbound_feed(l);
    ab_grpc_inbound_run(l);
    transmit(l);
}

void ab_grpc_link_live_writable(ab_grpc_link *l, const void *call)
{
    if (l->live.stream == NULL || l->live.stream != call)
        return;
    l->live.blocked = false;
    ab_grpc_link_run(l);
}

bool ab_grpc_link_run_woken(ab_grpc_link_env *env, int max)
{
    for (int i = 0; i < max && ab_link_is_in_use(&env->woken); i++)
        ab_grpc_link_run(AB_LINK_OF(ab_list_pop(&env->woken), ab_grpc_link, woken_at));
    return ab_link_is_in_use(&env->woken);
}

static void show_last_seen(const ab_grpc_link *l)
{
    int64_t heard_us = ab_clock_wall_us(l->env->env->clock) - l->ops->silent_ms(l->stream) * 1000;
    ab_metric_set(l->metrics.last_seen, (double)heard_us / 1e6);
}

/* Twice in the time that the peer has been told, so that one may be late. */
static bool is_heartbeat_due(const ab_grpc_link *l)
{
    int64_t every_ms = l->env->heartbeat_ms;
    return every_ms > 0 && l->hello_sent && !l->closed &&
           ab_clock_mono_ms(l->env->env->clock) - l->spoke_ms >= every_ms / 2;
}

/* Before its hello the peer has promised nothing; but that comes at once. */
static bool is_peer_lost(const ab_grpc_link *l)
{
    int64_t every_ms = l->greeted ? l->peer.heartbeat_ms : l->env->heartbeat_ms;
    return every_ms > 0 && l->ops->quiet_ms(l->stream) >= every_ms + l->env->heartbeat_timeout_ms;
}

/* A proxy between the two ends answers pings, although it may have lost the other end. */
static void care_for_stream(ab_grpc_link *l)
{
    if (l->ops == NULL || l->ops->quiet_ms == NULL)
        return;
    bool lost = is_peer_lost(l);
    /* Who has been held up himself has not read yet what came meanwhile: after a turn he has. */
    if (lost && l->lost)
        cut(l, "the other side has sent nothing for too long: it hangs, or a proxy has lost its "
               "connection to it");
    else if (is_heartbeat_due(l))
        ab_grpc_link_greet_again(l);
    l->lost = lost;
}

void ab_grpc_link_tick(ab_grpc_link *l)
{
    if (l->ops != NULL && l->ops->silent_ms != NULL && l->peer.up)
        show_last_seen(l);
    if (!TAILQ_EMPTY(&l->held)) /* others may have made room */
        ab_grpc_tell_wake(l);
    ab_grpc_live_tick(l);
    care_for_stream(l);
}

void ab_grpc_link_greet_again(ab_grpc_link *l)
{
    l->hello_due = l->hello_due || l->hello_sent;
    ab_grpc_tell_wake(l);
}

/* ----- the end ----- */

void ab_grpc_link_close(ab_grpc_link *l)
{
    l->closed = true;
    l->starved = false;
    l->hello_due = l->hello_sent;
    ab_grpc_tell_wake(l);
}

bool ab_grpc_link_is_drained(const ab_grpc_link *l)
{
    if (l->stream == NULL || !l->hello_sent)
        return true;
    bool told = !l->hello_due && ab_grpc_inbound_is_told(l);
    return told && (l->queue.count == 0 || !l->greeted);
}

void ab_grpc_link_flush(ab_grpc_link *l)
{
    ab_grpc_outbound_drop(l, AB_ERR_CLOSED);
    ab_grpc_receipt_report(l);
}
