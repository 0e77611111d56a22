/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/live/live_logs.h"

#include "tests/bench/live/live_pods.h"
#include "tests/bench/live/live_terminal.h"
#include "tests/bench/live/live_viewers.h"

#include <math.h>
#include <stdio.h>

#define FOLLOWERS 200
#define TERMINALS 50
#define PODS      10

/* One crowd. */
typedef struct {
    ab_bench_live_delay state;
    double lines; /* each second */
    uint64_t disorder;
    double key50_ms, key99_ms;
    double cpu_s; /* of the principal, each second */
} outcome;

static bool look(const ab_bench_live_case *c, ab_bench_live_state *state,
                 const ab_bench_live_crowd *crowd, outcome *out)
{
    ab_bench_live_viewers v = {0};
    bool ok = ab_bench_live_viewers_start(&v, crowd);
    uint64_t before = ok ? __atomic_load_n(&v.seen->lines, __ATOMIC_ACQUIRE) : 0;
    double cpu_s = ab_bench_cpu(c->site.principal.pid);
    ok = ok && ab_bench_live_state_time(state, &out->state);
    out->cpu_s = (ab_bench_cpu(c->site.principal.pid) - cpu_s) / out->state.seconds;
    uint64_t after = ok ? __atomic_load_n(&v.seen->lines, __ATOMIC_ACQUIRE) : 0;
    ok = ab_bench_live_viewers_end(&v) && ok;
    if (ok) {
        out->lines = (double)(after - before) / out->state.seconds;
        out->disorder = v.seen->disorder;
    }
    if (ok && v.seen->keys > 0) {
        out->key50_ms = ab_bench_quantile(v.seen->key_ms, v.seen->keys, 0.5);
        out->key99_ms = ab_bench_quantile(v.seen->key_ms, v.seen->keys, 0.99);
    }
    ab_bench_live_viewers_free(&v);
    return ok;
}

static void report_state(const ab_bench_live_case *c, const char *name,
                         const ab_bench_live_delay *with, const ab_bench_live_delay *without)
{
    ab_bench_row row = ab_bench_live_row(c, name, "ms", with->p99_ms, without->p99_ms);
    row.p50_ms = with->p50_ms;
    row.p99_ms = with->p99_ms;
    ab_bench_report(c->o->format, &row);
}

static bool beside_lists(const ab_bench_live_case *c, ab_bench_live_state *state, const char *list,
                         const ab_bench_live_delay *alone)
{
    outcome bare = {0}, through = {0};
    ab_bench_live_crowd crowd = {.at = &c->bare, .listers = 1, .list = list};
    if (!look(c, state, &crowd, &bare))
        return false;
    crowd.at = &c->through;
    if (!look(c, state, &crowd, &through))
        return false;
    report_state(c, "live.list.state", &through.state, alone);
    report_state(c, "live.list.state.bare", &bare.state, alone);
    return true;
}

static bool beside_logs(const ab_bench_live_case *c, ab_bench_live_state *state,
                        const ab_bench_live_delay *alone)
{
    outcome bare = {0}, through = {0};
    ab_bench_live_crowd crowd = {
        .at = &c->bare, .followers = FOLLOWERS, .pods = PODS, .terminals = TERMINALS};
    if (!look(c, state, &crowd, &bare))
        return false;
    crowd.at = &c->through;
    if (!look(c, state, &crowd, &through))
        return false;
    ab_bench_row row = ab_bench_live_row(c, "live.logs", "lines/s", through.lines, bare.lines);
    row.cpu_s = through.cpu_s;
    ab_bench_report(c->o->format, &row);
    row = ab_bench_live_row(c, "live.logs.disorder", "lines", (double)through.disorder, NAN);
    ab_bench_report(c->o->format, &row);
    row = ab_bench_live_row(c, "live.logs.key", "ms", through.key50_ms, bare.key50_ms);
    row.p50_ms = through.key50_ms;
    row.p99_ms = through.key99_ms;
    ab_bench_report(c->o->format, &row);
    report_state(c, "live.logs.state", &through.state, alone);
    report_state(c, "live.logs.state.bare", &bare.state, alone);
    return through.disorder == 0;
}

static bool set_pods(const ab_bench_live_case *c, bool run)
{
    char name[32];
    bool ok = true;
    for (unsigned i = 0; i < PODS && ok; i++) {
        (void)snprintf(name, sizeof(name), AB_BENCH_LIVE_POD, i);
        ok = run ? ab_bench_live_pod_start(c, name, AB_BENCH_LIVE_CHATTER)
                 : ab_bench_live_pod_stop(c, name);
    }
    return ok;
}

bool ab_bench_live_logs(const ab_bench_live_case *c, ab_bench_live_state *state, const char *list)
{
    ab_bench_live_delay warm_up, alone;
    bool ok = ab_bench_live_state_time(state, &warm_up) &&
              ab_bench_live_state_time(state, &alone) && beside_lists(c, state, list, &alone) &&
              ab_bench_live_pod_start(c, AB_BENCH_LIVE_SHELL, AB_BENCH_LIVE_SLEEP) &&
              set_pods(c, true) && beside_logs(c, state, &alone);
    return ab_bench_live_pod_stop(c, AB_BENCH_LIVE_SHELL) && set_pods(c, false) && ok;
}
