/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/link.h"

#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "transport/grpc/link_priv.h"

#include <stdio.h>
#include <stdlib.h>

/* Of acknowledgements in memory; far more than can be open. */
#define ACKS_CAP (64u * 1024 * 1024)
/* Bytes of state events that wait to be sent: so many are FULL. */
#define WAITING_MAX (128u * 1024)

const ab_transport_events *ab_grpc_link_events(const ab_grpc_link *l)
{
    return &l->env->env->events;
}

void ab_grpc_link_fatal(const ab_grpc_link *l, ab_err code, const char *what)
{
    ab_error err = {0};
    ab_fail(&err, code, "agent %s: %s: %s", l->agent, what, ab_err_text(code));
    ab_grpc_link_events(l)->on_fatal(ab_grpc_link_events(l)->arg, &err);
}

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

ab_err ab_grpc_link_new(const ab_grpc_link_env *env, const char *agent, ab_grpc_link **out,
                        ab_error *err)
{
    if (!ab_str_is_dns_label(ab_str_of(agent)))
        return ab_fail(err, AB_ERR_INVALID, "agent name \"%s\" is not a DNS label", agent);
    ab_grpc_link *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for agent %s", agent);
    l->env = env;
    begin_pending(l);
    ab_grpc_sendq_init(&l->queue, &l->down);
    l->received = (ab_rpc_budget){.max = env->queue_bytes, .parent = env->received};
    snprintf(l->agent, sizeof(l->agent), "%s", agent);
    name_sources(l);
    STAILQ_INIT(&l->lives);
    STAILQ_INIT(&l->finished);
    TAILQ_INIT(&l->open);
    TAILQ_INIT(&l->held);
    TAILQ_INIT(&l->acked);
    ab_buf_init(&l->acks, ACKS_CAP);
    ab_grpc_link_serve(l);
    l->fresh = env->env->replay;
    *out = l;
    return AB_ERR_OK;
}

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

