/* SPDX-License-Identifier: Apache-2.0
 *
 * Sending. An event is safe when all in-sync replicas have it; until then it is on the producer's
 * list, so that each one is told its outcome exactly once, whatever becomes of the handle.
 *
 * A thread of librdkafka goes through all partitions of its handle whenever there is something to
 * send or a confirmation comes: one event costs as much as the handle has partitions. So there are
 * several producers for many links, each with a bounded number of them. They share one queue, as it
 * were; share.h says how much of it each link may have.
 *
 * State of a link goes together: while an event of it is not confirmed, the next ones are held, and
 * go in one request. Otherwise an agent with 1,000 changes a second would take that many requests,
 * and at the other end as many fetches, each of which names every partition of its handle: all
 * agents would wait for that. Who sends one event at a time, or more than a request holds, does not
 * wait.
 *
 * But a broker refuses a request as a whole when it is too large for the topic, be it for one event
 * in it or for all together. So what was refused in one goes again, each event by itself and before
 * anything else of its link: then exactly what the topic does not take is refused for good.
 */
#include "transport/kafka/producer_priv.h"

#include "transport/kafka/client/errors.h"
#include "transport/kafka/client/record.h"
#include "transport/kafka/pending_priv.h"
#include "transport/kafka/stuck_priv.h"

#include <stdlib.h>

#define REBUILD_FIRST_MS 1000
#define REBUILD_MAX_MS   60000
/* Without a confirmation for so long, and for the time that events linger, a link is stuck. */
#define STUCK_MS 2000
/* Of one producer: a turn of its thread takes 0.1 us for each. A producer more costs two threads.
 */
#define LINKS_MAX 250
/* Nothing of a link is held for longer: a broker far away takes its time to confirm. */
#define HOLD_MS 100
/* With so many events of a partition on their way, an idempotent producer sends no more of it
 * (RD_KAFKA_IDEMP_MAX_INFLIGHT), and if there are any, its thread polls without waiting until
 * the broker has confirmed some: a whole core, just when the broker may need it. */
#define UNCONFIRMED_MAX 5
/* What librdkafka has for an event, beside its bytes. */
#define OVERHEAD 512

static ab_lane lane_of(const ab_kafka_producer *p)
{
    return p->all->lane;
}

static size_t size_of(const ab_event *event)
{
    return ab_event_size(event) + OVERHEAD;
}

/* An offset that does not rise was given out by another log: the topic was made again, or lost its
 * end. */
static void check_offset(ab_kafka_link *l, int64_t offset)
{
    if (l->removed || offset < 0)
        return;
    if (l->sent_offset >= 0 && offset <= l->sent_offset) {
        l->lost_out = true;
        ab_kafka_link_restart(l, "our own log was replaced");
        return;
    }
    l->sent_offset = offset;
}

/* To a broker that refuses a batch for its size, all events in it are at fault. */
static bool is_to_go_alone(const ab_kafka_send *s, rd_kafka_resp_err_t code)
{
    return ab_kafka_err(code) == AB_ERR_TOOBIG && s->lane == AB_LANE_STATE && !s->alone &&
           !s->link->removed;
}

static void give_back(const ab_kafka_producer *p, const ab_kafka_send *s, ab_err outcome)
{
    bool confirmed = outcome == AB_ERR_OK || ab_err_class_of(outcome) == AB_CLASS_PERMANENT;
    ab_share_give(&p->all->budget, &s->link->share[s->lane], size_of(s->event), confirmed,
                  ab_kafka_now(s->link->kafka));
}

static void tell_room(ab_kafka_link *l, ab_lane lane)
{
    ab_kafka *k = l->kafka;
    if (ab_share_wakes(&l->share[lane]) && !l->removed && !k->closed)
        k->base.env.events.on_writable(k->base.env.events.arg, l->name);
}

