/* SPDX-License-Identifier: Apache-2.0
 *
 * PRINCIPAL: the position that an agent's group has committed in our log. The broker is asked for
 * it once for each agent, when the agent has returned, and then again and again while something is
 * pending for it. Requests are asynchronous, a bounded number at a time.
 *
 * An agent that has lost what it held commits a position that it had passed before, and reads on
 * from there. No key of these records is kept here, so each of them counts as pending.
 *
 * Kafka forgets what a group without members has committed, by default after seven days, and then
 * the lag of an agent that is away for longer is shown no more. An agent that runs commits its
 * position again each day (commit.c); for one that is away it is asked for and committed here.
 *
 * The requests have a handle of their own, while there is anything to ask. A producer must not be
 * asked: where the group's coordinator moves, librdkafka crashes for want of a group (issue 5040).
 * Behind the fetches of a consumer an answer takes up to a second. A handle that stays without an
 * answer is closed, and a new one asks later.
 *
 *   AB_ASK_NOT --write--> AB_ASK_SOON --due--> AB_ASK_UNDER_WAY --nothing left--> AB_ASK_NOT
 *                         AB_ASK_LATER          --left--> SOON, or LATER while the agent is away
 */
#include "transport/kafka/positions_priv.h"

#include "transport/kafka/client/coordinator.h"
#include "transport/kafka/kafka_priv.h"

#include <assert.h>

#define UNDER_WAY_MAX 32
#define SOON_MS       2000
/* The position of an agent that is away does not move; it is asked for again when it returns. */
#define LATER_MS 30000
/* The handle is closed when it has not been used for so long. */
#define IDLE_MS 60000
/* After a question that no broker answered. */
#define REST_MS 10000
/* Positions of absent agents are committed again so often; the first time soon after the start, but
 * an agent that is only restarted does it itself. */
#define KEEP_FIRST_MS (10LL * 60 * 1000)
#define KEEP_EVERY_MS (24LL * 3600 * 1000)

static void leave(ab_kafka_link *l)
{
    ab_link_remove(&l->ask_at);
    l->ask = AB_ASK_NOT;
}

/* Each queue has one delay, and so is in the order of what is due. */
static void enqueue(ab_kafka_link *l, ab_kafka_ask ask)
{
    ab_kafka *k = l->kafka;
    l->ask = ask;
    l->ask_due_ms = ab_kafka_now(k) + (ask == AB_ASK_SOON ? SOON_MS : LATER_MS);
    ab_list_append(ask == AB_ASK_SOON ? &k->ask_soon : &k->ask_later, &l->ask_at);
}

void ab_kafka_positions_begin(ab_kafka_link *l)
{
    if (l->kafka->settings.role != AB_ROLE_PRINCIPAL)
        return;
    l->keep_due_ms = ab_kafka_now(l->kafka) + KEEP_FIRST_MS;
    /* With the answer, the log can be read with regard to it. */
    l->ask = AB_ASK_SOON;
    l->ask_due_ms = 0;
    ab_list_prepend(&l->kafka->ask_soon, &l->ask_at);
}

void ab_kafka_positions_leave(ab_kafka_link *l)
{
    if (l->ask != AB_ASK_UNDER_WAY)
        leave(l);
}

void ab_kafka_positions_want(ab_kafka_link *l)
{
    if (l->ask == AB_ASK_NOT)
        enqueue(l, AB_ASK_SOON);
}

void ab_kafka_positions_return(ab_kafka_link *l)
{
    if (l->kafka->settings.role != AB_ROLE_PRINCIPAL)
        return;
    l->uncertain = true;
    if (l->ask == AB_ASK_NOT || l->ask == AB_ASK_LATER)
        enqueue(l, AB_ASK_SOON);
}

int64_t ab_kafka_positions_look(ab_kafka_link *l, int64_t now)
{
    if (l->kafka->settings.role != AB_ROLE_PRINCIPAL)
        return INT64_MAX;
    if (now < l->keep_due_ms)
        return l->keep_due_ms;
    bool ready = l->phase == AB_LINK_READY;
    l->keep_due_ms = now + (ready ? KEEP_EVERY_MS : KEEP_FIRST_MS);
    l->keep = ready && !l->peer.up;
    if (l->keep && l->ask != AB_ASK_UNDER_WAY)
        enqueue(l, AB_ASK_SOON);
    return l->keep_due_ms;
}

/* ----- answers ----- */

