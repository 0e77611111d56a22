/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls to an API, as many at a time as asked for, each timed: straight to an API server, or to a
 * principal that stands for it.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where to, and as whom; "" where there is none. */
typedef struct {
    char url[256]; /* without a path; a principal's has /agents/w%u at its end */
    char ca[PATH_MAX];
    char cert[PATH_MAX];
    char key[PATH_MAX];
    char token[64];
    unsigned agents; /* calls go to w0, w1, ... in turns; 0: to the URL as it is */
} ab_bench_live_at;

typedef struct {
    const ab_bench_live_at *at;
    const char *method;
    const char *path;
    const char *body; /* NULL: none */
    size_t count;     /* calls in all */
    unsigned at_once;
    double *ms; /* how long each took; NULL: not asked */

    double seconds; /* all of them; set by the run, as what follows */
    uint64_t bytes; /* of all answers */
    size_t failed;  /* other than 2xx; the first is said on stderr */
} ab_bench_live_calls;

/** The API server of a kubeconfig of kube-dev, which has its certificates beside it. @return false;
 * said on stderr */
bool ab_bench_live_at_cluster(ab_bench_live_at *at, const char *kubeconfig);
/** Make the calls. @return false when one failed; said on stderr */
bool ab_bench_live_run(ab_bench_live_calls *c);
