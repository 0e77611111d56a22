/* SPDX-License-Identifier: Apache-2.0
 *
 * The live lane: opened by the first event sent, so that only agents somebody looks at cost a
 * fetch. A principal begins to read an agent's replies at the end of their topic before it asks; an
 * agent reads requests all the time (consumer.c) and only has to make its replies' topic known to
 * the producer.
 */
#include "transport/kafka/kafka_priv.h"

#include "transport/kafka/errors.h"
#include "transport/kafka/topics.h"

#include <stdlib.h>

#define IDLE_MS     (5LL * 60 * 1000)
#define WAITING_MAX 1000

typedef struct {
    ab_kafka_job job; /* first */
    ab_kafka_link *link;
    rd_kafka_t *producer;
    rd_kafka_t *consumer; /* PRINCIPAL; else NULL */
    rd_kafka_topic_t *in; /* at the consumer, until it is assigned */
    ab_kafka_ends ends;
    ab_error error;
} opening;

static void on_event(void *arg, ab_kafka_handle *h, rd_kafka_event_t *event)
{
    (void)h;
    ab_kafka *k = arg;
    const rd_kafka_message_t *m = NULL;
    while ((m = rd_kafka_event_message_next(event)) != NULL) {
        ab_kafka_topic which = AB_KAFKA_TOPICS;
        ab_kafka_link *l = ab_kafka_link_of_topic(k, rd_kafka_topic_name(m->rkt), &which);
        if (l != NULL && which == AB_KAFKA_IN_LIVE && l->live.phase == AB_LIVE_OPEN && !k->closed)
            ab_kafka_consumer_live(l, m);
    }
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR &&
        code != RD_KAFKA_RESP_ERR__PARTITION_EOF)
        ab_kafka_host_error(&k->host, code, rd_kafka_event_error_string(event));
}

static rd_kafka_topic_partition_list_t *replies(const ab_kafka_link *l, int64_t from)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, l->topics[AB_KAFKA_IN_LIVE], 0)->offset = from;
    return list;
}

static void run(ab_kafka_job *job)
{
    opening *o = (opening *)job;
    ab_err e = ab_kafka_topics_learn(o->producer, &o->error);
    if (e != AB_ERR_OK || o->consumer == NULL)
        return;
    o->in = rd_kafka_topic_new(o->consumer, o->ends.name, NULL);
    e = ab_kafka_topics_learn(o->consumer, &o->error);
    if (e == AB_ERR_OK)
        e = ab_kafka_topics_ends(o->producer, &o->ends, 1, &o->error);
    o->error.code = e;
}

static void shut(ab_kafka_link *l, const char *why)
{
    ab_kafka_send *s = NULL;
    while ((s = TAILQ_FIRST(&l->live.waiting)) != NULL) {
        TAILQ_REMOVE(&l->live.waiting, s, at);
        ab_kafka_send_fail_later(s, AB_ERR_UNAVAILABLE, why);
    }
    l->live.waiting_count = 0;
    l->live.phase = AB_LIVE_SHUT;
    l->kafka->live_open--;
}

static void send_waiting(ab_kafka_link *l)
{
    ab_kafka_send *s = NULL;
    while ((s = TAILQ_FIRST(&l->live.waiting)) != NULL) {
        TAILQ_REMOVE(&l->live.waiting, s, at);
        l->live.waiting_count--;
        ab_kafka_producer_send(&l->kafka->live_producer, s);
    }
}

