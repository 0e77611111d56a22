/* SPDX-License-Identifier: Apache-2.0
 *
 * kube.memory: what the daemons hold when much is known and nothing happens. The agents beside the
 * measured principal have directory stores, so that one machine can carry twenty of them.
 */
#include "tests/bench/kube.h"
#include "tests/bench/kube_lab.h"

#include <math.h>
#include <stdio.h>

#define AGENTS    20
#define EACH      500
#define OF_AGENT  1000
#define BYTES     (10 * 1024)
#define WINDOW_MS 5000

#define WRITES "argobus_store_writes_total"

typedef struct {
    uv_loop_t loop;
    ab_bench_api hub;
    ab_bench_site site;
} many;

static void report(const ab_bench_options *o, const char *name, pid_t pid)
{
    ab_bench_row row = ab_bench_row_new("%s", name);
    row.unit = "MiB";
    row.value = ab_bench_memory(pid, "VmRSS") / 1024;
    row.rss_kib = ab_bench_memory(pid, "VmHWM");
    ab_bench_report(o->format, &row);
}

/* --- the principal --- */

static bool empty_all(many *m)
{
    bool ok = true;
    for (unsigned i = 0; i < AGENTS && ok; i++)
        ok = ab_bench_api_empty(&m->hub, m->site.agent[i].name);
    return ok;
}

static bool start_all(many *m)
{
    bool ok = true;
    for (int i = AB_BENCH_PRINCIPAL; i < AGENTS && ok; i++)
        ok = ab_bench_site_start(&m->site, i);
    for (int i = 0; i < AGENTS && ok; i++)
        ok = ab_bench_daemon_settle(&m->site.agent[i], WRITES, 0);
    return ok;
}

static bool create_all(many *m)
{
    bool ok = true;
    for (unsigned i = 0; i < AGENTS && ok; i++) {
        ab_bench_load load = {.api = &m->hub,
                              .namespace = m->site.agent[i].name,
                              .count = EACH,
                              .number = 1,
                              .bytes = BYTES,
                              .at_once = AB_BENCH_AT_ONCE};
        ok = ab_bench_load_run(&load, 1);
    }
    for (unsigned i = 0; i < AGENTS && ok; i++)
        ok = ab_bench_daemon_settle(&m->site.agent[i], WRITES, EACH);
    return ok;
}

static bool measure_principal(many *m, const ab_bench_options *o)
{
    if (!empty_all(m) || !start_all(m))
        return false;
    report(o, "kube.memory.principal.empty", m->site.principal.pid);
    if (!create_all(m))
        return false;
    ab_bench_pause(WINDOW_MS);
    report(o, "kube.memory.principal", m->site.principal.pid);
    return true;
}

static bool principal(const ab_bench_options *o)
{
    static many m;
    const ab_bench_clusters clusters = {.hub = o->hub};
    m = (many){0};
    if (uv_loop_init(&m.loop) != 0 || !ab_bench_site_open(&m.site, o, AGENTS, &clusters))
        return false;
    bool ok = ab_bench_api_open(&m.hub, &m.loop, "hub", o->hub) && measure_principal(&m, o);
    ab_bench_site_close(&m.site, !ok);
    ok = ok && empty_all(&m);
    ab_bench_api_close(&m.hub);
    (void)uv_run(&m.loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&m.loop);
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
