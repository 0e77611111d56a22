/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/flow.h"

#include "tests/bench/process.h"
#include "tests/bench/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROUNDS_MAX   99
#define CARRIERS_MAX 2

typedef struct {
    const char *name;
    size_t bytes;
    size_t count;
    bool one_by_one;
} flow_case;

static const flow_case cases[] = {
    {"3KiB", 3 * 1024, 90000, false},
    {"20KiB", 20 * 1024, 18000, false},
    {"latency", 3 * 1024, AB_BENCH_TIMED, true},
};

/* All rounds of one carrier. */
typedef struct {
    const ab_bench_carrier *carrier;
    double per_second[ROUNDS_MAX];
    double p50_ms[ROUNDS_MAX];
    double p99_ms[ROUNDS_MAX];
    double cpu_s[2][ROUNDS_MAX]; /* sender, receiver */
    double rss_kib[2][ROUNDS_MAX];
} results;

static void take_times(const ab_bench_track *track, results *r, unsigned round)
{
    double ms[AB_BENCH_SAMPLES];
    for (size_t i = 0; i < AB_BENCH_SAMPLES; i++) {
        size_t at = AB_BENCH_WARM_UP + i;
        ms[i] = (double)(track->arrived_ns[at] - track->sent_ns[at]) / 1e6;
    }
    r->p50_ms[round] = ab_bench_quantile(ms, AB_BENCH_SAMPLES, 0.5);
    r->p99_ms[round] = ab_bench_quantile(ms, AB_BENCH_SAMPLES, 0.99);
}

static void take(const ab_bench_run *run, const ab_bench_cost cost[2], results *r, unsigned round)
{
    const ab_bench_track *track = run->track;
    r->per_second[round] = (double)run->count * 1e9 / (double)(track->ended_ns - track->begun_ns);
    if (run->one_by_one)
        take_times(track, r, round);
    for (int i = 0; i < 2; i++) {
        r->cpu_s[i][round] = cost[i].cpu_s;
        r->rss_kib[i][round] = cost[i].rss_kib;
    }
}

static bool run_once(ab_bench_run *run, results *r, unsigned round)
{
    ab_bench_cost cost[2];
    (void)snprintf(run->name, sizeof(run->name), "bench-%d-%" PRId64, (int)getpid(),
                   ab_bench_now_ns());
    run->go_fd = eventfd(0, EFD_CLOEXEC);
    if (run->go_fd < 0)
        return false;
    const pid_t pid[2] = {ab_bench_fork(r->carrier->send, run),
                          ab_bench_fork(r->carrier->receive, run)};
    bool ok = ab_bench_wait_both(pid, cost);
    (void)close(run->go_fd);
    if (ok)
        take(run, cost, r, round);
    else
        fprintf(stderr, "argobus-bench: a run of %s failed\n", r->carrier->name);
    return ok;
}

static bool run_rounds(const ab_bench_options *o, const flow_case *c, results *r, size_t carriers)
{
    static ab_bench_pool pool;
    ab_bench_track *track =
        mmap(NULL, sizeof(*track), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool ok = track != MAP_FAILED && ab_bench_pool_init(&pool, c->bytes);
    ab_bench_run run = {.broker = o->broker,
                        .pool = &pool,
                        .count = c->count,
                        .one_by_one = c->one_by_one,
                        .track = track};
    for (unsigned round = 0; round < o->rounds && ok; round++)
        for (size_t i = 0; i < carriers && ok; i++)
            ok = run_once(&run, &r[i], round);
    ab_bench_pool_fini(&pool);
    if (track != MAP_FAILED)
        (void)munmap(track, sizeof(*track));
    return ok;
}

static double median(const double *values, unsigned count)
{
    double copy[ROUNDS_MAX];
    memcpy(copy, values, count * sizeof(*copy));
    return ab_bench_quantile(copy, count, 0.5);
}

static void report_processes(const ab_bench_options *o, const flow_case *c, const results *r)
{
    static const char *const ends[] = {"sender", "receiver"};
    for (int i = 0; i < 2; i++) {
        ab_bench_row row = ab_bench_row_new("%s.%s.%s", r->carrier->name, c->name, ends[i]);
        row.cpu_s = median(r->cpu_s[i], o->rounds);
        row.rss_kib = median(r->rss_kib[i], o->rounds);
        ab_bench_report(o->format, &row);
    }
}

static void report_carrier(const ab_bench_options *o, const flow_case *c, const results *r,
                           const results *limit)
{
    ab_bench_row row = ab_bench_row_new("%s.%s", r->carrier->name, c->name);
    if (c->one_by_one) {
        row.unit = "ms";
        row.value = row.p50_ms = median(r->p50_ms, o->rounds);
        row.p99_ms = median(r->p99_ms, o->rounds);
        row.limit = median(limit->p50_ms, o->rounds);
    } else {
        row.unit = "events/s";
        row.value = median(r->per_second, o->rounds);
        row.limit = median(limit->per_second, o->rounds);
    }
    ab_bench_report(o->format, &row);
    report_processes(o, c, r);
}

/* What our transport adds to librdkafka alone. */
static void report_added(const ab_bench_options *o, const results *r, const results *limit)
{
    ab_bench_row row = ab_bench_row_new("%s.latency.added", r->carrier->name);
    row.unit = "ms";
    row.p50_ms = median(r->p50_ms, o->rounds) - median(limit->p50_ms, o->rounds);
    row.p99_ms = median(r->p99_ms, o->rounds) - median(limit->p99_ms, o->rounds);
    row.value = row.p50_ms;
    ab_bench_report(o->format, &row);
}

static bool run_cases(const ab_bench_options *o, const ab_bench_carrier *const *carriers,
                      size_t count)
{
    static results r[CARRIERS_MAX]; /* the first one is the limit */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t k = 0; k < count; k++)
            r[k].carrier = carriers[k];
        if (!run_rounds(o, &cases[i], r, count))
            return false;
        for (size_t k = 0; k < count; k++)
            report_carrier(o, &cases[i], &r[k], &r[0]);
        if (cases[i].one_by_one && count > 1)
            report_added(o, &r[1], &r[0]);
    }
    return true;
}

bool ab_bench_flow_raw(const ab_bench_options *o)
{
    static const ab_bench_carrier *const carriers[] = {&ab_bench_raw};
    return run_cases(o, carriers, 1);
}

bool ab_bench_flow_transport(const ab_bench_options *o)
{
    static const ab_bench_carrier *const carriers[] = {&ab_bench_raw, &ab_bench_transport};
    return run_cases(o, carriers, 2);
}
