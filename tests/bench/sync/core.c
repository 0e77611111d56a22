/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/sync/core.h"

#include "tests/bench/sync/core_hub.h"

#include <math.h>
#include <stdio.h>

#define TICKS      40
#define TICKS_MAX  100000
#define HOUR_MS    3600000
#define MS_PER_NS  1e-6
#define TICK_LIMIT 2.0 /* ms */

static void report(const ab_bench_options *o, const ab_bench_core_hub *h, const char *what,
                   double limit)
{
    ab_bench_row row = ab_bench_row_new("sync.core.%s.%zu", what, h->count);
    row.unit = "cpu-ms";
    row.value = (double)h->cost_ns * MS_PER_NS;
    row.p99_ms = (double)h->worst_ns * MS_PER_NS;
    row.limit = limit;
    ab_bench_report(o->format, &row);
}

static void begin(ab_bench_core_hub *h)
{
    h->cost_ns = h->worst_ns = 0;
}

static void each(ab_bench_core_hub *h, void (*turn)(ab_bench_core_hub *h, size_t agent))
{
    for (size_t i = 0; i < h->count; i++) {
        turn(h, i);
        ab_bench_core_settle(h);
    }
}

static double resyncs(const ab_bench_core_hub *h)
{
    return ab_metric_value(
        ab_metric_get(h->metrics, AB_METRIC_COUNTER, "argobus_resyncs_total", "", NULL, 0));
}

static bool compare_all(ab_bench_core_hub *h)
{
    double wanted = resyncs(h) + (double)h->count;
    for (size_t i = 0; i < TICKS_MAX && resyncs(h) < wanted && !h->failed; i++) {
        ab_bench_core_tick(h);
        ab_bench_core_settle(h);
    }
    if (!h->failed && resyncs(h) < wanted)
        fprintf(stderr, "argobus-bench: sync.core: the resyncs do not come to their end\n");
    return !h->failed && resyncs(h) >= wanted;
}

static void tick(const ab_bench_options *o, ab_bench_core_hub *h, const char *what)
{
    double ms[TICKS];
    for (size_t i = 0; i < TICKS; i++)
        ms[i] = (double)ab_bench_core_tick(h) * MS_PER_NS;
    ab_bench_row row = ab_bench_row_new("sync.core.%s.%zu", what, h->count);
    row.unit = "ms";
    row.value = row.p50_ms = ab_bench_quantile(ms, TICKS, 0.5);
    row.p99_ms = ab_bench_quantile(ms, TICKS, 0.99);
    row.limit = TICK_LIMIT;
    ab_bench_report(o->format, &row);
}

/* The principal starts while a status of each agent cannot be written; then all are written. */
static bool measure(const ab_bench_options *o, ab_bench_core_hub *h)
{
    begin(h);
    each(h, ab_bench_core_ready);
    report(o, h, "ready", NAN);
    each(h, ab_bench_core_report);
    each(h, ab_bench_core_caught_up);
    begin(h);
    each(h, ab_bench_core_hello);
    report(o, h, "hellos", h->count <= 1000 ? (double)h->count : 3500);
    tick(o, h, "tick");
    if (resyncs(h) > 0) {
        fprintf(stderr, "argobus-bench: sync.core: a resync did not wait for a status\n");
        return false;
    }
    ab_bench_core_release(h);
    begin(h);
    bool ok = compare_all(h);
    report(o, h, "first-round", NAN);
    tick(o, h, "tick.idle");
    h->ms += HOUR_MS;
    begin(h);
    ok = ok && compare_all(h);
    report(o, h, "round", NAN);
    return ok;
}

static bool run(const ab_bench_options *o, size_t agents)
{
    ab_bench_core_hub h;
    bool ok = ab_bench_core_open(&h, agents) && measure(o, &h);
    ab_bench_core_close(&h);
    return ok;
}

bool ab_bench_core(const ab_bench_options *o)
{
    return run(o, 100) && run(o, 300) && run(o, 1000) && run(o, 3000);
}
