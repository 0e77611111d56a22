/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a change of an Application at the hub takes until it is at agent w0's cluster: what live
 * access must not hold up.
 */
#pragma once

#include "tests/bench/base/api_watch.h"
#include "tests/bench/live/live_case.h"

#define AB_BENCH_LIVE_CHANGES 300 /* one after the other */

typedef struct {
    uv_loop_t loop;
    ab_bench_api hub, spoke;
    ab_bench_view view;
    size_t made; /* Applications */
    bool opened;
} ab_bench_live_state;

/* Of AB_BENCH_LIVE_CHANGES. */
typedef struct {
    double p50_ms;
    double p99_ms;
    double seconds; /* all of them */
} ab_bench_live_delay;

/** While nothing runs: connect, and empty both namespaces. @return false; said on stderr */
bool ab_bench_live_state_open(ab_bench_live_state *s, const ab_bench_options *o);
/** Time changes. @return false; said on stderr */
bool ab_bench_live_state_time(ab_bench_live_state *s, ab_bench_live_delay *out);
/** While nothing runs any more; also after a failed open, and of zeros. */
void ab_bench_live_state_close(ab_bench_live_state *s);
