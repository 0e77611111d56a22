/* SPDX-License-Identifier: Apache-2.0
 *
 * The Applications of one namespace as a watch shows them, and when.
 */
#pragma once

#include "tests/bench/base/api.h"

typedef struct {
    bool exists;
    unsigned revision; /* of payload.h */
    unsigned status;   /* the number of an AB_BENCH_STATUS; 0 = none */
    int64_t at_ns;     /* when one of these was seen to change */
} ab_bench_app;

typedef struct {
    ab_bench_api *api;
    ab_bench_app *apps; /* app-0 to app-<count - 1>; others are an error */
    size_t count;
    bool listed; /* it has shown what there was at its start */
    bool failed; /* said on stderr */
    const char *namespace;
    char version[32]; /* of the last event */
    ab_kube_stream *stream;
    ab_kube_call *call;
} ab_bench_view;

/** Watch; returns when what is there has been seen. A server that is short of time ends watches:
 * this one goes on from there. @return false; said on stderr */
bool ab_bench_view_open(ab_bench_view *v, ab_bench_api *api, const char *namespace, size_t count);
/** Also after a failed open. */
void ab_bench_view_close(ab_bench_view *v);

/* What some Applications shall be like: app-<first> to app-<first + count - 1>. */
typedef struct {
    size_t first;
    size_t count;
    bool gone;
    unsigned revision; /* 0 = any */
    unsigned status;   /* 0 = any */
} ab_bench_want;

/** How many are so. */
size_t ab_bench_view_count(const ab_bench_view *v, const ab_bench_want *want);
/* How long it took until the first `count` Applications were as they are. */
typedef struct {
    double seconds; /* all of them */
    double p50_ms;
    double p99_ms;
} ab_bench_times;

/** NAN when out of memory. */
ab_bench_times ab_bench_view_times(const ab_bench_view *v, size_t count, int64_t begun_ns);
/** Wait until all of them are so. @return false; said on stderr, with how many are */
bool ab_bench_view_wait(const ab_bench_view *v, const ab_bench_want *want, int timeout_ms);
