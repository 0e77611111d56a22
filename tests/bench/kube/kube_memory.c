/* SPDX-License-Identifier: Apache-2.0
 *
 * kube.memory: what the daemons hold when much is known and nothing happens.
 */
#include "tests/bench/kube/kube.h"
#include "tests/bench/kube/kube_fleet.h"
#include "tests/bench/kube/kube_lab.h"

#define AGENTS    20
#define EACH      500
#define OF_AGENT  1000
#define BYTES     (10 * 1024)
#define WINDOW_MS 5000

static void report(const ab_bench_options *o, const char *name, pid_t pid)
{
    ab_bench_row row = ab_bench_row_new("%s", name);
    row.unit = "MiB";
    row.value = ab_bench_memory(pid, "VmRSS") / 1024;
    row.rss_kib = ab_bench_memory(pid, "VmHWM");
    ab_bench_report(o->format, &row);
}

/* --- the principal --- */

static bool principal(const ab_bench_options *o)
{
    static ab_bench_fleet f;
    bool ok = ab_bench_fleet_open(&f, o, AGENTS) && ab_bench_fleet_start(&f);
    if (ok)
        report(o, "kube.memory.principal.empty", f.site.principal.pid);
    ok = ok && ab_bench_fleet_bring(&f, EACH, BYTES);
    if (ok) {
        ab_bench_pause(WINDOW_MS);
        report(o, "kube.memory.principal", f.site.principal.pid);
    }
    ab_bench_fleet_close(&f, ok);
    return ok;
}

/* --- the agent --- */

static bool agent(const ab_bench_options *o)
{
    static ab_bench_lab lab;
    bool ok = ab_bench_lab_open(&lab, o, OF_AGENT, NULL) && ab_bench_lab_start(&lab);
    if (ok)
        report(o, "kube.memory.agent.empty", lab.site.agent[0].pid);
    ok = ok && ab_bench_lab_bring(&lab, BYTES);
    if (ok) {
        ab_bench_pause(WINDOW_MS);
        report(o, "kube.memory.agent", lab.site.agent[0].pid);
    }
    ab_bench_lab_close(&lab, ok);
    return ok;
}

bool ab_bench_kube_memory(const ab_bench_options *o)
{
    return agent(o) && principal(o);
}