/* Made at first use and kept, so that its metadata is. NULL: no memory. */
static rd_kafka_topic_t *topic_of(const ab_kafka_producer *p, ab_kafka_link *l)
{
    ab_lane lane = lane_of(p);
    const char *name = l->topics[lane == AB_LANE_STATE ? AB_KAFKA_OUT_STATE : AB_KAFKA_OUT_LIVE];
    if (l->out[lane] == NULL)
        l->out[lane] = rd_kafka_topic_new(ab_kafka_handle_rk(p->handle), name, NULL);
    return l->out[lane];
}

static void produce(ab_kafka_producer *p, ab_kafka_send *s)
{
    rd_kafka_topic_t *topic = topic_of(p, s->link);
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__FAIL;
    if (topic != NULL)
        code = ab_kafka_record_produce(ab_kafka_handle_rk(p->handle), topic, s->event, s);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        ab_error err = {0};
        ab_kafka_send_explain(s, code, &err);
        give_back(p, s, err.code);
        ab_kafka_send_fail_later(s, err.code, err.text);
        return;
    }
    TAILQ_INSERT_TAIL(&p->sends, s, at);
    if (s->lane == AB_LANE_STATE)
        s->link->unconfirmed++;
}

/* With kafka.linger librdkafka puts events together, in its own way. */
static bool waits(const ab_kafka_send *s)
{
    const ab_kafka_link *l = s->link;
    size_t most = l->kafka->settings.linger_ms == 0 ? 1 : UNCONFIRMED_MAX;
    return s->lane == AB_LANE_STATE &&
           (l->one_by_one || l->unconfirmed >= most || !TAILQ_EMPTY(&l->held));
}

static void hold(ab_kafka_send *s, int64_t now)
{
    ab_kafka_link *l = s->link;
    if (TAILQ_EMPTY(&l->held)) {
        l->held_ms = now;
        ab_kafka_link_look_at(l, now + HOLD_MS);
    }
    TAILQ_INSERT_TAIL(&l->held, s, at);
    l->held_bytes += size_of(s->event);
}

static void produce_held(ab_kafka_producer *p, ab_kafka_link *l)
{
    ab_kafka_send *s = NULL;
    l->held_bytes = 0;
    while ((s = TAILQ_FIRST(&l->held)) != NULL) {
        TAILQ_REMOVE(&l->held, s, at);
        produce(p, s);
    }
}

static void produce_one(ab_kafka_producer *p, ab_kafka_link *l)
{
    ab_kafka_send *s = NULL;
    while (l->unconfirmed == 0 && (s = TAILQ_FIRST(&l->refused)) != NULL) {
        TAILQ_REMOVE(&l->refused, s, at);
        s->alone = true;
        produce(p, s);
    }
    l->one_by_one = l->unconfirmed > 0;
}

static void release(ab_kafka_producer *p, ab_kafka_link *l, int64_t now)
{
    if (l->one_by_one)
        produce_one(p, l);
    if (l->one_by_one)
        return;
    bool is_due =
        l->held_bytes >= (size_t)l->kafka->settings.batch_bytes || now >= l->held_ms + HOLD_MS;
    if (l->unconfirmed == 0 || (is_due && l->unconfirmed < UNCONFIRMED_MAX))
        produce_held(p, l);
}

static void on_confirmed(ab_kafka_producer *p, ab_kafka_link *l)
{
    l->unconfirmed--;
    release(p, l, ab_kafka_now(l->kafka));
}

static void send_alone(ab_kafka_producer *p, ab_kafka_send *s)
{
    ab_kafka_link *l = s->link;
    ab_kafka *k = l->kafka;
    int64_t held = 0;
    if (ab_limiter_pass(&k->host.limiter, "small", l->name, ab_kafka_now(k), &held))
        AB_WARN(k->base.env.log, KAFKA,
                "topic takes less than kafka.message-max; sending one by one what it refused",
                AB_KV("agent", l->name), AB_KV("topic", l->topics[AB_KAFKA_OUT_STATE]),
                AB_KV("held_back", held));
    TAILQ_INSERT_TAIL(&l->refused, s, at);
    l->one_by_one = true;
    on_confirmed(p, l);
}