void ab_grpc_link_free(ab_grpc_link *l)
{
    if (l == NULL)
        return;
    ab_grpc_link_drop_queue(l, AB_ERR_CLOSED);
    for (ab_grpc_receipt *r = take_first(&l->finished); r != NULL; r = take_first(&l->finished))
        free_receipt(r);
    ab_grpc_inbound_fini(l);
    ab_grpc_sendq_fini(&l->queue);
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

void ab_grpc_link_retire(ab_grpc_link *l, bool forget)
{
    l->served = false;
    l->fresh = forget || (l->fresh && l->peer.instance[0] == '\0');
    l->starved = false;
    ab_grpc_link_drop_queue(l, AB_ERR_CLOSED);
    l->peer.up = false; /* nothing is told of it any more */
    ab_metrics_drop_agent(l->env->env->metrics, ab_str_of(l->agent));
    l->metrics = (ab_grpc_link_metrics){0};
    cut(l, "this agent is no longer served");
    l->env->wake(l->env->arg, l);
}

void ab_grpc_link_refuse(ab_grpc_link *l)
{
    l->refused = l->stream != NULL;
    l->env->wake(l->env->arg, l);
}

/* ----- streams ----- */

void ab_grpc_link_attach(ab_grpc_link *l, const ab_grpc_stream_ops *ops, void *stream)
{
    cut(l, "another agent of this name connected");
    l->ops = ops;
    l->stream = stream;
    l->streams++;
    l->blocked = false;
    l->paused = false;
    l->refused = false;
    l->hello_sent = false;
    /* An agent speaks when it has heard which epoch the principal knows of it. */
    l->hello_due = l->env->env->role == AB_ROLE_PRINCIPAL;
    l->env->wake(l->env->arg, l);
}

void ab_grpc_link_detach(ab_grpc_link *l, const void *stream)
{
    if (l->stream == NULL || l->stream != stream)
        return;
    l->ops = NULL;
    l->stream = NULL;
    l->greeted = false;
    l->hello_due = false;
    ab_grpc_sendq_rewind(&l->queue);
    ab_grpc_inbound_reset(l);
    ab_grpc_handshake_gone(l);
    l->env->wake(l->env->arg, l);
}

bool ab_grpc_link_is_attached(const ab_grpc_link *l)
{
    return l->stream != NULL;
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
        ab_grpc_link_acknowledged(l, event);
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
        ab_grpc_link_fatal(l, e, "an event");
    else if (e != AB_ERR_OK)
        ab_grpc_inbound_refuse(l, "parse", &err);
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

/* ----- sending ----- */

static void finish(ab_grpc_link *l, ab_grpc_receipt *r, ab_err code)
{
    r->code = code;
    STAILQ_INSERT_TAIL(&l->finished, r, at);
}

void ab_grpc_link_drop_queue(ab_grpc_link *l, ab_err code)
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
    l->env->wake(l->env->arg, l);
    return AB_ERR_OK;
}

ab_err ab_grpc_link_transmit(ab_grpc_link *l, ab_event *event)
{
    ab_str head;
    ab_err e = ab_grpc_write_event(event, l->env->scratch, &head);
    return e == AB_ERR_OK ? l->ops->send(l->stream, head, event) : e;
}

static ab_err send_lives(ab_grpc_link *l)
{
    while (!STAILQ_EMPTY(&l->lives)) {
        ab_err e = ab_grpc_link_transmit(l, STAILQ_FIRST(&l->lives)->event);
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
        ab_err e = fits ? ab_grpc_link_transmit(l, event) : AB_ERR_TOOBIG;
        if (e == AB_ERR_OK)
            ab_grpc_sendq_sent(&l->queue);
        else if (e == AB_ERR_TOOBIG)
            skip_too_big(l);
        else
            return e;
    }
    return AB_ERR_OK;
}

/* Acknowledgements first: they make room at the other side. */
static void transmit_due(ab_grpc_link *l)
{
    ab_err e = ab_grpc_handshake_say(l);
    if (e == AB_ERR_OK && l->hello_sent)
        e = ab_grpc_inbound_send_acks(l);
    if (e == AB_ERR_OK && l->greeted)
        e = send_lives(l);
    if (e == AB_ERR_OK && l->greeted)
        e = send_states(l);
    if (e == AB_ERR_NOMEM)
        ab_grpc_link_fatal(l, e, "sending");
    l->blocked = e != AB_ERR_OK;
}

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

void ab_grpc_link_acknowledged(ab_grpc_link *l, const ab_event *ack)
{
    uint64_t epoch = 0, version = 0;
    ab_error err = {0};
    ab_str list = ab_event_data(ack);
    if (list.ptr != NULL) {
        if (finish_list(l, list) != AB_ERR_OK) {
            ab_fail(&err, AB_ERR_PARSE, "cannot read its inventory");
            ab_grpc_inbound_refuse(l, "acknowledgement", &err);
        }
    } else if (ab_event_attr_u64(ack, AB_CE_WRITEREPOCH, &epoch) == AB_ERR_OK &&
               ab_event_attr_u64(ack, AB_CE_OBJVERSION, &version) == AB_ERR_OK) {
        finish_one(l, ab_event_attr(ack, AB_CE_PARTITIONKEY), epoch, version);
    }
    l->env->wake(l->env->arg, l);
}

static void tell(ab_grpc_receipt *r)
{
    ab_error err = {0};
    if (r->code != AB_ERR_OK)
        ab_fail(&err, r->code, "event not sent: %s", ab_err_text(r->code));
    r->done(r->arg, r->code, r->code == AB_ERR_OK ? NULL : &err);
    free_receipt(r);
}

/* What `done` sends again waits for the next run. */
static void report_finished(ab_grpc_link *l)
{
    struct ab_grpc_receipts due = STAILQ_HEAD_INITIALIZER(due);
    STAILQ_CONCAT(&due, &l->finished);
    for (ab_grpc_receipt *r = take_first(&due); r != NULL; r = take_first(&due))
        tell(r);
}

/* Who got FULL may send again. */
static void feed(ab_grpc_link *l)
{
    bool room = takes_states(l) && l->queue.bytes <= l->env->queue_bytes / 2 &&
                l->queue.waiting_bytes <= WAITING_MAX / 2;
    if (!l->starved || l->closed || !room)
        return;
    l->starved = false;
    ab_grpc_link_events(l)->on_writable(ab_grpc_link_events(l)->arg, l->agent);
}

static void transmit(ab_grpc_link *l)
{
    if (l->stream != NULL && !l->blocked)
        transmit_due(l);
}

/* What the upcalls gave us goes at once, while it is in the processor's caches. */
void ab_grpc_link_run(ab_grpc_link *l)
{
    if (l->refused)
        cut(l, "the control plane refuses the agent's mode; the next login tells why");
    l->refused = false;
    transmit(l);
    report_finished(l);
    feed(l);
    ab_grpc_inbound_run(l);
    transmit(l);
}

void ab_grpc_link_tick(ab_grpc_link *l)
{
    int64_t now = ab_clock_mono_ms(l->env->env->clock);
    ab_grpc_receipt *r = STAILQ_FIRST(&l->lives);
    if (!TAILQ_EMPTY(&l->held)) /* others may have made room */
        l->env->wake(l->env->arg, l);
    while (r != NULL) {
        ab_grpc_receipt *next = STAILQ_NEXT(r, at);
        if (now >= r->deadline_ms) {
            STAILQ_REMOVE(&l->lives, r, ab_grpc_receipt, at);
            finish(l, r, AB_ERR_TIMEOUT);
            l->env->wake(l->env->arg, l);
        }
        r = next;
    }
}

void ab_grpc_link_greet_again(ab_grpc_link *l)
{
    l->hello_due = l->hello_due || l->hello_sent;
    l->env->wake(l->env->arg, l);
}

/* ----- the end ----- */

void ab_grpc_link_close(ab_grpc_link *l)
{
    l->closed = true;
    l->starved = false;
    l->hello_due = l->hello_sent;
    l->env->wake(l->env->arg, l);
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
    ab_grpc_link_drop_queue(l, AB_ERR_CLOSED);
    report_finished(l);
}
