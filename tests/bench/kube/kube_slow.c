/* SPDX-License-Identifier: Apache-2.0
 *
 * kube.slow: each answer of the hub comes 100 ms late, as from far away. A client that waits for
 * one answer before it sends the next makes ten writes a second there. The statuses were sent
 * before the principal starts, so that the spoke's API server costs nothing meanwhile.
 */
#include "tests/bench/base/delay_proxy.h"
#include "tests/bench/kube/kube.h"
#include "tests/bench/kube/kube_lab.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APPLICATIONS 1000
#define DELAY_MS     100
#define BARE_AT_ONCE 64
#define TEXT_MAX     (1024u * 1024)

#define SENT "argobus_events_sent_total"

static const char server[] = "server: https://127.0.0.1:";

typedef struct {
    ab_bench_lab lab;
    ab_bench_delay_proxy proxy;
    pid_t pid;
    char kubeconfig[PATH_MAX]; /* as the hub's, through the proxy; "" = not made */
    ab_bench_api far;          /* the hub through the proxy */
} slow_case;

static bool say(const char *what)
{
    fprintf(stderr, "argobus-bench: %s\n", what);
    return false;
}

static bool read_file(const char *path, ab_buf *out)
{
    char piece[4096];
    size_t n = 0;
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
        ab_buf_put(out, (ab_str){piece, n});
    bool ok = ferror(f) == 0 && out->len > 0 && ab_buf_status(out) == AB_ERR_OK;
    (void)fclose(f);
    return ok;
}

/* The same text with another port. */
static bool write_kubeconfig(slow_case *c, ab_str head, uint16_t port, const char *tail)
{
    int fd = ab_bench_temporary(c->kubeconfig) ? mkstemp(c->kubeconfig) : -1;
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (f == NULL)
        return false;
    fprintf(f, "%.*s%u%s", AB_STR_ARG(head), (unsigned)port, tail);
    return fclose(f) == 0;
}

/* The proxy is a fork of us, so it comes first: nothing is open that it could inherit. */
static bool start_proxy(slow_case *c, const char *hub)
{
    ab_buf text;
    uint16_t port = 0;
    ab_buf_init(&text, TEXT_MAX);
    bool ok = hub != NULL && read_file(hub, &text);
    char *at = ok ? strstr(text.ptr, server) : NULL;
    if (at != NULL) {
        char *tail = NULL;
        at += sizeof(server) - 1;
        c->proxy = (ab_bench_delay_proxy){.delay_ms = DELAY_MS};
        c->proxy.target = (uint16_t)strtoul(at, &tail, 10);
        c->pid = ab_bench_delay_proxy_start(&c->proxy, &port);
        ok = c->pid > 0 &&
             write_kubeconfig(c, (ab_str){text.ptr, (size_t)(at - text.ptr)}, port, tail);
    }
    ab_buf_wipe(&text);
    return ok && at != NULL ? true : say("the hub must be given, and be at https://127.0.0.1:PORT");
}

static ab_bench_load load_at(ab_bench_api *api, const char *space, unsigned at_once)
{
    return (ab_bench_load){.api = api,
                           .namespace = space,
                           .verb = AB_BENCH_STATUS,
                           .count = APPLICATIONS,
                           .number = 1,
                           .at_once = at_once};
}

/* Statuses a second that a bare client writes through the proxy: it must be able to do more. */
static double bare_rate(slow_case *c)
{
    ab_bench_load load = load_at(&c->far, AB_BENCH_BARE_SPACE, BARE_AT_ONCE);
    if (!ab_bench_lab_bring_bare(&c->lab, AB_BENCH_BYTES))
        return NAN;
    int64_t begun = ab_bench_now_ns();
    bool ok = ab_bench_load_run(&load, 1);
    return ok ? APPLICATIONS / ((double)(ab_bench_now_ns() - begun) / 1e9) : NAN;
}

/* The agent has them all safe at the broker while there is no principal. */
static bool send_statuses(slow_case *c)
{
    ab_bench_site *site = &c->lab.site;
    ab_bench_load load = load_at(&c->lab.spoke, AB_BENCH_SPOKE_SPACE, AB_BENCH_AT_ONCE);
    return ab_bench_site_stop(site, AB_BENCH_PRINCIPAL, NULL) && ab_bench_load_run(&load, 1) &&
           ab_bench_daemon_settle(&site->agent[0], SENT, APPLICATIONS);
}

static int64_t first_ns(const ab_bench_view *view)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < APPLICATIONS; i++)
        first = view->apps[i].at_ns < first ? view->apps[i].at_ns : first;
    return first;
}

static bool measure(slow_case *c, ab_bench_view *hub, ab_bench_mark *grown, double *rate)
{
    ab_bench_mark before;
    const ab_bench_want want = {.count = APPLICATIONS, .status = 1};
    bool ok = ab_bench_view_open(hub, &c->lab.hub, AB_BENCH_HUB_SPACE, APPLICATIONS + 1) &&
              ab_bench_lab_mark(&c->lab, &before) &&
              ab_bench_site_start(&c->lab.site, AB_BENCH_PRINCIPAL) &&
              ab_bench_view_wait(hub, &want, AB_BENCH_WAIT_MS) &&
              ab_bench_daemon_settle(&c->lab.site.principal, "argobus_store_writes_total", 0) &&
              ab_bench_lab_since(&c->lab, &before, grown);
    if (ok)
        *rate = APPLICATIONS / ab_bench_view_times(hub, APPLICATIONS, first_ns(hub)).seconds;
    return ok;
}

static bool run(slow_case *c, const ab_bench_options *o)
{
    ab_bench_view hub = {0};
    ab_bench_mark grown;
    if (!start_proxy(c, o->hub) || !ab_bench_lab_open(&c->lab, o, APPLICATIONS, c->kubeconfig) ||
        !ab_bench_api_open(&c->far, &c->lab.loop, "hub (late)", c->kubeconfig))
        return false;
    double rate = NAN;
    double limit = bare_rate(c);
    bool ok = !isnan(limit) && ab_bench_lab_start(&c->lab) &&
              ab_bench_lab_bring(&c->lab, AB_BENCH_BYTES) && send_statuses(c) &&
              measure(c, &hub, &grown, &rate);
    if (ok) {
        ab_bench_lab_report(&c->lab, "kube.slow", "statuses/s", rate, limit);
        ab_bench_lab_report(&c->lab, "kube.slow.hub-writes", "writes", grown.hub.writes,
                            APPLICATIONS);
        ab_bench_lab_report_cost(&c->lab, "kube.slow", &grown);
    }
    ab_bench_view_close(&hub);
    return ok;
}

bool ab_bench_kube_slow(const ab_bench_options *o)
{
    static slow_case c;
    ab_bench_cost unused;
    c = (slow_case){0};
    bool ok = run(&c, o);
    ab_bench_api_close(&c.far);
    ab_bench_lab_close(&c.lab, ok);
    if (c.pid > 0)
        (void)ab_bench_end(c.pid,
                           &unused); /* by a signal, which it does not take for an end in order */
    if (c.kubeconfig[0] != '\0')
        (void)unlink(c.kubeconfig);
    return ok;
}
