/* SPDX-License-Identifier: Apache-2.0
 *
 * How an agent reads its live topic: as the one static member of a group of its own, so that Kafka
 * itself shows who is there, and lets only one process of a name be it. It never commits, so the
 * faults of members that do (docs/decisions/0004) do not concern it.
 *
 *   OUT -> IN         open: subscribed, with the agent's name as group.instance.id
 *   IN -> OUT         closed with its link, or failed for good: again after a back-off
 *   IN -> DISPLACED   fenced: a newer process of this name has joined. The link stops
 *   DISPLACED -> OUT  the group is empty: that process has gone. The link asks again
 *
 * Loop thread, save for what `ask` does.
 */
#include "transport/kafka/member_priv.h"

#include "transport/kafka/client/coordinator.h"
#include "transport/kafka/client/errors.h"
#include "transport/kafka/client/unassign.h"
#include "transport/kafka/kafka_priv.h"
#include "transport/kafka/producer_priv.h"
#include "transport/kafka/receive_priv.h"

#include <stdlib.h>

#define RETRY_FIRST_MS 1000
#define RETRY_MAX_MS   60000
#define DISPLACED                                                                                  \
    "duplicate agent name: a newer process of this name has taken over, and this one has "         \
    "stopped; stop one of the two"

void ab_kafka_member_init(ab_kafka *k)
{
    k->member = (ab_kafka_member){.kafka = k};
    ab_backoff_init(&k->member.backoff, RETRY_FIRST_MS, RETRY_MAX_MS);
}

static ab_kafka_link *own_link(const ab_kafka_member *m)
{
    return ab_kafka_link_find(m->kafka, m->kafka->base.env.agent);
}

static void assign(ab_kafka_member *m, ab_kafka_handle *h, rd_kafka_event_t *event)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_event_topic_partition_list(event);
    bool given = rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
    for (int i = 0; given && list != NULL && i < list->cnt; i++)
        list->elems[i].offset = m->next;
    rd_kafka_t *rk = ab_kafka_handle_rk(h);
    rd_kafka_resp_err_t code = given ? rd_kafka_assign(rk, list) : ab_kafka_unassign_all(rk);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        ab_kafka_host_error(&m->kafka->host, code, "cannot assign the live topic");
    if (!given)
        return;
    ab_backoff_reset(&m->backoff);
    m->why = (ab_error){0};
}

static void displace(ab_kafka_member *m)
{
    ab_kafka *k = m->kafka;
    m->state = AB_MEMBER_DISPLACED;
    m->displaced_told = true;
    m->ask_due_ms = ab_kafka_now(k) + k->settings.heartbeat_ms;
    AB_ERROR(k->base.env.log, KAFKA, DISPLACED, AB_KV("agent", k->base.env.agent),
             AB_KV("group", k->settings.live_group));
    ab_kafka_link *l = own_link(m);
    if (l != NULL) {
        ab_kafka_link_displace(l, DISPLACED);
        ab_metric_set(l->metrics.duplicates, 1);
    }
    const ab_transport_events *up = &k->base.env.events;
    if (up->on_displaced != NULL)
        up->on_displaced(up->arg, true);
}

static void close_handle(ab_kafka_member *m)
{
    ab_kafka_handle_close(m->handle);
    m->handle = NULL;
    if (m->state == AB_MEMBER_IN)
        m->state = AB_MEMBER_OUT;
}

/* No revocation comes before a fatal error. */
static void on_fatal(ab_kafka_member *m)
{
    ab_kafka *k = m->kafka;
    char text[256] = "";
    rd_kafka_resp_err_t code =
        rd_kafka_fatal_error(ab_kafka_handle_rk(m->handle), text, sizeof(text));
    close_handle(m);
    if (code == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID) {
        displace(m);
        return;
    }
    ab_fail(&m->why, AB_ERR_UNAVAILABLE, "group %s: %s", k->settings.live_group, text);
    m->retry_ms = ab_kafka_now(k) + ab_backoff_next(&m->backoff);
    AB_WARN(k->base.env.log, KAFKA, "the consumer of the live topic failed; starting a new one",
            AB_KV("group", k->settings.live_group), AB_KV("error", text));
}

