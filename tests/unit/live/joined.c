/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/live/joined.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>

static int64_t mono_ms(void *arg)
{
    return joined_now_ms() + ((const joined *)arg)->ahead_ms;
}

static int64_t wall_us(void *arg)
{
    (void)arg;
    return ab_clock_wall_us(&ab_clock_real);
}

int64_t joined_now_ms(void)
{
    return ab_clock_mono_ms(&ab_clock_real);
}

static ab_err send_down(void *arg, const char *agent, ab_event *event, ab_sent done, void *done_arg)
{
    assert_string_equal(agent, "w1");
    post_put(&((joined *)arg)->post, false, event, done, done_arg);
    return AB_ERR_OK;
}

static ab_err send_up(void *arg, const char *agent, ab_event *event, ab_sent done, void *done_arg)
{
    assert_null(agent);
    post_put(&((joined *)arg)->post, true, event, done, done_arg);
    return AB_ERR_OK;
}

static void deliver_one(joined *j)
{
    letter *l = post_take(&j->post);
    l->done(l->arg, AB_ERR_OK, NULL);
    bool is_taken = j->take != NULL && j->take(j->take_arg, l->up, l->event);
    if (!is_taken && l->up)
        ab_live_hub_deliver(j->hub, "w1", l->event);
    if (!is_taken && !l->up)
        ab_live_spoke_deliver(j->spoke, l->event);
    letter_free(l);
}

static ab_err admits(void *arg, const char *agent, const X509 *peer, ab_error *err)
{
    (void)arg, (void)agent, (void)peer, (void)err;
    return AB_ERR_OK;
}

void joined_open(joined *j, const ab_live_service *services)
{
    assert_int_equal(uv_loop_init(&j->loop), 0);
    j->clock = (ab_clock){mono_ms, wall_us, j};
    j->metrics = ab_metrics_new();
    STAILQ_INIT(&j->post);
    ab_live_lane_env env = {.loop = &j->loop,
                            .metrics = j->metrics,
                            .clock = &j->clock,
                            .source = "/principal",
                            .admits = admits,
                            .send = send_down,
                            .arg = j};
    assert_int_equal(ab_live_hub_new(&env, &j->hub), AB_ERR_OK);
    env.source = "/agent/w1";
    env.send = send_up;
    assert_int_equal(ab_live_spoke_new(&env, services, &j->spoke), AB_ERR_OK);
    assert_int_equal(ab_live_hub_connected(j->hub, "w1"), AB_ERR_OK);
}

int joined_close(joined *j)
{
    ab_live_hub_free(j->hub);
    ab_live_spoke_free(j->spoke);
    post_drop(&j->post);
    uv_run(&j->loop, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&j->loop); /* busy when a handle was left open */
    ab_metrics_free(j->metrics);
    return rc;
}

void joined_turn(joined *j)
{
    uv_run(&j->loop, UV_RUN_NOWAIT);
    if (STAILQ_EMPTY(&j->post))
        (void)poll(NULL, 0, 1);
    while (!STAILQ_EMPTY(&j->post))
        deliver_one(j);
}
