/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of a peer become deliveries: what is not the peer's event is refused, what is reaches the
 * upper layers, and its position counts when they have acknowledged it.
 */
#include "transport/kafka/receive_priv.h"

#include "schema/attributes.h"
#include "transport/kafka/client/errors.h"
#include "transport/kafka/client/record.h"
#include "transport/kafka/commit_priv.h"
#include "transport/kafka/flow_priv.h"
#include "transport/kafka/kafka_priv.h"
#include "transport/kafka/pending_priv.h"
#include "transport/kafka/presence_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Live deliveries not acknowledged, per agent. */
#define LIVE_OPEN_MAX 1000
/* Clocks of the two ends may differ by this much. */
#define SKEW_MS 30000

typedef struct ab_kafka_delivery {
    ab_delivery base; /* first */
    TAILQ_ENTRY(ab_kafka_delivery) at;
    ab_kafka_link *link;
    uint64_t number; /* STATE: of the offset */
    uint32_t generation;
    size_t bytes;
} ab_kafka_delivery;

void ab_kafka_receive_refuse(ab_kafka *k, const char *topic, const char *reason,
                             const ab_error *err)
{
    const ab_label label = {"reason", ab_str_of(reason)};
    ab_metric_add(ab_metric_get(k->base.env.metrics, AB_METRIC_COUNTER,
                                "argobus_events_refused_total",
                                "Received events that were not accepted.", &label, 1),
                  1);
    char key[AB_TOPIC_NAME_MAX + 32];
    snprintf(key, sizeof(key), "%s/%s", topic, reason);
    int64_t held = 0;
    if (ab_limiter_pass(&k->host.limiter, "refused", key, ab_kafka_now(k), &held))
        AB_WARN(k->base.env.log, KAFKA, "record refused and skipped", AB_KV("topic", topic),
                AB_KV("reason", reason), AB_KV("error", err->text), AB_KV("held_back", held));
}

/* Were what follows received, its position would count, and this record never come again. */
static void fatal(ab_kafka *k, const char *text)
{
    ab_error err = {0};
    ab_fail(&err, AB_ERR_NOMEM, "kafka: %s", text);
    k->closed = true;
    k->base.env.events.on_fatal(k->base.env.events.arg, &err);
}

/* Live ones do not hold up the state. */
static void count_open(const ab_kafka_delivery *d)
{
    ab_kafka_inbox *in = &d->link->in;
    if (d->base.lane == AB_LANE_LIVE) {
        in->live_open++;
        return;
    }
    in->open++;
    in->open_bytes += d->bytes;
    d->link->kafka->open_bytes += d->bytes;
}

static void count_closed(const ab_kafka_delivery *d)
{
    ab_kafka_inbox *in = &d->link->in;
    if (d->base.lane == AB_LANE_LIVE) {
        in->live_open--;
        return;
    }
    ab_pending_release(&d->link->up, d->base.event);
    in->open--;
    in->open_bytes -= d->bytes;
    d->link->kafka->open_bytes -= d->bytes;
}

/* Takes the event over. */
static void deliver(ab_kafka_link *l, ab_lane lane, ab_event *event, uint64_t number,
                    const rd_kafka_message_t *m)
{
    ab_kafka_delivery *d = calloc(1, sizeof(*d));
    if (d == NULL) {
        ab_event_unref(event);
        fatal(l->kafka, "out of memory for a delivery");
        return;
    }
    d->base = (ab_delivery){.agent = l->name, .lane = lane, .event = event};
    d->link = ab_kafka_link_ref(l);
    d->number = number;
    d->generation = l->in.generation;
    d->bytes = ab_event_size(event);
    TAILQ_INSERT_TAIL(&l->kafka->deliveries, d, at);
    count_open(d);
    if (lane == AB_LANE_STATE)
        ab_kafka_pending_receive(l, event, m);
    ab_metric_add(l->metrics.received[lane], 1);
    const ab_transport_events *up = &l->kafka->base.env.events;
    up->on_event(up->arg, &d->base);
}

static void release(ab_kafka *k, ab_kafka_delivery *d)
{
    TAILQ_REMOVE(&k->deliveries, d, at);
    ab_event_unref(d->base.event);
    ab_kafka_link_unref(d->link);
    free(d);
}

void ab_kafka_receive_ack(ab_kafka *k, ab_delivery *given, ab_verdict verdict)
{
    ab_kafka_delivery *d = (ab_kafka_delivery *)given;
    ab_kafka_link *l = d->link;
    count_closed(d);
    bool counts = given->lane == AB_LANE_STATE && d->generation == l->in.generation;
    if (counts && verdict == AB_VERDICT_APPLIED)
        ab_offsets_done(&l->in.offsets, d->number);
    ab_kafka_commit_note(l);
    ab_kafka_flow_control(l);
    release(k, d);
}

void ab_kafka_receive_forget(ab_kafka *k)
{
    ab_kafka_delivery *d = NULL;
    while ((d = TAILQ_FIRST(&k->deliveries)) != NULL)
        release(k, d);
}

static int64_t age_of(const ab_kafka *k, const rd_kafka_message_t *m)
{
    rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
    int64_t written_ms = rd_kafka_message_timestamp(m, &type);
    return ab_clock_wall_us(k->base.env.clock) / 1000 - written_ms;
}

/* Why the event cannot be the peer's, as a word for the metric; NULL when it can. */
static const char *fault_of(const ab_kafka_link *l, ab_lane lane, const rd_kafka_message_t *m,
                            const ab_event *event, ab_error *err)
{
    ab_str source = ab_event_attr(event, AB_CE_SOURCE);
    if (!ab_str_is(source, l->source)) {
        ab_fail(err, AB_ERR_DENIED, "source is \"%.*s\", must be \"%s\"", AB_STR_ARG(source),
                l->source);
        return "source";
    }
    if (lane == AB_LANE_STATE && m->key == NULL) {
        ab_fail(err, AB_ERR_INVALID, "no key");
        return "no_key";
    }
    return NULL;
}

