/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/fleet_load.h"

#include "tests/bench/base/report.h"
#include "tests/bench/fleet/hub_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PER_S   100
#define WAIT_NS (60 * 1000000000LL)
#define LOOK_MS 5

static int64_t load_ns(const int64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}

/* The FIFO takes some thousand; only a principal that reads none fills it. */
static bool change(const ab_bench_fleet_load *l, unsigned agent, size_t app)
{
    unsigned revision = (*l->next_revision)++;
    const ab_bench_hub_change c = {agent, (unsigned)app, revision};
    __atomic_store_n(&l->track->sent_ns[revision], ab_bench_now_ns(), __ATOMIC_SEQ_CST);
    if (write(l->changes, &c, sizeof(c)) == sizeof(c))
        return true;
    perror("argobus-bench: cannot change an Application");
    return false;
}

static void sleep_until(int64_t at_ns)
{
    int64_t left_ms = (at_ns - ab_bench_now_ns()) / 1000000;
    if (left_ms > 0)
        ab_bench_pause((int)left_ms);
}

/* One Application after the other, of one agent after the other, so that none is changed twice
 * before the first change has come.
 * @param timed  revisions of the timed ones; @return how many, 0 on failure */
static size_t make_changes(const ab_bench_fleet_load *l, unsigned *timed)
{
    size_t total = (size_t)l->seconds * PER_S;
    size_t beside = 0;
    int64_t begun = ab_bench_now_ns();
    for (size_t i = 0; i < total; i++) {
        size_t due = l->beside < 0 ? 0 : i * l->beside_per_s / PER_S;
        for (; beside < due; beside++)
            if (!change(l, (unsigned)l->beside, beside % AB_BENCH_FLEET_APPS))
                return 0;
        sleep_until(begun + (int64_t)i * 1000000000 / PER_S);
        timed[i] = *l->next_revision;
        if (!change(l, l->first + (unsigned)(i % l->count), i / l->count % AB_BENCH_FLEET_APPS))
            return 0;
    }
    return total;
}

static bool wait_all(const ab_bench_fleet_load *l, const unsigned *timed, size_t count)
{
    int64_t end = ab_bench_now_ns() + WAIT_NS;
    size_t i = 0;
    while (i < count && ab_bench_now_ns() < end) {
        if (load_ns(&l->track->arrived_ns[timed[i]]) != 0)
            i++;
        else
            ab_bench_pause(LOOK_MS);
    }
    if (i < count)
        fprintf(stderr, "argobus-bench: change %zu of %zu is not in effect\n", i, count);
    return i == count;
}

bool ab_bench_fleet_load_run(const ab_bench_fleet_load *load, double *p50_ms, double *p99_ms)
{
    size_t most = (size_t)load->seconds * PER_S;
    size_t with = (size_t)load->seconds * (PER_S + load->beside_per_s);
    unsigned *timed = calloc(most, sizeof(*timed));
    double *ms = calloc(most, sizeof(*ms));
    bool ok = timed != NULL && ms != NULL && *load->next_revision + with < AB_BENCH_TIMED_MAX;
    if (!ok)
        fprintf(stderr, "argobus-bench: no room for so many changes\n");
    size_t count = ok ? make_changes(load, timed) : 0;
    ok = ok && count > 0 && wait_all(load, timed, count);
    for (size_t i = 0; i < count && ok; i++)
        ms[i] = (double)(load_ns(&load->track->arrived_ns[timed[i]]) -
                         load_ns(&load->track->sent_ns[timed[i]])) /
                1e6;
    *p50_ms = ab_bench_quantile(ms, ok ? count : 0, 0.5);
    *p99_ms = ab_bench_quantile(ms, ok ? count : 0, 0.99);
    free(timed);
    free(ms);
    return ok;
}
