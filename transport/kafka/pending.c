/* SPDX-License-Identifier: Apache-2.0
 *
 * PRINCIPAL: which changes of an agent's log are not in effect at the agent. What we have written
 * is known from the delivery reports, and at start from the log; what is in effect, from the
 * position that the agent's group has committed, which the broker is asked for: once for each
 * agent, and then again and again while something is pending for it. For a fleet that is up to date
 * nothing is asked and nothing is kept. Requests are asynchronous, a bounded number at a time.
 *
 * They have a handle of their own, while there is anything to ask. A producer must not be asked:
 * where the group's coordinator moves, librdkafka crashes for want of a group (issue 5040). Behind
 * the fetches of a consumer an answer takes up to a second. A handle that stays without an answer
 * is closed, and a new one asks later.
 *
 *   AB_ASK_NOT --write--> AB_ASK_SOON --due--> AB_ASK_UNDER_WAY --nothing left--> AB_ASK_NOT
 *                         AB_ASK_LATER          --left--> SOON, or LATER while the agent is away
 */
#include "transport/kafka/pending_priv.h"

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

static struct ab_kafka_asks *queue_of(ab_kafka_link *l)
{
    return l->ask == AB_ASK_SOON ? &l->kafka->ask_soon : &l->kafka->ask_later;
}

static void leave_queue(ab_kafka_link *l)
{
    if (l->ask != AB_ASK_SOON && l->ask != AB_ASK_LATER)
        return;
    TAILQ_REMOVE(queue_of(l), l, ask_at);
    l->ask = AB_ASK_NOT;
}

/* Each queue has one delay, and so is in the order of what is due. */
static void enqueue(ab_kafka_link *l, ab_kafka_ask ask)
{
    l->ask = ask;
    l->ask_due_ms = ab_kafka_now(l->kafka) + (ask == AB_ASK_SOON ? SOON_MS : LATER_MS);
    TAILQ_INSERT_TAIL(queue_of(l), l, ask_at);
}

void ab_kafka_pending_init(ab_kafka_link *l)
{
    ab_kafka *k = l->kafka;
    bool principal = k->settings.role == AB_ROLE_PRINCIPAL;
    const ab_clock *clock = principal ? k->base.env.clock : NULL;
    ab_pending_init(&l->down, clock, AB_PENDING_UNKNOWN);
    ab_pending_init(&l->up, clock, 0);
    if (!principal)
        return;
    /* At once: with the answer, the log can be read with regard to it. */
    l->ask = AB_ASK_SOON;
    l->ask_due_ms = 0;
    TAILQ_INSERT_HEAD(&k->ask_soon, l, ask_at);
}

void ab_kafka_pending_leave(ab_kafka_link *l)
{
    leave_queue(l);
}

/* ----- what the log holds ----- */

void ab_kafka_pending_begin(ab_kafka_link *l, int64_t log_end)
{
    ab_pending_forget_log(&l->down);
    if (l->down.position > log_end) /* of a log that was here before */
        ab_pending_pass(&l->down, 0);
}

static int64_t written_ms(const ab_kafka_link *l, const rd_kafka_message_t *m)
{
    rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
    int64_t ms = rd_kafka_message_timestamp(m, &type);
    return type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
               ? ab_clock_wall_us(l->kafka->base.env.clock) / 1000
               : ms;
}

void ab_kafka_pending_read(ab_kafka_link *l, const ab_event *event, const rd_kafka_message_t *m)
{
    ab_pending_write(&l->down, event, m->payload == NULL, m->offset, written_ms(l, m));
    if (ab_pending_is_written(&l->down) && l->ask == AB_ASK_NOT)
        enqueue(l, AB_ASK_SOON);
}

void ab_kafka_pending_sent(ab_kafka_link *l, const ab_event *event, const rd_kafka_message_t *m)
{
    bool ended = ab_event_data(event).ptr == NULL;
    if (m->offset >= 0 && !l->removed)
        ab_pending_write(&l->down, event, ended, m->offset, written_ms(l, m));
    if (ab_pending_is_written(&l->down) && l->ask == AB_ASK_NOT)
        enqueue(l, AB_ASK_SOON);
}

void ab_kafka_pending_receive(ab_kafka_link *l, const ab_event *event, const rd_kafka_message_t *m)
{
    ab_pending_hold(&l->up, event, written_ms(l, m));
}

/* ----- asking ----- */

static const rd_kafka_topic_partition_t *position_in(rd_kafka_event_t *event, ab_error *err)
{
    size_t n = 0;
    const rd_kafka_group_result_t **groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
        rd_kafka_event_ListConsumerGroupOffsets_result(event), &n);
    return ab_kafka_coordinator_position(event, groups, n, err);
}

