/* SPDX-License-Identifier: Apache-2.0
 *
 * The live lane of a link. Its events go by a call of their own, so that no key stroke waits for a
 * backlog of state, and no list of 64 MiB holds state up; sent at once where the call takes them,
 * and not in the link's turn, which comes after those of other links. The call is opened when there
 * is something to send and ended when it has been idle, because most agents never need one.
 *
 * Invariant: an event is sent by one call at most, in the order it was given. What waits when a
 * call ends is not sent by the next: its senders are told UNAVAILABLE.
 */
#include "schema/attributes.h"
#include "transport/grpc/link/link_priv.h"

#include <stdlib.h>

/* That wait to be sent; and that came and were not given back. */
#define QUEUE_MAX (1024u * 1024)
#define OPEN_MAX  (1024u * 1024)
/* What an event needs beside its bytes. */
#define OVERHEAD 256
/* So long may opening a call take. */
#define WANTED_MS 10000
#define IDLE_MS   (6 * 60 * 1000)

static size_t size_of(const ab_event *event)
{
    return ab_event_size(event) + OVERHEAD;
}

static int64_t now_ms(const ab_grpc_link *l)
{
    return ab_clock_mono_ms(l->env->env->clock);
}

static bool is_principal(const ab_grpc_link *l)
{
    return l->env->env->role == AB_ROLE_PRINCIPAL;
}

void ab_grpc_live_init(ab_grpc_link *l)
{
    STAILQ_INIT(&l->live.queue);
    TAILQ_INIT(&l->live.open);
}

/* ----- out ----- */

static bool is_blocked(const ab_grpc_link *l)
{
    return l->live.stream == NULL || l->live.blocked;
}

static ab_err transmit(const ab_grpc_link *l, ab_event *event)
{
    ab_str head;
    ab_err e = ab_grpc_write_event(event, l->env->scratch, &head);
    return e == AB_ERR_OK ? l->live.ops->send(l->live.stream, head, event) : e;
}

static void finish_first(ab_grpc_link *l, ab_err code)
{
    ab_grpc_receipt *r = ab_grpc_receipt_take(&l->live.queue);
    l->live.queue_bytes -= size_of(r->event);
    ab_metric_add(l->metrics.sent[AB_LANE_LIVE], code == AB_ERR_OK ? 1 : 0);
    ab_grpc_receipt_finish(l, r, code);
}

static void send_queue(ab_grpc_link *l)
{
    while (!is_blocked(l) && !STAILQ_EMPTY(&l->live.queue)) {
        ab_err e = transmit(l, STAILQ_FIRST(&l->live.queue)->event);
        if (e == AB_ERR_NOMEM)
            ab_grpc_tell_fatal(l, e, "sending");
        if (e == AB_ERR_OK || e == AB_ERR_TOOBIG)
            finish_first(l, e);
        else
            l->live.blocked = true;
        l->live.used_ms = now_ms(l);
    }
}

static bool has_room(const ab_grpc_link *l, const ab_event *event)
{
    return STAILQ_EMPTY(&l->live.queue) || l->live.queue_bytes + size_of(event) <= QUEUE_MAX;
}

static void put(ab_grpc_link *l, ab_grpc_receipt *r)
{
    if (!ab_grpc_receipt_fits(l, r)) {
        ab_grpc_receipt_finish(l, r, AB_ERR_TOOBIG);
    } else if (!l->greeted) {
        ab_grpc_receipt_finish(l, r, AB_ERR_UNAVAILABLE);
    } else if (!l->peer.live_call) {
        ab_grpc_receipt_finish(l, r, AB_ERR_UNSUPPORTED);
    } else {
        STAILQ_INSERT_TAIL(&l->live.queue, r, at);
        l->live.queue_bytes += size_of(r->event);
        send_queue(l);
    }
}

ab_err ab_grpc_live_send(ab_grpc_link *l, ab_event *event, int64_t deadline_ms, ab_sent done,
                         void *arg)
{
    if (!has_room(l, event)) {
        l->live.starved = true;
        return AB_ERR_FULL;
    }
    ab_grpc_receipt *r = ab_grpc_receipt_new(l, event, deadline_ms, done, arg);
    if (r == NULL)
        return AB_ERR_NOMEM;
    put(l, r);
    ab_grpc_tell_wake(l);
    return AB_ERR_OK;
}

bool ab_grpc_live_feeds(ab_grpc_link *l)
{
    if (!l->live.starved || l->live.queue_bytes > QUEUE_MAX / 2)
        return false;
    l->live.starved = false;
    return true;
}

void ab_grpc_live_drop(ab_grpc_link *l, ab_err code)
{
    while (!STAILQ_EMPTY(&l->live.queue))
        finish_first(l, code);
}

/* ----- the call ----- */

bool ab_grpc_live_asks(const ab_grpc_link *l)
{
    return is_principal(l) && l->live.wanted;
}

void ab_grpc_live_want(ab_grpc_link *l)
{
    if (l->live.stream != NULL || l->live.wanted)
        return;
    l->live.wanted = true;
    l->live.wanted_ms = now_ms(l);
    l->hello_due = l->hello_due || is_principal(l);
    ab_grpc_tell_wake(l);
}

void ab_grpc_live_run(ab_grpc_link *l)
{
    ab_grpc_live *v = &l->live;
    send_queue(l);
    if (!STAILQ_EMPTY(&v->queue) && l->greeted)
        ab_grpc_live_want(l);
    if (!v->wanted || v->begun || is_principal(l))
        return;
    v->begun = true;
    l->env->open_live(l->env->arg, l);
}

