/* SPDX-License-Identifier: Apache-2.0
 *
 * What comes in: the cap on deliveries, and the peer being told what is dealt with.
 */
#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "transport/grpc/link/link_priv.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* In one list; and the bytes that each may need in it. */
#define ACKS_MAX  1024
#define ACK_BYTES 24
/* To be told to a peer that does not listen: it is not listened to either. Bytes of those that go
 * by numbers, and how many of those that go one by one. */
#define ACKS_OWED_MAX (64u * 1024)
#define ACKED_MAX     4096

static size_t inflight_max(const ab_grpc_link *l)
{
    return (size_t)ab_config_int(l->env->env->config, "transport.inflight");
}

void ab_grpc_inbound_count(ab_grpc_link *l)
{
    const ab_transport_events *up = &l->env->env->events;
    if (l->backlog > 0)
        l->backlog--;
    if (l->backlog > 0 || l->caught_up || !l->greeted)
        return;
    l->caught_up = true;
    up->on_caught_up(up->arg, l->agent);
}

/* ----- deliveries ----- */

static void free_delivery(struct ab_grpc_deliveries *list, ab_grpc_delivery *d)
{
    TAILQ_REMOVE(list, d, at);
    d->link->acked_count -= list == &d->link->acked ? 1 : 0;
    ab_rpc_budget_give(&d->link->received, d->bytes);
    ab_event_unref(d->base.event);
    free(d);
}

static bool is_state(const ab_event *event, uint64_t *epoch, uint64_t *version)
{
    return ab_event_attr(event, AB_CE_PARTITIONKEY).len > 0 &&
           ab_event_attr_u64(event, AB_CE_WRITEREPOCH, epoch) == AB_ERR_OK &&
           ab_event_attr_u64(event, AB_CE_OBJVERSION, version) == AB_ERR_OK;
}

/* No two events of one epoch have the same version. */
static bool is_same(const ab_grpc_delivery *a, const ab_grpc_delivery *b)
{
    return a->version == b->version && a->epoch == b->epoch && a->base.lane == b->base.lane;
}

/* A new stream repeats what is still being dealt with here. What it has brought itself comes after
 * that in `open`, and need not be looked at. */
static bool is_known(const ab_grpc_link *l, const ab_grpc_delivery *d)
{
    const ab_grpc_delivery *other = NULL;
    TAILQ_FOREACH(other, &l->open, at)
    {
        if (other->stream == d->stream)
            break;
        if (is_same(other, d))
            return true;
    }
    TAILQ_FOREACH(other, &l->acked, at)
    {
        if (is_same(other, d))
            return true;
    }
    return false;
}

/* Who reads lists is told by numbers: the events, which may be large, go at once. */
static void gather(ab_grpc_link *l)
{
    ab_grpc_delivery *d = NULL;
    while (l->peer.ack_lists && (d = TAILQ_FIRST(&l->acked)) != NULL) {
        const ab_grpc_ack ack = {d->epoch, d->version};
        ab_buf_put(&l->acks, (ab_str){(const char *)&ack, sizeof(ack)});
        if (ab_buf_status(&l->acks) != AB_ERR_OK)
            return; /* told one by one */
        free_delivery(&l->acked, d);
    }
}

/* It is dealt with, and the peer is to be told. */
static void owe(ab_grpc_link *l, ab_grpc_delivery *d)
{
    TAILQ_INSERT_TAIL(&l->acked, d, at);
    l->acked_count++;
    gather(l);
    ab_grpc_tell_wake(l);
}

static bool is_forged(const ab_grpc_link *l, const ab_grpc_delivery *d)
{
    return d->base.lane == AB_LANE_STATE &&
           !ab_str_is(ab_event_attr(d->base.event, AB_CE_SOURCE), l->peer_source);
}

static void refuse_forged(ab_grpc_link *l, ab_grpc_delivery *d)
{
    ab_error err = {0};
    ab_fail(&err, AB_ERR_DENIED, "its source is %.*s",
            AB_STR_ARG(ab_event_attr(d->base.event, AB_CE_SOURCE)));
    ab_grpc_tell_refused(l, "source", &err);
    owe(l, d);
}

static void deliver(ab_grpc_link *l, ab_grpc_delivery *d)
{
    const ab_transport_events *up = &l->env->env->events;
    d->bytes = ab_event_size(d->base.event);
    ab_rpc_budget_add(&l->received, d->bytes);
    if (is_forged(l, d)) {
        refuse_forged(l, d);
        return;
    }
    TAILQ_INSERT_TAIL(&l->open, d, at);
    l->open_count[d->base.lane]++;
    ab_metric_add(l->metrics.received[d->base.lane], 1);
    ab_metric_set(l->metrics.unacknowledged, (double)l->open_count[AB_LANE_STATE]);
    up->on_event(up->arg, &d->base);
}

