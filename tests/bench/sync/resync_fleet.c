/* SPDX-License-Identifier: Apache-2.0
 *
 * resync.fleet: every agent at once.
 */
#include "tests/bench/base/steps.h"
#include "tests/bench/base/topics.h"
#include "tests/bench/kube/kube_fleet.h"
#include "tests/bench/sync/resync.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PRINCIPAL (-1)
#define AGENTS    100
#define EACH      50
#define BYTES     (3 * 1024)
#define WAIT_MS   120000

#define WRITES   "argobus_store_writes_total"
#define REQUESTS "argobus_kubernetes_requests_total"
#define SENT     "argobus_events_sent_total"
#define LAG      "argobus_offset_lag"
#define UNDONE   "argobus_unacknowledged"

/* What is measured of one resync, and where the figures stood before it. */
typedef struct {
    ab_bench_fleet *fleet;
    ab_bench_steps steps;
    int64_t begun_ns;
    double rss_kib;
    double requests;
    double writes;
    double cpu_s;
} meter;

static bool say(const char *what)
{
    fprintf(stderr, "argobus-bench: %s: %s\n", what, strerror(errno));
    return false;
}

/* Each Application has a status, which is at the hub. */
static bool report_statuses(const ab_bench_fleet *f)
{
    const ab_bench_files files = {.count = EACH, .revision = 1};
    for (unsigned i = 0; i < AGENTS; i++) {
        const char *folder = f->site.agent[i].manifests;
        if (!ab_bench_files_wait(folder, &files, WAIT_MS))
            return false;
        if (!ab_bench_files_report(folder, &files))
            return say("cannot write statuses");
    }
    for (unsigned i = 0; i < AGENTS; i++)
        if (!ab_bench_daemon_settle(&f->site.agent[i], SENT, EACH))
            return false;
    const ab_bench_daemon *p = &f->site.principal;
    return ab_bench_daemon_settle(p, WRITES, AGENTS * EACH) && ab_bench_daemon_rest(p, LAG) &&
           ab_bench_daemon_rest(p, UNDONE) && ab_bench_daemon_settle(p, REQUESTS, 0);
}

/* --- measuring --- */

/* A principal that does not run has used nothing yet. */
static double of_principal(const ab_bench_fleet *f, const char *metric)
{
    return f->site.principal.pid == 0 ? 0 : ab_bench_daemon_metric(&f->site.principal, metric);
}

static double all_writes(const ab_bench_fleet *f)
{
    double sum = of_principal(f, WRITES);
    for (unsigned i = 0; i < AGENTS; i++)
        sum += ab_bench_daemon_metric(&f->site.agent[i], WRITES);
    return sum;
}

static bool begin(meter *m, ab_bench_fleet *f, double rss_kib)
{
    pid_t pid = f->site.principal.pid;
    *m = (meter){.fleet = f,
                 .rss_kib = rss_kib,
                 .requests = of_principal(f, REQUESTS),
                 .writes = all_writes(f),
                 .cpu_s = pid == 0 ? 0 : ab_bench_cpu(pid)};
    if ((pid != 0 && !ab_bench_memory_reset(pid)) || !ab_bench_steps_open(&m->steps, &f->site))
        return say("cannot measure");
    m->begun_ns = ab_bench_now_ns();
    return true;
}

static void report(const meter *m, const char *name, const char *what, const char *unit,
                   double value)
{
    ab_bench_row row = ab_bench_row_new("%s%s", name, what);
    row.unit = unit;
    row.value = value;
    ab_bench_report(m->fleet->site.o->format, &row);
}

static bool end(meter *m, const char *name)
{
    const ab_bench_fleet *f = m->fleet;
    const ab_bench_daemon *p = &f->site.principal;
    bool ok = ab_bench_steps_wait(&m->steps, WAIT_MS);
    double seconds = (double)(ab_bench_now_ns() - m->begun_ns) / 1e9;
    ab_bench_cost cost = {.cpu_s = ab_bench_cpu(p->pid) - m->cpu_s};
    ab_bench_steps_close(&m->steps);
    if (!ok || !ab_bench_daemon_settle(p, REQUESTS, 0))
        return false;
    cost.rss_kib = ab_bench_memory(p->pid, "VmHWM");
    report(m, name, "", "s", seconds);
    report(m, name, ".memory", "MiB", (cost.rss_kib - m->rss_kib) / 1024);
    report(m, name, ".requests", "requests", of_principal(f, REQUESTS) - m->requests);
    report(m, name, ".writes", "writes", all_writes(f) - m->writes);
    char row[64];
    (void)snprintf(row, sizeof(row), "%s.principal", name);
    ab_bench_site_report_cost(&f->site, row, &cost);
    return true;
}

/* --- the cases --- */

static bool asked(ab_bench_fleet *f)
{
    meter m;
    return begin(&m, f, ab_bench_memory(f->site.principal.pid, "VmRSS")) &&
           ab_bench_site_resync(&f->site, PRINCIPAL) && end(&m, "resync.fleet");
}

static bool restarted(ab_bench_fleet *f)
{
    meter m;
    double rss_kib = ab_bench_memory(f->site.principal.pid, "VmRSS");
    return ab_bench_site_stop(&f->site, PRINCIPAL, NULL) && begin(&m, f, rss_kib) &&
           ab_bench_site_start(&f->site, PRINCIPAL) && end(&m, "resync.fleet.restart");
}

/* Every topic is deleted under them: each side has to find out, and to say all again. */
static bool lost(ab_bench_fleet *f)
{
    meter m;
    const ab_bench_topics topics = {.broker = f->site.o->broker,
                                    .prefix = strrchr(f->site.root, '/') + 1};
    return begin(&m, f, ab_bench_memory(f->site.principal.pid, "VmRSS")) &&
           ab_bench_topics_delete(&topics) && end(&m, "resync.fleet.lost");
}

bool ab_bench_resync_fleet(const ab_bench_options *o)
{
    static ab_bench_fleet f;
    bool ok = ab_bench_fleet_open(&f, o, AGENTS) && ab_bench_fleet_start(&f) &&
              ab_bench_fleet_bring(&f, EACH, BYTES) && report_statuses(&f) && asked(&f) &&
              restarted(&f) && lost(&f);
    ab_bench_fleet_close(&f, ok);
    return ok;
}
