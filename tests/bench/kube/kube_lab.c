/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/kube/kube_lab.h"

#include <math.h>
#include <stdio.h>

#define WRITES "argobus_store_writes_total"
#define SENT   "argobus_events_sent_total"

static bool say(const char *what)
{
    fprintf(stderr, "argobus-bench: %s\n", what);
    return false;
}

/* --- open and close --- */

static bool empty_all(ab_bench_lab *lab)
{
    return ab_bench_api_empty(&lab->hub, AB_BENCH_HUB_SPACE) &&
           ab_bench_api_empty(&lab->hub, AB_BENCH_BARE_SPACE) &&
           ab_bench_api_empty(&lab->spoke, AB_BENCH_SPOKE_SPACE) &&
           ab_bench_api_empty(&lab->spoke, AB_BENCH_BARE_SPACE);
}

bool ab_bench_lab_open(ab_bench_lab *lab, const ab_bench_options *o, size_t count,
                       const char *kubeconfig)
{
    const ab_bench_clusters clusters = {.hub = kubeconfig == NULL ? o->hub : kubeconfig,
                                        .spoke = o->spoke};
    *lab = (ab_bench_lab){.o = o, .count = count};
    if (o->hub == NULL || o->spoke == NULL)
        return say("the cases kube need --hub and --spoke");
    if (uv_loop_init(&lab->loop) != 0)
        return say("out of memory");
    lab->opened = true;
    return ab_bench_api_open(&lab->hub, &lab->loop, "hub", o->hub) &&
           ab_bench_api_open(&lab->spoke, &lab->loop, "spoke", o->spoke) && empty_all(lab) &&
           ab_bench_site_open(&lab->site, o, 1, &clusters);
}

void ab_bench_lab_close(ab_bench_lab *lab, bool ok)
{
    if (!lab->opened)
        return;
    if (lab->site.agents > 0)
        ab_bench_site_close(&lab->site, !ok);
    if (ok)
        (void)empty_all(lab);
    ab_bench_api_close(&lab->spoke);
    ab_bench_api_close(&lab->hub);
    (void)uv_run(&lab->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&lab->loop);
}

/* --- daemons --- */

/* One Application past the others goes through, and goes away again. */
static bool probe(ab_bench_lab *lab, ab_bench_view *spoke)
{
    ab_bench_load load = {.api = &lab->hub,
                          .namespace = AB_BENCH_HUB_SPACE,
                          .first = lab->count,
                          .count = 1,
                          .number = 1,
                          .bytes = AB_BENCH_BYTES,
                          .at_once = 1};
    ab_bench_load gone = load;
    ab_bench_want want = {.first = lab->count, .count = 1};
    gone.verb = AB_BENCH_DELETE;
    if (!ab_bench_load_run(&load, 1) || !ab_bench_view_wait(spoke, &want, AB_BENCH_WAIT_MS))
        return false;
    want.gone = true;
    return ab_bench_load_run(&gone, 1) && ab_bench_view_wait(spoke, &want, AB_BENCH_WAIT_MS);
}

bool ab_bench_lab_start(ab_bench_lab *lab)
{
    ab_bench_view spoke;
    bool ok = ab_bench_view_open(&spoke, &lab->spoke, AB_BENCH_SPOKE_SPACE, lab->count + 1) &&
              ab_bench_site_start(&lab->site, AB_BENCH_PRINCIPAL) &&
              ab_bench_site_start(&lab->site, 0) && probe(lab, &spoke);
    ab_bench_view_close(&spoke);
    return ok ? ab_bench_daemon_settle(&lab->site.agent[0], WRITES, 0) &&
                    ab_bench_daemon_settle(&lab->site.principal, SENT, 0)
              : say("no change goes through");
}

bool ab_bench_lab_stop(ab_bench_lab *lab)
{
    return ab_bench_site_stop(&lab->site, 0, NULL) &&
           ab_bench_site_stop(&lab->site, AB_BENCH_PRINCIPAL, NULL);
}

