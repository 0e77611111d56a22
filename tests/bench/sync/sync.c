/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/sync/sync.h"

#include "tests/bench/base/site.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PRINCIPAL    (-1)
#define APPLICATIONS 5000
#define BYTES        (3 * 1024)
#define CHANGES      200
#define WAIT_MS      120000

#define IDLE_AGENTS    10
#define IDLE_EACH      100
#define IDLE_WINDOW_MS 10000

#define WRITES "argobus_store_writes_total"
#define SENT   "argobus_events_sent_total"

static bool say(const char *what)
{
    fprintf(stderr, "argobus-bench: %s\n", what);
    return false;
}

/* --- catching up --- */

/* The hub has all Applications, and the agent too; then the agent goes. */
static bool bring_all(ab_bench_site *s, const char *hub)
{
    const ab_bench_files files = {.count = APPLICATIONS, .revision = 1, .bytes = BYTES};
    ab_bench_watch watch;
    if (!ab_bench_files_put(hub, &files) ||
        !ab_bench_watch_open(&watch, s->agent[0].manifests, APPLICATIONS))
        return say("cannot write or watch Applications");
    bool ok = ab_bench_site_start(s, PRINCIPAL) && ab_bench_site_start(s, 0);
    if (ok && !ab_bench_watch_wait(&watch, APPLICATIONS, WAIT_MS))
        ok = say("the agent does not get its Applications");
    ab_bench_watch_close(&watch);
    return ok && ab_bench_daemon_settle(&s->agent[0], WRITES, APPLICATIONS) &&
           ab_bench_site_stop(s, 0, NULL);
}

static bool change_all(ab_bench_site *s, const char *hub)
{
    const ab_bench_files files = {.count = APPLICATIONS, .revision = 2, .bytes = BYTES};
    double before = ab_bench_daemon_metric(&s->principal, SENT);
    return ab_bench_files_put(hub, &files) &&
           ab_bench_daemon_settle(&s->principal, SENT, before + APPLICATIONS);
}

static void report_catch_up(const ab_bench_site *s, const ab_bench_watch *watch, int64_t begun_ns)
{
    const ab_bench_files files = {.count = APPLICATIONS, .revision = 2, .bytes = BYTES};
    static double ms[APPLICATIONS];
    for (size_t i = 0; i < APPLICATIONS; i++)
        ms[i] = (double)(watch->at_ns[i] - begun_ns) / 1e6;
    ab_bench_row row = ab_bench_row_new("sync.catch-up");
    row.unit = "s";
    row.value = ab_bench_quantile(ms, APPLICATIONS, 1) / 1e3;
    row.limit = ab_bench_site_plain_writes(s, &files);
    row.p50_ms = ab_bench_quantile(ms, APPLICATIONS, 0.5);
    row.p99_ms = ab_bench_quantile(ms, APPLICATIONS, 0.99);
    ab_bench_report(s->o->format, &row);
}

static bool report_writes(const ab_bench_site *s, const ab_bench_watch *watch)
{
    const ab_bench_files files = {.count = APPLICATIONS, .revision = 2, .bytes = BYTES};
    ab_bench_row row = ab_bench_row_new("sync.catch-up.writes");
    row.unit = "writes";
    row.value = ab_bench_daemon_metric(&s->agent[0], WRITES);
    row.limit = APPLICATIONS;
    ab_bench_report(s->o->format, &row);
    if (watch->placed != APPLICATIONS)
        fprintf(stderr, "argobus-bench: %zu files were written, not %d\n", watch->placed,
                APPLICATIONS);
    return ab_bench_files_count(s->agent[0].manifests, &files) == APPLICATIONS
               ? true
               : say("an Application is not what the hub wants");
}

static bool catch_up(ab_bench_site *s)
{
    ab_bench_watch watch;
    ab_bench_cost cost;
    if (!ab_bench_watch_open(&watch, s->agent[0].manifests, APPLICATIONS))
        return say("cannot watch the agent's Applications");
    int64_t begun = ab_bench_now_ns();
    bool ok = ab_bench_site_start(s, 0);
    if (ok && !ab_bench_watch_wait(&watch, APPLICATIONS, WAIT_MS))
        ok = say("the agent does not catch up");
    ok = ok && ab_bench_daemon_settle(&s->agent[0], WRITES, APPLICATIONS);
    if (ok) {
        report_catch_up(s, &watch, begun);
        ok = report_writes(s, &watch);
    }
    ab_bench_watch_close(&watch);
    ok = ok && ab_bench_site_stop(s, 0, &cost);
    if (ok)
        ab_bench_site_report_cost(s, "sync.catch-up.agent", &cost);
    return ok;
}

