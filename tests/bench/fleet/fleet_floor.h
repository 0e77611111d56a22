/* SPDX-License-Identifier: Apache-2.0
 *
 * librdkafka alone under the load of a fleet: what broker and machine leave to the other agents
 * while one has very many changes. One process writes each change of the FIFO (hub_file.h) into the
 * agent's topic, the other one reads it and answers with a status, as principal and agents do; they
 * decide nothing and store nothing.
 */
#pragma once

#include "tests/bench/base/topics.h"
#include "tests/bench/fleet/spoke.h"

typedef struct {
    ab_bench_topics topics;      /* whose principal and agents have ended */
    ab_bench_fleet_track *track; /* shared memory */
    int changes;                 /* hub_file.h */
    unsigned noisy;              /* the agent with very many changes */
    int ready_fd;  /* internal, -1: an eventfd that counts topics read to their ends */
    pid_t pids[2]; /* internal */
} ab_bench_fleet_floor;

/** Start both processes and wait until they receive what is written from now on.
 * @return false: said on stderr; to be stopped nevertheless */
bool ab_bench_fleet_floor_start(ab_bench_fleet_floor *f);
/** End them. */
void ab_bench_fleet_floor_stop(ab_bench_fleet_floor *f);
