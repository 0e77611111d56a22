/* SPDX-License-Identifier: Apache-2.0
 *
 * kube.create and kube.status: many at once. The bare client and argobus take turns.
 */
#include "tests/bench/kube/kube.h"
#include "tests/bench/kube/kube_lab.h"

#include <math.h>

#define APPLICATIONS 1000
#define ROUNDS_MAX   99

/* One way, measured; by round. */
typedef struct {
    double seconds[ROUNDS_MAX];
    double p50_ms[ROUNDS_MAX];
    double p99_ms[ROUNDS_MAX];
    ab_bench_mark grown; /* in the last round */
} bulk;

typedef struct {
    ab_bench_lab lab;
    const char *name;
    ab_bench_verb verb; /* CREATE at the hub, or STATUS at the spoke */
    bulk bare;
    bulk whole;
} bulk_case;

static ab_bench_load load_at(const bulk_case *c, ab_bench_api *api, const char *space,
                             unsigned number)
{
    return (ab_bench_load){.api = api,
                           .namespace = space,
                           .verb = c->verb,
                           .count = APPLICATIONS,
                           .number = number,
                           .bytes = AB_BENCH_BYTES,
                           .at_once = AB_BENCH_AT_ONCE};
}

static ab_bench_want want_of(const bulk_case *c, unsigned number)
{
    return c->verb == AB_BENCH_STATUS ? (ab_bench_want){.count = APPLICATIONS, .status = number}
                                      : (ab_bench_want){.count = APPLICATIONS, .revision = number};
}

static void take_times(bulk *b, unsigned round, const ab_bench_view *view, int64_t begun_ns)
{
    ab_bench_times t = ab_bench_view_times(view, APPLICATIONS, begun_ns);
    b->seconds[round] = t.seconds;
    b->p50_ms[round] = t.p50_ms;
    b->p99_ms[round] = t.p99_ms;
}

/* Of both sides of the bare client the later one counts. */
static void take_later(bulk *b, unsigned round, const ab_bench_view views[2], int64_t begun_ns)
{
    take_times(b, round, &views[0], begun_ns);
    double first = b->seconds[round];
    take_times(b, round, &views[1], begun_ns);
    if (first > b->seconds[round])
        take_times(b, round, &views[0], begun_ns);
}

static bool run_bare(bulk_case *c, unsigned round, ab_bench_view views[2])
{
    ab_bench_lab *lab = &c->lab;
    unsigned number = round + 1;
    ab_bench_want want = want_of(c, number);
    ab_bench_load loads[2] = {load_at(c, &lab->hub, AB_BENCH_BARE_SPACE, number),
                              load_at(c, &lab->spoke, AB_BENCH_BARE_SPACE, number)};
    ab_bench_mark before;
    bool ok = ab_bench_view_open(&views[0], &lab->hub, AB_BENCH_BARE_SPACE, APPLICATIONS) &&
              ab_bench_view_open(&views[1], &lab->spoke, AB_BENCH_BARE_SPACE, APPLICATIONS) &&
              ab_bench_lab_mark(lab, &before) && ab_bench_load_run(loads, 2) &&
              ab_bench_view_wait(&views[0], &want, AB_BENCH_WAIT_MS) &&
              ab_bench_view_wait(&views[1], &want, AB_BENCH_WAIT_MS) &&
              ab_bench_lab_since(lab, &before, &c->bare.grown);
    if (ok)
        take_later(&c->bare, round, views, before.at_ns);
    return ok;
}

static bool measure_bare(bulk_case *c, unsigned round)
{
    ab_bench_view views[2] = {{0}, {0}};
    bool ok = run_bare(c, round, views);
    ab_bench_view_close(&views[0]);
    ab_bench_view_close(&views[1]);
    if (!ok || c->verb == AB_BENCH_STATUS)
        return ok;
    return ab_bench_api_empty(&c->lab.hub, AB_BENCH_BARE_SPACE) &&
           ab_bench_api_empty(&c->lab.spoke, AB_BENCH_BARE_SPACE);
}

/* For the next round nothing may be left, at either side. */
static bool delete_all(bulk_case *c, const ab_bench_view *spoke)
{
    const ab_bench_want gone = {.count = APPLICATIONS, .gone = true};
    ab_bench_load load = load_at(c, &c->lab.hub, AB_BENCH_HUB_SPACE, 0);
    load.verb = AB_BENCH_DELETE;
    return ab_bench_load_run(&load, 1) && ab_bench_view_wait(spoke, &gone, AB_BENCH_WAIT_MS);
}

