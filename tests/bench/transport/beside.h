/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether agents over Kafka wait because the broker has trouble with the topic of another one. That
 * one is w0; the others are w1 and so on. What breaks w0's topic is a process of its own.
 */
#pragma once

#include "tests/bench/transport/flow.h"

/* How far the process is. It does one step after the other, the last one when it is told to. */
typedef enum { AB_BENCH_STARTING, AB_BENCH_WELL, AB_BENCH_BROKEN } ab_bench_health;

/* Memory that the process with the broker, or with its administrator, shares with the others. */
typedef struct {
    char address[256]; /* of the broker; filled in before it is WELL */
    ab_bench_health is;
    bool break_now;
} ab_bench_control;

/* What the process is told. */
typedef struct {
    const char *broker; /* as the user gave it */
    char prefix[64];    /* of the topics: <prefix>.down.w0.state and so on */
    unsigned agents;    /* w0 and the others */
    ab_bench_control *control;
} ab_bench_beside;

/** A process that breaks w0's topic at the user's broker, which has too few replicas of it then.
 * @return its exit code */
int ab_bench_refuse(const void *arg);
/** A process with brokers of librdkafka's mock cluster, of which that of w0's topic answers each
 * fetch with an error in the end. @return its exit code */
int ab_bench_silence(const void *arg);

/** 20 agents beside one whose topic takes nothing. @return false when it failed; said on stderr */
bool ab_bench_refused(const ab_bench_options *o);
/** A principal with 249 agents beside one to whom its log cannot be read. */
bool ab_bench_silent(const ab_bench_options *o);
