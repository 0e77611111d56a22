/* SPDX-License-Identifier: Apache-2.0
 *
 * A bare client of one API server: one connection, requests at once as many as asked for, and
 * nothing else. It is the limit that argobus is measured against, and the hand that changes things.
 * Calls that wait run the loop meanwhile, so watches go on.
 */
#pragma once

#include "store/kubernetes/request.h"

typedef struct {
    const char *name; /* "hub", for texts */
    uv_loop_t *loop;
    ab_config *config;
    ab_log *log;
    ab_metrics *metrics;
    ab_kube_access *access;
    ab_kube_client *client;
} ab_bench_api;

/** @param kubeconfig  its current context is used. @return false; said on stderr */
bool ab_bench_api_open(ab_bench_api *a, uv_loop_t *loop, const char *name, const char *kubeconfig);
/** Also after a failed open. */
void ab_bench_api_close(ab_bench_api *a);

/** Run the loop until `done`. @return false when it was not in this time */
bool ab_bench_until(uv_loop_t *loop, bool (*done)(const void *arg), const void *arg,
                    int timeout_ms);

/**
 * One request, awaited.
 *
 * @param body  JSON; absent: none
 * @param out   takes the body of a 2xx; NULL: dropped
 * @return OK, or what the server said; said on stderr unless it is NOTFOUND or EXISTS
 */
AB_MUST_USE ab_err ab_bench_api_call(ab_bench_api *a, const char *method, const char *path,
                                     ab_str body, ab_buf *out);
/** Have this namespace, and no Application in it. @return false; said on stderr */
bool ab_bench_api_empty(ab_bench_api *a, const char *namespace);

/* What the server itself has counted since it started. */
typedef struct {
    double writes; /* of Applications: create, update, patch, delete */
    double reads;  /* of Applications: get */
    double lists;  /* of Applications: list; a watch is none */
    double cpu_s;
} ab_bench_api_count;

/** @return false; said on stderr */
bool ab_bench_api_counts(ab_bench_api *a, ab_bench_api_count *out);

typedef enum { AB_BENCH_CREATE, AB_BENCH_CHANGE, AB_BENCH_STATUS, AB_BENCH_DELETE } ab_bench_verb;

/* One and the same done to the Applications app-<first> to app-<first + count - 1>. */
typedef struct {
    ab_bench_api *api;
    const char *namespace;
    ab_bench_verb verb;
    size_t first;
    size_t count;
    unsigned number; /* CREATE, CHANGE: the revision (payload.h); STATUS: the status's */
    size_t bytes;    /* CREATE: its size */
    unsigned at_once;

    size_t begun; /* zero at first, as what follows */
    size_t ended;
    size_t failed;
} ab_bench_load;

/** All of these loads beside each other until all is answered. @return false when a request failed;
 * the first of each load is said on stderr */
bool ab_bench_load_run(ab_bench_load *loads, size_t count);
