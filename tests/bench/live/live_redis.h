/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys through the principal's redis proxy, beside the redis that has them.
 */
#pragma once

#include "tests/bench/live/live_case.h"

/** Start the redis of the control plane and of every agent, which is one. @param port  where.
 * @return false; said on stderr */
bool ab_bench_live_redis_start(ab_bench_live_case *c, int port);
/** live.redis and live.redis.local. @return false; said on stderr */
bool ab_bench_live_redis(const ab_bench_live_case *c);
