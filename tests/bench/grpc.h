/* SPDX-License-Identifier: Apache-2.0
 *
 * The gRPC transport beside its layer alone and grpc-go.
 */
#pragma once

#include "tests/bench/flow.h"

/** All that follows. @return false when it failed; said on stderr */
bool ab_bench_grpc_all(const ab_bench_options *o);
/** Events a second, and CPU time for each. */
bool ab_bench_grpc_flow(const ab_bench_options *o);
/** Round trips, one at a time. */
bool ab_bench_grpc_latency(const ab_bench_options *o);
