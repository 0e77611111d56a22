/* SPDX-License-Identifier: Apache-2.0
 *
 * Many agents in one process: each with its own sync core, and a workload cluster in memory
 * (spoke.h). One that is alone has the transport of a real agent, several have it over gRPC, and
 * share one over Kafka (shared_kafka.h).
 */
#pragma once

#include "tests/bench/base/site.h"
#include "tests/bench/fleet/spoke.h"

typedef struct {
    ab_bench_site *site;         /* whose principal they belong to */
    ab_bench_fleet_track *track; /* shared memory */
    unsigned first;              /* their numbers: first to first + count - 1 */
    unsigned count;
} ab_bench_agents;

/** Start them. @return process id, -1 */
pid_t ab_bench_agents_start(const ab_bench_agents *agents);
