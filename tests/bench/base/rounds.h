/* SPDX-License-Identifier: Apache-2.0
 *
 * Carriers in turn, round by round, so that all of them see the same machine; and the rows that
 * come of it.
 */
#pragma once

#include "tests/bench/transport/flow.h"
#include "tests/bench/transport/run.h"

#define AB_BENCH_ROUNDS_MAX 99

/* What is carried. */
typedef struct {
    const char *name;
    size_t bytes; /* of an Application */
    size_t count; /* of events */
    unsigned streams;
    bool one_by_one;
    bool round_trip;
} ab_bench_load;

/* All rounds of one carrier. */
typedef struct {
    const ab_bench_carrier *carrier;
    double per_second[AB_BENCH_ROUNDS_MAX];
    double p50_ms[AB_BENCH_ROUNDS_MAX];
    double p99_ms[AB_BENCH_ROUNDS_MAX];
    double event_us[AB_BENCH_ROUNDS_MAX]; /* CPU time of both ends for one event; gRPC */
    double cpu_s[2][AB_BENCH_ROUNDS_MAX]; /* sender, receiver: whole life */
    double rss_kib[2][AB_BENCH_ROUNDS_MAX];
} ab_bench_results;

/**
 * Let `r[].carrier` carry the load in turn, `o->rounds` times.
 *
 * @param certs  of at least as many agents as the load has streams (certs.h); NULL for Kafka
 * @return false when a run failed; said on stderr
 */
bool ab_bench_rounds(const ab_bench_options *o, const ab_bench_load *load, const char *certs,
                     ab_bench_results *r, size_t carriers);

/** The median of all rounds. */
double ab_bench_median(const double *values, unsigned count);
/** A carrier beside its limit, and its processes. */
void ab_bench_report_carrier(const ab_bench_options *o, const ab_bench_load *load,
                             const ab_bench_results *r, const ab_bench_results *limit);
/** What it adds to the time that the limit takes. */
void ab_bench_report_added(const ab_bench_options *o, const ab_bench_results *r,
                           const ab_bench_results *limit);
