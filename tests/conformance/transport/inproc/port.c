/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/transport/inproc/inproc_priv.h"

#include "schema/attributes.h"

#include <assert.h>
#include <stdlib.h>

static ab_role role_of(const ab_inproc_port *port)
{
    return port->endpoint->base.env.role;
}

static const ab_transport_events *events_of(const ab_inproc_port *port)
{
    return &port->endpoint->base.env.events;
}

static bool is_cut(const ab_inproc_port *port)
{
    return port->line->cut && role_of(port) == AB_ROLE_AGENT;
}

static ab_inproc_port *other_side(const ab_inproc_port *port)
{
    return port->line->sides[role_of(port) == AB_ROLE_AGENT ? AB_ROLE_PRINCIPAL : AB_ROLE_AGENT];
}

/* Nothing else than memory can fail once an end runs. */
static void fatal(const ab_inproc_port *port, ab_err code)
{
    ab_error err = {0};
    ab_fail(&err, code, "in-process transport for agent %s", port->line->agent);
    events_of(port)->on_fatal(events_of(port)->arg, &err);
}

ab_err ab_inproc_port_new(ab_inproc_endpoint *endpoint, ab_inproc_line *line, ab_inproc_port **out,
                          ab_error *err)
{
    ab_role role = endpoint->base.env.role;
    if (line->sides[role] != NULL)
        return ab_fail(err, AB_ERR_EXISTS, "agent %s is served by another endpoint", line->agent);
    ab_inproc_port *port = calloc(1, sizeof(*port));
    if (port == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for agent %s", line->agent);
    port->endpoint = endpoint;
    port->line = line;
    port->in = role == AB_ROLE_AGENT ? &line->down : &line->up;
    port->out = role == AB_ROLE_AGENT ? &line->up : &line->down;
    const ab_clock *clock = role == AB_ROLE_PRINCIPAL ? endpoint->base.env.clock : NULL;
    ab_pending_init(&port->down, clock, 0);
    ab_pending_init(&port->up, clock, 0);
    STAILQ_INIT(&port->sends);
    STAILQ_INIT(&port->lives);
    TAILQ_INIT(&port->deliveries[AB_LANE_STATE]);
    TAILQ_INIT(&port->deliveries[AB_LANE_LIVE]);
    TAILQ_INSERT_TAIL(&endpoint->ports, port, at);
    line->sides[role] = port;
    *out = port;
    return AB_ERR_OK;
}

void ab_inproc_port_detach(ab_inproc_port *port)
{
    if (port->line->sides[role_of(port)] == port)
        port->line->sides[role_of(port)] = NULL;
    ab_inproc_line_wake(port->line);
}

static void free_delivery(ab_inproc_port *port, ab_inproc_delivery *delivery)
{
    TAILQ_REMOVE(&port->deliveries[delivery->base.lane], delivery, at);
    ab_event_unref(delivery->base.event);
    free(delivery);
}

static ab_inproc_outgoing *take_send(ab_inproc_port *port)
{
    ab_inproc_outgoing *send = STAILQ_FIRST(&port->sends);
    STAILQ_REMOVE_HEAD(&port->sends, at);
    port->queued[send->lane]--;
    return send;
}

static void free_send(ab_inproc_outgoing *send)
{
    ab_event_unref(send->event);
    free(send);
}

static void drop_live(ab_inproc_port *port)
{
    ab_inproc_incoming *live = STAILQ_FIRST(&port->lives);
    STAILQ_REMOVE_HEAD(&port->lives, at);
    ab_event_unref(live->event);
    free(live);
}

void ab_inproc_port_free(ab_inproc_port *port)
{
    ab_inproc_port_detach(port);
    TAILQ_REMOVE(&port->endpoint->ports, port, at);
    while (!STAILQ_EMPTY(&port->sends))
        free_send(take_send(port));
    while (!STAILQ_EMPTY(&port->lives))
        drop_live(port);
    for (size_t lane = 0; lane < 2; lane++) {
        while (!TAILQ_EMPTY(&port->deliveries[lane]))
            free_delivery(port, TAILQ_FIRST(&port->deliveries[lane]));
    }
    ab_pending_fini(&port->down);
    ab_pending_fini(&port->up);
    free(port);
}

/* Accounting */

static void note_written(ab_inproc_port *port, const ab_event *event, uint64_t seq)
{
    if (port->down.clock != NULL)
        ab_pending_write(&port->down, event, ab_event_data(event).ptr == NULL, (int64_t)seq,
                         ab_clock_wall_us(port->down.clock) / 1000);
}

ab_pending *ab_inproc_port_pending(ab_inproc_port *port, ab_direction direction)
{
    if (direction == AB_UP)
        return &port->up;
    ab_pending_pass(&port->down, (int64_t)port->out->committed + 1);
    return &port->down;
}

/* Sending */

static ab_err hand_over(ab_inproc_port *port, const ab_inproc_outgoing *send)
{
    ab_inproc_port *other = other_side(port);
    if (other == NULL || other->epoch == 0 || port->line->cut)
        return AB_ERR_UNAVAILABLE;
    ab_inproc_incoming *live = calloc(1, sizeof(*live));
    if (live == NULL)
        return AB_ERR_NOMEM;
    live->event = ab_event_ref(send->event);
    live->expires_ms = send->deadline_ms == 0
                           ? INT64_MAX
                           : ab_clock_mono_ms(other->endpoint->base.env.clock) + send->deadline_ms;
    STAILQ_INSERT_TAIL(&other->lives, live, at);
    return AB_ERR_OK;
}

static ab_err carry(ab_inproc_port *port, const ab_inproc_outgoing *send)
{
    if (ab_event_size(send->event) > AB_INPROC_EVENT_MAX)
        return AB_ERR_TOOBIG;
    if (send->lane == AB_LANE_LIVE)
        return hand_over(port, send);
    ab_err e = ab_inproc_log_append(port->out, send->event);
    if (e == AB_ERR_OK)
        note_written(port, send->event, port->out->last_seq);
    return e;
}

static void finish_send(ab_inproc_outgoing *send, ab_err code)
{
    ab_error err = {0};
    if (code != AB_ERR_OK)
        ab_fail(&err, code, "event of %zu bytes not sent", ab_event_size(send->event));
    send->done(send->arg, code, code == AB_ERR_OK ? NULL : &err);
    free_send(send);
}

/* Who got FULL on this lane has room now. */
static bool feeds(ab_inproc_port *port, ab_lane lane)
{
    if (!port->starved[lane] || port->queued[lane] >= AB_INPROC_QUEUE_MAX)
        return false;
    port->starved[lane] = false;
    return true;
}

static void run_sends(ab_inproc_port *port)
{
    /* What `done` sends again waits for the next run. */
    for (size_t left = port->queued[AB_LANE_STATE] + port->queued[AB_LANE_LIVE];
         left > 0 && !port->removed; left--) {
        ab_inproc_outgoing *send = take_send(port);
        if (is_cut(port) && send->lane == AB_LANE_STATE) {
            STAILQ_INSERT_TAIL(&port->sends, send, at);
            port->queued[send->lane]++;
            continue;
        }
        finish_send(send, carry(port, send));
        ab_inproc_line_wake(port->line);
    }
    bool states = feeds(port, AB_LANE_STATE);
    bool lives = feeds(port, AB_LANE_LIVE);
    if ((states || lives) && !port->endpoint->closed)
        events_of(port)->on_writable(events_of(port)->arg, port->line->agent);
}

void ab_inproc_port_flush(ab_inproc_port *port, ab_err code)
{
    while (!STAILQ_EMPTY(&port->sends))
        finish_send(take_send(port), code);
}

/* Beginning */

static void tell_written(ab_inproc_port *port, const ab_event *event)
{
    ab_event_draft draft = {0};
    for (size_t i = 0; i < ab_event_attr_count(event); i++) {
        ab_attr attr = ab_event_attr_at(event, i);
        ab_event_set_typed(&draft, attr.name, attr.value, attr.type);
    }
    ab_event *head = NULL;
    ab_err e = ab_event_new(&draft, &head, NULL);
    if (e != AB_ERR_OK) {
        fatal(port, e);
        return;
    }
    events_of(port)->on_written(events_of(port)->arg, port->line->agent, head);
    ab_event_unref(head);
}

static void read_back(ab_inproc_port *port)
{
    const ab_inproc_record *record = NULL;
    ab_pending_forget_log(&port->down);
    ab_pending_pass(&port->down, (int64_t)port->out->committed + 1);
    TAILQ_FOREACH(record, &port->out->records, at)
    {
        note_written(port, record->event, record->seq);
        if (ab_event_data(record->event).ptr != NULL)
            tell_written(port, record->event);
    }
}

static void begin(ab_inproc_port *port)
{
    const ab_transport_events *up = events_of(port);
    if (port->epoch != 0) {
        up->on_gap(up->arg, port->line->agent, AB_GAP_RECREATED);
    } else if (port->endpoint->base.env.replay || !port->in->was_read) {
        port->in->committed = 0;
        up->on_gap(up->arg, port->line->agent, AB_GAP_FIRST);
    }
    port->in->was_read = true;
    port->in_instance = port->in->instance;
    port->out_instance = port->out->instance;
    ab_inproc_log_rewind(port->in);
    port->catch_up_to = port->in->last_seq;
    port->caught_up = false;
    read_back(port);
    if (port->removed)
        return;
    port->epoch = ++port->out->epoch;
    up->on_ready(up->arg, port->line->agent, port->epoch);
    ab_inproc_line_wake(port->line);
}

static bool must_begin(const ab_inproc_port *port)
{
    return port->epoch == 0 || port->in_instance != port->in->instance ||
           port->out_instance != port->out->instance;
}

/* Receiving */

/* Who sends is known by the line, so an event that claims another source is forged. */
static bool is_forged(const ab_inproc_port *port, const ab_event *event)
{
    ab_str source = ab_event_attr(event, AB_CE_SOURCE);
    if (role_of(port) == AB_ROLE_AGENT)
        return !ab_str_is(source, AB_SOURCE_PRINCIPAL);
    size_t scheme = sizeof(AB_SOURCE_AGENT) - 1;
    return !ab_str_starts(source, AB_SOURCE_AGENT) ||
           !ab_str_is((ab_str){source.ptr + scheme, source.len - scheme}, port->line->agent);
}

static void count_refused(const ab_inproc_port *port, const ab_event *event)
{
    const ab_transport_env *env = &port->endpoint->base.env;
    const ab_label label = {"reason", AB_STR("source")};
    ab_metric_add(ab_metric_get(env->metrics, AB_METRIC_COUNTER, "argobus_events_refused_total",
                                "Received events that were not accepted.", &label, 1),
                  1);
    AB_WARN(env->log, TRANSPORT, "event refused: its source is another agent",
            AB_KV("agent", port->line->agent), AB_KV("source", ab_event_attr(event, AB_CE_SOURCE)));
}

static void deliver(ab_inproc_port *port, ab_event *event, uint64_t seq)
{
    ab_inproc_delivery *delivery = calloc(1, sizeof(*delivery));
    if (delivery == NULL) {
        fatal(port, AB_ERR_NOMEM);
        return;
    }
    ab_lane lane = seq == 0 ? AB_LANE_LIVE : AB_LANE_STATE;
    delivery->base = (ab_delivery){port->line->agent, lane, ab_event_ref(event)};
    delivery->port = port;
    delivery->seq = seq;
    delivery->instance = port->in->instance;
    TAILQ_INSERT_TAIL(&port->deliveries[lane], delivery, at);
    port->open[lane]++;
    if (lane == AB_LANE_STATE)
        ab_pending_hold_now(&port->up, event);
    if (is_forged(port, event)) {
        count_refused(port, event);
        ab_inproc_port_ack(port, delivery, AB_VERDICT_APPLIED);
        return;
    }
    events_of(port)->on_event(events_of(port)->arg, &delivery->base);
}

static bool may_deliver(const ab_inproc_port *port, ab_lane lane)
{
    return !port->removed && !port->endpoint->closed && port->open[lane] < port->endpoint->inflight;
}

static void run_receipts(ab_inproc_port *port)
{
    while (may_deliver(port, AB_LANE_STATE)) {
        const ab_inproc_record *record = ab_inproc_log_read(port->in);
        if (record == NULL)
            break;
        deliver(port, record->event, record->seq);
    }
    while (may_deliver(port, AB_LANE_LIVE) && !STAILQ_EMPTY(&port->lives)) {
        const ab_inproc_incoming *live = STAILQ_FIRST(&port->lives);
        if (ab_clock_mono_ms(port->endpoint->base.env.clock) < live->expires_ms)
            deliver(port, live->event, 0);
        drop_live(port);
    }
}

static void tell_caught_up(ab_inproc_port *port)
{
    const ab_inproc_record *next = port->in->next;
    if (port->caught_up || (next != NULL && next->seq <= port->catch_up_to))
        return;
    port->caught_up = true;
    events_of(port)->on_caught_up(events_of(port)->arg, port->line->agent);
}

/* RETURNED ones stay in the list, so nothing after them is committed. */
static void commit(ab_inproc_port *port)
{
    ab_inproc_delivery *first = TAILQ_FIRST(&port->deliveries[AB_LANE_STATE]);
    while (first != NULL && first->acked && first->applied) {
        if (first->instance == port->in->instance)
            ab_inproc_log_commit(port->in, first->seq, first->base.event);
        free_delivery(port, first);
        first = TAILQ_FIRST(&port->deliveries[AB_LANE_STATE]);
    }
}

void ab_inproc_port_ack(ab_inproc_port *port, ab_inproc_delivery *delivery, ab_verdict verdict)
{
    assert(!delivery->acked);
    delivery->acked = true;
    delivery->applied = verdict == AB_VERDICT_APPLIED;
    port->open[delivery->base.lane]--;
    if (delivery->base.lane == AB_LANE_LIVE) {
        free_delivery(port, delivery);
    } else {
        ab_pending_release(&port->up, delivery->base.event);
        commit(port);
    }
    ab_inproc_line_wake_endpoint(port->endpoint);
}

/* Presence */

static void tell_peer(ab_inproc_port *port)
{
    const ab_inproc_port *other = other_side(port);
    uint64_t epoch = other == NULL || port->line->cut || other->endpoint->closed ? 0 : other->epoch;
    if (port->epoch == 0 || epoch == port->peer_epoch)
        return;
    port->peer_epoch = epoch;
    const ab_transport_events *up = events_of(port);
    if (epoch == 0) {
        up->on_peer(up->arg, port->line->agent, false, NULL);
        return;
    }
    const char *certificate = other->endpoint->base.env.certificate;
    const ab_peer peer = {.mode = other->endpoint->base.env.mode,
                          .version = AB_VERSION,
                          .epoch = epoch,
                          .certificate = certificate == NULL ? "" : certificate};
    up->on_peer(up->arg, port->line->agent, true, &peer);
}

void ab_inproc_port_run(ab_inproc_port *port)
{
    bool reachable = !is_cut(port);
    if (reachable && !port->endpoint->closed && must_begin(port))
        begin(port);
    run_sends(port);
    if (reachable)
        run_receipts(port);
    if (reachable && !port->removed && !port->endpoint->closed)
        tell_caught_up(port);
    if (!port->removed && !port->endpoint->closed)
        tell_peer(port);
}
