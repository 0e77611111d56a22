/* SPDX-License-Identifier: Apache-2.0
 *
 * How long the loop is busy without looking for what is new: one turn. Whatever waits for the loop
 * waits at most that long, so a long one shows where something on it blocks or grows. Its CPU time
 * tells what it did itself: the rest is time in which the machine ran others, or a lock was held.
 */
#pragma once

#include "base/observe/metrics.h"

#include <uv.h>

/* The owner's, until ab_loop_meter_close. Loop thread; so all below. */
typedef struct {
    uv_prepare_t prepare;
    ab_metric *longest;
    ab_metric *dearest;
    uint64_t begun_ns;   /* when this turn began; 0: the loop does not run yet */
    uint64_t idle_ns;    /* what the loop had waited by then */
    uint64_t used_ns;    /* CPU time of the loop's thread by then */
    uint64_t longest_ns; /* since the metrics were last read */
    uint64_t dearest_ns; /* the same of CPU time; another turn, perhaps */
} ab_loop_meter;

/** Measure from now on and show argobus_loop_turn_max_seconds and
 * argobus_loop_turn_cpu_max_seconds; before the loop runs. It does not keep the loop alive.
 * `metrics` must outlive the loop. */
void ab_loop_meter_start(ab_loop_meter *m, uv_loop_t *loop, ab_metrics *metrics);
/** Stop; the loop must run once more. */
void ab_loop_meter_close(ab_loop_meter *m);