static bool measure_whole(bulk_case *c, unsigned round)
{
    ab_bench_lab *lab = &c->lab;
    unsigned number = round + 1;
    bool up = c->verb == AB_BENCH_STATUS;
    ab_bench_api *far = up ? &lab->hub : &lab->spoke;
    ab_bench_want want = want_of(c, number);
    ab_bench_load load = up ? load_at(c, &lab->spoke, AB_BENCH_SPOKE_SPACE, number)
                            : load_at(c, &lab->hub, AB_BENCH_HUB_SPACE, number);
    ab_bench_view view;
    ab_bench_mark before;
    bool ok = ab_bench_view_open(&view, far, up ? AB_BENCH_HUB_SPACE : AB_BENCH_SPOKE_SPACE,
                                 APPLICATIONS + 1) &&
              ab_bench_lab_mark(lab, &before) && ab_bench_load_run(&load, 1) &&
              ab_bench_view_wait(&view, &want, AB_BENCH_WAIT_MS) &&
              ab_bench_daemon_settle(&lab->site.principal, "argobus_store_writes_total", 0) &&
              ab_bench_lab_since(lab, &before, &c->whole.grown);
    if (ok)
        take_times(&c->whole, round, &view, before.at_ns);
    ok = ok && (up || delete_all(c, &view));
    ab_bench_view_close(&view);
    return ok;
}

static void report_line(const bulk_case *c, const char *suffix, const char *unit, double value,
                        double limit)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "%s.%s", c->name, suffix);
    ab_bench_lab_report(&c->lab, name, unit, value, limit);
}

static void report(bulk_case *c)
{
    char bare[64];
    unsigned rounds = c->lab.o->rounds;
    bool up = c->verb == AB_BENCH_STATUS;
    ab_bench_row row = ab_bench_row_new("%s", c->name);
    row.unit = "s";
    row.value = ab_bench_quantile(c->whole.seconds, rounds, 0.5);
    row.limit = ab_bench_quantile(c->bare.seconds, rounds, 0.5);
    row.p50_ms = ab_bench_quantile(c->whole.p50_ms, rounds, 0.5);
    row.p99_ms = ab_bench_quantile(c->whole.p99_ms, rounds, 0.5);
    ab_bench_report(c->lab.o->format, &row);
    const ab_bench_mark *grown = &c->whole.grown;
    report_line(c, "hub-writes", "writes", grown->hub.writes - (up ? 0 : APPLICATIONS),
                up ? APPLICATIONS : NAN);
    report_line(c, "spoke-writes", "writes", grown->spoke.writes - (up ? APPLICATIONS : 0),
                up ? NAN : APPLICATIONS);
    report_line(c, "hub-reads", "requests", grown->hub.reads + grown->hub.lists, NAN);
    report_line(c, "spoke-reads", "requests", grown->spoke.reads + grown->spoke.lists, NAN);
    (void)snprintf(bare, sizeof(bare), "%s.bare", c->name);
    ab_bench_lab_report_cost(&c->lab, c->name, grown);
    ab_bench_lab_report_servers(&c->lab, bare, &c->bare.grown);
}

static bool run_rounds(bulk_case *c)
{
    bool ok = true;
    for (unsigned round = 0; round < c->lab.o->rounds && ok; round++)
        ok = measure_bare(c, round) && ab_bench_lab_start(&c->lab) && measure_whole(c, round) &&
             (round + 1 == c->lab.o->rounds || ab_bench_lab_stop(&c->lab));
    return ok;
}

bool ab_bench_kube_create(const ab_bench_options *o)
{
    static bulk_case c;
    c = (bulk_case){.name = "kube.create", .verb = AB_BENCH_CREATE};
    bool ok = ab_bench_lab_open(&c.lab, o, APPLICATIONS, NULL) && run_rounds(&c);
    if (ok)
        report(&c);
    ab_bench_lab_close(&c.lab, ok);
    return ok;
}

bool ab_bench_kube_status(const ab_bench_options *o)
{
    static bulk_case c;
    c = (bulk_case){.name = "kube.status", .verb = AB_BENCH_STATUS};
    bool ok = ab_bench_lab_open(&c.lab, o, APPLICATIONS, NULL) &&
              ab_bench_lab_bring_bare(&c.lab, AB_BENCH_BYTES) && ab_bench_lab_start(&c.lab) &&
              ab_bench_lab_bring(&c.lab, AB_BENCH_BYTES) && ab_bench_lab_stop(&c.lab) &&
              run_rounds(&c);
    if (ok)
        report(&c);
    ab_bench_lab_close(&c.lab, ok);
    return ok;
}