static ab_err listen_to(ab_kafka_link *l, const opening *o, ab_error *err)
{
    if (o->consumer == NULL)
        return AB_ERR_OK;
    rd_kafka_topic_partition_list_t *list = replies(l, o->ends.high);
    rd_kafka_error_t *failed = rd_kafka_incremental_assign(o->consumer, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (failed == NULL)
        return AB_ERR_OK;
    ab_fail(err, AB_ERR_UNAVAILABLE, "replies cannot be read: %s", rd_kafka_error_string(failed));
    rd_kafka_error_destroy(failed);
    return AB_ERR_UNAVAILABLE;
}

static void done(ab_kafka_job *job)
{
    opening *o = (opening *)job;
    ab_kafka_link *l = o->link;
    l->kafka->live_jobs--;
    if (l->live.phase == AB_LIVE_OPENING) {
        ab_err e = o->error.code;
        if (e == AB_ERR_OK)
            e = listen_to(l, o, &o->error);
        if (e == AB_ERR_OK) {
            l->live.phase = AB_LIVE_OPEN;
            send_waiting(l);
        } else {
            shut(l, o->error.text);
        }
    }
    if (o->in != NULL)
        rd_kafka_topic_destroy(o->in);
    ab_kafka_link_unref(l);
    free(o);
}

static ab_err open_handles(ab_kafka *k, ab_error *err)
{
    ab_err e = ab_kafka_producer_open(&k->live_producer, err);
    if (e == AB_ERR_OK && k->settings.role == AB_ROLE_PRINCIPAL && k->live_consumer == NULL)
        e = ab_kafka_handle_open(&k->host, &k->settings, AB_KAFKA_LIVE_CONSUMER, on_event, k,
                                 &k->live_consumer, err);
    return e;
}

static ab_err begin(ab_kafka_link *l)
{
    ab_kafka *k = l->kafka;
    if (open_handles(k, NULL) != AB_ERR_OK)
        return AB_ERR_UNAVAILABLE;
    opening *o = calloc(1, sizeof(*o));
    if (o == NULL)
        return AB_ERR_UNAVAILABLE;
    o->link = l;
    o->ends.name = l->topics[AB_KAFKA_IN_LIVE];
    o->producer = ab_kafka_handle_rk(k->live_producer.handle);
    o->consumer = k->live_consumer == NULL ? NULL : ab_kafka_handle_rk(k->live_consumer);
    o->job.run = run;
    o->job.done = done;
    if (ab_kafka_producer_topic(&k->live_producer, l) == NULL ||
        ab_kafka_job_start(&k->host, &o->job) != AB_ERR_OK) {
        free(o);
        return AB_ERR_UNAVAILABLE;
    }
    ab_kafka_link_ref(l);
    l->live.phase = AB_LIVE_OPENING;
    k->live_open++;
    k->live_jobs++;
    return AB_ERR_OK;
}

ab_err ab_kafka_live_send(ab_kafka_link *l, ab_kafka_send *s)
{
    ab_kafka *k = l->kafka;
    l->live.used_ms = ab_kafka_now(k);
    if (l->live.phase == AB_LIVE_OPEN && k->live_producer.handle != NULL) {
        ab_kafka_producer_send(&k->live_producer, s);
        return AB_ERR_OK;
    }
    if (l->live.phase == AB_LIVE_SHUT) {
        ab_err e = begin(l);
        if (e != AB_ERR_OK)
            return e;
    }
    if (l->live.phase != AB_LIVE_OPENING || l->live.waiting_count == WAITING_MAX)
        return AB_ERR_UNAVAILABLE;
    TAILQ_INSERT_TAIL(&l->live.waiting, s, at);
    l->live.waiting_count++;
    return AB_ERR_OK;
}

void ab_kafka_live_close(ab_kafka_link *l)
{
    ab_kafka *k = l->kafka;
    if (l->live.phase == AB_LIVE_OPEN && k->live_consumer != NULL) {
        rd_kafka_topic_partition_list_t *list = replies(l, 0);
        rd_kafka_error_t *failed =
            rd_kafka_incremental_unassign(ab_kafka_handle_rk(k->live_consumer), list);
        rd_kafka_topic_partition_list_destroy(list);
        if (failed != NULL)
            rd_kafka_error_destroy(failed);
    }
    if (l->live.phase != AB_LIVE_SHUT)
        shut(l, "the live lane was closed");
    if (k->live_open == 0 && k->live_jobs == 0) {
        ab_kafka_handle_close(k->live_consumer);
        k->live_consumer = NULL;
    }
}

static void expire_waiting(ab_kafka_link *l, int64_t now)
{
    ab_kafka_send *s = TAILQ_FIRST(&l->live.waiting);
    while (s != NULL) {
        ab_kafka_send *next = TAILQ_NEXT(s, at);
        if (now >= s->deadline_ms) {
            TAILQ_REMOVE(&l->live.waiting, s, at);
            l->live.waiting_count--;
            ab_kafka_send_fail_later(s, AB_ERR_TIMEOUT, "the live lane did not open in time");
        }
        s = next;
    }
}

void ab_kafka_live_tick(ab_kafka_link *l)
{
    int64_t now = ab_kafka_now(l->kafka);
    expire_waiting(l, now);
    if (l->live.phase == AB_LIVE_OPEN && now - l->live.used_ms >= IDLE_MS)
        ab_kafka_live_close(l);
}
