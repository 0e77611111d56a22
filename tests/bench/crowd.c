/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/crowd.h"

#include "schema/attributes.h"
#include "tests/bench/event.h"
#include "tests/bench/process.h"
#include "tests/bench/settings.h"
#include "transport/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES   (3 * 1024)
#define WAIT_NS (180 * 1000000000LL)
#define LOOK_MS 5

struct member;

typedef struct {
    const ab_bench_crowd *crowd;
    ab_role role;
    uv_loop_t loop;
    ab_log *log;
    ab_metrics *metrics;
    ab_bench_pool pool;
    struct member *members; /* a principal has one */
} world;

/* A transport. */
typedef struct member {
    world *world;
    char agent[16];
    ab_config *config;
    ab_transport *transport;
} member;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "crowd: %s: %s\n", what, why);
    (void)fflush(stderr);
    _exit(1);
}

/* --- the principal --- */

static void on_sent(void *arg, ab_err code, const ab_error *err)
{
    (void)arg;
    if (code != AB_ERR_OK)
        die("not sent", err->text);
}

static void on_ready(void *arg, const char *agent, uint64_t epoch)
{
    const member *m = arg;
    ab_event *event = NULL;
    ab_error err = {0};
    if (m->world->role == AB_ROLE_AGENT)
        return;
    size_t i = strtoul(agent + 1, NULL, 10);
    ab_err code = ab_bench_event(&m->world->pool, i, AB_SOURCE_PRINCIPAL, epoch, &event, &err);
    if (code == AB_ERR_OK)
        code = ab_transport_send(m->transport, agent, AB_LANE_STATE, event, 0, on_sent, NULL);
    if (code != AB_ERR_OK)
        die("cannot send", ab_err_text(code));
    ab_event_unref(event);
}

/* --- an agent --- */

static void on_event(void *arg, ab_delivery *delivery)
{
    const member *m = arg;
    ab_bench_crowd_track *track = m->world->crowd->track;
    ab_transport_ack(m->transport, delivery, AB_VERDICT_APPLIED);
    track->served_ns = ab_bench_now_ns();
    (void)__atomic_add_fetch(&track->served, 1, __ATOMIC_SEQ_CST);
}

/* --- both --- */

static void on_peer(void *arg, const char *agent, bool up, const ab_peer *peer)
{
    (void)arg;
    (void)agent;
    (void)up;
    (void)peer;
}

static void on_written(void *arg, const char *agent, ab_event *head)
{
    (void)arg;
    (void)agent;
    (void)head;
}

static void on_gap(void *arg, const char *agent, ab_gap gap)
{
    (void)arg;
    (void)agent;
    (void)gap;
}

static void on_agent(void *arg, const char *agent)
{
    (void)arg;
    (void)agent;
}

static void on_fatal(void *arg, const ab_error *err)
{
    (void)arg;
    die("fatal", err->text);
}

static ab_err make_member(world *w, member *m, ab_error *err)
{
    static ab_bench_settings settings;
    const char *agent = w->role == AB_ROLE_AGENT ? m->agent : NULL;
    settings.count = 0;
    ab_bench_set_grpc(&settings, w->crowd->certs, w->crowd->port, agent);
    ab_err code = ab_bench_settings_load(&settings, &m->config, err);
    const ab_transport_env env = {
        .loop = &w->loop,
        .config = m->config,
        .log = w->log,
        .metrics = w->metrics,
        .clock = &ab_clock_real,
        .role = w->role,
        .agent = agent,
        .mode = agent == NULL ? "" : "managed",
        .events = {on_event, on_peer, on_written, on_ready, on_gap, on_agent, on_agent, on_fatal,
                   m},
    };
    m->world = w;
    return code == AB_ERR_OK ? ab_transport_new(&env, &m->transport, err) : code;
}

static ab_err start_principal(world *w, ab_error *err)
{
    member *m = &w->members[0];
    ab_err code = make_member(w, m, err);
    for (unsigned i = 0; i < AB_BENCH_CROWD && code == AB_ERR_OK; i++) {
        char agent[16];
        (void)snprintf(agent, sizeof(agent), "w%u", i);
        code = ab_transport_add_agent(m->transport, agent, err);
    }
    return code == AB_ERR_OK ? ab_transport_start(m->transport, err) : code;
}

static ab_err start_agents(world *w, ab_error *err)
{
    ab_err code = AB_ERR_OK;
    for (unsigned i = 0; i < AB_BENCH_CROWD && code == AB_ERR_OK; i++) {
        member *m = &w->members[i];
        (void)snprintf(m->agent, sizeof(m->agent), "w%u", i);
        code = make_member(w, m, err);
        if (code == AB_ERR_OK)
            code = ab_transport_start(m->transport, err);
    }
    return code;
}

static void allow_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* too few show as connections that fail */
}

/* Runs until it is killed. */
static int run(const ab_bench_crowd *crowd, ab_role role)
{
    static world w;
    ab_error err = {0};
    w = (world){.crowd = crowd, .role = role};
    allow_files();
    w.metrics = ab_metrics_new();
    w.members = calloc(AB_BENCH_CROWD, sizeof(*w.members));
    if (w.metrics == NULL || w.members == NULL || uv_loop_init(&w.loop) != 0 ||
        !ab_bench_pool_init(&w.pool, BYTES))
        die("cannot start", "out of memory");
    /* That agents lose their principal is what is measured. */
    ab_err code = ab_log_new(STDERR_FILENO, "error", AB_LOG_TEXT, &ab_clock_real, &w.log, &err);
    if (code == AB_ERR_OK)
        code = role == AB_ROLE_PRINCIPAL ? start_principal(&w, &err) : start_agents(&w, &err);
    if (code != AB_ERR_OK)
        die("cannot start", err.text);
    (void)uv_run(&w.loop, UV_RUN_DEFAULT);
    return 1;
}

static int run_principal(const void *crowd)
{
    return run(crowd, AB_ROLE_PRINCIPAL);
}

static int run_agents(const void *crowd)
{
    return run(crowd, AB_ROLE_AGENT);
}

pid_t ab_bench_crowd_principal(const ab_bench_crowd *c)
{
    return ab_bench_fork(run_principal, c);
}

pid_t ab_bench_crowd_agents(const ab_bench_crowd *c)
{
    return ab_bench_fork(run_agents, c);
}

/* It stays to be waited for. */
static bool is_alive(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

bool ab_bench_crowd_wait(const ab_bench_crowd *c, const pid_t pid[2])
{
    int64_t end = ab_bench_now_ns() + WAIT_NS;
    while (__atomic_load_n(&c->track->served, __ATOMIC_SEQ_CST) < AB_BENCH_CROWD) {
        bool alive = is_alive(pid[0]) && is_alive(pid[1]);
        if (!alive || ab_bench_now_ns() > end) {
            fprintf(stderr, "argobus-bench: %u of %d agents are served, and %s\n", c->track->served,
                    AB_BENCH_CROWD, alive ? "time is up" : "a process has ended");
            return false;
        }
        ab_bench_pause(LOOK_MS);
    }
    return true;
}
