/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/transport/run.h"

#include "tests/bench/base/process.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t cpu_now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* cannot fail for this clock */
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void ab_bench_go(const ab_bench_run *run)
{
    const uint64_t one = 1;
    /* It can only fail when the counter is full, and then the sender is awake anyway. */
    ssize_t n = write(run->go_fd, &one, sizeof(one));
    (void)n;
}

void ab_bench_sending(const ab_bench_run *run, size_t i)
{
    int64_t now = ab_bench_now_ns();
    if (i == 0) {
        run->track->begun_ns = now;
        run->track->cpu_ns[AB_BENCH_SENDER] = -cpu_now_ns();
    }
    if (run->one_by_one)
        run->track->sent_ns[i] = now;
}

void ab_bench_arrived(const ab_bench_run *run, size_t i)
{
    if (i == 0 && !run->round_trip)
        run->track->cpu_ns[AB_BENCH_RECEIVER] = -cpu_now_ns();
    if (run->one_by_one)
        run->track->arrived_ns[i] = ab_bench_now_ns();
}

bool ab_bench_acknowledged(const ab_bench_run *run, size_t i)
{
    if (run->one_by_one && !run->round_trip)
        ab_bench_go(run);
    if (i + 1 < run->count)
        return false;
    run->track->ended_ns = ab_bench_now_ns();
    run->track->cpu_ns[AB_BENCH_RECEIVER] += cpu_now_ns();
    return true;
}

void ab_bench_sent(const ab_bench_run *run)
{
    run->track->cpu_ns[AB_BENCH_SENDER] += cpu_now_ns();
}

/* printf would take longer than what is measured of an event. */
void ab_bench_key(size_t i, char out[32])
{
    static const char begin[] = "Application/bench/app-";
    char *end = out + sizeof(begin) - 1;
    size_t digits = 1;
    for (size_t rest = i; rest >= 10; rest /= 10)
        digits++;
    memcpy(out, begin, sizeof(begin) - 1);
    end[digits] = '\0';
    for (; digits > 0; i /= 10)
        end[--digits] = (char)('0' + i % 10);
}