void ab_grpc_link_detach_live(ab_grpc_link *l, const void *call)
{
    if (l->live.stream == NULL || l->live.stream != call)
        return;
    l->live.ops = NULL;
    l->live.stream = NULL;
    ab_grpc_live_drop(l, AB_ERR_UNAVAILABLE);
    ab_grpc_tell_wake(l);
}

static void cut(ab_grpc_link *l, const char *why)
{
    const ab_grpc_stream_ops *ops = l->live.ops;
    void *call = l->live.stream;
    if (call == NULL)
        return;
    ab_grpc_link_detach_live(l, call);
    ops->cut(call, why);
}

void ab_grpc_link_attach_live(ab_grpc_link *l, const ab_grpc_stream_ops *ops, void *call)
{
    ab_grpc_live *v = &l->live;
    cut(l, "another call for live events was opened");
    v->ops = ops;
    v->stream = call;
    v->wanted = false;
    v->blocked = false;
    v->paused = false;
    v->used_ms = now_ms(l);
    ab_grpc_tell_wake(l);
}

/* Who waits for a call that does not come is told. */
static void give_up(ab_grpc_link *l)
{
    l->live.wanted = false;
    ab_grpc_live_drop(l, AB_ERR_UNAVAILABLE);
    ab_grpc_tell_wake(l);
}

void ab_grpc_link_live_over(ab_grpc_link *l)
{
    l->live.begun = false;
    if (l->live.wanted)
        give_up(l);
}

void ab_grpc_live_reset(ab_grpc_link *l, const char *why)
{
    cut(l, why);
    give_up(l);
}

static void expire(ab_grpc_link *l, int64_t now)
{
    ab_grpc_receipt *next = NULL;
    for (ab_grpc_receipt *r = STAILQ_FIRST(&l->live.queue); r != NULL; r = next) {
        next = STAILQ_NEXT(r, at);
        if (now < r->deadline_ms)
            continue;
        STAILQ_REMOVE(&l->live.queue, r, ab_grpc_receipt, at);
        l->live.queue_bytes -= size_of(r->event);
        ab_grpc_receipt_finish(l, r, AB_ERR_TIMEOUT);
        ab_grpc_tell_wake(l);
    }
}

void ab_grpc_live_tick(ab_grpc_link *l)
{
    const ab_grpc_live *v = &l->live;
    int64_t now = now_ms(l);
    bool used = !STAILQ_EMPTY(&v->queue) || !TAILQ_EMPTY(&v->open) || now - v->used_ms < IDLE_MS;
    expire(l, now);
    if (v->wanted && now - v->wanted_ms >= WANTED_MS)
        give_up(l);
    if (is_principal(l) && v->stream != NULL && !used)
        cut(l, "idle");
}

/* ----- in ----- */

static void free_delivery(ab_grpc_link *l, ab_grpc_delivery *d)
{
    TAILQ_REMOVE(&l->live.open, d, at);
    l->live.open_bytes -= d->bytes;
    ab_event_unref(d->base.event);
    free(d);
}

void ab_grpc_live_ack(ab_grpc_link *l, ab_grpc_delivery *d)
{
    free_delivery(l, d);
    if (!l->live.paused || l->live.stream == NULL || l->live.open_bytes >= OPEN_MAX)
        return;
    l->live.paused = false;
    l->live.ops->resume(l->live.stream);
}

/* The peer waits, by its window, when we take more than we deal with. */
static void deliver(ab_grpc_link *l, ab_event *event)
{
    const ab_transport_events *up = &l->env->env->events;
    ab_grpc_delivery *d = malloc(sizeof(*d));
    if (d == NULL) {
        ab_grpc_tell_fatal(l, AB_ERR_NOMEM, "a delivery");
        return;
    }
    *d = (ab_grpc_delivery){.link = l, .live_call = true, .bytes = size_of(event)};
    d->base = (ab_delivery){l->agent, AB_LANE_LIVE, ab_event_ref(event)};
    TAILQ_INSERT_TAIL(&l->live.open, d, at);
    l->live.open_bytes += d->bytes;
    l->live.used_ms = now_ms(l);
    ab_metric_add(l->metrics.received[AB_LANE_LIVE], 1);
    if (l->live.open_bytes >= OPEN_MAX && !l->live.paused) {
        l->live.paused = true;
        l->live.ops->pause(l->live.stream);
    }
    up->on_event(up->arg, &d->base);
}

static void take(ab_grpc_link *l, ab_event *event)
{
    ab_error err = {0};
    ab_str source = ab_event_attr(event, AB_CE_SOURCE);
    if (!ab_str_is(source, l->peer_source)) {
        ab_fail(&err, AB_ERR_DENIED, "its source is %.*s", AB_STR_ARG(source));
        ab_grpc_tell_refused(l, "source", &err);
    } else if (l->served && !l->closed) {
        deliver(l, event);
    }
}

void ab_grpc_link_receive_live(ab_grpc_link *l, const void *call, ab_str message)
{
    ab_error err = {0};
    ab_event *event = NULL;
    if (l->live.stream == NULL || l->live.stream != call)
        return;
    ab_err e = ab_grpc_read_event(message, &event, &err);
    if (e == AB_ERR_NOMEM)
        ab_grpc_tell_fatal(l, e, "an event");
    else if (e != AB_ERR_OK)
        ab_grpc_tell_refused(l, "parse", &err);
    else
        take(l, event);
    ab_event_unref(event);
}

void ab_grpc_live_fini(ab_grpc_link *l)
{
    while (!TAILQ_EMPTY(&l->live.open))
        free_delivery(l, TAILQ_FIRST(&l->live.open));
}
