/* SPDX-License-Identifier: Apache-2.0
 *
 * What a call to an agent's API through the principal takes, and what the same call to the API
 * server itself does: one at a time, many at once, and one with a large answer. All agents ask the
 * same API server and the same redis. Over Kafka the calls are sealed, as they are by default.
 */
#include "tests/bench/live/live.h"

#include "base/core/buf.h"
#include "tests/bench/live/live_case.h"
#include "tests/bench/live/live_logs.h"
#include "tests/bench/live/live_pods.h"
#include "tests/bench/live/live_redis.h"
#include "tests/bench/live/live_terminal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AGENTS    AB_BENCH_LIVE_AGENTS
#define SAMPLES   AB_BENCH_LIVE_SAMPLES
#define WARM_UP   AB_BENCH_LIVE_WARM_UP
#define RATE      2000 /* calls of a round */
#define ROUNDS    5
#define YOUNG     20 /* rounds in which a new broker compiles itself: half of its CPU time */
#define AT_ONCE   64
#define SMALL     AB_BENCH_LIVE_SMALL
#define LARGE     1000000
#define LARGES    64
#define SPACE     AB_BENCH_LIVE_SPACE
#define ONE       SPACE "/configmaps/one"
#define ALL       SPACE "/configmaps?labelSelector=size%3Dlarge"
#define WAIT_MS   60000
#define TOKEN     "argobus-bench-token"
#define PRINCIPAL (-1)

typedef ab_bench_live_case live_case;

static bool say(const char *what)
{
    fprintf(stderr, "argobus-bench: %s\n", what);
    return false;
}

/* ----- what is asked for ----- */

static bool put(const ab_bench_live_at *at, const char *path, const char *body)
{
    ab_bench_live_calls c = {
        .at = at, .method = "POST", .path = path, .body = body, .count = 1, .at_once = 1};
    return ab_bench_live_run(&c);
}

static bool put_map(const ab_bench_live_at *at, const char *name, const char *size, size_t bytes)
{
    ab_buf body;
    ab_buf_init(&body, bytes + 1024);
    ab_buf_printf(&body,
                  "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
                  "\"%s\",\"labels\":{\"size\":\"%s\"}},\"data\":{\"x\":\"",
                  name, size);
    char *value = ab_buf_extend(&body, bytes);
    if (value != NULL)
        memset(value, 'x', bytes);
    ab_buf_puts(&body, "\"}}");
    ab_buf_putc(&body, '\0');
    bool ok = ab_buf_status(&body) == AB_ERR_OK && put(at, SPACE "/configmaps", body.ptr);
    ab_buf_fini(&body);
    return ok;
}

static bool have_space(const ab_bench_live_at *at)
{
    ab_bench_live_calls c = {.at = at, .method = "GET", .path = SPACE, .count = 1, .at_once = 1};
    return ab_bench_live_run(&c);
}

/* They stay: a later run finds them. */
static bool bring(const live_case *c)
{
    char name[32];
    if (have_space(&c->bare))
        return true;
    bool ok = put(&c->bare, "/api/v1/namespaces",
                  "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                  "\"argobus-bench-live\"}}") &&
              put_map(&c->bare, "one", "small", SMALL);
    for (int i = 0; i < LARGES && ok; i++) {
        (void)snprintf(name, sizeof(name), "large-%d", i);
        ok = put_map(&c->bare, name, "large", LARGE);
    }
    return ok;
}

/* ----- who is asked ----- */

static bool write_tokens(live_case *c, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/tokens", c->certs.folder);
    FILE *f = fopen(path, "we");
    if (f == NULL)
        return say("cannot write tokens");
    (void)fprintf(f, TOKEN " *\n");
    return fclose(f) == 0;
}

