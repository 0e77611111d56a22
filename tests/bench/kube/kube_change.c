/* SPDX-License-Identifier: Apache-2.0
 *
 * kube.change: one at a time, down and up. The limit is a client that writes at the one server,
 * sees it there, writes at the other, and sees it there: what the way takes when nothing is in
 * between.
 */
#include "tests/bench/kube/kube.h"
#include "tests/bench/kube/kube_lab.h"

#include <math.h>

#define SAMPLES  200
#define REQUESTS "argobus_kubernetes_requests_total"

/* A place and our eyes on it. */
typedef struct {
    ab_bench_api *api;
    const char *space;
    ab_bench_view view;
} place;

static bool open_place(place *p, ab_bench_api *api, const char *space)
{
    *p = (place){.api = api, .space = space};
    return ab_bench_view_open(&p->view, api, space, SAMPLES + 1);
}

static bool write_one(const place *at, const place *seen_at, ab_bench_verb verb, size_t i)
{
    ab_bench_load load = {.api = at->api,
                          .namespace = at->space,
                          .verb = verb,
                          .first = i,
                          .count = 1,
                          .number = 1,
                          .bytes = AB_BENCH_BYTES,
                          .at_once = 1};
    ab_bench_want want = {.first = i, .count = 1, .revision = 1};
    want.status = verb == AB_BENCH_STATUS ? 1 : 0;
    return ab_bench_load_run(&load, 1) &&
           ab_bench_view_wait(&seen_at->view, &want, AB_BENCH_WAIT_MS);
}

/* From the write at `from` until it shows at `to`; the bare client carries it there itself. */
static bool time_all(const place *from, const place *to, ab_bench_verb verb, bool bare,
                     double ms[SAMPLES])
{
    for (size_t i = 0; i < SAMPLES; i++) {
        int64_t begun = ab_bench_now_ns();
        if (bare && (!write_one(from, from, verb, i) || !write_one(to, to, verb, i)))
            return false;
        if (!bare && !write_one(from, to, verb, i))
            return false;
        ms[i] = (double)(to->view.apps[i].at_ns - begun) / 1e6;
    }
    return true;
}

static void report(const ab_bench_lab *lab, const char *name, double ms[SAMPLES],
                   double bare_ms[SAMPLES])
{
    ab_bench_row row = ab_bench_row_new("%s", name);
    row.unit = "ms";
    row.value = row.p50_ms = ab_bench_quantile(ms, SAMPLES, 0.5);
    row.p99_ms = ab_bench_quantile(ms, SAMPLES, 0.99);
    row.limit = ab_bench_quantile(bare_ms, SAMPLES, 0.5);
    ab_bench_report(lab->o->format, &row);
    row = ab_bench_row_new("%s.bare", name);
    row.unit = "ms";
    row.value = row.p50_ms = ab_bench_quantile(bare_ms, SAMPLES, 0.5);
    row.p99_ms = ab_bench_quantile(bare_ms, SAMPLES, 0.99);
    ab_bench_report(lab->o->format, &row);
}

/* All requests of a daemon, as it counts them itself. */
static double requests_of(const ab_bench_daemon *d)
{
    return ab_bench_daemon_metric(d, REQUESTS);
}

typedef struct {
    ab_bench_lab lab;
    place bare_hub, bare_spoke, hub, spoke;
    double ms[SAMPLES];
    double bare_ms[SAMPLES];
} change_case;

static bool one_way(change_case *c, const char *name, bool up)
{
    ab_bench_lab *lab = &c->lab;
    ab_bench_verb verb = up ? AB_BENCH_STATUS : AB_BENCH_CREATE;
    ab_bench_mark before, grown;
    char row[64];
    const ab_bench_daemon *principal = &lab->site.principal;
    const ab_bench_daemon *agent = &lab->site.agent[0];
    double hub = requests_of(principal);
    double spoke = requests_of(agent);
    if (!ab_bench_lab_mark(lab, &before) ||
        !time_all(up ? &c->spoke : &c->hub, up ? &c->hub : &c->spoke, verb, false, c->ms) ||
        !ab_bench_daemon_settle(principal, REQUESTS, 0) ||
        !ab_bench_daemon_settle(agent, REQUESTS, 0) || !ab_bench_lab_since(lab, &before, &grown))
        return false;
    hub = requests_of(principal) - hub;
    spoke = requests_of(agent) - spoke;
    report(lab, name, c->ms, c->bare_ms);
    (void)snprintf(row, sizeof(row), "%s.hub-requests", name);
    ab_bench_lab_report(lab, row, "each", hub / SAMPLES, NAN);
    (void)snprintf(row, sizeof(row), "%s.spoke-requests", name);
    ab_bench_lab_report(lab, row, "each", spoke / SAMPLES, NAN);
    (void)snprintf(row, sizeof(row), "%s.lists", name);
    ab_bench_lab_report(lab, row, "lists", grown.hub.lists + grown.spoke.lists, NAN);
    return true;
}

static bool run(change_case *c)
{
    ab_bench_lab *lab = &c->lab;
    return open_place(&c->bare_hub, &lab->hub, AB_BENCH_BARE_SPACE) &&
           open_place(&c->bare_spoke, &lab->spoke, AB_BENCH_BARE_SPACE) &&
           open_place(&c->hub, &lab->hub, AB_BENCH_HUB_SPACE) &&
           open_place(&c->spoke, &lab->spoke, AB_BENCH_SPOKE_SPACE) &&
           time_all(&c->bare_hub, &c->bare_spoke, AB_BENCH_CREATE, true, c->bare_ms) &&
           ab_bench_lab_start(lab) && one_way(c, "kube.change.down", false) &&
           ab_bench_lab_stop(lab) &&
           time_all(&c->bare_spoke, &c->bare_hub, AB_BENCH_STATUS, true, c->bare_ms) &&
           ab_bench_lab_start(lab) && one_way(c, "kube.change.up", true);
}

static void close_places(change_case *c)
{
    ab_bench_view_close(&c->bare_hub.view);
    ab_bench_view_close(&c->bare_spoke.view);
    ab_bench_view_close(&c->hub.view);
    ab_bench_view_close(&c->spoke.view);
}

bool ab_bench_kube_change(const ab_bench_options *o)
{
    static change_case c;
    c = (change_case){0};
    bool ok = ab_bench_lab_open(&c.lab, o, SAMPLES, NULL) && run(&c);
    close_places(&c);
    ab_bench_lab_close(&c.lab, ok);
    return ok;
}
