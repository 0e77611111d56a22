/* SPDX-License-Identifier: Apache-2.0
 *
 * Many agents of the gRPC transport, and their principal, which has one event for each; two
 * processes. An agent is served when it has that event.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define AB_BENCH_CROWD 1000

/* Memory that all processes see. */
typedef struct {
    unsigned served;
    int64_t served_ns; /* when the last one was */
} ab_bench_crowd_track;

typedef struct {
    const char *certs; /* folder, of as many agents */
    int port;
    ab_bench_crowd_track *track;
} ab_bench_crowd;

/** Start the principal, or all agents. @return process id, -1 */
pid_t ab_bench_crowd_principal(const ab_bench_crowd *c);
pid_t ab_bench_crowd_agents(const ab_bench_crowd *c);
/** Wait until all agents are served. @return false when they were not in time, or a process ended
 */
bool ab_bench_crowd_wait(const ab_bench_crowd *c, const pid_t pid[2]);
