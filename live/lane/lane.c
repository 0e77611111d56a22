/* SPDX-License-Identifier: Apache-2.0 */
#include "live/lane/lane.h"

#include <stdlib.h>

#define TICK_MS 250
#define REST_MS 50

/* Handles outlive the lane until the loop has closed them. */
typedef struct ab_live_lane_loop {
    uv_check_t check; /* after the loop has heard all that there was to be heard in this turn */
    uv_idle_t idle;   /* that the loop does not wait before it */
    uv_timer_t tick;
    uv_timer_t rest; /* while some are resting */
    ab_live_lane *lane;
    unsigned handles;
} lane_loop;

int64_t ab_live_lane_now(const ab_live_lane *lane)
{
    return ab_clock_mono_ms(lane->env.clock);
}

/* One that is woken meanwhile has its turn in the next round. */
static void on_check(uv_check_t *check)
{
    lane_loop *l = check->data;
    ab_live_lane *lane = l->lane;
    ab_live_turn *t = NULL;
    uv_check_stop(&l->check);
    uv_idle_stop(&l->idle);
    lane->round++;
    while ((t = TAILQ_FIRST(&lane->busy)) != NULL && t->round < lane->round) {
        TAILQ_REMOVE(&lane->busy, t, busy_at);
        t->busy = false;
        t->flush(t);
    }
}

static void on_idle(uv_idle_t *idle)
{
    (void)idle;
}

static void on_tick(uv_timer_t *timer)
{
    const lane_loop *l = timer->data;
    ab_live_lane *lane = l->lane;
    int64_t now = ab_live_lane_now(lane);
    ab_live_turn *next = NULL;
    for (ab_live_turn *t = TAILQ_FIRST(&lane->turns); t != NULL; t = next) {
        next = TAILQ_NEXT(t, at);
        t->tick(t, now);
    }
    if (TAILQ_EMPTY(&lane->turns))
        uv_timer_stop(timer);
}

static void on_rest(uv_timer_t *timer)
{
    const lane_loop *l = timer->data;
    ab_live_lane *lane = l->lane;
    ab_live_turn *next = NULL;
    for (ab_live_turn *t = TAILQ_FIRST(&lane->resting); t != NULL; t = next) {
        next = TAILQ_NEXT(t, resting_at);
        if (t->owed)
            ab_live_lane_wake(lane, t);
        else
            TAILQ_REMOVE(&lane->resting, t, resting_at);
        t->resting = t->owed;
        t->owed = false;
    }
    if (TAILQ_EMPTY(&lane->resting))
        uv_timer_stop(timer);
}

/* They fail only for a loop that is none. */
static void init_handles(lane_loop *l, uv_loop_t *loop)
{
    uv_check_init(loop, &l->check);
    uv_idle_init(loop, &l->idle);
    (void)uv_timer_init(loop, &l->tick);
    (void)uv_timer_init(loop, &l->rest);
    l->check.data = l;
    l->idle.data = l;
    l->tick.data = l;
    l->rest.data = l;
    l->handles = 4;
}

ab_err ab_live_lane_init(ab_live_lane *lane, const ab_live_lane_env *env)
{
    *lane = (ab_live_lane){.env = *env};
    TAILQ_INIT(&lane->turns);
    TAILQ_INIT(&lane->busy);
    TAILQ_INIT(&lane->resting);
    TAILQ_INIT(&lane->zombies);
    lane->loop = calloc(1, sizeof(*lane->loop));
    if (lane->loop == NULL)
        return AB_ERR_NOMEM;
    lane->loop->lane = lane;
    init_handles(lane->loop, env->loop);
    return AB_ERR_OK;
}

static void on_closed(uv_handle_t *handle)
{
    lane_loop *l = handle->data;
    if (--l->handles == 0)
        free(l);
}

void ab_live_lane_fini(ab_live_lane *lane)
{
    lane_loop *l = lane->loop;
    lane->loop = NULL;
    if (l == NULL)
        return;
    uv_close((uv_handle_t *)&l->check, on_closed);
    uv_close((uv_handle_t *)&l->idle, on_closed);
    uv_close((uv_handle_t *)&l->tick, on_closed);
    uv_close((uv_handle_t *)&l->rest, on_closed);
}

void ab_live_lane_add(ab_live_lane *lane, ab_live_turn *t)
{
    TAILQ_INSERT_TAIL(&lane->turns, t, at);
    if (!uv_is_active((uv_handle_t *)&lane->loop->tick))
        (void)uv_timer_start(&lane->loop->tick, on_tick, TICK_MS, TICK_MS);
}

void ab_live_lane_remove(ab_live_lane *lane, ab_live_turn *t)
{
    if (t->busy)
        TAILQ_REMOVE(&lane->busy, t, busy_at);
    if (t->resting)
        TAILQ_REMOVE(&lane->resting, t, resting_at);
    t->busy = false;
    t->resting = false;
    TAILQ_REMOVE(&lane->turns, t, at);
}

void ab_live_lane_wake(ab_live_lane *lane, ab_live_turn *t)
{
    if (t->busy)
        return;
    t->busy = true;
    t->round = lane->round;
    TAILQ_INSERT_TAIL(&lane->busy, t, busy_at);
    uv_check_start(&lane->loop->check, on_check);
    uv_idle_start(&lane->loop->idle, on_idle);
}

void ab_live_lane_wake_patiently(ab_live_lane *lane, ab_live_turn *t)
{
    t->owed = t->resting;
    if (t->resting)
        return;
    t->resting = true;
    TAILQ_INSERT_TAIL(&lane->resting, t, resting_at);
    if (!uv_is_active((uv_handle_t *)&lane->loop->rest))
        (void)uv_timer_start(&lane->loop->rest, on_rest, REST_MS, REST_MS);
    ab_live_lane_wake(lane, t);
}
