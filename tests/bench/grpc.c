/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/grpc.h"

#include "tests/bench/certs.h"
#include "tests/bench/rounds.h"

#define CARRIERS_MAX 3
#define STREAMS_MAX  100

static const ab_bench_load loads[] = {
    {.name = "3KiB", .bytes = 3 * 1024, .count = 60000, .streams = 1},
    {.name = "3KiB.100", .bytes = 3 * 1024, .count = 30000, .streams = STREAMS_MAX},
    {.name = "latency",
     .bytes = 3 * 1024,
     .count = AB_BENCH_TIMED,
     .streams = 1,
     .one_by_one = true,
     .round_trip = true},
};

/* CPU time of both ends for one event. */
static void report_cpu(const ab_bench_options *o, const ab_bench_load *load,
                       const ab_bench_results *r, const ab_bench_results *limit)
{
    ab_bench_row row = ab_bench_row_new("%s.%s.cpu", r->carrier->name, load->name);
    row.unit = "us/event";
    row.value = ab_bench_median(r->event_us, o->rounds);
    row.limit = ab_bench_median(limit->event_us, o->rounds);
    ab_bench_report(o->format, &row);
}

static bool run_load(const ab_bench_options *o, const ab_bench_load *load, const char *certs)
{
    static ab_bench_results r[CARRIERS_MAX]; /* the first one is the limit */
    const size_t count = 2;
    r[0].carrier = &ab_bench_grpc_bare;
    r[1].carrier = &ab_bench_grpc;
    if (!ab_bench_rounds(o, load, certs, r, count))
        return false;
    for (size_t i = 0; i < count; i++) {
        ab_bench_report_carrier(o, load, &r[i], &r[0]);
        if (!load->one_by_one)
            report_cpu(o, load, &r[i], &r[0]);
    }
    if (load->one_by_one)
        ab_bench_report_added(o, &r[1], &r[0]);
    return true;
}

bool ab_bench_grpc_flow(const ab_bench_options *o)
{
    static ab_bench_certs certs;
    bool ok = ab_bench_certs_open(&certs, STREAMS_MAX);
    for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]) && ok; i++)
        ok = run_load(o, &loads[i], certs.folder);
    ab_bench_certs_close(&certs);
    return ok;
}

bool ab_bench_grpc_all(const ab_bench_options *o)
{
    return ab_bench_grpc_flow(o);
}
