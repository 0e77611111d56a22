/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes at the hub, each made at its time, and how long they take to be in effect at the agents.
 */
#pragma once

#include "tests/bench/fleet/spoke.h"

#define AB_BENCH_FLEET_APPS 50 /* of each agent */

typedef struct {
    int changes; /* hub_file.h */
    ab_bench_fleet_track *track;
    unsigned first, count;   /* agents whose changes are timed: 100 a second in all */
    int beside;              /* an agent whose changes are not timed; -1: none */
    unsigned beside_per_s;   /* how many it has */
    unsigned seconds;        /* for how long */
    unsigned *next_revision; /* of the site; above 0 */
} ab_bench_fleet_load;

/** Make the changes and wait until those that are timed are in effect.
 * @return false when one was not within a minute; said on stderr */
bool ab_bench_fleet_load_run(const ab_bench_fleet_load *load, double *p50_ms, double *p99_ms);
