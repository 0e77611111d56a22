/* SPDX-License-Identifier: Apache-2.0
 *
 * What it costs the principal to know which changes are not in effect, with thousands of agents: no
 * broker, no agents, only the accounts.
 */
#pragma once

#include "tests/bench/transport/flow.h"

/** 100, 300, 1,000 and 3,000 agents with 100 changes each. @return false when it failed; said on
 * stderr */
bool ab_bench_changes(const ab_bench_options *o);