static void on_report(ab_kafka_producer *p, const rd_kafka_message_t *m)
{
    ab_kafka_send *s = m->_private;
    ab_kafka_link *l = ab_kafka_link_ref(s->link);
    ab_error err = {0};
    TAILQ_REMOVE(&p->sends, s, at);
    if (is_to_go_alone(s, m->err)) {
        send_alone(p, s);
        ab_kafka_link_unref(l);
        return;
    }
    if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR)
        ab_kafka_send_explain(s, m->err, &err);
    else
        l->kafka->host.broker = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR && s->lane == AB_LANE_STATE)
        check_offset(l, m->offset);
    if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR && s->lane == AB_LANE_STATE)
        ab_kafka_pending_write(l, s->event, ab_event_data(s->event).ptr == NULL, m);
    give_back(p, s, err.code);
    if (s->lane == AB_LANE_STATE)
        on_confirmed(p, l);
    if (s->lane == AB_LANE_STATE && m->err == RD_KAFKA_RESP_ERR_NO_ERROR)
        ab_kafka_stuck_end(l);
    ab_kafka_send_finish(s, err.code, &err);
    if (ab_kafka_is_missing(m->err) && !l->removed)
        ab_kafka_link_restart(l, err.text);
    tell_room(l, lane_of(p));
    ab_kafka_link_unref(l);
}

static void on_event(void *arg, ab_kafka_handle *h, rd_kafka_event_t *event)
{
    (void)h;
    ab_kafka_producer *p = arg;
    const rd_kafka_message_t *m = NULL;
    while ((m = rd_kafka_event_message_next(event)) != NULL)
        on_report(p, m);
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR) {
        rd_kafka_resp_err_t code = rd_kafka_event_error(event);
        ab_kafka_host_error(&p->all->kafka->host, code, rd_kafka_event_error_string(event));
        if (code == RD_KAFKA_RESP_ERR__FATAL || rd_kafka_event_error_is_fatal(event))
            p->broken = true;
    }
}

static ab_err open_one(ab_kafka_producer *p, ab_error *err)
{
    ab_kafka *k = p->all->kafka;
    ab_kafka_kind kind = lane_of(p) == AB_LANE_STATE ? AB_KAFKA_PRODUCER : AB_KAFKA_LIVE_PRODUCER;
    if (p->handle != NULL)
        return AB_ERR_OK;
    if (ab_kafka_now(k) < p->retry_ms)
        return ab_fail(err, AB_ERR_UNAVAILABLE, "the producer failed; creating a new one");
    ab_err e = ab_kafka_handle_open(&k->host, &k->settings, kind, on_event, p, &p->handle, err);
    if (e != AB_ERR_OK)
        p->retry_ms = ab_kafka_now(k) + ab_backoff_next(&p->backoff);
    return e;
}

static ab_kafka_producer *find_room(ab_kafka_producers *all)
{
    ab_kafka_producer *p = NULL;
    TAILQ_FOREACH(p, &all->list, at)
    {
        if (p->links < LINKS_MAX)
            return p;
    }
    p = calloc(1, sizeof(*p));
    if (p == NULL)
        return NULL;
    p->all = all;
    TAILQ_INIT(&p->sends);
    ab_backoff_init(&p->backoff, REBUILD_FIRST_MS, REBUILD_MAX_MS);
    TAILQ_INSERT_TAIL(&all->list, p, at);
    return p;
}

void ab_kafka_producers_init(ab_kafka_producers *all, ab_kafka *k, ab_lane lane)
{
    *all = (ab_kafka_producers){.kafka = k, .lane = lane};
    TAILQ_INIT(&all->list);
}