/* --- one change at a time --- */

static bool change_one(const char *hub, const char *spoke, unsigned i, double *ms)
{
    const ab_bench_files files = {.count = 1, .revision = 100 + i, .bytes = BYTES};
    ab_bench_watch watch;
    if (!ab_bench_watch_open(&watch, spoke, 1))
        return say("cannot watch the agent's Applications");
    int64_t begun = ab_bench_now_ns();
    bool ok = ab_bench_files_put(hub, &files) && ab_bench_watch_wait(&watch, 1, WAIT_MS);
    *ms = ok ? (double)(watch.at_ns[0] - begun) / 1e6 : NAN;
    ab_bench_watch_close(&watch);
    return ok ? ok : say("a change does not come to the agent");
}

static bool change_one_by_one(ab_bench_site *s, const char *hub)
{
    double ms[CHANGES];
    bool ok = ab_bench_site_start(s, 0) && ab_bench_daemon_settle(&s->agent[0], WRITES, 0);
    for (unsigned i = 0; i < CHANGES && ok; i++)
        ok = change_one(hub, s->agent[0].manifests, i, &ms[i]);
    if (!ok)
        return false;
    ab_bench_row row = ab_bench_row_new("sync.change");
    row.unit = "ms";
    row.value = row.p50_ms = ab_bench_quantile(ms, CHANGES, 0.5);
    row.p99_ms = ab_bench_quantile(ms, CHANGES, 0.99);
    ab_bench_report(s->o->format, &row);
    return true;
}

bool ab_bench_sync(const ab_bench_options *o)
{
    static ab_bench_site s;
    char hub[PATH_MAX];
    ab_bench_cost cost;
    bool ok = ab_bench_site_open(&s, o, 1, NULL);
    ab_bench_site_hub(&s, 0, hub);
    ok = ok && bring_all(&s, hub) && change_all(&s, hub) && catch_up(&s) &&
         change_one_by_one(&s, hub) && ab_bench_site_stop(&s, PRINCIPAL, &cost);
    if (ok)
        ab_bench_site_report_cost(&s, "sync.principal", &cost);
    ab_bench_site_close(&s, !ok);
    return ok;
}

/* --- idle --- */

static bool start_all(ab_bench_site *s)
{
    char hub[PATH_MAX];
    bool ok = true;
    for (unsigned i = 0; i < s->agents && ok; i++) {
        const ab_bench_files files = {
            .first = i * IDLE_EACH, .count = IDLE_EACH, .revision = 1, .bytes = BYTES};
        ab_bench_site_hub(s, i, hub);
        ok = ab_bench_files_put(hub, &files);
    }
    for (int i = PRINCIPAL; i < (int)s->agents && ok; i++)
        ok = ab_bench_site_start(s, i);
    for (unsigned i = 0; i < s->agents && ok; i++)
        ok = ab_bench_daemon_settle(&s->agent[i], WRITES, IDLE_EACH);
    return ok;
}

static void report_idle(const ab_bench_site *s, const char *name, const ab_bench_daemon *d,
                        double cpu_s)
{
    ab_bench_row row = ab_bench_row_new("%s", name);
    row.unit = "MiB";
    row.value = ab_bench_memory(d->pid, "VmRSS") / 1024;
    row.cpu_s = cpu_s;
    row.rss_kib = ab_bench_memory(d->pid, "VmHWM");
    ab_bench_report(s->o->format, &row);
}

/* The agent with the most memory stands for all. */
static const ab_bench_daemon *largest(const ab_bench_site *s)
{
    const ab_bench_daemon *found = &s->agent[0];
    for (unsigned i = 1; i < s->agents; i++)
        if (ab_bench_memory(s->agent[i].pid, "VmRSS") > ab_bench_memory(found->pid, "VmRSS"))
            found = &s->agent[i];
    return found;
}

bool ab_bench_idle(const ab_bench_options *o)
{
    static ab_bench_site s;
    bool ok = ab_bench_site_open(&s, o, IDLE_AGENTS, NULL) && start_all(&s);
    if (ok) {
        const ab_bench_daemon *agent = largest(&s);
        double agent_s = ab_bench_cpu(agent->pid);
        double principal_s = ab_bench_cpu(s.principal.pid);
        ab_bench_pause(IDLE_WINDOW_MS);
        report_idle(&s, "idle.agent", agent, ab_bench_cpu(agent->pid) - agent_s);
        report_idle(&s, "idle.principal", &s.principal,
                    ab_bench_cpu(s.principal.pid) - principal_s);
    }
    ab_bench_site_close(&s, !ok);
    return ok;
}