/* --- Applications --- */

bool ab_bench_lab_bring(ab_bench_lab *lab, size_t bytes)
{
    ab_bench_view spoke;
    const ab_bench_want want = {.count = lab->count, .revision = 1};
    ab_bench_load load = {.api = &lab->hub,
                          .namespace = AB_BENCH_HUB_SPACE,
                          .count = lab->count,
                          .number = 1,
                          .bytes = bytes,
                          .at_once = AB_BENCH_AT_ONCE};
    bool ok = ab_bench_view_open(&spoke, &lab->spoke, AB_BENCH_SPOKE_SPACE, lab->count + 1) &&
              ab_bench_load_run(&load, 1) && ab_bench_view_wait(&spoke, &want, AB_BENCH_WAIT_MS);
    ab_bench_view_close(&spoke);
    return ok && ab_bench_daemon_settle(&lab->site.agent[0], WRITES, 0);
}

bool ab_bench_lab_bring_bare(ab_bench_lab *lab, size_t bytes)
{
    ab_bench_load load = {.api = &lab->hub,
                          .namespace = AB_BENCH_BARE_SPACE,
                          .count = lab->count,
                          .number = 1,
                          .bytes = bytes,
                          .at_once = AB_BENCH_AT_ONCE};
    ab_bench_load loads[2] = {load, load};
    loads[1].api = &lab->spoke;
    return ab_bench_load_run(loads, 2);
}

/* --- figures --- */

bool ab_bench_lab_mark(ab_bench_lab *lab, ab_bench_mark *out)
{
    bool ok =
        ab_bench_api_counts(&lab->hub, &out->hub) && ab_bench_api_counts(&lab->spoke, &out->spoke);
    out->principal_s = ab_bench_cpu(lab->site.principal.pid);
    out->agent_s = ab_bench_cpu(lab->site.agent[0].pid);
    out->at_ns = ab_bench_now_ns();
    return ok;
}

static void subtract(ab_bench_api_count *from, const ab_bench_api_count *what)
{
    from->writes -= what->writes;
    from->reads -= what->reads;
    from->lists -= what->lists;
    from->cpu_s -= what->cpu_s;
}

bool ab_bench_lab_since(ab_bench_lab *lab, const ab_bench_mark *mark, ab_bench_mark *out)
{
    bool ok = ab_bench_lab_mark(lab, out);
    subtract(&out->hub, &mark->hub);
    subtract(&out->spoke, &mark->spoke);
    out->principal_s -= mark->principal_s;
    out->agent_s -= mark->agent_s;
    out->at_ns -= mark->at_ns;
    return ok;
}

void ab_bench_lab_report(const ab_bench_lab *lab, const char *name, const char *unit, double value,
                         double limit)
{
    ab_bench_row row = ab_bench_row_new("%s", name);
    row.unit = unit;
    row.value = value;
    row.limit = limit;
    ab_bench_report(lab->o->format, &row);
}

static void report_cpu(const ab_bench_lab *lab, const char *name, const char *what, double cpu_s,
                       pid_t pid)
{
    ab_bench_row row = ab_bench_row_new("%s.%s", name, what);
    row.cpu_s = cpu_s;
    row.rss_kib = pid > 0 ? ab_bench_memory(pid, "VmHWM") : NAN;
    ab_bench_report(lab->o->format, &row);
}

void ab_bench_lab_report_servers(const ab_bench_lab *lab, const char *name,
                                 const ab_bench_mark *grown)
{
    report_cpu(lab, name, "hub", grown->hub.cpu_s, 0);
    report_cpu(lab, name, "spoke", grown->spoke.cpu_s, 0);
}

void ab_bench_lab_report_cost(const ab_bench_lab *lab, const char *name, const ab_bench_mark *grown)
{
    report_cpu(lab, name, "principal", grown->principal_s, lab->site.principal.pid);
    report_cpu(lab, name, "agent", grown->agent_s, lab->site.agent[0].pid);
    ab_bench_lab_report_servers(lab, name, grown);
}
