/* SPDX-License-Identifier: Apache-2.0
 *
 * One run: a sending and a receiving process with a broker between them. What carries the events is
 * librdkafka alone or our transport; everything else is the same.
 */
#pragma once

#include "tests/bench/payload.h"

/* Events sent one at a time, each timed. The first ones warm up and do not count. */
#define AB_BENCH_WARM_UP 50
#define AB_BENCH_SAMPLES 1000
#define AB_BENCH_TIMED   (AB_BENCH_WARM_UP + AB_BENCH_SAMPLES)

/* Memory that both processes see. */
typedef struct {
    int64_t begun_ns; /* before the first event is sent */
    int64_t ended_ns; /* the last one is acknowledged by the receiver */
    int64_t sent_ns[AB_BENCH_TIMED];
    int64_t arrived_ns[AB_BENCH_TIMED];
} ab_bench_track;

typedef struct {
    const char *broker; /* host:port */
    char name[64];      /* of this run alone: topics and groups begin with it */
    const ab_bench_pool *pool;
    size_t count;
    bool one_by_one; /* the next event is sent when the last one has arrived; linger 0 */
    int go_fd; /* eventfd, the sender waits for it: the receiver is ready (for the next one) */
    ab_bench_track *track;
} ab_bench_run;

/* Both run in processes of their own and give its exit code. */
typedef struct {
    const char *name;
    int (*send)(const void *run);
    int (*receive)(const void *run);
} ab_bench_carrier;

extern const ab_bench_carrier ab_bench_raw;
extern const ab_bench_carrier ab_bench_transport;

/** The receiver will get whatever is sent from now on. */
void ab_bench_go(const ab_bench_run *run);
/** The sender is about to send the i-th event. */
void ab_bench_sending(const ab_bench_run *run, size_t i);
/** The receiver has the i-th event. */
void ab_bench_arrived(const ab_bench_run *run, size_t i);
/** The receiver has acknowledged the i-th event. @return true when it was the last one */
bool ab_bench_acknowledged(const ab_bench_run *run, size_t i);
/** The key of the i-th event: no two events of a run have the same. */
void ab_bench_key(size_t i, char out[32]);
