/* SPDX-License-Identifier: Apache-2.0
 *
 * One principal and its agents as real processes, in a folder of their own:
 *
 *   principal/store/<agent>/Application/   what the hub wants, where it has a directory store
 *   <agent>/store/argocd/Application/      what is in effect, likewise
 *   <name>/config.yaml, <name>/log
 *   principal/control.sock
 */
#pragma once

#include "tests/bench/base/files.h"
#include "tests/bench/base/process.h"
#include "tests/bench/transport/flow.h"

#include <limits.h>

#define AB_BENCH_AGENTS_MAX 3000

typedef struct {
    char name[16]; /* "principal", "w0", ... */
    char folder[PATH_MAX];
    char manifests[PATH_MAX]; /* its folder of Applications; a principal's is per agent */
    uint16_t port;            /* of its metrics */
    pid_t pid;                /* 0 = does not run */
} ab_bench_daemon;

/* Kubeconfigs of the API servers where Applications live: namespace <agent> at the hub, argocd at
 * the spoke. NULL: in a directory. */
typedef struct {
    const char *hub;
    const char *spoke;
} ab_bench_clusters;

/* gRPC instead of Kafka. */
typedef struct {
    const char *certs; /* folder (certs.h); NULL: Kafka */
    int port;          /* where the principal listens */
} ab_bench_grpc_at;

/* Live access to the agents' clusters at the principal. */
typedef struct {
    const char *certs;  /* folder (certs.h); NULL: none */
    const char *tokens; /* file of who may ask */
    int port;           /* where the principal listens */
    int proxy;          /* likewise for redis */
    int redis;          /* of the control plane and of every agent */
} ab_bench_site_live;

typedef struct {
    const ab_bench_options *o;
    ab_bench_clusters clusters; /* borrowed */
    ab_bench_grpc_at grpc;
    ab_bench_site_live live;
    char root[PATH_MAX];
    unsigned agents;
    ab_bench_daemon principal;
    ab_bench_daemon *agent; /* one for each; NULL where the principal is alone */
} ab_bench_site;

/**
 * Make the folders and configurations.
 *
 * @param clusters  NULL: directory stores everywhere
 * @return false when it failed; said on stderr
 */
bool ab_bench_site_open(ab_bench_site *s, const ab_bench_options *o, unsigned agents,
                        const ab_bench_clusters *clusters);
/** The same with live access. @param grpc, live  copied; grpc NULL: Kafka */
bool ab_bench_site_open_live(ab_bench_site *s, const ab_bench_options *o, unsigned agents,
                             const ab_bench_clusters *clusters, const ab_bench_grpc_at *grpc,
                             const ab_bench_site_live *live);
/** The same for a fleet's principal alone, whose hub is a file (hub_file.h) in its folder of
 * manifests; its agents are not site.h's.
 * @param grpc  copied; NULL: Kafka */
bool ab_bench_site_open_principal(ab_bench_site *s, const ab_bench_options *o, unsigned agents,
                                  const ab_bench_grpc_at *grpc);
/** The hub's folder of the i-th agent's Applications. */
void ab_bench_site_hub(const ab_bench_site *s, unsigned i, char out[PATH_MAX]);
/** Start the principal (i = -1) or an agent; does not wait. @return false; said on stderr */
bool ab_bench_site_start(ab_bench_site *s, int i);
/** Stop it in order. @param cost  what it used; NULL is allowed */
bool ab_bench_site_stop(ab_bench_site *s, int i, ab_bench_cost *cost);
/** Have the principal begin resyncs, with argobusctl. @param i  the agent's number; -1: with all.
 * @return false when it refuses; said on stderr */
bool ab_bench_site_resync(ab_bench_site *s, int i);
/** Stop what runs and remove the folder; when `keep`, leave it and say where the logs are. */
void ab_bench_site_close(ab_bench_site *s, bool keep);

/** A row with what a process has cost. */
void ab_bench_site_report_cost(const ab_bench_site *s, const char *name, const ab_bench_cost *cost);
/** What the disk takes for these Applications, one after the other and each synced: seconds, NAN
 * when it failed. */
double ab_bench_site_plain_writes(const ab_bench_site *s, const ab_bench_files *files);

/** Sum of a metric over its labels; -1 when the daemon does not answer or has no such metric. */
double ab_bench_daemon_metric(const ab_bench_daemon *d, const char *name);
/** The same of several, from one answer: some are reset when they are read.
 * @param values  receives one for each of `names` */
void ab_bench_daemon_metrics(const ab_bench_daemon *d, size_t n, const char *const names[],
                             double values[]);
/** Wait until a metric is at least `wanted` and no longer changes. @return false when it was not in
 * two minutes; said on stderr */
bool ab_bench_daemon_settle(const ab_bench_daemon *d, const char *name, double wanted);
/** Wait until a metric is 0. @return false when it did not fall for two minutes; said on stderr */
bool ab_bench_daemon_rest(const ab_bench_daemon *d, const char *name);
