/* SPDX-License-Identifier: Apache-2.0
 *
 * Receiving state. Partitions are assigned, not subscribed to (docs/decisions/0004): a restart
 * begins at once, and agents come and go one by one. Committed is the lowest position below which
 * everything is in effect.
 */
#include "transport/kafka/kafka_priv.h"

#include "schema/attributes.h"
#include "transport/kafka/client/errors.h"
#include "transport/kafka/client/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fetch latency grows with the square of a handle's partitions (measured: 14 ms at 1,000, 1.5 s at
 * 10,000). */
#define PARTITIONS_MAX 1000
/* Deliveries not acknowledged, per agent. */
#define OPEN_BYTES_MAX ((size_t)32 * 1024 * 1024)
/* The same of all agents together, beside what each may have in any case. */
#define ALL_OPEN_BYTES_MAX ((size_t)128 * 1024 * 1024)
#define OPEN_BYTES_MIN     ((size_t)256 * 1024)
/* Live ones, per agent. */
#define LIVE_OPEN_MAX 1000
/* Kafka forgets what was committed seven days ago. */
/* Clocks of the two ends may differ by this much. */
#define SKEW_MS 30000

void ab_kafka_refused(ab_kafka *k, const char *topic, const char *reason, const ab_error *err)
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

static rd_kafka_topic_partition_list_t *state_partition(const ab_kafka_link *l)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(2);
    rd_kafka_topic_partition_list_add(list, l->topics[AB_KAFKA_IN_STATE], 0);
    return list;
}

/* When librdkafka 2.0 has stopped fetching, because its queue was full or the partition paused, it
 * looks only once a second whether it may go on. To seek to where we are makes it look at once. */
static void fetch_on(ab_kafka_link *l)
{
    rd_kafka_topic_partition_list_t *list = state_partition(l);
    list->elems[0].offset = l->in.offsets.next;
    /* Without a time-out it does not wait, and has nothing to report. */
    rd_kafka_error_destroy(
        rd_kafka_seek_partitions(ab_kafka_handle_rk(l->in.group->handle), list, 0));
    rd_kafka_topic_partition_list_destroy(list);
}

/* Once the queue may have been full, and all of it has been taken, it is time to go on. At any
 * other time that would throw away what was fetched: of a queue that was empty in between, only
 * what was taken since then can have been in it at once. */
static void watch_queue(ab_kafka_link *l, const rd_kafka_message_t *m)
{
    ab_kafka_group *g = l->in.group;
    /* Enough for both limits: each message counts for its share of the other one too. */
    g->taken += m->len + m->key_len + AB_KAFKA_AHEAD_BYTES / AB_KAFKA_AHEAD_MESSAGES;
    if (rd_kafka_queue_length(ab_kafka_handle_queue(g->handle)) > 0)
        return;
    bool was_full = g->taken >= AB_KAFKA_AHEAD_BYTES;
    g->taken = 0;
    if (was_full && !l->in.paused)
        fetch_on(l);
}

