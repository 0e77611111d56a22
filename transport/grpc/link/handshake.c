/* SPDX-License-Identifier: Apache-2.0
 *
 * Hellos: who is at the other end, whether it is who it was, and under which epoch we write.
 */
#include "base/core/digest.h"
#include "schema/attributes.h"
#include "schema/epoch.h"
#include "transport/grpc/link/link_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of two on one stream: each is compared with all that the agent has. */
#define MEET_APART_MS 1000

void ab_grpc_handshake_begin(ab_grpc_link *l)
{
    if (ab_uuid(l->instance) != AB_ERR_OK)
        ab_grpc_tell_fatal(l, AB_ERR_FATAL, "random number generator failed");
}

/* ----- ours ----- */

static uint64_t highest(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Higher than any that we used, or that the peer knows of; and than those before it over Kafka. */
static uint64_t new_epoch(ab_grpc_link *l, uint64_t seen)
{
    uint64_t now = (uint64_t)ab_clock_wall_us(l->env->env->clock);
    uint64_t used = highest(l->last_epoch, l->env->gone_epoch);
    l->last_epoch = highest(now, highest(used, seen) + 1);
    return l->last_epoch;
}

static ab_grpc_hello compose(const ab_grpc_link *l)
{
    const ab_transport_env *env = l->env->env;
    ab_grpc_hello hello = {
        .base = {.epoch = l->last_epoch,
                 .time_ms = ab_clock_wall_us(env->clock) / 1000,
                 .leaving = l->closed,
                 .certificate = env->certificate == NULL ? "" : env->certificate},
        /* Who has said hello has told its own epoch: that of those before it is news. */
        .seen = l->greeted ? l->peer.former_epoch : l->peer.epoch,
        .inflight = ab_config_int(env->config, "transport.inflight"),
        .message_max = (int64_t)l->env->message_max,
        .backlog = (int64_t)(l->queue.count - l->queue.sent),
        .heartbeat_ms = l->env->heartbeat_ms,
        .ack_lists = true,
        .live_call = true,
        .open_live = ab_grpc_live_asks(l),
        .fresh = l->fresh,
    };
    snprintf(hello.base.mode, sizeof(hello.base.mode), "%s", env->mode);
    snprintf(hello.base.version, sizeof(hello.base.version), "%s", AB_VERSION);
    snprintf(hello.base.instance, sizeof(hello.base.instance), "%s", l->instance);
    return hello;
}

ab_err ab_grpc_handshake_say(ab_grpc_link *l)
{
    if (!l->hello_due)
        return AB_ERR_OK;
    if (l->last_epoch == 0)
        (void)new_epoch(l, 0);
    ab_grpc_hello hello = compose(l);
    ab_event *event = NULL;
    ab_err e = ab_grpc_hello_make(&hello, l->source, &event);
    if (e == AB_ERR_OK)
        e = ab_grpc_outbound_transmit(l, event);
    ab_event_unref(event);
    if (e == AB_ERR_OK) {
        l->hello_due = false;
        l->hello_sent = true;
    }
    return e;
}

/* ----- the peer's ----- */

void ab_grpc_handshake_gone(ab_grpc_link *l)
{
    const ab_transport_events *up = &l->env->env->events;
    l->greeted = false;
    if (!l->peer.up)
        return;
    l->peer.up = false;
    ab_metric_set(l->metrics.peer_up, 0);
    if (!l->closed)
        up->on_peer(up->arg, l->agent, false, NULL);
}

/* The peer is not who it was: what it had for us is gone with it, and perhaps what it had of us. */
static void meet(ab_grpc_link *l, const ab_grpc_hello *hello)
{
    const ab_transport_events *up = &l->env->env->events;
    bool first = l->epoch == 0;
    bool lost = !first && hello->fresh;
    snprintf(l->peer.instance, sizeof(l->peer.instance), "%s", hello->base.instance);
    l->met_at = ab_clock_mono_ms(l->env->env->clock);
    l->met_on = l->streams;
    l->caught_up = false;
    if (lost)
        ab_grpc_outbound_drop(l, AB_ERR_UNAVAILABLE);
    if (first || lost) {
        /* What was offered is used, if the peer knows of nothing higher. */
        bool offered = first && l->hello_sent && l->last_epoch > hello->seen;
        l->epoch = offered ? l->last_epoch : new_epoch(l, hello->seen);
        l->hello_due = l->hello_due || !offered;
    }
    ab_pending_pass(&l->down, 0);
    ab_pending_pass(&l->up, 0);
    up->on_gap(up->arg, l->agent, lost ? AB_GAP_RECREATED : AB_GAP_FIRST);
    if (first || lost)
        up->on_ready(up->arg, l->agent, l->epoch);
}

static void tell_up(ab_grpc_link *l, const ab_grpc_hello *hello)
{
    const ab_transport_events *up = &l->env->env->events;
    const ab_peer peer = {
        .mode = hello->base.mode,
        .version = hello->base.version,
        .epoch = hello->base.epoch,
        .clock_skew_ms = hello->base.time_ms - ab_clock_wall_us(l->env->env->clock) / 1000,
        .certificate = hello->base.certificate,
    };
    l->peer.up = true;
    ab_metric_set(l->metrics.peer_up, 1);
    ab_metric_set(l->metrics.last_seen, (double)ab_clock_wall_us(l->env->env->clock) / 1e6);
    up->on_peer(up->arg, l->agent, true, &peer);
}

static bool is_other(const ab_grpc_link *l, const ab_grpc_hello *hello)
{
    return strcmp(hello->base.instance, l->peer.instance) != 0;
}

/* A new process of an agent brings a new stream. */
static bool is_too_soon(const ab_grpc_link *l, const ab_grpc_hello *hello, ab_error *err)
{
    bool soon = l->env->env->role == AB_ROLE_PRINCIPAL && is_other(l, hello) &&
                l->met_on == l->streams &&
                ab_clock_mono_ms(l->env->env->clock) < l->met_at + MEET_APART_MS;
    if (soon)
        (void)ab_fail(err, AB_ERR_DENIED,
                      "instance %s comes on the stream of %s, which has just begun",
                      hello->base.instance, l->peer.instance);
    return soon;
}

/* What it says of epochs is what later ones have to exceed. */
static bool is_credible(const ab_grpc_link *l, const ab_grpc_hello *hello, ab_error *err)
{
    uint64_t epoch = highest(hello->base.epoch, hello->seen);
    bool credible = l->env->env->role == AB_ROLE_AGENT ||
                    ab_epoch_is_credible(epoch, ab_clock_wall_us(l->env->env->clock));
    if (!credible)
        (void)ab_fail(err, AB_ERR_DENIED, "epoch %" PRIu64 " is further ahead than any can be",
                      epoch);
    return credible;
}

static void come(ab_grpc_link *l, const ab_grpc_hello *hello)
{
    bool again = l->greeted;
    bool known = l->peer.up && hello->base.epoch == l->peer.epoch;
    l->greeted = true;
    l->hello_due = l->hello_due || !l->hello_sent;
    l->peer.window = (size_t)hello->inflight;
    l->peer.message_max = (size_t)hello->message_max;
    l->peer.heartbeat_ms = hello->heartbeat_ms;
    l->peer.ack_lists = hello->ack_lists;
    l->peer.live_call = hello->live_call;
    bool other = is_other(l, hello);
    if (other)
        l->peer.former_epoch = l->peer.epoch;
    l->peer.epoch = highest(l->peer.epoch, hello->base.epoch);
    if (other)
        meet(l, hello);
    if (!l->served) /* an upcall removed it */
        return;
    if (ab_hello_is_new_certificate(&hello->base, &l->peer.certificate) || !known)
        tell_up(l, hello);
    if (hello->open_live)
        ab_grpc_live_want(l);
    if (!again) {
        l->backlog = hello->backlog;
        ab_grpc_inbound_count(l);
    }
    ab_grpc_tell_wake(l);
}

static bool is_of_another(const ab_grpc_link *l, const ab_event *event)
{
    return l->env->env->role == AB_ROLE_PRINCIPAL &&
           !ab_str_is(ab_event_attr(event, AB_CE_SOURCE), l->peer_source);
}

/* An agent with the certificate of another one. All that it sends would be refused, so that nothing
 * would ever be in effect there, and it would not know. */
static void turn_away(ab_grpc_link *l, const ab_event *event)
{
    snprintf(l->called, sizeof(l->called), "%.*s", AB_STR_ARG(ab_event_attr(event, AB_CE_SOURCE)));
    ab_grpc_tell_wake(l);
}

void ab_grpc_handshake_hear(ab_grpc_link *l, const ab_event *event)
{
    ab_grpc_hello hello;
    ab_error err = {0};
    if (ab_grpc_hello_read(event, &hello, &err) != AB_ERR_OK)
        ab_grpc_tell_refused(l, "hello", &err);
    else if (l->closed)
        l->greeted = l->greeted && !hello.base.leaving;
    else if (is_of_another(l, event))
        turn_away(l, event);
    else if (hello.base.leaving)
        ab_grpc_handshake_gone(l);
    else if (!is_credible(l, &hello, &err) || is_too_soon(l, &hello, &err))
        ab_grpc_tell_refused(l, "hello", &err);
    else
        come(l, &hello);
    ab_grpc_hello_fini(&hello);
}
