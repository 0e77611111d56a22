/* SPDX-License-Identifier: Apache-2.0
 *
 * Receiving state. Partitions are assigned, not subscribed to (docs/decisions/0004): a restart
 * begins at once, and agents come and go one by one. Committed is the lowest position below which
 * everything is in effect.
 */
#include "transport/kafka/consumer_priv.h"

#include "transport/kafka/commit_priv.h"
#include "transport/kafka/flow_priv.h"
#include "transport/kafka/group_priv.h"
#include "transport/kafka/live_priv.h"
#include "transport/kafka/receive_priv.h"
#include "transport/kafka/refusal_priv.h"

static void check_caught_up(ab_kafka_link *l)
{
    if (l->in.caught_up_at < 0 || l->in.offsets.next < l->in.caught_up_at)
        return;
    l->in.caught_up_at = -1;
    const ab_transport_events *up = &l->kafka->base.env.events;
    up->on_caught_up(up->arg, l->name);
}

/* What was fetched before we were refused is read again afterwards. */
static bool takes_state(const ab_kafka_link *l, ab_kafka_topic which)
{
    return which == AB_KAFKA_IN_STATE && l->in.group != NULL && !l->kafka->closed &&
           !ab_kafka_refusal_is_on(l);
}

static void on_message(ab_kafka *k, const rd_kafka_message_t *m)
{
    ab_kafka_topic which = AB_KAFKA_TOPICS;
    ab_kafka_link *l = ab_kafka_link_of_topic(k, rd_kafka_topic_name(m->rkt), &which);
    if (l == NULL || !takes_state(l, which))
        return;
    ab_kafka_link_ref(l);
    ab_kafka_link_measure(l);
    ab_kafka_receive_state(l, m);
    if (l->in.group != NULL) {
        ab_kafka_flow_taken(l->in.group, m, l->in.paused);
        ab_kafka_flow_control(l);
        check_caught_up(l);
    }
    ab_kafka_link_unref(l);
}

/* The end of a partition is reported as an error. */
static void on_error(ab_kafka *k, rd_kafka_event_t *event)
{
    ab_kafka_topic which = AB_KAFKA_TOPICS;
    ab_kafka_receive_error(k, event);
    if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR__PARTITION_EOF)
        return;
    rd_kafka_topic_partition_t *p = rd_kafka_event_topic_partition(event);
    ab_kafka_link *l = ab_kafka_link_of_topic(k, p->topic, &which);
    if (l != NULL && takes_state(l, which)) {
        ab_offsets_pass(&l->in.offsets, p->offset);
        l->in.end = p->offset;
        ab_kafka_commit_note(l);
        ab_kafka_link_measure(l);
        check_caught_up(l);
    }
    rd_kafka_topic_partition_destroy(p);
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
        ab_kafka_commit_done(g, event);
        break;
    case RD_KAFKA_EVENT_ERROR:
        on_error(g->kafka, event);
        break;
    default:
        break;
    }
}

void ab_kafka_consumer_init(ab_kafka *k)
{
    k->groups = (ab_kafka_groups){.kafka = k, .kind = AB_KAFKA_CONSUMER, .on_event = on_event};
    TAILQ_INIT(&k->groups.list);
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
    l->in.cut_log = 0;
}

static void tell_gap(ab_kafka_link *l, ab_gap which)
{
    ab_kafka *k = l->kafka;
    const ab_label label = {"reason", ab_str_of(ab_gap_name(which))};
    ab_metric_add(ab_metric_get(k->base.env.metrics, AB_METRIC_COUNTER, "argobus_replays_total",
                                "Full replays of a log, by reason.", &label, 1),
                  1);
    AB_INFO(k->base.env.log, KAFKA, "replaying the whole log", AB_KV("agent", l->name),
            AB_KV("reason", ab_gap_name(which)));
    k->base.env.events.on_gap(k->base.env.events.arg, l->name, which);
}

ab_err ab_kafka_consumer_assign(ab_kafka_link *l, const ab_kafka_findings *f, ab_error *err)
{
    l->lost_out = l->lost_out || l->sent_offset >= f->out_high;
    plan p = make_plan(l, f);
    ab_err e = ab_kafka_group_assign(&l->kafka->groups, l->topics[AB_KAFKA_IN_STATE], p.from,
                                     &l->in.group, err);
    return e == AB_ERR_OK ? ab_kafka_live_open(l, f->in_live_high, err) : e;
}

void ab_kafka_consumer_begin(ab_kafka_link *l, const ab_kafka_findings *f)
{
    plan p = make_plan(l, f);
    if (p.gap || !l->in.known)
        restart_session(l, f, p.from);
    /* What the peer had written before we looked is not in its log any more. */
    if (l->in.known && !p.gap && f->in_sent >= f->in_high)
        l->in.cut_log = l->peer.log_id;
    l->in.known = true;
    l->in.end = -1;
    ab_kafka_commit_begin(l, f->committed);
    ab_kafka_link_measure(l);
    if (l->kafka->member.displaced_told)
        l->in.caught_up_at = f->in_high;
    if (p.gap && p.which == AB_GAP_RECREATED) {
        l->sent_offset = -1;
        l->has_epoch = false;
        l->new_log = l->lost_out;
    }
    l->lost_in = false;
    l->lost_out = false;
    ab_kafka_flow_control(l);
    if (p.gap)
        tell_gap(l, p.which);
    if (!l->removed)
        check_caught_up(l);
}

void ab_kafka_consumer_remove(ab_kafka_link *l)
{
    ab_kafka_group *g = l->in.group;
    if (g == NULL)
        return;
    ab_kafka_flow_pause(l, false);
    ab_kafka_group_unassign(g, l->topics[AB_KAFKA_IN_STATE]);
    ab_kafka_commit_end(l);
}

/* What is left makes it worth another look. */
static void measure(ab_kafka_link *l)
{
    int64_t low = 0;
    int64_t high = 0;
    if (l->in.group == NULL ||
        rd_kafka_get_watermark_offsets(ab_kafka_handle_rk(l->in.group->handle),
                                       l->topics[AB_KAFKA_IN_STATE], 0, &low,
                                       &high) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return;
    int64_t lag = high - ab_offsets_position(&l->in.offsets);
    int64_t unread = high - l->in.offsets.next;
    ab_pending_set_unread(&l->up, unread > 0 ? (size_t)unread : 0);
    ab_metric_set(l->metrics.lag, lag > 0 ? (double)lag : 0);
    if (lag > 0)
        ab_kafka_link_measure(l);
}

void ab_kafka_consumer_measure(ab_kafka *k)
{
    ab_link moved;
    ab_link_init(&moved);
    ab_list_move_all(&k->to_measure, &moved);
    for (ab_link *at = ab_list_pop(&moved); at != NULL; at = ab_list_pop(&moved))
        measure(AB_LINK_OF(at, ab_kafka_link, measure_at));
}
