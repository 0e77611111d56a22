/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes out: what waits for the peer, and what the senders are told of it.
 */
#include "schema/attributes.h"
#include "transport/grpc/link/link_priv.h"

#include <stdlib.h>

/* Bytes of state events that wait to be sent: so many are FULL. */
#define WAITING_MAX (128u * 1024)

static void free_receipt(ab_grpc_receipt *r)
{
    ab_event_unref(r->event);
    free(r);
}

static ab_grpc_receipt *take_first(struct ab_grpc_receipts *list)
{
    ab_grpc_receipt *r = STAILQ_FIRST(list);
    if (r != NULL)
        STAILQ_REMOVE_HEAD(list, at);
    return r;
}

static void finish(ab_grpc_link *l, ab_grpc_receipt *r, ab_err code)
{
    r->code = code;
    STAILQ_INSERT_TAIL(&l->finished, r, at);
}

void ab_grpc_outbound_drop(ab_grpc_link *l, ab_err code)
{
    void *token = NULL;
    while (ab_grpc_sendq_pop(&l->queue, &token)) {
        if (token != NULL)
            finish(l, token, code);
    }
    for (ab_grpc_receipt *r = take_first(&l->lives); r != NULL; r = take_first(&l->lives))
        finish(l, r, code);
}

/* An agent's event is safe when the principal has dealt with it: what an agent was asked, it would
 * else not be asked again after a crash. The principal's is safe when taken, because all that it
 * sends follows from its store, and because its agents' answers may wait for what it sends. */
static bool is_safe_when_taken(const ab_grpc_link *l)
{
    return l->env->env->role == AB_ROLE_PRINCIPAL;
}

static void put_state(ab_grpc_link *l, ab_grpc_receipt *r)
{
    void *replaced = NULL;
    bool taken = is_safe_when_taken(l);
    ab_err e = ab_grpc_sendq_put(&l->queue, r->event, taken ? NULL : r, &replaced);
    ab_event_unref(r->event);
    r->event = NULL;
    if (replaced != NULL)
        finish(l, replaced, AB_ERR_OK);
    if (e != AB_ERR_OK || taken)
        finish(l, r, e);
}

/* What waits with the sender is replaced by what is newer; what waits here and is not safe when
 * taken holds the newer one up. */
static bool takes_states(const ab_grpc_link *l)
{
    return l->greeted || is_safe_when_taken(l);
}

/* More of what waits would only be old when it is sent, and cold in the processor's caches. */
static bool has_room(const ab_grpc_link *l, size_t bytes)
{
    const ab_grpc_sendq *q = &l->queue;
    return q->count == 0 ||
           (q->bytes + bytes <= l->env->queue_bytes && q->waiting_bytes < WAITING_MAX);
}

static void put(ab_grpc_link *l, ab_lane lane, ab_grpc_receipt *r)
{
    size_t max = l->env->message_max;
    if (l->peer.message_max != 0 && l->peer.message_max < max)
        max = l->peer.message_max;
    if (ab_event_size(r->event) > max)
        finish(l, r, AB_ERR_TOOBIG);
    else if (lane == AB_LANE_STATE)
        put_state(l, r);
    else if (!l->greeted)
        finish(l, r, AB_ERR_UNAVAILABLE);
    else
        STAILQ_INSERT_TAIL(&l->lives, r, at);
}

ab_err ab_grpc_link_send(ab_grpc_link *l, ab_lane lane, ab_event *event, int64_t deadline_ms,
                         ab_sent done, void *arg)
{
    if (l->epoch == 0)
        return AB_ERR_UNAVAILABLE;
    if (lane == AB_LANE_STATE && (!takes_states(l) || !has_room(l, ab_event_size(event)))) {
        l->starved = true;
        return AB_ERR_FULL;
    }
    ab_grpc_receipt *r = malloc(sizeof(*r));
    if (r == NULL)
        return AB_ERR_NOMEM;
    int64_t now_ms = deadline_ms <= 0 ? 0 : ab_clock_mono_ms(l->env->env->clock);
    *r = (ab_grpc_receipt){.done = done,
                           .arg = arg,
                           .event = ab_event_ref(event),
                           .deadline_ms = deadline_ms <= 0 ? INT64_MAX : now_ms + deadline_ms};
    put(l, lane, r);
    ab_grpc_tell_wake(l);
    return AB_ERR_OK;
}

ab_err ab_grpc_outbound_transmit(ab_grpc_link *l, ab_event *event)
{
    ab_str head;
    ab_err e = ab_grpc_write_event(event, l->env->scratch, &head);
    return e == AB_ERR_OK ? l->ops->send(l->stream, head, event) : e;
}

static ab_err send_lives(ab_grpc_link *l)
{
    while (!STAILQ_EMPTY(&l->lives)) {
        ab_err e = ab_grpc_outbound_transmit(l, STAILQ_FIRST(&l->lives)->event);
        if (e != AB_ERR_OK && e != AB_ERR_TOOBIG)
            return e;
        ab_metric_add(l->metrics.sent[AB_LANE_LIVE], e == AB_ERR_OK ? 1 : 0);
        finish(l, take_first(&l->lives), e);
    }
    return AB_ERR_OK;
}

