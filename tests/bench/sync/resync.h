/* SPDX-License-Identifier: Apache-2.0
 *
 * Resyncs: the real programs with a real broker between them. Each returns false when it failed;
 * said on stderr.
 */
#pragma once

#include "tests/bench/transport/flow.h"

/** An agent returns after a day: 2,000 of 5,000 Applications were changed ten times each and ten
 * were deleted; its position and the tombstones have expired. */
bool ab_bench_resync_absence(const ab_bench_options *o);
/** A resync of 5,000 Applications, each with a status, of which none has changed. */
bool ab_bench_resync_unchanged(const ab_bench_options *o);
/** 100 agents at one principal, whose hub is an API server: all at once, asked for by the operator,
 * after a restart of the principal, and after the loss of all topics. */
bool ab_bench_resync_fleet(const ab_bench_options *o);
/** The first two of these, and the third where API servers are given. */
bool ab_bench_resync(const ab_bench_options *o);
