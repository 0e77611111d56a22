/* SPDX-License-Identifier: Apache-2.0
 *
 * Store to store: the real programs on directory stores with a real broker between them.
 */
#pragma once

#include "tests/bench/transport/flow.h"

/** 5,000 Applications changed at the hub while the agent is away: how long until all are in effect,
 * and how often each is written; against writing as many files. @return false when it failed; said
 * on stderr */
bool ab_bench_sync(const ab_bench_options *o);
/** Memory of one principal and ten agents with 1,000 Applications that nothing happens to. */
bool ab_bench_idle(const ab_bench_options *o);