static bool open_site(live_case *c)
{
    const ab_bench_clusters clusters = {.hub = c->o->hub, .spoke = c->o->spoke};
    static char tokens[PATH_MAX];
    if (!ab_bench_certs_open(&c->certs, AGENTS) || !write_tokens(c, tokens))
        return false;
    const ab_bench_site_live live = {
        .certs = c->certs.folder,
        .tokens = tokens,
        .port = ab_bench_free_port(),
        .proxy = ab_bench_free_port(),
        .redis = ab_bench_free_port(),
    };
    ab_bench_grpc_at grpc = {.certs = c->certs.folder, .port = ab_bench_free_port()};
    bool is_grpc = strcmp(c->transport, "grpc") == 0;
    (void)snprintf(c->through.url, sizeof(c->through.url), "https://localhost:%d", live.port);
    (void)snprintf(c->through.ca, sizeof(c->through.ca), "%s/ca.crt", c->certs.folder);
    (void)snprintf(c->through.token, sizeof(c->through.token), TOKEN);
    c->through.agents = AGENTS;
    return ab_bench_site_open_live(&c->site, c->o, AGENTS, &clusters, is_grpc ? &grpc : NULL,
                                   &live);
}

static bool start_all(live_case *c)
{
    bool ok = ab_bench_live_redis_start(c, c->site.live.redis) &&
              ab_bench_site_start(&c->site, PRINCIPAL);
    for (int i = 0; i < AGENTS && ok; i++)
        ok = ab_bench_site_start(&c->site, i);
    return ok;
}

/* Every agent answers. */
static bool wait_all(const live_case *c)
{
    int64_t end = ab_bench_now_ns() + WAIT_MS * 1000000LL;
    ab_bench_live_calls calls = {
        .at = &c->through, .method = "GET", .path = ONE, .count = AGENTS, .at_once = 1};
    while (!ab_bench_live_run(&calls)) {
        if (ab_bench_now_ns() > end)
            return say("not every agent answers");
        ab_bench_pause(500);
    }
    return true;
}

/* ----- figures ----- */

ab_bench_row ab_bench_live_row(const ab_bench_live_case *c, const char *name, const char *unit,
                               double value, double limit)
{
    ab_bench_row row = ab_bench_row_new("%s.%s", name, c->transport);
    row.unit = unit;
    row.value = value;
    row.limit = limit;
    return row;
}

void ab_bench_live_report(const ab_bench_live_case *c, const char *name, ab_bench_live_times *ours,
                          ab_bench_live_times *bare)
{
    char added[64];
    double p50 = ab_bench_quantile(ours->ms + WARM_UP, SAMPLES, 0.5);
    double p99 = ab_bench_quantile(ours->ms + WARM_UP, SAMPLES, 0.99);
    double bare50 = ab_bench_quantile(bare->ms + WARM_UP, SAMPLES, 0.5);
    double bare99 = ab_bench_quantile(bare->ms + WARM_UP, SAMPLES, 0.99);
    ab_bench_row row = ab_bench_live_row(c, name, "ms", p50, bare50);
    row.p50_ms = p50;
    row.p99_ms = p99;
    ab_bench_report(c->o->format, &row);
    (void)snprintf(added, sizeof(added), "%s.added", name);
    row = ab_bench_live_row(c, added, "ms", p50 - bare50, NAN);
    row.p50_ms = p50 - bare50;
    row.p99_ms = p99 - bare99;
    ab_bench_report(c->o->format, &row);
}

static bool time_one(const ab_bench_live_at *at, ab_bench_live_times *out)
{
    ab_bench_live_calls calls = {.at = at,
                                 .method = "GET",
                                 .path = ONE,
                                 .count = WARM_UP + SAMPLES,
                                 .at_once = 1,
                                 .ms = out->ms};
    return ab_bench_live_run(&calls);
}

static bool get_one(const live_case *c)
{
    static ab_bench_live_times bare, ours;
    ab_bench_live_at first = c->through;
    first.agents = 1;
    if (!time_one(&c->bare, &bare) || !time_one(&first, &ours))
        return false;
    ab_bench_live_report(c, "live.get", &ours, &bare);
    return true;
}