ab_err ab_kafka_producers_open(ab_kafka_producers *all, ab_error *err)
{
    const ab_kafka_settings *settings = &all->kafka->settings;
    ab_kafka_producer *p = NULL;
    ab_err e = AB_ERR_OK;
    all->budget.max = (size_t)settings->queue_bytes;
    all->budget.first = all->lane == AB_LANE_STATE ? AB_SHARE_FIRST : AB_SHARE_FIRST_LIVE;
    all->budget.stuck_ms = STUCK_MS + settings->linger_ms;
    if (TAILQ_EMPTY(&all->list) && find_room(all) == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "kafka: out of memory");
    TAILQ_FOREACH(p, &all->list, at)
    {
        ab_err one = open_one(p, err);
        e = one == AB_ERR_OK ? e : one;
    }
    return e;
}

ab_kafka_handle *ab_kafka_producers_first(const ab_kafka_producers *all)
{
    const ab_kafka_producer *p = TAILQ_FIRST(&all->list);
    return p == NULL ? NULL : p->handle;
}

ab_kafka_producer *ab_kafka_producer_of(ab_kafka_link *l, ab_lane lane)
{
    ab_error err = {0};
    ab_kafka_producer *p = l->producer[lane];
    if (p == NULL) {
        p = find_room(&l->kafka->producers[lane]);
        l->producer[lane] = p;
        if (p != NULL)
            p->links++;
    }
    return p != NULL && open_one(p, &err) == AB_ERR_OK ? p : NULL;
}

bool ab_kafka_producer_admits(ab_kafka_link *l, ab_lane lane, const ab_event *event)
{
    const ab_budget *budget = &l->kafka->producers[lane].budget;
    bool admitted = ab_share_admits(budget, &l->share[lane], size_of(event));
    if (!admitted)
        ab_kafka_link_look_at(l, 0);
    return admitted;
}

void ab_kafka_producer_send(ab_kafka_producer *p, ab_kafka_send *s)
{
    ab_kafka_link *l = s->link;
    ab_budget *budget = &p->all->budget;
    int64_t now = ab_kafka_now(l->kafka);
    ab_share_take(budget, &l->share[s->lane], size_of(s->event), now);
    ab_kafka_link_look_at(l, now + budget->stuck_ms);
    if (!waits(s)) {
        produce(p, s);
        return;
    }
    hold(s, now);
    release(p, l, now);
}

/* Held events end with those that they wait for. */
static void leave_unconfirmed(ab_kafka_producer *p, ab_kafka_link *l)
{
    TAILQ_CONCAT(&p->sends, &l->refused, at);
    TAILQ_CONCAT(&p->sends, &l->held, at);
    l->held_bytes = 0;
    l->unconfirmed = 0;
}

/* Topics belong to the handle that made them, and so does what is on its way. */
static void leave_handle(ab_kafka_producer *p)
{
    ab_kafka_link *l = NULL;
    ab_lane lane = lane_of(p);
    TAILQ_FOREACH(l, &p->all->kafka->links, at)
    {
        if (l->producer[lane] != p)
            continue;
        if (l->out[lane] != NULL)
            rd_kafka_topic_destroy(l->out[lane]);
        l->out[lane] = NULL;
        ab_share_leave(&p->all->budget, &l->share[lane]);
        if (lane == AB_LANE_STATE)
            leave_unconfirmed(p, l);
        ab_kafka_link_look_at(l, 0);
    }
}

static void release_all(void *first)
{
    ab_kafka_send *next = NULL;
    for (ab_kafka_send *s = first; s != NULL; s = next) {
        next = TAILQ_NEXT(s, at);
        ab_event_unref(s->event);
        free(s);
    }
}

/* Told, and without a link, they stay until the handle is destroyed: librdkafka has their data. */
static void fail_all(ab_kafka_producer *p, ab_kafka_handle *h, ab_err code)
{
    ab_kafka_send *first = TAILQ_FIRST(&p->sends);
    ab_error err = {0};
    ab_fail(&err, code, "the producer was closed");
    TAILQ_INIT(&p->sends);
    ab_kafka_handle_when_gone(h, release_all, first);
    for (ab_kafka_send *s = first; s != NULL; s = TAILQ_NEXT(s, at)) {
        ab_kafka_send_tell(s, code, &err);
        ab_kafka_link_unref(s->link);
    }
}

