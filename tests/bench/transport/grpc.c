/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/transport/grpc.h"

#include "tests/bench/base/certs.h"
#include "tests/bench/base/rounds.h"

#define STREAMS_MAX 100

/* Carriers; the first is the limit, the last is left out when there is no program for it. */
enum { BARE, OURS, GO, CARRIERS };

static const ab_bench_load flows[] = {
    {.name = "3KiB", .bytes = 3 * 1024, .count = 60000, .streams = 1},
    {.name = "3KiB.100", .bytes = 3 * 1024, .count = 30000, .streams = STREAMS_MAX},
};
static const ab_bench_load latency = {.name = "latency",
                                      .bytes = 3 * 1024,
                                      .count = AB_BENCH_TIMED,
                                      .streams = 1,
                                      .one_by_one = true,
                                      .round_trip = true};

static void begin(ab_bench_results r[CARRIERS])
{
    r[BARE].carrier = &ab_bench_grpc_bare;
    r[OURS].carrier = &ab_bench_grpc;
    r[GO].carrier = &ab_bench_grpc_go;
}

/* CPU time of both ends for one event. @param of  what the name ends in */
static void report_cpu(const ab_bench_options *o, const ab_bench_load *load, const char *of,
                       const ab_bench_results *r, const ab_bench_results *limit)
{
    ab_bench_row row = ab_bench_row_new("%s.%s.cpu%s", r->carrier->name, load->name, of);
    row.unit = "us/event";
    row.value = ab_bench_median(r->event_us, o->rounds);
    row.limit = ab_bench_median(limit->event_us, o->rounds);
    ab_bench_report(o->format, &row);
}

static void report_flow(const ab_bench_options *o, const ab_bench_load *load,
                        const ab_bench_results *r, const ab_bench_results *limit)
{
    ab_bench_report_carrier(o, load, r, limit);
    report_cpu(o, load, "", r, limit);
}

/* The transport beside grpc-go. */
static void report_of_go(const ab_bench_options *o, const ab_bench_load *load,
                         const ab_bench_results *r, const ab_bench_results *go)
{
    ab_bench_row row = ab_bench_row_new("%s.%s.of-go", r->carrier->name, load->name);
    row.unit = "events/s";
    row.value = ab_bench_median(r->per_second, o->rounds);
    row.limit = ab_bench_median(go->per_second, o->rounds);
    ab_bench_report(o->format, &row);
    report_cpu(o, load, ".of-go", r, go);
}

static bool run_flow(const ab_bench_options *o, const ab_bench_load *load, const char *certs)
{
    static ab_bench_results r[CARRIERS];
    begin(r);
    if (!ab_bench_rounds(o, load, certs, r, o->grpc_go == NULL ? GO : CARRIERS))
        return false;
    report_flow(o, load, &r[BARE], &r[BARE]);
    report_flow(o, load, &r[OURS], &r[BARE]);
    if (o->grpc_go != NULL) {
        report_flow(o, load, &r[GO], &r[GO]);
        report_of_go(o, load, &r[OURS], &r[GO]);
    }
    return true;
}

static bool run_latency(const ab_bench_options *o, const char *certs)
{
    static ab_bench_results r[CARRIERS];
    begin(r);
    if (!ab_bench_rounds(o, &latency, certs, r, GO))
        return false;
    ab_bench_report_carrier(o, &latency, &r[BARE], &r[BARE]);
    ab_bench_report_carrier(o, &latency, &r[OURS], &r[BARE]);
    ab_bench_report_added(o, &r[OURS], &r[BARE]);
    return true;
}

bool ab_bench_grpc_flow(const ab_bench_options *o)
{
    static ab_bench_certs certs;
    bool ok = ab_bench_certs_open(&certs, STREAMS_MAX);
    for (size_t i = 0; i < sizeof(flows) / sizeof(flows[0]) && ok; i++)
        ok = run_flow(o, &flows[i], certs.folder);
    ab_bench_certs_close(&certs);
    return ok;
}

bool ab_bench_grpc_latency(const ab_bench_options *o)
{
    static ab_bench_certs certs;
    bool ok = ab_bench_certs_open(&certs, 1) && run_latency(o, certs.folder);
    ab_bench_certs_close(&certs);
    return ok;
}

bool ab_bench_grpc_all(const ab_bench_options *o)
{
    bool (*const parts[])(const ab_bench_options *o) = {ab_bench_grpc_flow, ab_bench_grpc_latency,
                                                        ab_bench_grpc_idle, ab_bench_grpc_reconnect,
                                                        ab_bench_grpc_large};
    bool ok = true;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        ok = parts[i](o) && ok;
    return ok;
}
