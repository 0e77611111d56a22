/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes out on the state lane: what waits for the peer, and what it has dealt with.
 */
#include "schema/attributes.h"
#include "transport/grpc/link/link_priv.h"

/* Bytes of state events that wait to be sent: so many are FULL. */
#define WAITING_MAX (128u * 1024)

void ab_grpc_outbound_drop(ab_grpc_link *l, ab_err code)
{
    void *token = NULL;
    while (ab_grpc_sendq_pop(&l->queue, &token)) {
        if (token != NULL)
            ab_grpc_receipt_finish(l, token, code);
    }
    ab_grpc_live_drop(l, code);
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
        ab_grpc_receipt_finish(l, replaced, AB_ERR_OK);
    if (e != AB_ERR_OK || taken)
        ab_grpc_receipt_finish(l, r, e);
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

static ab_err send_state(ab_grpc_link *l, ab_event *event, ab_sent done, void *arg)
{
    if (!takes_states(l) || !has_room(l, ab_event_size(event))) {
        l->starved = true;
        return AB_ERR_FULL;
    }
    ab_grpc_receipt *r = ab_grpc_receipt_new(l, event, 0, done, arg);
    if (r == NULL)
        return AB_ERR_NOMEM;
    if (ab_grpc_receipt_fits(l, r))
        put_state(l, r);
    else
        ab_grpc_receipt_finish(l, r, AB_ERR_TOOBIG);
    ab_grpc_tell_wake(l);
    return AB_ERR_OK;
}

ab_err ab_grpc_link_send(ab_grpc_link *l, ab_lane lane, ab_event *event, int64_t deadline_ms,
                         ab_sent done, void *arg)
{
    if (l->epoch == 0)
        return AB_ERR_UNAVAILABLE;
    return lane == AB_LANE_LIVE ? ab_grpc_live_send(l, event, deadline_ms, done, arg)
                                : send_state(l, event, done, arg);
}

ab_err ab_grpc_outbound_transmit(ab_grpc_link *l, ab_event *event)
{
    ab_str head;
    ab_err e = ab_grpc_write_event(event, l->env->scratch, &head);
    if (e == AB_ERR_OK)
        e = l->ops->send(l->stream, head, event);
    if (e == AB_ERR_OK)
        l->spoke_ms = ab_clock_mono_ms(l->env->env->clock);
    return e;
}

/* It was taken before the limit was known. */
static void skip_too_big(ab_grpc_link *l)
{
    ab_error err = {0};
    ab_fail(&err, AB_ERR_TOOBIG, "an event of %zu bytes is too large for the peer",
            ab_event_size(ab_grpc_sendq_next(&l->queue)));
    const ab_log_quota *lines = ab_grpc_link_may_log(l);
    if (lines != NULL)
        AB_ERROR(l->env->env->log, TRANSPORT, "event not sent", AB_KV("agent", l->agent),
                 AB_KV("why", err.text), AB_KV("held_back", lines->held_back));
    ab_grpc_receipt *r = ab_grpc_sendq_skip(&l->queue);
    if (r != NULL)
        ab_grpc_receipt_finish(l, r, AB_ERR_TOOBIG);
}

ab_err ab_grpc_outbound_send(ab_grpc_link *l)
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

/* ----- what the senders are told ----- */

static void finish_one(ab_grpc_link *l, ab_str key, uint64_t epoch, uint64_t version)
{
    void *token = NULL;
    if (ab_grpc_sendq_ack(&l->queue, key, epoch, version, &token) != AB_ERR_OK)
        return; /* of a former stream: sent again since, or dropped */
    ab_metric_add(l->metrics.sent[AB_LANE_STATE], 1);
    if (token != NULL)
        ab_grpc_receipt_finish(l, token, AB_ERR_OK);
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

static bool feeds_states(ab_grpc_link *l)
{
    bool room = takes_states(l) && l->queue.bytes <= l->env->queue_bytes / 2 &&
                l->queue.waiting_bytes <= WAITING_MAX / 2;
    if (!l->starved || !room)
        return false;
    l->starved = false;
    return true;
}

void ab_grpc_outbound_feed(ab_grpc_link *l)
{
    const ab_transport_events *up = &l->env->env->events;
    bool states = !l->closed && feeds_states(l);
    bool lives = !l->closed && ab_grpc_live_feeds(l);
    if (states || lives)
        up->on_writable(up->arg, l->agent);
}

void ab_grpc_outbound_fini(ab_grpc_link *l)
{
    ab_grpc_outbound_drop(l, AB_ERR_CLOSED);
    ab_grpc_live_fini(l);
    ab_grpc_receipt_fini(l);
    ab_grpc_sendq_fini(&l->queue);
}
