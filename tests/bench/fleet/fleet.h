/* SPDX-License-Identifier: Apache-2.0
 *
 * The principal program with many agents: what it costs, and how that grows with their number.
 */
#pragma once

#include "tests/bench/transport/flow.h"

/** Over Kafka; rows fleet.<what>.<N>. @return false when it failed; said on stderr */
bool ab_bench_fleet_kafka(const ab_bench_options *o);
/** Over gRPC; rows fleet.grpc.<what>.<N>. */
bool ab_bench_fleet_grpc(const ab_bench_options *o);
