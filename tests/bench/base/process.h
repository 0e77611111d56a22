/* SPDX-License-Identifier: Apache-2.0
 *
 * The processes that are measured, and what they cost. librdkafka does not survive a fork, so every
 * end is a process of its own, forked before any other has begun to use it.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
    double cpu_s;
    double rss_kib; /* the most it ever had */
} ab_bench_cost;

/** CLOCK_MONOTONIC, the same for all processes of the machine. */
int64_t ab_bench_now_ns(void);
/** Let time pass: between looks at something, or to see what a process does when idle. */
void ab_bench_pause(int ms);

/**
 * Run `fn` in a new process, which dies with this one, and after 5 minutes whatever it does.
 * @return -1 when there can be none
 */
pid_t ab_bench_fork(int (*fn)(const void *arg), const void *arg);
/**
 * Run a program likewise, without the 5 minutes.
 *
 * @param argv  NULL-terminated; argv[0] is its path
 * @param log   file that its output is added to
 */
pid_t ab_bench_spawn(char *const argv[], const char *log);

/** Wait for a process to end. @return true when it did with code 0 */
bool ab_bench_wait(pid_t pid);
/** Wait for both; when one fails the other is ended. @return true when both ended with code 0 */
bool ab_bench_wait_both(const pid_t pid[2], ab_bench_cost cost[2]);
/** End a process in order. @return false when it failed or took more than 60 s, and was killed */
bool ab_bench_end(pid_t pid, ab_bench_cost *cost);
/** Memory of a running process in KiB by its name in /proc/<pid>/status: "VmRSS", "VmHWM"; 0 when
 * there is no such process. */
double ab_bench_memory(pid_t pid, const char *name);
/** "VmHWM" is what the process has now, until it takes more. @return false: errno says why */
bool ab_bench_memory_reset(pid_t pid);
/** CPU seconds that a running process has used. */
double ab_bench_cpu(pid_t pid);

/** A port of 127.0.0.1 that nobody has, another one each time; 0 when there is none. Somebody else
 * may take it before we do; then a start fails. */
uint16_t ab_bench_free_port(void);
/** Wait until somebody listens on it. @return false when nobody did within 20 s; said on stderr */
bool ab_bench_wait_port(int port);

/** What mkdtemp and mkstemp make a name of, in TMPDIR or else in /tmp. @return false when it is too
 * long */
bool ab_bench_temporary(char out[PATH_MAX]);