static bool is_denied(const ab_error *err)
{
    return err->foreign == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
           err->foreign == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

static void fail(ab_kafka_link *l, const ab_error *err)
{
    ab_kafka *k = l->kafka;
    int64_t held = 0;
    l->uncertain = !is_denied(err);
    if (is_denied(err)) { /* or everything ever written would be kept */
        ab_pending_forget_log(&l->down);
        ab_pending_pass(&l->down, AB_PENDING_UNKNOWN);
        l->keep = false;
    }
    if (ab_limiter_pass(&k->host.limiter, "positions", "asked", ab_kafka_now(k), &held))
        AB_WARN(k->base.env.log, KAFKA,
                is_denied(err) ? "may not read an agent's position, so argobus_changes_pending is "
                                 "not known; allow it by deploy/kafka/provision principal"
                               : "cannot read an agent's position, so argobus_changes_pending may "
                                 "be out of date; it is asked for again",
                AB_KV("agent", l->name), AB_KV("error", err->text), AB_KV("held_back", held));
}

static void finish_keep(ab_kafka_link *l, bool kept, const ab_error *err)
{
    ab_kafka *k = l->kafka;
    int64_t held = 0;
    l->keep = false;
    if (kept)
        ab_metric_add(
            ab_metric_get(k->base.env.metrics, AB_METRIC_COUNTER, "argobus_positions_kept_total",
                          "Positions of absent agents that were committed again.", NULL, 0),
            1);
    else if (ab_limiter_pass(&k->host.limiter, "positions", "kept", ab_kafka_now(k), &held))
        AB_WARN(k->base.env.log, KAFKA,
                "cannot commit the position of an absent agent again; grant the right with "
                "deploy/kafka/provision principal, or its lag disappears after the broker's "
                "offsets.retention.minutes",
                AB_KV("agent", l->name), AB_KV("error", err->text), AB_KV("held_back", held));
}

static void end(ab_kafka_link *l)
{
    assert(l->ask == AB_ASK_UNDER_WAY);
    leave(l);
    l->kafka->asks_under_way--;
}

/* While it is not known where the agent is, and while something is left. */
static void ask_again(ab_kafka_link *l, bool denied)
{
    bool unknown = l->down.position < 0 || l->keep || l->uncertain;
    bool pending = ab_pending_is_written(&l->down) || l->down.unread > 0;
    if ((unknown || pending) && !denied && !l->removed)
        enqueue(l, l->peer.up || unknown ? AB_ASK_SOON : AB_ASK_LATER);
}

static void request(ab_kafka_link *l, rd_kafka_admin_op_t op, int64_t offset);

static void pass(ab_kafka_link *l, int64_t position)
{
    if (l->down.position > l->passed)
        l->passed = l->down.position;
    ab_pending_pass(&l->down, position);
    ab_pending_set_unread(&l->down, position < l->passed ? (size_t)(l->passed - position) : 0);
}

static void on_position(ab_kafka_link *l, int64_t offset)
{
    /* Negative: it has committed nothing yet, and needs all. */
    pass(l, offset < 0 ? 0 : offset);
    if (l->keep && offset >= 0 && !l->removed && !l->kafka->closed)
        request(l, RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS, offset);
    else
        l->keep = false;
}

/* Errors of its own mean nothing: each request has its own outcome. */
static void on_event(void *arg, ab_kafka_handle *h, rd_kafka_event_t *event)
{
    (void)h;
    size_t n = 0;
    bool asked = rd_kafka_event_type(event) == RD_KAFKA_EVENT_LISTCONSUMERGROUPOFFSETS_RESULT;
    if (!asked && rd_kafka_event_type(event) != RD_KAFKA_EVENT_ALTERCONSUMERGROUPOFFSETS_RESULT)
        return;
    const rd_kafka_group_result_t **groups =
        asked ? rd_kafka_ListConsumerGroupOffsets_result_groups(
                    rd_kafka_event_ListConsumerGroupOffsets_result(event), &n)
              : rd_kafka_AlterConsumerGroupOffsets_result_groups(
                    rd_kafka_event_AlterConsumerGroupOffsets_result(event), &n);
    ab_kafka_link *l = rd_kafka_event_opaque(event);
    ab_error err = {0};
    const rd_kafka_topic_partition_t *found = ab_kafka_coordinator_position(event, groups, n, &err);
    end(l);
    if (!asked)
        finish_keep(l, found != NULL, &err);
    else if (found == NULL)
        fail(l, &err);
    else
        on_position(l, found->offset);
    if (l->ask == AB_ASK_NOT)
        ask_again(l, is_denied(&err));
    ab_kafka_link_unref(l);
    ab_kafka_positions_tick(arg);
}

/* ----- asking ----- */

static rd_kafka_t *open_asker(ab_kafka *k)
{
    ab_error err = {0};
    k->asker_used_ms = ab_kafka_now(k);
    if (k->asker == NULL && ab_kafka_handle_open(&k->host, &k->settings, AB_KAFKA_READER, on_event,
                                                 k, &k->asker, &err) != AB_ERR_OK)
        ab_kafka_host_error(&k->host, RD_KAFKA_RESP_ERR__FAIL, err.text);
    return k->asker == NULL ? NULL : ab_kafka_handle_rk(k->asker);
}

static void send_request(rd_kafka_t *rk, rd_kafka_admin_op_t op, const char *group,
                         const rd_kafka_topic_partition_list_t *list,
                         const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *queue)
{
    if (op == RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS) {
        rd_kafka_ListConsumerGroupOffsets_t *asked =
            rd_kafka_ListConsumerGroupOffsets_new(group, list);
        rd_kafka_ListConsumerGroupOffsets(rk, &asked, 1, options, queue);
        rd_kafka_ListConsumerGroupOffsets_destroy(asked);
        return;
    }
    rd_kafka_AlterConsumerGroupOffsets_t *altered =
        rd_kafka_AlterConsumerGroupOffsets_new(group, list);
    rd_kafka_AlterConsumerGroupOffsets(rk, &altered, 1, options, queue);
    rd_kafka_AlterConsumerGroupOffsets_destroy(altered);
}

/* Begin one. `offset`: to be committed. Without a handle it is tried again later. */
static void request(ab_kafka_link *l, rd_kafka_admin_op_t op, int64_t offset)
{
    ab_kafka *k = l->kafka;
    char group[AB_TOPIC_NAME_MAX];
    leave(l);
    rd_kafka_t *rk = open_asker(k);
    if (rk == NULL || !ab_group_agent(k->settings.prefix, l->name, group)) {
        ask_again(l, false);
        return;
    }
    rd_kafka_AdminOptions_t *options = ab_kafka_admin_options(rk, op, AB_KAFKA_COORDINATOR_MS);
    rd_kafka_AdminOptions_set_opaque(options, l);
    rd_kafka_topic_partition_list_t *list =
        ab_kafka_handle_partition(l->topics[AB_KAFKA_OUT_STATE], offset);
    send_request(rk, op, group, list, options, ab_kafka_handle_queue(k->asker));
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_AdminOptions_destroy(options);
    l->ask = AB_ASK_UNDER_WAY;
    l->uncertain = l->uncertain && op != RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS;
    l->ask_due_ms = ab_kafka_now(k) + AB_KAFKA_REQUEST_MS;
    ab_list_append(&k->ask_under_way, &ab_kafka_link_ref(l)->ask_at);
    k->asks_under_way++;
}

static ab_kafka_link *first_of(const ab_link *queue)
{
    ab_list_iter i = ab_list_first(queue);
    return i.link == NULL ? NULL : AB_LINK_OF(i.link, ab_kafka_link, ask_at);
}

void ab_kafka_positions_close(ab_kafka *k)
{
    ab_kafka_link *l = NULL;
    while ((l = first_of(&k->ask_under_way)) != NULL) { /* no answer will come any more */
        end(l);
        l->uncertain = true;
        ask_again(l, false);
        ab_kafka_link_unref(l);
    }
    ab_kafka_handle_close(k->asker);
    k->asker = NULL;
}

/* librdkafka must not give up first (AB_KAFKA_COORDINATOR_MS), so the handle goes with its
 * requests; there is time until the next attempt. */
static void close_if_silent(ab_kafka *k, int64_t now)
{
    ab_kafka_link *l = first_of(&k->ask_under_way);
    if (l == NULL || now < l->ask_due_ms)
        return;
    ab_error err = {0};
    ab_fail(&err, AB_ERR_TIMEOUT, "no broker responds");
    fail(l, &err);
    ab_kafka_positions_close(k);
    k->ask_not_before_ms = now + REST_MS;
}

static void close_if_idle(ab_kafka *k, int64_t now)
{
    if (k->asker != NULL && now - k->asker_used_ms >= IDLE_MS && k->asks_under_way == 0)
        ab_kafka_positions_close(k);
}

static void ask_next(ab_kafka *k, const ab_link *queue, int64_t now)
{
    ab_kafka_link *l = NULL;
    while (k->asks_under_way < UNDER_WAY_MAX && (l = first_of(queue)) != NULL &&
           now >= l->ask_due_ms)
        request(l, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, RD_KAFKA_OFFSET_INVALID);
}

void ab_kafka_positions_tick(ab_kafka *k)
{
    if (!k->running || k->closed || k->renewing)
        return;
    int64_t now = ab_kafka_now(k);
    close_if_silent(k, now);
    if (now < k->ask_not_before_ms)
        return;
    ask_next(k, &k->ask_soon, now);
    ask_next(k, &k->ask_later, now);
    close_if_idle(k, now);
}
