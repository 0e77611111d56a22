/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/kube/kube_fleet.h"

#include <stdio.h>

#define PRINCIPAL (-1)
#define AT_ONCE   16 /* writers */

#define WRITES "argobus_store_writes_total"

static bool say(const char *what)
{
    fprintf(stderr, "argobus-bench: %s\n", what);
    return false;
}

static bool empty_all(ab_bench_fleet *f)
{
    bool ok = true;
    for (unsigned i = 0; i < f->site.agents && ok; i++)
        ok = ab_bench_api_empty(&f->hub, f->site.agent[i].name);
    return ok;
}

bool ab_bench_fleet_open(ab_bench_fleet *f, const ab_bench_options *o, unsigned agents)
{
    const ab_bench_clusters clusters = {.hub = o->hub};
    *f = (ab_bench_fleet){0};
    if (o->hub == NULL)
        return say("a fleet needs --hub");
    if (uv_loop_init(&f->loop) != 0)
        return say("out of memory");
    f->opened = true;
    return ab_bench_site_open(&f->site, o, agents, &clusters) &&
           ab_bench_api_open(&f->hub, &f->loop, "hub", o->hub) && empty_all(f);
}

void ab_bench_fleet_close(ab_bench_fleet *f, bool ok)
{
    if (!f->opened)
        return;
    if (f->site.agents > 0)
        ab_bench_site_close(&f->site, !ok);
    if (ok)
        (void)empty_all(f);
    ab_bench_api_close(&f->hub);
    (void)uv_run(&f->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&f->loop);
}

bool ab_bench_fleet_start(ab_bench_fleet *f)
{
    bool ok = true;
    for (int i = PRINCIPAL; i < (int)f->site.agents && ok; i++)
        ok = ab_bench_site_start(&f->site, i);
    for (unsigned i = 0; i < f->site.agents && ok; i++)
        ok = ab_bench_daemon_settle(&f->site.agent[i], WRITES, 0);
    return ok;
}

bool ab_bench_fleet_bring(ab_bench_fleet *f, size_t each, size_t bytes)
{
    bool ok = true;
    for (unsigned i = 0; i < f->site.agents && ok; i++) {
        ab_bench_load load = {.api = &f->hub,
                              .namespace = f->site.agent[i].name,
                              .count = each,
                              .number = 1,
                              .bytes = bytes,
                              .at_once = AT_ONCE};
        ok = ab_bench_load_run(&load, 1);
    }
    for (unsigned i = 0; i < f->site.agents && ok; i++)
        ok = ab_bench_daemon_settle(&f->site.agent[i], WRITES, (double)each);
    return ok;
}