static void close_one(ab_kafka_producer *p, ab_err code)
{
    if (p->handle == NULL)
        return;
    leave_handle(p);
    /* Or destroying it would wait for what no broker takes. */
    rd_kafka_purge(ab_kafka_handle_rk(p->handle), RD_KAFKA_PURGE_F_QUEUE |
                                                      RD_KAFKA_PURGE_F_INFLIGHT |
                                                      RD_KAFKA_PURGE_F_NON_BLOCKING);
    ab_kafka_handle *handle = p->handle;
    p->handle = NULL;
    p->broken = false;
    fail_all(p, handle, code);
    ab_kafka_handle_close(handle);
}

static void expire(ab_kafka_producer *p, int64_t now)
{
    ab_kafka_send *s = NULL;
    ab_error err = {0};
    ab_fail(&err, AB_ERR_TIMEOUT, "no broker accepted it in time");
    TAILQ_FOREACH(s, &p->sends, at)
    {
        if (now >= s->deadline_ms)
            ab_kafka_send_tell(s, AB_ERR_TIMEOUT, &err);
    }
}

/* @return when to look again */
static int64_t look_at_held(ab_kafka_link *l, int64_t now)
{
    if (TAILQ_EMPTY(&l->held))
        return INT64_MAX;
    if (now < l->held_ms + HOLD_MS)
        return l->held_ms + HOLD_MS;
    release(l->producer[AB_LANE_STATE], l, now);
    return INT64_MAX; /* or at the next confirmation */
}

/* Who waits without anything of its own under way has no report that would tell it. */
int64_t ab_kafka_producer_look(ab_kafka_link *l, ab_lane lane, int64_t now)
{
    ab_budget *budget = &l->kafka->producers[lane].budget;
    ab_share *share = &l->share[lane];
    ab_share_check(budget, share, now);
    tell_room(l, lane);
    int64_t held_until = lane == AB_LANE_STATE ? look_at_held(l, now) : INT64_MAX;
    bool moves = share->count > 0 && !share->stuck;
    int64_t stuck_at = moves ? share->progress_ms + budget->stuck_ms : INT64_MAX;
    if (lane == AB_LANE_STATE && share->stuck)
        stuck_at = ab_kafka_stuck_look(l, now);
    return held_until < stuck_at ? held_until : stuck_at;
}

static void rebuild(ab_kafka_producer *p)
{
    ab_kafka *k = p->all->kafka;
    AB_WARN(k->base.env.log, KAFKA, "the producer failed permanently; creating a new one");
    p->retry_ms = ab_kafka_now(k) + ab_backoff_next(&p->backoff);
    close_one(p, AB_ERR_UNAVAILABLE);
}

void ab_kafka_producers_tick(ab_kafka_producers *all)
{
    ab_kafka_producer *p = NULL;
    TAILQ_FOREACH(p, &all->list, at)
    {
        if (all->lane == AB_LANE_LIVE)
            expire(p, ab_kafka_now(all->kafka));
        /* A job may be using the handle. */
        if (p->broken && !all->kafka->member.asking)
            rebuild(p);
    }
}

bool ab_kafka_producers_are_idle(const ab_kafka_producers *all)
{
    const ab_kafka_producer *p = NULL;
    TAILQ_FOREACH(p, &all->list, at)
    {
        if (!TAILQ_EMPTY(&p->sends))
            return false;
    }
    return true;
}

void ab_kafka_producers_close(ab_kafka_producers *all, ab_err code)
{
    ab_kafka_producer *p = NULL;
    TAILQ_FOREACH(p, &all->list, at)
    {
        close_one(p, code);
    }
}

void ab_kafka_producers_fini(ab_kafka_producers *all)
{
    ab_kafka_producer *p = NULL;
    while ((p = TAILQ_FIRST(&all->list)) != NULL) {
        TAILQ_REMOVE(&all->list, p, at);
        free(p);
    }
}
