/* SPDX-License-Identifier: Apache-2.0
 *
 * What the principal's sync core has around it in this benchmark: a store that answers at once but
 * for the writes of statuses, which wait, and agents that take all that they are sent and hold it.
 * What the core itself takes is counted, and nothing else.
 */
#pragma once

#include "base/observe/metrics.h"
#include "sync/deletion/watermark.h"
#include "sync/principal/principal.h"

#define AB_BENCH_CORE_APPS     50
#define AB_BENCH_CORE_PROJECTS 10 /* for every agent */
#define AB_BENCH_CORE_OBJECTS  (AB_BENCH_CORE_APPS + AB_BENCH_CORE_PROJECTS)

typedef struct ab_bench_answer ab_bench_answer;

/* What one agent holds. */
typedef struct {
    char name[16];
    ab_digest hash[AB_BENCH_CORE_OBJECTS]; /* its Applications, then the AppProjects */
    ab_version version[AB_BENCH_CORE_OBJECTS];
    bool woken;
} ab_bench_core_agent;

typedef struct {
    ab_principal *principal;
    ab_metrics *metrics;
    ab_clock clock;
    int64_t ms;
    size_t count;
    ab_bench_core_agent *agents;
    size_t *woken; /* agents that are to be sent something */
    size_t woken_count;
    size_t deleted;                    /* Applications, at the agents */
    ab_bench_answer *answers, *writes; /* newest first */
    ab_object *marks[AB_WATERMARK_PARTS_MAX];
    bool failed;      /* and it was said */
    int64_t cost_ns;  /* CPU time of the core since it was set to 0 */
    int64_t worst_ns; /* the longest turn of it since then */
} ab_bench_core_hub;

/** A principal with so many agents, none of which can be sent anything yet, and all objects.
 * @return false when it failed; said on stderr */
bool ab_bench_core_open(ab_bench_core_hub *h, size_t agents);
void ab_bench_core_close(ab_bench_core_hub *h);

/* Each is given to the core in a turn of its own. */
void ab_bench_core_ready(ab_bench_core_hub *h, size_t agent);
/** Its first Application has a new status. */
void ab_bench_core_report(ab_bench_core_hub *h, size_t agent);
void ab_bench_core_caught_up(ab_bench_core_hub *h, size_t agent);
void ab_bench_core_hello(ab_bench_core_hub *h, size_t agent);
/** The store tells that one of its Applications was deleted. */
void ab_bench_core_delete(ab_bench_core_hub *h, size_t agent, size_t app);
/** The store tells that there is a repository Secret of the first AppProject, or that it has
 * changed. No agent has a certificate to seal it to. Settle before the next tick. */
void ab_bench_core_put_secret(ab_bench_core_hub *h, size_t number);
/** The store tells that it was deleted. */
void ab_bench_core_delete_secret(ab_bench_core_hub *h, size_t number);
/** 250 ms later. @return what the turn took, nanoseconds */
int64_t ab_bench_core_tick(ab_bench_core_hub *h);
/** The store answers the writes of statuses. */
void ab_bench_core_release(ab_bench_core_hub *h);
/** Answers of the store and of the agents, until nothing is left to answer. */
void ab_bench_core_settle(ab_bench_core_hub *h);
