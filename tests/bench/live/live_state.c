/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/live/live_state.h"

#include "tests/bench/base/process.h"

#define HUB_SPACE   "w0"
#define SPOKE_SPACE "argocd"
#define MOST        (10 * AB_BENCH_LIVE_CHANGES)
#define BYTES       3072
#define WAIT_MS     60000

static bool empty(ab_bench_live_state *s)
{
    return ab_bench_api_empty(&s->hub, HUB_SPACE) && ab_bench_api_empty(&s->spoke, SPOKE_SPACE);
}

bool ab_bench_live_state_open(ab_bench_live_state *s, const ab_bench_options *o)
{
    *s = (ab_bench_live_state){0};
    if (uv_loop_init(&s->loop) != 0)
        return false;
    s->opened = true;
    return ab_bench_api_open(&s->hub, &s->loop, "hub", o->hub) &&
           ab_bench_api_open(&s->spoke, &s->loop, "spoke", o->spoke) && empty(s) &&
           ab_bench_view_open(&s->view, &s->spoke, SPOKE_SPACE, MOST);
}

static bool change(ab_bench_live_state *s, double *ms)
{
    ab_bench_load load = {.api = &s->hub,
                          .namespace = HUB_SPACE,
                          .first = s->made,
                          .count = 1,
                          .number = 1,
                          .bytes = BYTES,
                          .at_once = 1};
    const ab_bench_want want = {.first = s->made, .count = 1, .revision = 1};
    int64_t begun = ab_bench_now_ns();
    if (!ab_bench_load_run(&load, 1) || !ab_bench_view_wait(&s->view, &want, WAIT_MS))
        return false;
    *ms = (double)(s->view.apps[s->made++].at_ns - begun) / 1e6;
    return true;
}

bool ab_bench_live_state_time(ab_bench_live_state *s, ab_bench_live_delay *out)
{
    double ms[AB_BENCH_LIVE_CHANGES];
    int64_t begun = ab_bench_now_ns();
    for (size_t i = 0; i < AB_BENCH_LIVE_CHANGES; i++) {
        if (!change(s, &ms[i]))
            return false;
    }
    out->seconds = (double)(ab_bench_now_ns() - begun) / 1e9;
    out->p50_ms = ab_bench_quantile(ms, AB_BENCH_LIVE_CHANGES, 0.5);
    out->p99_ms = ab_bench_quantile(ms, AB_BENCH_LIVE_CHANGES, 0.99);
    return true;
}

void ab_bench_live_state_close(ab_bench_live_state *s)
{
    if (!s->opened)
        return;
    ab_bench_view_close(&s->view);
    (void)empty(s);
    ab_bench_api_close(&s->spoke);
    ab_bench_api_close(&s->hub);
    (void)uv_run(&s->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&s->loop);
}