static bool is_denied(const ab_error *err)
{
    return err->foreign == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED ||
           err->foreign == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

static void fail(ab_kafka_link *l, const ab_error *err)
{
    ab_kafka *k = l->kafka;
    int64_t held = 0;
    if (is_denied(err)) { /* or everything ever written would be kept */
        ab_pending_forget_log(&l->down);
        ab_pending_pass(&l->down, AB_PENDING_UNKNOWN);
    }
    if (ab_limiter_pass(&k->host.limiter, "positions", "asked", ab_kafka_now(k), &held))
        AB_WARN(k->base.env.log, KAFKA,
                is_denied(err) ? "may not read an agent's position, so argobus_changes_pending is "
                                 "not known; allow it by deploy/kafka/provision principal"
                               : "cannot read an agent's position, so argobus_changes_pending may "
                                 "be out of date; it is asked for again",
                AB_KV("agent", (const char *)l->name), AB_KV("error", err->text),
                AB_KV("held_back", held));
}

static void end(ab_kafka_link *l)
{
    assert(l->ask == AB_ASK_UNDER_WAY);
    TAILQ_REMOVE(&l->kafka->ask_under_way, l, ask_at);
    l->kafka->asks_under_way--;
    l->ask = AB_ASK_NOT;
}

/* While it is not known where the agent is, and while something is left. */
static void ask_again(ab_kafka_link *l, bool denied)
{
    bool open = ab_pending_is_written(&l->down) || l->down.position < 0;
    if (open && !denied && !l->removed)
        enqueue(l, l->peer.up || l->down.position < 0 ? AB_ASK_SOON : AB_ASK_LATER);
}

static void on_answer(ab_kafka *k, rd_kafka_event_t *event)
{
    ab_kafka_link *l = rd_kafka_event_opaque(event);
    ab_error err = {0};
    const rd_kafka_topic_partition_t *found = position_in(event, &err);
    end(l);
    if (found == NULL)
        fail(l, &err);
    else /* negative: it has committed nothing yet, and needs all */
        ab_pending_pass(&l->down, found->offset < 0 ? 0 : found->offset);
    ask_again(l, is_denied(&err));
    ab_kafka_link_unref(l);
    ab_kafka_pending_tick(k);
}

/* Errors of its own mean nothing: each request has its own outcome. */
static void on_event(void *arg, ab_kafka_handle *h, rd_kafka_event_t *event)
{
    (void)h;
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_LISTCONSUMERGROUPOFFSETS_RESULT)
        on_answer(arg, event);
}

rd_kafka_t *ab_kafka_asker(ab_kafka *k)
{
    ab_error err = {0};
    k->asker_used_ms = ab_kafka_now(k);
    if (k->asker == NULL && ab_kafka_handle_open(&k->host, &k->settings, AB_KAFKA_READER, on_event,
                                                 k, &k->asker, &err) != AB_ERR_OK)
        ab_kafka_host_error(&k->host, RD_KAFKA_RESP_ERR__FAIL, err.text);
    return k->asker == NULL ? NULL : ab_kafka_handle_rk(k->asker);
}

void ab_kafka_asker_close(ab_kafka *k)
{
    ab_kafka_link *l = NULL;
    while ((l = TAILQ_FIRST(&k->ask_under_way)) != NULL) { /* no answer will come any more */
        end(l);
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
    ab_kafka_link *l = TAILQ_FIRST(&k->ask_under_way);
    if (l == NULL || now < l->ask_due_ms || k->keeping)
        return;
    ab_error err = {0};
    ab_fail(&err, AB_ERR_TIMEOUT, "no broker responds");
    fail(l, &err);
    ab_kafka_asker_close(k);
    k->ask_not_before_ms = now + REST_MS;
}

static void close_if_idle(ab_kafka *k)
{
    bool idle = ab_kafka_now(k) - k->asker_used_ms >= IDLE_MS;
    if (k->asker != NULL && idle && k->asks_under_way == 0 && !k->keeping)
        ab_kafka_asker_close(k);
}

static void ask(ab_kafka *k, ab_kafka_link *l)
{
    char group[AB_TOPIC_NAME_MAX];
    leave_queue(l);
    rd_kafka_t *rk = ab_kafka_asker(k);
    if (rk == NULL || !ab_group_agent(k->settings.prefix, l->name, group)) {
        ask_again(l, false);
        return;
    }
    rd_kafka_AdminOptions_t *options = ab_kafka_admin_options(
        rk, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, AB_KAFKA_COORDINATOR_MS);
    rd_kafka_AdminOptions_set_opaque(options, l);
    rd_kafka_topic_partition_list_t *list =
        ab_kafka_handle_partition(l->topics[AB_KAFKA_OUT_STATE], RD_KAFKA_OFFSET_INVALID);
    rd_kafka_ListConsumerGroupOffsets_t *request =
        rd_kafka_ListConsumerGroupOffsets_new(group, list);
    rd_kafka_ListConsumerGroupOffsets(rk, &request, 1, options, ab_kafka_handle_queue(k->asker));
    rd_kafka_ListConsumerGroupOffsets_destroy(request);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_AdminOptions_destroy(options);
    l->ask = AB_ASK_UNDER_WAY;
    l->ask_due_ms = ab_kafka_now(k) + AB_KAFKA_REQUEST_MS;
    TAILQ_INSERT_TAIL(&k->ask_under_way, ab_kafka_link_ref(l), ask_at);
    k->asks_under_way++;
}

static void ask_next(ab_kafka *k, struct ab_kafka_asks *queue, int64_t now)
{
    ab_kafka_link *l = NULL;
    while (k->asks_under_way < UNDER_WAY_MAX && (l = TAILQ_FIRST(queue)) != NULL &&
           now >= l->ask_due_ms)
        ask(k, l);
}

void ab_kafka_pending_tick(ab_kafka *k)
{
    if (!k->running || k->closed || k->renewing)
        return;
    int64_t now = ab_kafka_now(k);
    close_if_silent(k, now);
    if (now < k->ask_not_before_ms)
        return;
    ask_next(k, &k->ask_soon, now);
    ask_next(k, &k->ask_later, now);
    close_if_idle(k);
}

void ab_kafka_pending_hurry(ab_kafka_link *l)
{
    if (l->ask != AB_ASK_LATER)
        return;
    leave_queue(l);
    enqueue(l, AB_ASK_SOON);
}