/* In turns, since the speed of a shared machine changes from minute to minute. */
static bool take_turns(ab_bench_live_calls *bare, ab_bench_live_calls *through, int rounds)
{
    double bare_s = 0, through_s = 0;
    for (int i = 0; i < rounds; i++) {
        if (!ab_bench_live_run(bare) || !ab_bench_live_run(through))
            return false;
        bare_s += bare->seconds;
        through_s += through->seconds;
    }
    bare->seconds = bare_s;
    through->seconds = through_s;
    return true;
}

static bool get_many(live_case *c)
{
    ab_bench_live_calls bare = {
        .at = &c->bare, .method = "GET", .path = ONE, .count = RATE, .at_once = AT_ONCE};
    ab_bench_live_calls through = bare;
    through.at = &c->through;
    if (!take_turns(&bare, &through, YOUNG))
        return false;
    double cpu_s = ab_bench_cpu(c->site.principal.pid);
    if (!take_turns(&bare, &through, ROUNDS))
        return false;
    ab_bench_row row = ab_bench_live_row(c, "live.rate", "each/s", ROUNDS * RATE / through.seconds,
                                         ROUNDS * RATE / bare.seconds);
    row.cpu_s = ab_bench_cpu(c->site.principal.pid) - cpu_s;
    ab_bench_report(c->o->format, &row);
    return true;
}

static double added_mib(pid_t pid, double before_kib)
{
    return (ab_bench_memory(pid, "VmHWM") - before_kib) / 1024;
}

static bool list_all(live_case *c)
{
    pid_t hub = c->site.principal.pid, spoke = c->site.agent[0].pid;
    ab_bench_live_calls bare = {
        .at = &c->bare, .method = "GET", .path = ALL, .count = 1, .at_once = 1};
    ab_bench_live_at first = c->through;
    first.agents = 1;
    ab_bench_live_calls through = bare;
    through.at = &first;
    for (int i = 0; i < 2; i++) { /* the first one fills the API server's cache */
        if (!ab_bench_live_run(&bare))
            return false;
    }
    if (!ab_bench_memory_reset(hub) || !ab_bench_memory_reset(spoke))
        return say("cannot reset the peaks of memory");
    double hub_kib = ab_bench_memory(hub, "VmRSS"), spoke_kib = ab_bench_memory(spoke, "VmRSS");
    if (!ab_bench_live_run(&through))
        return false;
    ab_bench_row row =
        ab_bench_live_row(c, "live.list", "MB/s", (double)through.bytes / through.seconds / 1e6,
                          (double)bare.bytes / bare.seconds / 1e6);
    ab_bench_report(c->o->format, &row);
    row = ab_bench_live_row(c, "live.list.principal", "MiB", added_mib(hub, hub_kib), 16);
    ab_bench_report(c->o->format, &row);
    row = ab_bench_live_row(c, "live.list.agent", "MiB", added_mib(spoke, spoke_kib), 16);
    ab_bench_report(c->o->format, &row);
    return true;
}

static bool run(const ab_bench_options *o, const char *transport)
{
    static live_case c;
    static ab_bench_live_state state;
    ab_bench_cost unused;
    c = (live_case){.o = o, .transport = transport};
    if (o->hub == NULL || o->spoke == NULL)
        return say("the cases live need --hub and --spoke");
    bool ok = ab_bench_live_at_cluster(&c.bare, o->spoke) && bring(&c) &&
              ab_bench_live_state_open(&state, o) && open_site(&c) && start_all(&c) &&
              wait_all(&c) && get_one(&c) && get_many(&c) && list_all(&c) &&
              ab_bench_live_redis(&c) && ab_bench_live_key(&c) &&
              ab_bench_live_logs(&c, &state, ALL);
    if (c.site.agents > 0)
        ab_bench_site_close(&c.site, !ok);
    ab_bench_live_state_close(&state);
    if (c.redis > 0)
        (void)ab_bench_end(c.redis, &unused);
    if (c.site.live.tokens != NULL)
        (void)unlink(c.site.live.tokens);
    ab_bench_certs_close(&c.certs);
    return ok;
}

bool ab_bench_live_kafka(const ab_bench_options *o)
{
    return run(o, "kafka");
}

bool ab_bench_live_grpc(const ab_bench_options *o)
{
    return run(o, "grpc");
}
