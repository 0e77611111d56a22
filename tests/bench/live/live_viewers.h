/* SPDX-License-Identifier: Apache-2.0
 *
 * People who look into the agents' clusters at the same time, in a process of their own: some
 * follow logs of pods that number their lines, some type, some list all that there is.
 */
#pragma once

#include "tests/bench/live/live_case.h"

#include <sys/types.h>

#define AB_BENCH_LIVE_KEYS 65536

typedef struct {
    const ab_bench_live_at *at; /* its agents are asked in turns */
    unsigned followers;         /* of the pods AB_BENCH_LIVE_POD in turns */
    unsigned pods;
    unsigned terminals; /* in AB_BENCH_LIVE_SHELL; each types five keys a second */
    unsigned listers;   /* of `list`, again and again */
    const char *list;   /* path */
} ab_bench_live_crowd;

#define AB_BENCH_LIVE_POD "chatty-%u"
/* Prints 100 lines a second: the number of the line, and 80 characters. */
#define AB_BENCH_LIVE_CHATTER                                                                      \
    "exec {f}<> <(:); n=0; t=${EPOCHREALTIME/[.,]/}; while :; do "                                 \
    "while (( n * 10000 <= ${EPOCHREALTIME/[.,]/} - t )); do echo $n "                             \
    "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz01234567; "           \
    "n=$((n + 1)); done; read -rt 0.01 -u $f; done"

/* What they see; of the process, but shared. */
typedef struct {
    bool leave;        /* to be set by us: they end */
    unsigned begun;    /* those who see something */
    unsigned broken;   /* those whose view has ended by itself */
    uint64_t lines;    /* of logs */
    uint64_t disorder; /* of them, lines that do not follow the one before */
    uint64_t bytes;    /* of lists */
    size_t keys;
    double key_ms[AB_BENCH_LIVE_KEYS];
} ab_bench_live_seen;

typedef struct {
    pid_t pid;
    ab_bench_live_seen *seen; /* NULL: none */
} ab_bench_live_viewers;

/** Begin, and wait until each sees something. @return false; said on stderr. End them in any case
 */
bool ab_bench_live_viewers_start(ab_bench_live_viewers *v, const ab_bench_live_crowd *crowd);
/** @return false when one did not see all; said on stderr. What they saw stays until it is freed */
bool ab_bench_live_viewers_end(ab_bench_live_viewers *v);
void ab_bench_live_viewers_free(ab_bench_live_viewers *v);
