/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/sync/resync.h"

#include "tests/bench/base/expiry.h"
#include "tests/bench/base/rounds.h"
#include "tests/bench/base/steps.h"
#include "tests/bench/base/wire.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PRINCIPAL    (-1)
#define APPLICATIONS 5000
#define CHANGED      2000
#define CHANGES      10
#define DELETED      10
#define BYTES        (3 * 1024)
#define WAIT_MS      120000
#define LOOK_MS      5

#define WRITES "argobus_store_writes_total"
#define SENT   "argobus_events_sent_total"
#define LAG    "argobus_offset_lag"
#define UNDONE "argobus_unacknowledged"

static bool say(const char *what)
{
    fprintf(stderr, "argobus-bench: %s: %s\n", what, strerror(errno));
    return false;
}

static void report(const ab_bench_options *o, const char *name, const char *unit, double value,
                   double limit)
{
    ab_bench_row row = ab_bench_row_new("%s", name);
    row.unit = unit;
    row.value = value;
    row.limit = limit;
    ab_bench_report(o->format, &row);
}

/* Principal and agent run, and the agent has so many Applications. */
static bool bring(ab_bench_site *s, size_t count)
{
    char hub[PATH_MAX];
    const ab_bench_files files = {.count = count, .revision = 1, .bytes = BYTES};
    ab_bench_site_hub(s, 0, hub);
    if (!ab_bench_files_put(hub, &files))
        return say("cannot write Applications");
    return ab_bench_site_start(s, PRINCIPAL) && ab_bench_site_start(s, 0) &&
           ab_bench_files_wait(s->agent[0].manifests, &files, WAIT_MS) &&
           ab_bench_daemon_settle(&s->agent[0], WRITES, (double)count);
}

/* --- an agent that was away --- */

static const ab_bench_files changed = {.count = CHANGED, .revision = 1 + CHANGES, .bytes = BYTES};
static const ab_bench_files deleted = {.first = APPLICATIONS, .count = DELETED};

/* Each change is sent before the next one is made. */
static bool change_all(const ab_bench_site *s, const char *hub)
{
    double sent = ab_bench_daemon_metric(&s->principal, SENT);
    ab_bench_files files = changed;
    for (unsigned i = 1; i <= CHANGES; i++) {
        files.revision = 1 + i;
        if (!ab_bench_files_put(hub, &files))
            return say("cannot write Applications");
        if (!ab_bench_daemon_settle(&s->principal, SENT, sent + i * CHANGED))
            return false;
    }
    if (!ab_bench_files_remove(hub, &deleted))
        return say("cannot delete Applications");
    return ab_bench_daemon_settle(&s->principal, SENT, sent + CHANGES * CHANGED + DELETED);
}

static bool pass_a_day(const ab_bench_site *s)
{
    char topic[128], group[128];
    const char *prefix = strrchr(s->root, '/') + 1;
    (void)snprintf(topic, sizeof(topic), "%s.down.w0.state", prefix);
    (void)snprintf(group, sizeof(group), "%s.agent.w0", prefix);
    const ab_bench_expiry e = {
        .broker = s->o->broker, .topic = topic, .group = group, .left = APPLICATIONS};
    return ab_bench_expire(&e);
}

static bool wait_deleted(const char *folder)
{
    char last[PATH_MAX + 32];
    int64_t end = ab_bench_now_ns() + WAIT_MS * 1000000LL;
    for (size_t i = deleted.first; i < deleted.first + deleted.count; i++) {
        (void)snprintf(last, sizeof(last), "%s/app-%zu.yaml", folder, i);
        while (access(last, F_OK) == 0) {
            if (ab_bench_now_ns() > end) {
                fprintf(stderr, "argobus-bench: %s is still there\n", last);
                return false;
            }
            ab_bench_pause(LOOK_MS);
        }
    }
    return true;
}

static void report_return(const ab_bench_site *s, const ab_bench_watch *watch, int64_t begun_ns,
                          int64_t ended_ns)
{
    static double ms[CHANGED];
    for (size_t i = 0; i < CHANGED; i++)
        ms[i] = (double)(watch->at_ns[i] - begun_ns) / 1e6;
    ab_bench_row row = ab_bench_row_new("resync.absence");
    row.unit = "s";
    row.value = (double)(ended_ns - begun_ns) / 1e9;
    row.limit = ab_bench_site_plain_writes(s, &changed);
    row.p50_ms = ab_bench_quantile(ms, CHANGED, 0.5);
    row.p99_ms = ab_bench_quantile(ms, CHANGED, 0.99);
    ab_bench_report(s->o->format, &row);
}

static bool agent_returns(ab_bench_site *s, ab_bench_watch *watch)
{
    const ab_bench_daemon *agent = &s->agent[0];
    int64_t begun = ab_bench_now_ns();
    if (!ab_bench_site_start(s, 0) || !ab_bench_watch_wait(watch, CHANGED, WAIT_MS) ||
        !wait_deleted(agent->manifests))
        return false;
    int64_t ended = ab_bench_now_ns();
    if (!ab_bench_daemon_settle(agent, WRITES, CHANGED + DELETED))
        return false;
    report_return(s, watch, begun, ended);
    report(s->o, "resync.absence.writes", "writes", ab_bench_daemon_metric(agent, WRITES),
           CHANGED + DELETED);
    return ab_bench_files_count(agent->manifests, &changed) == CHANGED;
}

