/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/resync/queue.h"

#define ANSWER_MS      30000
#define TURN_FIRST_MS  60000
#define TURN_MAX_MS    300000
#define LONGEST_MS     3600000
#define ASKS_APART_MS  1000
#define RETRY_FIRST_MS 5000
#define RETRY_MAX_MS   600000

static int64_t now_ms(const ab_resync_queue *q)
{
    return ab_clock_mono_ms(q->env.clock);
}

void ab_resync_queue_init(ab_resync_queue *q, const ab_resync_env *env, int64_t period_ms,
                          size_t max)
{
    *q = (ab_resync_queue){.env = *env, .period_ms = period_ms, .max = max};
    ab_link_init(&q->running);
    ab_link_init(&q->ripe);
    ab_link_init(&q->retrying);
    ab_link_init(&q->periodic);
}

void ab_resync_queue_join(ab_resync_queue *q, ab_resync_turn *t, void *arg, ab_writer *writer,
                          const char *agent)
{
    ab_resync_env env = q->env;
    env.arg = arg;
    env.writer = writer;
    env.agent = agent;
    *t = (ab_resync_turn){.queue = q, .turn_ms = TURN_FIRST_MS};
    ab_link_init(&t->in_list);
    ab_backoff_init(&t->backoff, RETRY_FIRST_MS, RETRY_MAX_MS);
    ab_resync_init(&t->resync, &env);
}

/* NULL: it waits for something that ab_resync_queue_sort is called for. */
static ab_link *list_of(const ab_resync_turn *t)
{
    ab_resync_queue *q = t->queue;
    if (t->resync.state != AB_RESYNC_IDLE)
        return &q->running;
    if (t->why == NULL)
        return t->was_held && q->period_ms > 0 ? &q->periodic : NULL;
    if (t->at > now_ms(q))
        return &q->retrying;
    return t->resync.env.role->is_ready(t->resync.env.arg) ? &q->ripe : NULL;
}

static void move_to(ab_resync_turn *t, ab_link *list)
{
    ab_resync_queue *q = t->queue;
    if (list == t->list)
        return;
    q->running_count += list == &q->running;
    q->running_count -= t->list == &q->running;
    if (q->longest == t)
        q->longest = NULL;
    if (list == &q->periodic)
        t->at = now_ms(q) + q->period_ms;
    if (list == NULL)
        ab_link_remove(&t->in_list);
    else
        ab_list_append(list, &t->in_list);
    t->list = list;
}

void ab_resync_queue_sort(ab_resync_turn *t)
{
    move_to(t, list_of(t));
}

void ab_resync_queue_stop(ab_resync_turn *t)
{
    ab_resync_stop(&t->resync);
    ab_resync_queue_sort(t);
}

void ab_resync_queue_leave(ab_resync_turn *t)
{
    if (t->queue == NULL)
        return;
    ab_resync_stop(&t->resync);
    move_to(t, NULL);
}

static void set_due(ab_resync_turn *t, const char *why, int64_t at)
{
    t->why = why;
    t->at = at;
    ab_resync_queue_sort(t);
}

void ab_resync_queue_due(ab_resync_turn *t, const char *why)
{
    set_due(t, why, 0);
    ab_resync_queue_go(t->queue);
}

void ab_resync_queue_again(ab_resync_turn *t, const char *why)
{
    set_due(t, why, t->begun_at + ASKS_APART_MS);
    ab_resync_queue_go(t->queue);
}

void ab_resync_queue_late(ab_resync_turn *t)
{
    if (t->why == NULL)
        ab_resync_queue_again(t, "the agent answered an earlier resync");
}

void ab_resync_queue_over(ab_resync_turn *t, const char *why)
{
    if (why != NULL) {
        set_due(t, why, now_ms(t->queue) + ab_backoff_next(&t->backoff));
        return;
    }
    t->was_held = true;
    t->turn_ms = TURN_FIRST_MS;
    ab_backoff_reset(&t->backoff);
    set_due(t, t->why, t->at);
}

static ab_resync_turn *first(const ab_link *list)
{
    return ab_link_is_in_use(list) ? AB_LINK_OF(list->next, ab_resync_turn, in_list) : NULL;
}

static void begin_one(ab_resync_turn *t)
{
    const char *why = t->why;
    if (ab_resync_begin(&t->resync, why) == AB_ERR_OK) {
        t->begun_at = now_ms(t->queue);
        set_due(t, NULL, 0);
    } else {
        ab_resync_queue_over(t, why);
    }
}

void ab_resync_queue_go(ab_resync_queue *q)
{
    for (ab_resync_turn *t = first(&q->ripe); t != NULL && q->running_count < q->max;
         t = first(&q->ripe)) {
        ab_resync_queue_sort(t); /* something may have come in between */
        if (t->list == &q->ripe)
            begin_one(t);
    }
}

static void give_way(ab_resync_turn *t)
{
    ab_resync_stop(&t->resync);
    t->turn_ms = 2 * t->turn_ms < TURN_MAX_MS ? 2 * t->turn_ms : TURN_MAX_MS;
    set_due(t, "others waited", 0);
}

/* So long only where others have room beside it. */
static int64_t turn_of(ab_resync_turn *t, int64_t now)
{
    ab_resync_queue *q = t->queue;
    bool too_short = t->turn_ms == TURN_MAX_MS && now >= t->begun_at + TURN_MAX_MS;
    if (q->longest == NULL && too_short && q->max > 1)
        q->longest = t;
    return q->longest == t ? LONGEST_MS : t->turn_ms;
}

static void check_running(const ab_resync_queue *q, int64_t now)
{
    for (ab_list_iter i = ab_list_first(&q->running); i.link != NULL; ab_list_next(&i)) {
        ab_resync_turn *t = AB_LINK_OF(i.link, ab_resync_turn, in_list);
        bool others_wait = q->running_count >= q->max && ab_link_is_in_use(&q->ripe);
        if (now >= t->resync.heard_at + ANSWER_MS) {
            ab_resync_stop(&t->resync);
            ab_resync_queue_over(t, "no answer");
        } else if (others_wait && now >= t->begun_at + turn_of(t, now)) {
            give_way(t);
        }
    }
}

static void check_retries(const ab_resync_queue *q)
{
    for (ab_list_iter i = ab_list_first(&q->retrying); i.link != NULL; ab_list_next(&i))
        ab_resync_queue_sort(AB_LINK_OF(i.link, ab_resync_turn, in_list));
}

static void check_period(const ab_resync_queue *q, int64_t now)
{
    for (ab_resync_turn *t = first(&q->periodic); t != NULL && now >= t->at;
         t = first(&q->periodic)) {
        t->why = "period";
        ab_resync_queue_sort(t);
    }
}

void ab_resync_queue_tick(ab_resync_queue *q)
{
    int64_t now = now_ms(q);
    check_running(q, now);
    check_retries(q);
    check_period(q, now);
    ab_resync_queue_go(q);
}
