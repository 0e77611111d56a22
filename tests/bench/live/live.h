/* SPDX-License-Identifier: Apache-2.0
 *
 * Live access through the real programs, beside the API server that the agents ask. Each returns
 * false when it failed; said on stderr.
 */
#pragma once

#include "tests/bench/transport/flow.h"

/** live.get, live.rate, live.list, live.redis, live.key and live.logs over Kafka. */
bool ab_bench_live_kafka(const ab_bench_options *o);
/** The same over gRPC. */
bool ab_bench_live_grpc(const ab_bench_options *o);
