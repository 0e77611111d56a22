/* SPDX-License-Identifier: Apache-2.0
 *
 * Many agents in one process: each with its own transport and sync core, and a workload cluster in
 * memory (spoke.h).
 */
#pragma once

#include "tests/bench/site.h"
#include "tests/bench/spoke.h"

typedef struct {
    ab_bench_site *site;         /* whose principal they belong to */
    ab_bench_fleet_track *track; /* shared memory */
    unsigned first;              /* their numbers: first to first + count - 1 */
    unsigned count;
} ab_bench_agents;

/** Start them. @return process id, -1 */
pid_t ab_bench_agents_start(const ab_bench_agents *agents);
