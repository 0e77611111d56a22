/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether simulated agents (shared_kafka.h) write what a real one does: their hellos and their
 * reports of Applications, each reduced to the kind of its key, the names of its headers and the
 * names in its data, must be of the same kinds.
 */
#pragma once

#include "tests/bench/base/topics.h"

/** Compare what w0, a real agent, and w1, a simulated one, have written since they started, in a
 * process of its own, and wait for what one of both has not written yet. @return false when they
 * differ or cannot be read; stderr says how many records of each kind each has written */
bool ab_bench_fleet_wire_is_same(const ab_bench_topics *t);
