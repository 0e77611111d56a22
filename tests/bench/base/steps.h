/* SPDX-License-Identifier: Apache-2.0
 *
 * Which agents a principal has come in step with: read from its log, so that looking costs it
 * nothing.
 */
#pragma once

#include "tests/bench/base/site.h"

#include <stdio.h>

typedef struct {
    FILE *log;
    unsigned agents;
    bool in_step[AB_BENCH_AGENTS_MAX];
    unsigned count; /* of agents that were at least once */
} ab_bench_steps;

/** What is logged from now on counts. @return false: errno says why */
bool ab_bench_steps_open(ab_bench_steps *s, const ab_bench_site *site);
/** Wait until every agent was in step once. @return false when one was not in this time; said on
 * stderr */
bool ab_bench_steps_wait(ab_bench_steps *s, int timeout_ms);
void ab_bench_steps_close(ab_bench_steps *s);
