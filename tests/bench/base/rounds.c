/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/base/rounds.h"

#include "tests/bench/base/process.h"
#include "tests/bench/base/topics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

static void take_times(const ab_bench_track *track, ab_bench_results *r, unsigned round)
{
    double ms[AB_BENCH_SAMPLES];
    for (size_t i = 0; i < AB_BENCH_SAMPLES; i++) {
        size_t at = AB_BENCH_WARM_UP + i;
        ms[i] = (double)(track->arrived_ns[at] - track->sent_ns[at]) / 1e6;
    }
    r->p50_ms[round] = ab_bench_quantile(ms, AB_BENCH_SAMPLES, 0.5);
    r->p99_ms[round] = ab_bench_quantile(ms, AB_BENCH_SAMPLES, 0.99);
}

static void take(const ab_bench_run *run, const ab_bench_cost cost[2], ab_bench_results *r,
                 unsigned round)
{
    const ab_bench_track *track = run->track;
    r->per_second[round] = (double)run->count * 1e9 / (double)(track->ended_ns - track->begun_ns);
    r->event_us[round] =
        (double)(track->cpu_ns[AB_BENCH_SENDER] + track->cpu_ns[AB_BENCH_RECEIVER]) / 1e3 /
        (double)run->count;
    if (run->one_by_one)
        take_times(track, r, round);
    for (int i = 0; i < 2; i++) {
        r->cpu_s[i][round] = cost[i].cpu_s;
        r->rss_kib[i][round] = cost[i].rss_kib;
    }
}

/* Or the broker would go on to compact them while the next run is measured. */
static bool delete_topics(const ab_bench_run *run)
{
    const ab_bench_topics topics = {.broker = run->broker, .prefix = run->name};
    return run->certs != NULL || ab_bench_topics_delete(&topics);
}

static bool run_once(ab_bench_run *run, ab_bench_results *r, unsigned round)
{
    ab_bench_cost cost[2];
    (void)snprintf(run->name, sizeof(run->name), "bench-%d-%" PRId64, (int)getpid(),
                   ab_bench_now_ns());
    run->port = ab_bench_free_port();
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
    return ok && delete_topics(run);
}

bool ab_bench_rounds(const ab_bench_options *o, const ab_bench_load *load, const char *certs,
                     ab_bench_results *r, size_t carriers)
{
    static ab_bench_pool pool;
    ab_bench_track *track =
        mmap(NULL, sizeof(*track), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool ok = track != MAP_FAILED && ab_bench_pool_init(&pool, load->bytes);
    ab_bench_run run = {.broker = o->broker,
                        .certs = certs,
                        .grpc_go = o->grpc_go,
                        .pool = &pool,
                        .count = load->count,
                        .streams = load->streams,
                        .one_by_one = load->one_by_one,
                        .round_trip = load->round_trip,
                        .track = track};
    for (unsigned round = 0; round < o->rounds && ok; round++)
        for (size_t i = 0; i < carriers && ok; i++)
            ok = run_once(&run, &r[i], round);
    ab_bench_pool_fini(&pool);
    if (track != MAP_FAILED)
        (void)munmap(track, sizeof(*track));
    return ok;
}

double ab_bench_median(const double *values, unsigned count)
{
    double copy[AB_BENCH_ROUNDS_MAX];
    memcpy(copy, values, count * sizeof(*copy));
    return ab_bench_quantile(copy, count, 0.5);
}

static void report_processes(const ab_bench_options *o, const ab_bench_load *load,
                             const ab_bench_results *r)
{
    static const char *const ends[] = {"sender", "receiver"};
    for (int i = 0; i < 2; i++) {
        ab_bench_row row = ab_bench_row_new("%s.%s.%s", r->carrier->name, load->name, ends[i]);
        row.cpu_s = ab_bench_median(r->cpu_s[i], o->rounds);
        row.rss_kib = ab_bench_median(r->rss_kib[i], o->rounds);
        ab_bench_report(o->format, &row);
    }
}

void ab_bench_report_carrier(const ab_bench_options *o, const ab_bench_load *load,
                             const ab_bench_results *r, const ab_bench_results *limit)
{
    ab_bench_row row = ab_bench_row_new("%s.%s", r->carrier->name, load->name);
    if (load->one_by_one) {
        row.unit = "ms";
        row.value = row.p50_ms = ab_bench_median(r->p50_ms, o->rounds);
        row.p99_ms = ab_bench_median(r->p99_ms, o->rounds);
        row.limit = ab_bench_median(limit->p50_ms, o->rounds);
    } else {
        row.unit = "events/s";
        row.value = ab_bench_median(r->per_second, o->rounds);
        row.limit = ab_bench_median(limit->per_second, o->rounds);
    }
    ab_bench_report(o->format, &row);
    report_processes(o, load, r);
}

void ab_bench_report_added(const ab_bench_options *o, const ab_bench_results *r,
                           const ab_bench_results *limit)
{
    ab_bench_row row = ab_bench_row_new("%s.latency.added", r->carrier->name);
    row.unit = "ms";
    row.p50_ms = ab_bench_median(r->p50_ms, o->rounds) - ab_bench_median(limit->p50_ms, o->rounds);
    row.p99_ms = ab_bench_median(r->p99_ms, o->rounds) - ab_bench_median(limit->p99_ms, o->rounds);
    row.value = row.p50_ms;
    ab_bench_report(o->format, &row);
}
