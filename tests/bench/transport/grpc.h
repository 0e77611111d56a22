/* SPDX-License-Identifier: Apache-2.0
 *
 * The gRPC transport beside its layer alone and grpc-go.
 */
#pragma once

#include "tests/bench/transport/flow.h"

/** All that follows. @return false when it failed; said on stderr */
bool ab_bench_grpc_all(const ab_bench_options *o);
/** Events a second, and CPU time for each. */
bool ab_bench_grpc_flow(const ab_bench_options *o);
/** Round trips, one at a time. */
bool ab_bench_grpc_latency(const ab_bench_options *o);
/** What 1,000 connected agents cost their principal when nothing happens. */
bool ab_bench_grpc_idle(const ab_bench_options *o);
/** How long 1,000 agents take to be served by a principal that is new. */
bool ab_bench_grpc_reconnect(const ab_bench_options *o);
/** How long an agent waits while another one is sent the largest events. */
bool ab_bench_grpc_large(const ab_bench_options *o);
