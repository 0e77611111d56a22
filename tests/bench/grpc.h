/* SPDX-License-Identifier: Apache-2.0
 *
 * The gRPC transport beside its layer alone.
 */
#pragma once

#include "tests/bench/flow.h"

/** All that follows. @return false when it failed; said on stderr */
bool ab_bench_grpc_all(const ab_bench_options *o);
/** Events a second, and round trips. */
bool ab_bench_grpc_flow(const ab_bench_options *o);