static void on_error(ab_kafka_member *m, rd_kafka_event_t *event)
{
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    if (code == RD_KAFKA_RESP_ERR__FATAL || rd_kafka_event_error_is_fatal(event)) {
        on_fatal(m);
        return;
    }
    if (code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
        ab_fail(&m->why, AB_ERR_DENIED,
                "group %s: not authorized to join; run deploy/kafka/provision agent %s",
                m->kafka->settings.live_group, m->kafka->base.env.agent);
    ab_kafka_receive_error(m->kafka, event);
}

static void on_messages(ab_kafka_member *m, rd_kafka_event_t *event)
{
    const rd_kafka_message_t *message = NULL;
    ab_kafka_link *l = own_link(m);
    while (l != NULL && (message = rd_kafka_event_message_next(event)) != NULL) {
        if (m->state != AB_MEMBER_IN || m->kafka->closed)
            return;
        m->next = message->offset + 1;
        ab_kafka_receive_live(l, message);
    }
}

static void on_event(void *arg, ab_kafka_handle *h, rd_kafka_event_t *event)
{
    ab_kafka_member *m = arg;
    if (h != m->handle)
        return;
    switch (rd_kafka_event_type(event)) {
    case RD_KAFKA_EVENT_REBALANCE:
        assign(m, h, event);
        break;
    case RD_KAFKA_EVENT_FETCH:
        on_messages(m, event);
        break;
    case RD_KAFKA_EVENT_ERROR:
        on_error(m, event);
        break;
    default:
        break;
    }
}

static ab_err join(ab_kafka_member *m, ab_error *err)
{
    ab_kafka *k = m->kafka;
    const ab_kafka_link *l = own_link(m);
    ab_err e = ab_kafka_handle_open(&k->host, &k->settings, AB_KAFKA_LIVE_CONSUMER, on_event, m,
                                    &m->handle, err);
    if (e != AB_ERR_OK)
        return e;
    m->state = AB_MEMBER_IN;
    rd_kafka_topic_partition_list_t *topics =
        ab_kafka_handle_partition(l->topics[AB_KAFKA_IN_LIVE], RD_KAFKA_OFFSET_INVALID);
    rd_kafka_resp_err_t code = rd_kafka_subscribe(ab_kafka_handle_rk(m->handle), topics);
    rd_kafka_topic_partition_list_destroy(topics);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        return AB_ERR_OK;
    close_handle(m);
    return ab_kafka_fail(err, code, "cannot subscribe to the live topic");
}

ab_err ab_kafka_member_open(ab_kafka *k, int64_t from, ab_error *err)
{
    k->member.next = from;
    return join(&k->member, err);
}

void ab_kafka_member_close(ab_kafka *k)
{
    close_handle(&k->member);
}

/* --- displaced: is the other one still there? --- */

typedef struct {
    ab_kafka_job job; /* first */
    ab_kafka_member *member;
    rd_kafka_t *producer;
    bool empty;
} question;

static void ask(ab_kafka_job *job)
{
    question *q = (question *)job;
    q->empty =
        ab_kafka_coordinator_group_is_empty(q->producer, q->member->kafka->settings.live_group);
}

static void answered(ab_kafka_job *job)
{
    question *q = (question *)job;
    ab_kafka_member *m = q->member;
    ab_kafka *k = m->kafka;
    ab_kafka_link *l = own_link(m);
    m->asking = false;
    m->ask_due_ms = ab_kafka_now(k) + k->settings.heartbeat_ms;
    if (q->empty && !k->closed && l != NULL) {
        AB_INFO(k->base.env.log, KAFKA, "the other process of this name is gone; continuing",
                AB_KV("agent", l->name));
        m->state = AB_MEMBER_OUT;
        ab_kafka_link_return(l);
    }
    free(q);
}

static void begin_ask(ab_kafka_member *m)
{
    ab_kafka *k = m->kafka;
    question *q = calloc(1, sizeof(*q));
    if (q == NULL)
        return;
    q->member = m;
    q->producer = ab_kafka_handle_rk(ab_kafka_producers_first(&k->producers[AB_LANE_STATE]));
    q->job.run = ask;
    q->job.done = answered;
    m->asking = true;
    ab_kafka_job_start(&k->host, &q->job);
}

/* Not before all is known that the other process has applied, or as much of it as can be in work at
 * once: what it has changed must not be changed back. */
static void tell_return(ab_kafka_member *m, const ab_kafka_link *l)
{
    const ab_transport_events *up = &m->kafka->base.env.events;
    bool caught_up = l->in.group != NULL && (l->in.caught_up_at < 0 || l->in.paused);
    if (!m->displaced_told || m->state == AB_MEMBER_DISPLACED || !caught_up)
        return;
    m->displaced_told = false;
    ab_metric_set(l->metrics.duplicates, 0);
    if (up->on_displaced != NULL)
        up->on_displaced(up->arg, false);
}

void ab_kafka_member_tick(ab_kafka *k)
{
    ab_kafka_member *m = &k->member;
    const ab_kafka_link *l = own_link(m);
    int64_t now = ab_kafka_now(k);
    if (l == NULL || k->renewing)
        return;
    tell_return(m, l);
    /* librdkafka leaves a group whose member does not look at its queue. */
    if (m->handle != NULL)
        ab_kafka_handle_wake(m->handle);
    else if (m->state == AB_MEMBER_OUT && l->in.group != NULL && now >= m->retry_ms &&
             join(m, &m->why) != AB_ERR_OK)
        m->retry_ms = now + ab_backoff_next(&m->backoff);
    else if (m->state == AB_MEMBER_DISPLACED && !m->asking && now >= m->ask_due_ms &&
             ab_kafka_producers_first(&k->producers[AB_LANE_STATE]) != NULL)
        begin_ask(m);
}
