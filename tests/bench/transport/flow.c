/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/transport/flow.h"

#include "tests/bench/base/rounds.h"

enum { RAW, HEADERS, OURS, CARRIERS };

static const ab_bench_load loads[] = {
    {.name = "3KiB", .bytes = 3 * 1024, .count = 90000, .streams = 1},
    {.name = "20KiB", .bytes = 20 * 1024, .count = 18000, .streams = 1},
    {.name = "latency",
     .bytes = 3 * 1024,
     .count = AB_BENCH_TIMED,
     .streams = 1,
     .one_by_one = true},
};

/* One round that does not count: a broker's Java compiles what it finds itself doing. */
static bool run_rounds(const ab_bench_options *o, const ab_bench_load *load, ab_bench_results *r,
                       size_t carriers)
{
    ab_bench_options once = *o;
    once.rounds = 1;
    return ab_bench_rounds(&once, load, NULL, r, carriers) &&
           ab_bench_rounds(o, load, NULL, r, carriers);
}

/* The transport beside the least that an event in binary mode takes. */
static void report_of_headers(const ab_bench_options *o, const ab_bench_load *load,
                              const ab_bench_results *r)
{
    ab_bench_row row = ab_bench_row_new("%s.%s.of-headers", r[OURS].carrier->name, load->name);
    row.unit = "events/s";
    row.value = ab_bench_median(r[OURS].per_second, o->rounds);
    row.limit = ab_bench_median(r[HEADERS].per_second, o->rounds);
    ab_bench_report(o->format, &row);
}

static bool run_loads(const ab_bench_options *o, const ab_bench_carrier *const *carriers,
                      size_t count)
{
    static ab_bench_results r[CARRIERS]; /* the first one is the limit */
    for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
        for (size_t k = 0; k < count; k++)
            r[k].carrier = carriers[k];
        if (!run_rounds(o, &loads[i], r, count))
            return false;
        for (size_t k = 0; k < count; k++)
            ab_bench_report_carrier(o, &loads[i], &r[k], &r[0]);
        if (!loads[i].one_by_one && count == CARRIERS)
            report_of_headers(o, &loads[i], r);
        if (loads[i].one_by_one)
            ab_bench_report_added(o, &r[count - 1], &r[0]);
    }
    return true;
}

bool ab_bench_flow_raw(const ab_bench_options *o)
{
    static const ab_bench_carrier *const carriers[] = {&ab_bench_raw, &ab_bench_raw_headers};
    return run_loads(o, carriers, OURS);
}

bool ab_bench_flow_transport(const ab_bench_options *o)
{
    static const ab_bench_carrier *const carriers[] = {&ab_bench_raw, &ab_bench_raw_headers,
                                                       &ab_bench_transport};
    return run_loads(o, carriers, CARRIERS);
}
