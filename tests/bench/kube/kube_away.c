/* SPDX-License-Identifier: Apache-2.0
 *
 * kube.catch-up and kube.restart: one of the two was away.
 */
#include "tests/bench/kube/kube.h"
#include "tests/bench/kube/kube_lab.h"

#include <math.h>

#define CHANGED 1500
#define DELETED 150
#define ALL     (CHANGED + DELETED)

#define RESTART_APPLICATIONS 1000
#define RESTART_WINDOW_MS    5000

#define WRITES "argobus_store_writes_total"
#define SENT   "argobus_events_sent_total"

static bool say(const char *what)
{
    fprintf(stderr, "argobus-bench: %s\n", what);
    return false;
}

/* --- catching up --- */

static const ab_bench_want changed = {.count = CHANGED, .revision = 2};
static const ab_bench_want deleted = {.first = CHANGED, .count = DELETED, .gone = true};

/* Change the first ones and delete the last, both at once. */
static bool change_all(ab_bench_api *api, const char *space, unsigned at_once)
{
    ab_bench_load load = {.api = api,
                          .namespace = space,
                          .verb = AB_BENCH_CHANGE,
                          .count = CHANGED,
                          .number = 2,
                          .at_once = at_once};
    ab_bench_load gone = load;
    gone.verb = AB_BENCH_DELETE;
    gone.first = CHANGED;
    gone.count = DELETED;
    return ab_bench_load_run(&load, 1) && ab_bench_load_run(&gone, 1);
}

/* What the spoke alone takes for it: seconds; NAN when it failed. */
static double bare_seconds(ab_bench_lab *lab)
{
    if (!ab_bench_lab_bring_bare(lab, AB_BENCH_BYTES))
        return NAN;
    int64_t begun = ab_bench_now_ns();
    bool ok = change_all(&lab->spoke, AB_BENCH_BARE_SPACE, AB_BENCH_AT_ONCE);
    return ok ? (double)(ab_bench_now_ns() - begun) / 1e9 : NAN;
}

/* Another look, from nothing: the spoke is as it shall be. */
static bool is_right(ab_bench_lab *lab)
{
    ab_bench_view view;
    bool ok = ab_bench_view_open(&view, &lab->spoke, AB_BENCH_SPOKE_SPACE, ALL + 1) &&
              ab_bench_view_count(&view, &changed) == CHANGED &&
              ab_bench_view_count(&view, &deleted) == DELETED;
    ab_bench_view_close(&view);
    return ok ? ok : say("the spoke is not right");
}

static bool agent_returns(ab_bench_lab *lab, const ab_bench_view *view, ab_bench_row *row,
                          ab_bench_mark *grown)
{
    ab_bench_mark before;
    bool ok = ab_bench_lab_mark(lab, &before) && ab_bench_site_start(&lab->site, 0) &&
              ab_bench_view_wait(view, &changed, AB_BENCH_WAIT_MS) &&
              ab_bench_view_wait(view, &deleted, AB_BENCH_WAIT_MS) &&
              ab_bench_daemon_settle(&lab->site.agent[0], WRITES, ALL) &&
              ab_bench_lab_since(lab, &before, grown) && is_right(lab);
    ab_bench_times t = ab_bench_view_times(view, ALL, before.at_ns);
    row->value = t.seconds;
    row->p50_ms = t.p50_ms;
    row->p99_ms = t.p99_ms;
    return ok;
}

static bool catch_up(ab_bench_lab *lab, ab_bench_row *row, ab_bench_mark *grown)
{
    ab_bench_view view = {0};
    bool ok = ab_bench_lab_start(lab) && ab_bench_lab_bring(lab, AB_BENCH_BYTES) &&
              ab_bench_site_stop(&lab->site, 0, NULL) &&
              change_all(&lab->hub, AB_BENCH_HUB_SPACE, AB_BENCH_AT_ONCE) &&
              ab_bench_daemon_settle(&lab->site.principal, SENT, 0) &&
              ab_bench_view_open(&view, &lab->spoke, AB_BENCH_SPOKE_SPACE, ALL + 1) &&
              agent_returns(lab, &view, row, grown);
    ab_bench_view_close(&view);
    return ok;
}

bool ab_bench_kube_catch_up(const ab_bench_options *o)
{
    static ab_bench_lab lab;
    ab_bench_row row = ab_bench_row_new("kube.catch-up");
    ab_bench_mark grown;
    row.unit = "s";
    bool ok = ab_bench_lab_open(&lab, o, ALL, NULL);
    row.limit = ok ? bare_seconds(&lab) : NAN;
    ok = ok && !isnan(row.limit) && catch_up(&lab, &row, &grown);
    if (ok) {
        ab_bench_report(o->format, &row);
        ab_bench_lab_report(&lab, "kube.catch-up.writes", "writes", grown.spoke.writes, ALL);
        ab_bench_lab_report(&lab, "kube.catch-up.reads", "requests",
                            grown.spoke.reads + grown.spoke.lists, NAN);
        ab_bench_lab_report_cost(&lab, "kube.catch-up", &grown);
    }
    ab_bench_lab_close(&lab, ok);
    return ok;
}

/* --- a principal that starts again --- */

static bool restart(ab_bench_lab *lab, ab_bench_mark *grown)
{
    const ab_bench_daemon *principal = &lab->site.principal;
    ab_bench_mark before;
    if (!ab_bench_site_stop(&lab->site, AB_BENCH_PRINCIPAL, NULL) ||
        !ab_bench_lab_mark(lab, &before) || !ab_bench_site_start(&lab->site, AB_BENCH_PRINCIPAL))
        return false;
    if (!ab_bench_daemon_settle(principal, SENT, 0))
        return false;
    ab_bench_pause(RESTART_WINDOW_MS);
    return ab_bench_daemon_settle(principal, SENT, 0) && ab_bench_lab_since(lab, &before, grown);
}

static void report_restart(const ab_bench_lab *lab, const ab_bench_mark *grown)
{
    const ab_bench_daemon *principal = &lab->site.principal;
    ab_bench_lab_report(lab, "kube.restart.writes", "writes",
                        grown->hub.writes + grown->spoke.writes, NAN);
    ab_bench_lab_report(lab, "kube.restart.events", "events",
                        ab_bench_daemon_metric(principal, SENT), NAN);
    ab_bench_lab_report(lab, "kube.restart.hub-reads", "requests",
                        grown->hub.reads + grown->hub.lists, NAN);
    ab_bench_lab_report_cost(lab, "kube.restart", grown);
}

bool ab_bench_kube_restart(const ab_bench_options *o)
{
    static ab_bench_lab lab;
    ab_bench_mark grown;
    bool ok = ab_bench_lab_open(&lab, o, RESTART_APPLICATIONS, NULL) && ab_bench_lab_start(&lab) &&
              ab_bench_lab_bring(&lab, AB_BENCH_BYTES) && restart(&lab, &grown);
    if (ok)
        report_restart(&lab, &grown);
    ab_bench_lab_close(&lab, ok);
    return ok;
}