/* It was taken before the limit was known. */
static void skip_too_big(ab_grpc_link *l)
{
    ab_error err = {0};
    ab_fail(&err, AB_ERR_TOOBIG, "an event of %zu bytes is too large for the peer",
            ab_event_size(ab_grpc_sendq_next(&l->queue)));
    AB_ERROR(l->env->env->log, TRANSPORT, "event not sent", AB_KV("agent", (const char *)l->agent),
             AB_KV("why", (const char *)err.text));
    ab_grpc_receipt *r = ab_grpc_sendq_skip(&l->queue);
    if (r != NULL)
        finish(l, r, AB_ERR_TOOBIG);
}

static ab_err send_states(ab_grpc_link *l)
{
    while (l->queue.sent < l->peer.window) {
        ab_event *event = ab_grpc_sendq_next(&l->queue);
        if (event == NULL)
            return AB_ERR_OK;
        bool fits = ab_event_size(event) <= l->peer.message_max;
        ab_err e = fits ? ab_grpc_outbound_transmit(l, event) : AB_ERR_TOOBIG;
        if (e == AB_ERR_OK)
            ab_grpc_sendq_sent(&l->queue);
        else if (e == AB_ERR_TOOBIG)
            skip_too_big(l);
        else
            return e;
    }
    return AB_ERR_OK;
}

ab_err ab_grpc_outbound_send(ab_grpc_link *l)
{
    ab_err e = send_lives(l);
    return e == AB_ERR_OK ? send_states(l) : e;
}

/* ----- what the senders are told ----- */

static void finish_one(ab_grpc_link *l, ab_str key, uint64_t epoch, uint64_t version)
{
    void *token = NULL;
    if (ab_grpc_sendq_ack(&l->queue, key, epoch, version, &token) != AB_ERR_OK)
        return; /* of a former stream: sent again since, or dropped */
    ab_metric_add(l->metrics.sent[AB_LANE_STATE], 1);
    if (token != NULL)
        finish(l, token, AB_ERR_OK);
}

static ab_err finish_list(ab_grpc_link *l, ab_str list)
{
    ab_pb_arena arena;
    ab_grpc_acks acks = {0};
    ab_err e = ab_grpc_read_acks(list, &arena, &acks);
    for (size_t i = 0; i < acks.count; i++)
        finish_one(l, AB_STR_NONE, acks.epoch, acks.versions[i]);
    ab_pb_arena_fini(&arena);
    return e;
}

void ab_grpc_outbound_acknowledged(ab_grpc_link *l, const ab_event *ack)
{
    uint64_t epoch = 0, version = 0;
    ab_error err = {0};
    ab_str list = ab_event_data(ack);
    if (list.ptr != NULL) {
        if (finish_list(l, list) != AB_ERR_OK) {
            ab_fail(&err, AB_ERR_PARSE, "cannot read its inventory");
            ab_grpc_tell_refused(l, "acknowledgement", &err);
        }
    } else if (ab_event_attr_u64(ack, AB_CE_WRITEREPOCH, &epoch) == AB_ERR_OK &&
               ab_event_attr_u64(ack, AB_CE_OBJVERSION, &version) == AB_ERR_OK) {
        finish_one(l, ab_event_attr(ack, AB_CE_PARTITIONKEY), epoch, version);
    }
    ab_grpc_tell_wake(l);
}

static void tell(ab_grpc_receipt *r)
{
    ab_error err = {0};
    if (r->code != AB_ERR_OK)
        ab_fail(&err, r->code, "event not sent: %s", ab_err_text(r->code));
    r->done(r->arg, r->code, r->code == AB_ERR_OK ? NULL : &err);
    free_receipt(r);
}

void ab_grpc_outbound_report(ab_grpc_link *l)
{
    struct ab_grpc_receipts due = STAILQ_HEAD_INITIALIZER(due);
    STAILQ_CONCAT(&due, &l->finished);
    for (ab_grpc_receipt *r = take_first(&due); r != NULL; r = take_first(&due))
        tell(r);
}

void ab_grpc_outbound_feed(ab_grpc_link *l)
{
    const ab_transport_events *up = &l->env->env->events;
    bool room = takes_states(l) && l->queue.bytes <= l->env->queue_bytes / 2 &&
                l->queue.waiting_bytes <= WAITING_MAX / 2;
    if (!l->starved || l->closed || !room)
        return;
    l->starved = false;
    up->on_writable(up->arg, l->agent);
}

void ab_grpc_outbound_tick(ab_grpc_link *l)
{
    int64_t now = ab_clock_mono_ms(l->env->env->clock);
    ab_grpc_receipt *next = NULL;
    for (ab_grpc_receipt *r = STAILQ_FIRST(&l->lives); r != NULL; r = next) {
        next = STAILQ_NEXT(r, at);
        if (now < r->deadline_ms)
            continue;
        STAILQ_REMOVE(&l->lives, r, ab_grpc_receipt, at);
        finish(l, r, AB_ERR_TIMEOUT);
        ab_grpc_tell_wake(l);
    }
}

void ab_grpc_outbound_fini(ab_grpc_link *l)
{
    ab_grpc_outbound_drop(l, AB_ERR_CLOSED);
    for (ab_grpc_receipt *r = take_first(&l->finished); r != NULL; r = take_first(&l->finished))
        free_receipt(r);
    ab_grpc_sendq_fini(&l->queue);
}