/* One event at a time has room, however large it is. */
static bool has_room(const ab_grpc_link *l, size_t bytes)
{
    return l->received.used == 0 || ab_rpc_budget_room(&l->received) >= bytes;
}

static bool may_deliver(const ab_grpc_link *l, const ab_delivery *d)
{
    return l->served && !l->closed && l->open_count[d->lane] < inflight_max(l) &&
           l->acks.len < ACKS_OWED_MAX && l->acked_count < ACKED_MAX &&
           has_room(l, ab_event_size(d->event));
}

/* The peer sends more than we deal with: reading stops, and then it has to. */
static void hold(ab_grpc_link *l, ab_grpc_delivery *d)
{
    TAILQ_INSERT_TAIL(&l->held, d, at);
    if (!l->paused)
        l->ops->pause(l->stream);
    l->paused = true;
}

static void deliver_or_hold(ab_grpc_link *l, ab_grpc_delivery *d)
{
    if (!TAILQ_EMPTY(&l->held) || !may_deliver(l, &d->base))
        hold(l, d);
    else
        deliver(l, d);
}

static void come_in(ab_grpc_link *l, ab_grpc_delivery *d)
{
    bool state = d->base.lane == AB_LANE_STATE;
    if ((state && is_known(l, d)) ||
        l->closed) { /* once closed, it will be sent to the next of us */
        ab_event_unref(d->base.event);
        free(d);
    } else {
        if (state && !is_forged(l, d))
            ab_pending_hold_now(&l->up, d->base.event);
        deliver_or_hold(l, d);
    }
    if (state)
        ab_grpc_inbound_count(l);
}

void ab_grpc_inbound_take(ab_grpc_link *l, ab_event *event)
{
    if (l->peer.window == 0) {
        ab_grpc_tell_refused(l, "early", NULL);
        return;
    }
    ab_grpc_delivery *d = malloc(sizeof(*d));
    if (d == NULL) {
        ab_grpc_tell_fatal(l, AB_ERR_NOMEM, "a delivery");
        return;
    }
    *d = (ab_grpc_delivery){.link = l, .stream = l->streams};
    ab_lane lane = is_state(event, &d->epoch, &d->version) ? AB_LANE_STATE : AB_LANE_LIVE;
    d->base = (ab_delivery){l->agent, lane, ab_event_ref(event)};
    come_in(l, d);
}

void ab_grpc_inbound_run(ab_grpc_link *l)
{
    ab_grpc_delivery *first = TAILQ_FIRST(&l->held);
    while (first != NULL && may_deliver(l, &first->base)) {
        TAILQ_REMOVE(&l->held, first, at);
        deliver(l, first);
        first = TAILQ_FIRST(&l->held);
    }
    if (l->paused && TAILQ_EMPTY(&l->held) && l->stream != NULL) {
        l->paused = false;
        l->ops->resume(l->stream);
    }
}

/* ----- acknowledgement ----- */

void ab_grpc_link_ack(ab_delivery *delivery, ab_verdict verdict)
{
    ab_grpc_delivery *d = (ab_grpc_delivery *)delivery;
    ab_grpc_link *l = d->link;
    if (d->live_call) {
        ab_grpc_live_ack(l, d);
        return;
    }
    assert(l->open_count[delivery->lane] > 0);
    l->open_count[delivery->lane]--;
    if (delivery->lane == AB_LANE_STATE)
        ab_pending_release(&l->up, delivery->event);
    ab_metric_set(l->metrics.unacknowledged, (double)l->open_count[AB_LANE_STATE]);
    if (delivery->lane == AB_LANE_STATE && verdict == AB_VERDICT_APPLIED) {
        TAILQ_REMOVE(&l->open, d, at);
        owe(l, d);
    } else {
        free_delivery(&l->open, d);
        ab_grpc_tell_wake(l);
    }
}

static void set_ack(const ab_grpc_link *l, ab_event_draft *d, ab_str id)
{
    ab_event_set(d, AB_CE_ID, id);
    ab_event_set_text(d, AB_CE_SOURCE, l->source);
    ab_event_set_text(d, AB_CE_TYPE, ab_type_name(AB_TYPE_PROCESSED));
    ab_event_set_text(d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_EVENT_PROCESSED));
    ab_event_set(d, AB_CE_ACKNOWLEDGES, id);
}