static bool return_and_report(ab_bench_site *s)
{
    ab_bench_watch watch;
    ab_bench_cost cost;
    if (!ab_bench_watch_open(&watch, s->agent[0].manifests, CHANGED))
        return say("cannot watch the agent's Applications");
    bool ok = agent_returns(s, &watch);
    ab_bench_watch_close(&watch);
    if (!ok)
        fprintf(stderr, "argobus-bench: the agent does not become as the hub wants\n");
    if (ok && ab_bench_site_stop(s, 0, &cost))
        ab_bench_site_report_cost(s, "resync.absence.agent", &cost);
    return ok;
}

bool ab_bench_resync_absence(const ab_bench_options *o)
{
    static ab_bench_site s;
    char hub[PATH_MAX];
    bool ok = ab_bench_site_open(&s, o, 1, NULL);
    ab_bench_site_hub(&s, 0, hub);
    ok = ok && bring(&s, APPLICATIONS + DELETED) && ab_bench_site_stop(&s, 0, NULL) &&
         change_all(&s, hub) && pass_a_day(&s) && return_and_report(&s);
    ab_bench_site_close(&s, !ok);
    return ok;
}

/* --- nothing has changed --- */

/* All rounds. */
typedef struct {
    double ms[AB_BENCH_ROUNDS_MAX];
    double kib[AB_BENCH_ROUNDS_MAX];
    double writes;
} figures;

static uint16_t broker_port(const ab_bench_options *o)
{
    const char *colon = strrchr(o->broker, ':');
    return colon == NULL ? 0 : (uint16_t)strtoul(colon + 1, NULL, 10);
}

static bool resync_once(ab_bench_site *s, double *ms, double *kib)
{
    ab_bench_steps steps;
    double before = 0, after = 0;
    if (!ab_bench_wire_bytes(broker_port(s->o), &before) || !ab_bench_steps_open(&steps, s))
        return say("cannot measure");
    int64_t begun = ab_bench_now_ns();
    bool ok = ab_bench_site_resync(s, 0) && ab_bench_steps_wait(&steps, WAIT_MS);
    *ms = (double)(ab_bench_now_ns() - begun) / 1e6;
    ab_bench_steps_close(&steps);
    if (ok && !ab_bench_wire_bytes(broker_port(s->o), &after))
        return say("cannot measure");
    *kib = (after - before) / 1024;
    return ok;
}

static double writes_of(const ab_bench_site *s)
{
    return ab_bench_daemon_metric(&s->principal, WRITES) +
           ab_bench_daemon_metric(&s->agent[0], WRITES);
}

/* The agent's statuses have come to the hub, and nothing more happens. */
static bool report_statuses(const ab_bench_site *s)
{
    const ab_bench_files files = {.count = APPLICATIONS};
    if (!ab_bench_files_report(s->agent[0].manifests, &files))
        return say("cannot write statuses");
    return ab_bench_daemon_settle(&s->agent[0], SENT, APPLICATIONS) &&
           ab_bench_daemon_settle(&s->principal, WRITES, APPLICATIONS) &&
           ab_bench_daemon_rest(&s->principal, LAG) && ab_bench_daemon_rest(&s->principal, UNDONE);
}

static bool measure_unchanged(ab_bench_site *s, figures *f)
{
    bool ok = true;
    double before = writes_of(s);
    for (unsigned i = 0; i < s->o->rounds && ok; i++)
        ok = resync_once(s, &f->ms[i], &f->kib[i]);
    f->writes = writes_of(s) - before;
    return ok;
}

static void report_unchanged(const ab_bench_site *s, const figures *f)
{
    report(s->o, "resync.unchanged", "ms", ab_bench_median(f->ms, s->o->rounds), NAN);
    report(s->o, "resync.unchanged.wire", "KiB", ab_bench_median(f->kib, s->o->rounds), NAN);
    report(s->o, "resync.unchanged.writes", "writes", f->writes, NAN);
}

bool ab_bench_resync_unchanged(const ab_bench_options *o)
{
    static ab_bench_site s;
    static figures f;
    bool ok = ab_bench_site_open(&s, o, 1, NULL) && bring(&s, APPLICATIONS) &&
              report_statuses(&s) && measure_unchanged(&s, &f);
    if (ok)
        report_unchanged(&s, &f);
    ab_bench_site_close(&s, !ok);
    return ok;
}

bool ab_bench_resync(const ab_bench_options *o)
{
    bool ok = ab_bench_resync_absence(o);
    ok = ab_bench_resync_unchanged(o) && ok;
    return o->hub == NULL ? ok : ab_bench_resync_fleet(o) && ok;
}
