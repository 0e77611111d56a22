/* SPDX-License-Identifier: Apache-2.0
 *
 * What the cases of live access share: a principal, its agents, which all look into one API server
 * and one redis, and how figures of the two ways are told.
 */
#pragma once

#include "tests/bench/base/certs.h"
#include "tests/bench/base/site.h"
#include "tests/bench/live/live_http.h"

#define AB_BENCH_LIVE_AGENTS  20
#define AB_BENCH_LIVE_SAMPLES 500
#define AB_BENCH_LIVE_WARM_UP 500  /* the broker compiles what it does often */
#define AB_BENCH_LIVE_SMALL   3000 /* bytes */

typedef struct {
    const ab_bench_options *o;
    const char *transport;
    ab_bench_certs certs;
    ab_bench_site site;
    ab_bench_live_at bare, through;
    pid_t redis;
} ab_bench_live_case;

/* What one way has taken: the first AB_BENCH_LIVE_WARM_UP do not count. */
typedef struct {
    double ms[AB_BENCH_LIVE_WARM_UP + AB_BENCH_LIVE_SAMPLES];
} ab_bench_live_times;

/** A row <name>.<transport> with a value and its limit (NAN: none). */
ab_bench_row ab_bench_live_row(const ab_bench_live_case *c, const char *name, const char *unit,
                               double value, double limit);
/** Rows <name> and <name>.added: what the way through the principal takes, and how much more than
 * the other that is. Sorts both. */
void ab_bench_live_report(const ab_bench_live_case *c, const char *name, ab_bench_live_times *ours,
                          ab_bench_live_times *bare);