/* As argocd-agent has it: all extensions of the event that it is about. */
static ab_err make_ack(const ab_grpc_link *l, const ab_event *event, ab_event **out)
{
    ab_event_draft d = {0};
    set_ack(l, &d, ab_event_attr(event, AB_CE_ID));
    for (size_t i = 0; i < ab_event_attr_count(event); i++) {
        ab_attr attr = ab_event_attr_at(event, i);
        if (ab_grpc_is_extension(attr.name))
            ab_event_set_typed(&d, attr.name, attr.value, attr.type);
    }
    return ab_event_new(&d, out, NULL);
}

static ab_err send_each(ab_grpc_link *l)
{
    while (!TAILQ_EMPTY(&l->acked)) {
        ab_grpc_delivery *d = TAILQ_FIRST(&l->acked);
        ab_event *ack = NULL;
        ab_err e = make_ack(l, d->base.event, &ack);
        if (e == AB_ERR_OK)
            e = ab_grpc_outbound_transmit(l, ack);
        ab_event_unref(ack);
        if (e != AB_ERR_OK)
            return e;
        free_delivery(&l->acked, d);
    }
    return AB_ERR_OK;
}

static ab_err write_list(const ab_grpc_ack *acks, size_t count, ab_buf *out)
{
    uint64_t versions[ACKS_MAX];
    for (size_t i = 0; i < count; i++)
        versions[i] = acks[i].version;
    const ab_grpc_acks list = {acks[0].epoch, versions, count};
    ab_grpc_write_acks(&list, out);
    return ab_buf_status(out);
}

static ab_err make_list(const ab_grpc_link *l, const ab_grpc_ack *acks, size_t count,
                        ab_event **out)
{
    char id[48];
    snprintf(id, sizeof(id), "%" PRIu64 ".%" PRIu64, acks[0].epoch, acks[0].version);
    ab_buf list = ab_buf_up_to(ACKS_MAX * ACK_BYTES);
    ab_err e = write_list(acks, count, &list);
    ab_event_draft d = {.data = ab_buf_str(&list)};
    set_ack(l, &d, ab_str_of(id));
    if (e == AB_ERR_OK)
        e = ab_event_new(&d, out, NULL);
    ab_buf_fini(&list);
    return e;
}

static ab_err send_list(ab_grpc_link *l, const ab_grpc_ack *acks, size_t count)
{
    ab_event *ack = NULL;
    ab_err e = make_list(l, acks, count, &ack);
    if (e == AB_ERR_OK)
        e = ab_grpc_outbound_transmit(l, ack);
    ab_event_unref(ack);
    return e;
}

/* How many of the first go into one list: those of one epoch. */
static size_t count_of_list(const ab_grpc_ack *acks, size_t count)
{
    size_t some = 1;
    while (some < count && some < ACKS_MAX && acks[some].epoch == acks[0].epoch)
        some++;
    return some;
}

static ab_err send_lists(ab_grpc_link *l)
{
    const ab_grpc_ack *acks = (const void *)l->acks.ptr;
    size_t count = l->acks.len / sizeof(*acks), sent = 0;
    ab_err e = AB_ERR_OK;
    while (sent < count && e == AB_ERR_OK) {
        size_t some = count_of_list(acks + sent, count - sent);
        e = send_list(l, acks + sent, some);
        sent += e == AB_ERR_OK ? some : 0;
    }
    if (sent == count) {
        ab_buf_clear(&l->acks);
    } else {
        l->acks.len -= sent * sizeof(*acks);
        memmove(l->acks.ptr, acks + sent, l->acks.len);
    }
    return e;
}

ab_err ab_grpc_inbound_send_acks(ab_grpc_link *l)
{
    gather(l);
    ab_err e = send_each(l);
    return e == AB_ERR_OK ? send_lists(l) : e;
}

bool ab_grpc_inbound_is_told(const ab_grpc_link *l)
{
    return TAILQ_EMPTY(&l->acked) && l->acks.len == 0;
}

/* ----- the end of a stream, and of all ----- */

void ab_grpc_inbound_reset(ab_grpc_link *l)
{
    ab_grpc_delivery *d = NULL;
    while ((d = TAILQ_FIRST(&l->held)) != NULL) {
        if (d->base.lane == AB_LANE_STATE)
            ab_pending_release(&l->up, d->base.event);
        free_delivery(&l->held, d);
    }
    ab_buf_clear(&l->acks);
    l->peer.ack_lists = false;
    l->paused = false;
}

void ab_grpc_inbound_fini(ab_grpc_link *l)
{
    ab_grpc_inbound_reset(l);
    while (!TAILQ_EMPTY(&l->open))
        free_delivery(&l->open, TAILQ_FIRST(&l->open));
    while (!TAILQ_EMPTY(&l->acked))
        free_delivery(&l->acked, TAILQ_FIRST(&l->acked));
    ab_buf_fini(&l->acks);
}
