/* SPDX-License-Identifier: Apache-2.0
 *
 * A workload cluster in memory: the store and the state database of one agent, with the semantics
 * of Kubernetes that an agent relies on, and an Argo CD that reports a status for each spec at
 * once. It costs next to nothing, so that many agents fit into one process and what is measured is
 * the principal. Every call is answered later, from a timer of the loop. Loop thread; running out
 * of memory ends the process.
 */
#pragma once

#include "base/core/map.h"
#include "sync/agent/agent.h"
#include "tests/bench/base/process.h"

#include <uv.h>

/* Changes that are timed at most, by all agents together. */
#define AB_BENCH_TIMED_MAX 200000

/* Memory that all processes see. */
typedef struct {
    unsigned created; /* Applications, in all stores together */
    int slow;         /* number of the agent whose store is slow; -1: none is */
    /* When the Application of this revision (payload.h) was changed at the hub, and was in effect
     * at the agent; 0 = not yet. */
    int64_t sent_ns[AB_BENCH_TIMED_MAX];
    int64_t arrived_ns[AB_BENCH_TIMED_MAX];
} ab_bench_fleet_track;

typedef struct ab_bench_spoke_job ab_bench_spoke_job;

/* First member of the agent that has it. */
typedef struct {
    int number; /* of the agent */
    ab_bench_fleet_track *track;
    ab_agent *machine; /* whom the answers are for */
    ab_map *objects;
    ab_map *rows;
    uint64_t version; /* the last one given */
    ab_bench_spoke_job *jobs;
    ab_bench_spoke_job **jobs_end;
    uv_timer_t timer;
} ab_bench_spoke;

/** An empty cluster. Set `machine` before the first effect. */
void ab_bench_spoke_init(ab_bench_spoke *s, uv_loop_t *loop, ab_bench_fleet_track *track,
                         int number);
/** Effects on it; `ack` and `wake` are left to the caller. Their `arg` is `s`. */
ab_effects ab_bench_spoke_effects(ab_bench_spoke *s);
