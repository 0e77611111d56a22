/* SPDX-License-Identifier: Apache-2.0
 *
 * What a thousand agents cost their principal: connected and idle, and when all come back at once.
 */
#include "tests/bench/base/certs.h"
#include "tests/bench/base/process.h"
#include "tests/bench/transport/crowd.h"
#include "tests/bench/transport/grpc.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define SETTLE_MS 2000
#define WINDOW_MS 10000

enum { PRINCIPAL, AGENTS };

static void kill_one(pid_t pid)
{
    if (pid <= 0)
        return;
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

/* Principal and agents, until `measure` is done with them. */
static bool with_crowd(const ab_bench_options *o,
                       bool (*measure)(const ab_bench_options *o, const ab_bench_crowd *c,
                                       pid_t pid[2]))
{
    static ab_bench_certs certs;
    ab_bench_crowd c = {.certs = certs.folder, .port = ab_bench_free_port()};
    c.track =
        mmap(NULL, sizeof(*c.track), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c.track == MAP_FAILED)
        return false;
    pid_t pid[2] = {0, 0};
    bool ok = ab_bench_certs_open(&certs, AB_BENCH_CROWD);
    if (ok) {
        pid[PRINCIPAL] = ab_bench_crowd_principal(&c);
        ok = pid[PRINCIPAL] > 0 && ab_bench_wait_port(c.port);
    }
    if (ok) {
        pid[AGENTS] = ab_bench_crowd_agents(&c);
        ok = pid[AGENTS] > 0 && ab_bench_crowd_wait(&c, pid) && measure(o, &c, pid);
    }
    kill_one(pid[PRINCIPAL]);
    kill_one(pid[AGENTS]);
    ab_bench_certs_close(&certs);
    (void)munmap(c.track, sizeof(*c.track));
    return ok;
}

/* --- idle --- */

static void report(const ab_bench_options *o, const char *name, const char *unit, double value)
{
    ab_bench_row row = ab_bench_row_new("%s", name);
    row.unit = unit;
    row.value = value;
    ab_bench_report(o->format, &row);
}

static bool measure_idle(const ab_bench_options *o, const ab_bench_crowd *c, pid_t pid[2])
{
    (void)c;
    ab_bench_pause(SETTLE_MS);
    double begun_s = ab_bench_cpu(pid[PRINCIPAL]);
    ab_bench_pause(WINDOW_MS);
    double cpu_s = ab_bench_cpu(pid[PRINCIPAL]) - begun_s;
    double rss_kib = ab_bench_memory(pid[PRINCIPAL], "VmRSS");
    report(o, "grpc.idle.memory", "KiB/agent", rss_kib / AB_BENCH_CROWD);
    report(o, "grpc.idle.cpu", "ppm/agent", cpu_s * 1e9 / WINDOW_MS / AB_BENCH_CROWD);
    ab_bench_row row = ab_bench_row_new("grpc.idle.principal");
    row.cpu_s = cpu_s;
    row.rss_kib = ab_bench_memory(pid[PRINCIPAL], "VmHWM");
    ab_bench_report(o->format, &row);
    return true;
}

bool ab_bench_grpc_idle(const ab_bench_options *o)
{
    return with_crowd(o, measure_idle);
}

/* --- all at once --- */

static bool measure_reconnect(const ab_bench_options *o, const ab_bench_crowd *c, pid_t pid[2])
{
    ab_bench_pause(SETTLE_MS);
    kill_one(pid[PRINCIPAL]);
    c->track->served = 0;
    int64_t begun_ns = ab_bench_now_ns();
    pid[PRINCIPAL] = ab_bench_crowd_principal(c);
    if (pid[PRINCIPAL] <= 0 || !ab_bench_crowd_wait(c, pid))
        return false;
    double cpu_s = ab_bench_cpu(pid[PRINCIPAL]);
    report(o, "grpc.reconnect", "s", (double)(c->track->served_ns - begun_ns) / 1e9);
    ab_bench_row row = ab_bench_row_new("grpc.reconnect.principal");
    row.cpu_s = cpu_s;
    row.rss_kib = ab_bench_memory(pid[PRINCIPAL], "VmHWM");
    ab_bench_report(o->format, &row);
    return true;
}

bool ab_bench_grpc_reconnect(const ab_bench_options *o)
{
    return with_crowd(o, measure_reconnect);
}
