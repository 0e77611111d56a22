/* SPDX-License-Identifier: Apache-2.0
 *
 * Many viewers at once, and whether changes of Applications wait for them.
 */
#pragma once

#include "tests/bench/live/live_state.h"

/** live.list.state and live.logs. @param list  path of the large list
 *  @return false; said on stderr */
bool ab_bench_live_logs(const ab_bench_live_case *c, ab_bench_live_state *state, const char *list);
