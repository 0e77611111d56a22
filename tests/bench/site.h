/* SPDX-License-Identifier: Apache-2.0
 *
 * One principal and its agents as real processes on directory stores, in a folder of their own:
 *
 *   principal/store/<agent>/Application/   what the hub wants
 *   <agent>/store/argocd/Application/      what is in effect
 *   <name>/config.yaml, <name>/log
 */
#pragma once

#include "tests/bench/flow.h"
#include "tests/bench/process.h"

#include <limits.h>

#define AB_BENCH_AGENTS_MAX 10

typedef struct {
    char name[16]; /* "principal", "w0", ... */
    char folder[PATH_MAX];
    char manifests[PATH_MAX]; /* its folder of Applications; a principal's is per agent */
    uint16_t port;            /* of its metrics */
    pid_t pid;                /* 0 = does not run */
} ab_bench_daemon;

typedef struct {
    const ab_bench_options *o;
    char root[PATH_MAX];
    unsigned agents;
    ab_bench_daemon principal;
    ab_bench_daemon agent[AB_BENCH_AGENTS_MAX];
} ab_bench_site;

/** Make the folders and configurations. @return false when it failed; said on stderr */
bool ab_bench_site_open(ab_bench_site *s, const ab_bench_options *o, unsigned agents);
/** The hub's folder of the i-th agent's Applications. */
void ab_bench_site_hub(const ab_bench_site *s, unsigned i, char out[PATH_MAX]);
/** Start the principal (i = -1) or an agent; does not wait. @return false; said on stderr */
bool ab_bench_site_start(ab_bench_site *s, int i);
/** Stop it in order. @param cost  what it used; NULL is allowed */
bool ab_bench_site_stop(ab_bench_site *s, int i, ab_bench_cost *cost);
/** Stop what runs and remove the folder; when `keep`, leave it and say where the logs are. */
void ab_bench_site_close(ab_bench_site *s, bool keep);

/** Sum of a metric over its labels; -1 when the daemon does not answer or has no such metric. */
double ab_bench_daemon_metric(const ab_bench_daemon *d, const char *name);
/** Wait until a metric is at least `wanted` and no longer changes. @return false when it was not in
 * two minutes; said on stderr */
bool ab_bench_daemon_settle(const ab_bench_daemon *d, const char *name, double wanted);
