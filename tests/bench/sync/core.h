/* SPDX-License-Identifier: Apache-2.0
 *
 * The principal's sync core by itself, with thousands of agents: no transport, no store, no time
 * but the one that is given to it.
 */
#pragma once

#include "tests/bench/transport/flow.h"

/** 100, 300, 1,000 and 3,000 agents of 50 Applications each. @return false when it failed; said on
 * stderr */
bool ab_bench_core(const ab_bench_options *o);