static void set_paused(ab_kafka_link *l, bool paused)
{
    if (l->in.paused == paused || l->in.group == NULL)
        return;
    rd_kafka_t *rk = ab_kafka_handle_rk(l->in.group->handle);
    rd_kafka_topic_partition_list_t *list = state_partition(l);
    if (paused)
        rd_kafka_pause_partitions(rk, list);
    else
        rd_kafka_resume_partitions(rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    l->in.paused = paused;
    if (!paused)
        fetch_on(l);
}

/* Far enough below the limit that pausing, which drops what was fetched ahead, is rare. */
static void control_flow(ab_kafka_link *l)
{
    size_t most = l->kafka->settings.inflight;
    size_t bytes =
        ab_share_of_rest(ALL_OPEN_BYTES_MAX, l->kafka->open_bytes, OPEN_BYTES_MIN, OPEN_BYTES_MAX);
    if (l->in.open >= most || l->in.open_bytes >= bytes || ab_kafka_is_refused(l))
        set_paused(l, true);
    else if (l->in.open <= most / 2 && l->in.open_bytes <= bytes / 2)
        set_paused(l, false);
    ab_metric_set(l->metrics.unacknowledged, (double)l->in.open);
}

static void check_caught_up(ab_kafka_link *l)
{
    if (l->in.caught_up_at < 0 || l->in.offsets.next < l->in.caught_up_at)
        return;
    l->in.caught_up_at = -1;
    const ab_transport_events *up = &l->kafka->base.env.events;
    up->on_caught_up(up->arg, l->name);
}

static void fatal(ab_kafka *k, const char *text)
{
    ab_error err = {0};
    ab_fail(&err, AB_ERR_NOMEM, "kafka: %s", text);
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
    ab_kafka_pending_receive(d, m);
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

void ab_kafka_consumer_ack(ab_kafka *k, ab_delivery *given, ab_verdict verdict)
{
    ab_kafka_delivery *d = (ab_kafka_delivery *)given;
    ab_kafka_link *l = d->link;
    count_closed(d);
    bool counts = given->lane == AB_LANE_STATE && d->generation == l->in.generation;
    if (counts && verdict == AB_VERDICT_APPLIED)
        ab_offsets_done(&l->in.offsets, d->number);
    ab_kafka_commit_note(l);
    control_flow(l);
    release(k, d);
}

void ab_kafka_consumer_forget(ab_kafka *k)
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

/* An event of this link's peer, or NULL: refused. */
static ab_event *take_in(ab_kafka_link *l, ab_lane lane, const rd_kafka_message_t *m)
{
    ab_error err = {0};
    const char *reason = NULL;
    ab_event *event = NULL;
    if (ab_kafka_record_decode(m, true, &event, &reason, &err) == AB_ERR_OK)
        reason = fault_of(l, lane, m, event, &err);
    if (reason == NULL)
        return event;
    ab_kafka_refused(l->kafka, rd_kafka_topic_name(m->rkt), reason, &err);
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

static void receive_state(ab_kafka_link *l, const rd_kafka_message_t *m)
{
    if (m->offset < l->in.offsets.next)
        return;
    ab_event *event = take_in(l, AB_LANE_STATE, m);
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

void ab_kafka_consumer_live(ab_kafka_link *l, const rd_kafka_message_t *m)
{
    ab_event *event = take_in(l, AB_LANE_LIVE, m);
    if (event == NULL)
        return;
    if (is_hello(event)) {
        compare_logs(l, event, true);
        ab_kafka_presence_hear(l, event, age_of(l->kafka, m));
        ab_event_unref(event);
        control_flow(l); /* it may say that we are refused, or not any more */
        return;
    }
    if (is_expired(l->kafka, event)) {
        ab_error err = {0};
        ab_fail(&err, AB_ERR_TIMEOUT, "past its expirytime");
        ab_kafka_refused(l->kafka, rd_kafka_topic_name(m->rkt), "expired", &err);
        ab_event_unref(event);
        return;
    }
    if (l->in.live_open >= LIVE_OPEN_MAX) {
        ab_error err = {0};
        ab_fail(&err, AB_ERR_FULL, "%d live events have not been processed", LIVE_OPEN_MAX);
        ab_kafka_refused(l->kafka, rd_kafka_topic_name(m->rkt), "busy", &err);
        ab_event_unref(event);
        return;
    }
    deliver(l, AB_LANE_LIVE, event, 0, m);
}

/* What was fetched before we were refused is read again afterwards. */
static bool takes_state(const ab_kafka_link *l, ab_kafka_topic which)
{
    return which == AB_KAFKA_IN_STATE && l->in.group != NULL && !l->kafka->closed &&
           !ab_kafka_is_refused(l);
}

static void on_message(ab_kafka *k, const rd_kafka_message_t *m)
{
    ab_kafka_topic which = AB_KAFKA_TOPICS;
    ab_kafka_link *l = ab_kafka_link_of_topic(k, rd_kafka_topic_name(m->rkt), &which);
    if (l == NULL || !takes_state(l, which))
        return;
    ab_kafka_link_ref(l);
    receive_state(l, m);
    if (l->in.group != NULL) {
        watch_queue(l, m);
        control_flow(l);
        check_caught_up(l);
    }
    ab_kafka_link_unref(l);
}

static void on_end(ab_kafka *k, const rd_kafka_topic_partition_t *p)
{
    ab_kafka_topic which = AB_KAFKA_TOPICS;
    ab_kafka_link *l = ab_kafka_link_of_topic(k, p->topic, &which);
    if (l == NULL || !takes_state(l, which))
        return;
    ab_offsets_pass(&l->in.offsets, p->offset);
    ab_kafka_commit_note(l);
    check_caught_up(l);
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
        ab_kafka_link_restart(l, text);
    else
        ab_kafka_host_error(&k->host, code, text);
}

void ab_kafka_consumer_error(ab_kafka *k, rd_kafka_event_t *event)
{
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    rd_kafka_topic_partition_t *p = rd_kafka_event_topic_partition(event);
    if (p == NULL || p->topic == NULL || p->topic[0] == '\0')
        ab_kafka_host_error(&k->host, code, rd_kafka_event_error_string(event));
    else if (code == RD_KAFKA_RESP_ERR__PARTITION_EOF)
        on_end(k, p);
    else
        on_partition_error(k, code, rd_kafka_event_error_string(event), p);
    if (p != NULL)
        rd_kafka_topic_partition_destroy(p);
}

/* What could not be committed is committed again with the next. */
static void on_committed(ab_kafka_group *g, rd_kafka_event_t *event)
{
    g->committing = false;
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    rd_kafka_topic_partition_list_t *list = rd_kafka_event_topic_partition_list(event);
    for (int i = 0; list != NULL && i < list->cnt; i++) {
        const rd_kafka_topic_partition_t *p = &list->elems[i];
        ab_kafka_topic which = AB_KAFKA_TOPICS;
        ab_kafka_link *l = ab_kafka_link_of_topic(g->kafka, p->topic, &which);
        rd_kafka_resp_err_t failed = code == RD_KAFKA_RESP_ERR_NO_ERROR ? p->err : code;
        if (failed == RD_KAFKA_RESP_ERR_NO_ERROR)
            continue;
        if (l != NULL)
            ab_kafka_commit_forget(l);
        ab_kafka_host_error(&g->kafka->host, failed, "cannot commit positions");
    }
}

static void on_event(void *arg, ab_kafka_handle *h, rd_kafka_event_t *event)
{
    (void)h;
    ab_kafka_group *g = arg;
    const rd_kafka_message_t *m = NULL;
    switch (rd_kafka_event_type(event)) {
    case RD_KAFKA_EVENT_FETCH:
        while ((m = rd_kafka_event_message_next(event)) != NULL)
            on_message(g->kafka, m);
        break;
    case RD_KAFKA_EVENT_OFFSET_COMMIT:
        on_committed(g, event);
        break;
    case RD_KAFKA_EVENT_ERROR:
        ab_kafka_consumer_error(g->kafka, event);
        break;
    default:
        break;
    }
}

static ab_err open_group(ab_kafka *k, ab_kafka_groups *groups, ab_kafka_group **out, ab_error *err)
{
    bool live = groups == &k->live_groups;
    ab_kafka_group *g = calloc(1, sizeof(*g));
    if (g == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "kafka: out of memory");
    g->kafka = k;
    ab_link_init(&g->moved);
    ab_link_init(&g->at_rest);
    ab_err e = ab_kafka_handle_open(&k->host, &k->settings,
                                    live ? AB_KAFKA_LIVE_CONSUMER : AB_KAFKA_CONSUMER,
                                    live ? ab_kafka_live_event : on_event, g, &g->handle, err);
    if (e != AB_ERR_OK) {
        free(g);
        return e;
    }
    TAILQ_INSERT_TAIL(groups, g, at);
    *out = g;
    return AB_ERR_OK;
}

ab_err ab_kafka_consumer_start(ab_kafka *k, ab_error *err)
{
    ab_kafka_group *g = NULL;
    return ab_kafka_group_for(k, &k->groups, &g, err);
}

ab_err ab_kafka_group_for(ab_kafka *k, ab_kafka_groups *groups, ab_kafka_group **out, ab_error *err)
{
    ab_kafka_group *g = NULL;
    TAILQ_FOREACH(g, groups, at)
    {
        if (g->partitions < PARTITIONS_MAX) {
            *out = g;
            return AB_ERR_OK;
        }
    }
    return open_group(k, groups, out, err);
}

typedef struct {
    int64_t from;
    bool gap; /* and then which */
    ab_gap which;
} plan;

static plan after_gap(const ab_kafka_findings *f, ab_gap which)
{
    return (plan){.from = f->in_low, .gap = true, .which = which};
}

/* Where to receive from: where we were, or what was committed, when that is in the log. */
static plan make_plan(const ab_kafka_link *l, const ab_kafka_findings *f)
{
    int64_t from = l->in.known ? l->in.offsets.next : f->committed;
    if (!l->in.known && l->kafka->base.env.replay)
        return after_gap(f, AB_GAP_FIRST);
    if (l->in.known && (l->lost_in || l->lost_out))
        return after_gap(f, AB_GAP_RECREATED);
    if (from < 0)
        return after_gap(f, AB_GAP_FIRST);
    if (from > f->in_high)
        return after_gap(f, AB_GAP_RECREATED);
    if (from < f->in_low)
        return after_gap(f, AB_GAP_EXPIRED);
    return (plan){.from = from};
}

static void restart_session(ab_kafka_link *l, const ab_kafka_findings *f, int64_t from)
{
    ab_offsets_fini(&l->in.offsets);
    ab_offsets_init(&l->in.offsets, from);
    l->in.generation++;
    l->in.caught_up_at = f->in_high;
    l->in.fresh_from = f->in_high;
    l->in.log_id = 0;
    l->in.whole = from == f->in_low;
    l->in.committed = f->committed;
    l->in.committed_ms = ab_kafka_now(l->kafka);
}

static ab_err assign(ab_kafka_link *l, const plan *p, ab_error *err)
{
    ab_kafka_group *g = NULL;
    ab_err e = ab_kafka_group_for(l->kafka, &l->kafka->groups, &g, err);
    if (e != AB_ERR_OK)
        return e;
    rd_kafka_topic_partition_list_t *list = state_partition(l);
    list->elems[0].offset = p->from;
    rd_kafka_error_t *failed = rd_kafka_incremental_assign(ab_kafka_handle_rk(g->handle), list);
    if (failed != NULL) {
        e = ab_fail(err, AB_ERR_UNAVAILABLE, "cannot assign topics: %s",
                    rd_kafka_error_string(failed));
        rd_kafka_error_destroy(failed);
    } else {
        g->partitions += (size_t)list->cnt;
        l->in.group = g;
    }
    rd_kafka_topic_partition_list_destroy(list);
    return e;
}

static void tell_gap(ab_kafka_link *l, ab_gap which)
{
    static const char *const words[] = {
        [AB_GAP_FIRST] = "first", [AB_GAP_EXPIRED] = "expired", [AB_GAP_RECREATED] = "recreated"};
    ab_kafka *k = l->kafka;
    const ab_label label = {"reason", ab_str_of(words[which])};
    ab_metric_add(ab_metric_get(k->base.env.metrics, AB_METRIC_COUNTER, "argobus_replays_total",
                                "Full replays of a log, by reason.", &label, 1),
                  1);
    AB_INFO(k->base.env.log, KAFKA, "replaying the whole log", AB_KV("agent", l->name),
            AB_KV("reason", words[which]));
    k->base.env.events.on_gap(k->base.env.events.arg, l->name, which);
}

ab_err ab_kafka_consumer_add(ab_kafka_link *l, const ab_kafka_findings *f, ab_error *err)
{
    l->lost_out = l->lost_out || l->sent_offset >= f->out_high;
    plan p = make_plan(l, f);
    ab_err e = assign(l, &p, err);
    if (e == AB_ERR_OK)
        e = ab_kafka_live_open(l, f->in_live_high, err);
    if (e != AB_ERR_OK)
        return e;
    if (p.gap || !l->in.known)
        restart_session(l, f, p.from);
    l->in.known = true;
    ab_kafka_commit_begin(l);
    if (l->kafka->member.displaced_told)
        l->in.caught_up_at = f->in_high;
    if (p.gap && p.which == AB_GAP_RECREATED) {
        l->sent_offset = -1;
        l->has_epoch = false;
        l->new_log = l->lost_out;
    }
    l->lost_in = false;
    l->lost_out = false;
    control_flow(l);
    if (p.gap)
        tell_gap(l, p.which);
    if (!l->removed)
        check_caught_up(l);
    return AB_ERR_OK;
}

void ab_kafka_consumer_remove(ab_kafka_link *l)
{
    ab_kafka_group *g = l->in.group;
    if (g == NULL)
        return;
    set_paused(l, false);
    rd_kafka_topic_partition_list_t *list = state_partition(l);
    rd_kafka_error_t *failed = rd_kafka_incremental_unassign(ab_kafka_handle_rk(g->handle), list);
    if (failed != NULL) {
        ab_kafka_host_error(&l->kafka->host, rd_kafka_error_code(failed),
                            rd_kafka_error_string(failed));
        rd_kafka_error_destroy(failed);
    }
    g->partitions -= (size_t)list->cnt;
    rd_kafka_topic_partition_list_destroy(list);
    ab_kafka_commit_end(l);
}

void ab_kafka_groups_close(ab_kafka_groups *groups)
{
    ab_kafka_group *g = NULL;
    while ((g = TAILQ_FIRST(groups)) != NULL) {
        TAILQ_REMOVE(groups, g, at);
        ab_kafka_commit_end_all(g);
        ab_kafka_handle_close(g->handle);
        free(g);
    }
}

void ab_kafka_consumer_measure(ab_kafka *k)
{
    ab_kafka_link *l = NULL;
    TAILQ_FOREACH(l, &k->links, at)
    {
        int64_t low = 0;
        int64_t high = 0;
        if (l->in.group == NULL ||
            rd_kafka_get_watermark_offsets(ab_kafka_handle_rk(l->in.group->handle),
                                           l->topics[AB_KAFKA_IN_STATE], 0, &low,
                                           &high) != RD_KAFKA_RESP_ERR_NO_ERROR)
            continue;
        int64_t lag = high - ab_offsets_position(&l->in.offsets);
        int64_t unread = high - l->in.offsets.next;
        ab_pending_set_unread(&l->up, unread > 0 ? (size_t)unread : 0);
        ab_metric_set(l->metrics.lag, lag > 0 ? (double)lag : 0);
    }
}