/* An event of this link's peer, or NULL: refused, or closed for want of memory. */
static ab_event *take_in(ab_kafka_link *l, ab_lane lane, const rd_kafka_message_t *m)
{
    ab_error err = {0};
    const char *reason = NULL;
    ab_event *event = NULL;
    ab_err e = ab_kafka_record_decode(m, true, &event, &reason, &err);
    if (e == AB_ERR_NOMEM) {
        fatal(l->kafka, err.text);
        return NULL;
    }
    if (e == AB_ERR_OK)
        reason = fault_of(l, lane, m, event, &err);
    if (reason == NULL)
        return event;
    ab_kafka_receive_refuse(l->kafka, rd_kafka_topic_name(m->rkt), reason, &err);
    ab_event_unref(event);
    return NULL;
}

static bool is_hello(const ab_event *event)
{
    return ab_str_is(ab_event_attr(event, AB_CE_PARTITIONKEY), AB_KEY_HELLO);
}

/* `fresh`: it was written after we began to listen. */
static void compare_logs(ab_kafka_link *l, const ab_event *hello, bool fresh)
{
    bool elsewhere = ab_kafka_presence_is_elsewhere(l, hello);
    if (!elsewhere || !fresh)
        return;
    l->lost_in = true;
    ab_kafka_link_restart(l, "the peer's log was replaced");
}

void ab_kafka_receive_state(ab_kafka_link *l, const rd_kafka_message_t *m)
{
    if (m->offset < l->in.offsets.next)
        return;
    ab_event *event = take_in(l, AB_LANE_STATE, m);
    if (l->kafka->closed)
        return;
    if (event == NULL || is_hello(event)) {
        ab_offsets_pass(&l->in.offsets, m->offset + 1);
        ab_kafka_commit_note(l);
        if (event != NULL && ab_event_attr_u64(event, AB_CE_LOGID, &l->in.log_id) == AB_ERR_OK)
            compare_logs(l, event, m->offset >= l->in.fresh_from);
        ab_event_unref(event);
        return;
    }
    uint64_t number = 0;
    if (ab_offsets_open(&l->in.offsets, m->offset, &number) != AB_ERR_OK) {
        ab_event_unref(event);
        fatal(l->kafka, "out of memory for an offset");
        return;
    }
    deliver(l, AB_LANE_STATE, event, number, m);
}

/* RFC 3339 in UTC, compared to the second as text. */
static bool is_expired(const ab_kafka *k, const ab_event *event)
{
    ab_str at = ab_event_attr(event, AB_CE_EXPIRYTIME);
    char limit[AB_TIME_TEXT];
    ab_time_format(ab_clock_wall_us(k->base.env.clock) - SKEW_MS * 1000, limit);
    return at.len >= 20 && at.ptr[at.len - 1] == 'Z' && memcmp(at.ptr, limit, 19) < 0;
}

void ab_kafka_receive_live(ab_kafka_link *l, const rd_kafka_message_t *m)
{
    ab_event *event = take_in(l, AB_LANE_LIVE, m);
    if (event == NULL)
        return;
    ab_error err = {0};
    if (is_hello(event)) {
        compare_logs(l, event, true);
        if (ab_kafka_presence_hear(l, event, age_of(l->kafka, m), &err) != AB_ERR_OK)
            ab_kafka_receive_refuse(l->kafka, l->topics[AB_KAFKA_IN_LIVE], "hello", &err);
        ab_event_unref(event);
        ab_kafka_flow_control(l); /* it may say that we are refused, or not any more */
        return;
    }
    if (is_expired(l->kafka, event)) {
        ab_fail(&err, AB_ERR_TIMEOUT, "past its expirytime");
        ab_kafka_receive_refuse(l->kafka, rd_kafka_topic_name(m->rkt), "expired", &err);
        ab_event_unref(event);
        return;
    }
    if (l->in.live_open >= LIVE_OPEN_MAX) {
        ab_fail(&err, AB_ERR_FULL, "%d live events have not been processed", LIVE_OPEN_MAX);
        ab_kafka_receive_refuse(l->kafka, rd_kafka_topic_name(m->rkt), "busy", &err);
        ab_event_unref(event);
        return;
    }
    deliver(l, AB_LANE_LIVE, event, 0, m);
}

static void on_partition_error(ab_kafka *k, rd_kafka_resp_err_t code, const char *text,
                               const rd_kafka_topic_partition_t *p)
{
    ab_kafka_topic which = AB_KAFKA_TOPICS;
    ab_kafka_link *l = ab_kafka_link_of_topic(k, p->topic, &which);
    if (l == NULL || l->in.group == NULL)
        return;
    if (code == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET)
        ab_kafka_link_restart(l, "the committed position is not in the log");
    else if (ab_kafka_is_missing(code) || code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
        ab_kafka_link_unread(l, p->topic, code, text);
    else
        ab_kafka_host_error(&k->host, code, text);
}

void ab_kafka_receive_error(ab_kafka *k, rd_kafka_event_t *event)
{
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    rd_kafka_topic_partition_t *p = rd_kafka_event_topic_partition(event);
    if (p == NULL || p->topic == NULL || p->topic[0] == '\0')
        ab_kafka_host_error(&k->host, code, rd_kafka_event_error_string(event));
    else if (code != RD_KAFKA_RESP_ERR__PARTITION_EOF)
        on_partition_error(k, code, rd_kafka_event_error_string(event), p);
    if (p != NULL)
        rd_kafka_topic_partition_destroy(p);
}
