/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/transport/crowd.h"

#include "schema/attributes.h"
#include "tests/bench/base/process.h"
#include "tests/bench/transport/event.h"
#include "tests/bench/transport/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define BYTES   (3 * 1024)
#define WAIT_NS (180 * 1000000000LL)
#define LOOK_MS 5

/* --- the principal --- */

typedef struct {
    ab_bench_host host;
    ab_transport *transport;
    ab_bench_pool pool;
} principal;

static void on_sent(void *arg, ab_err code, const ab_error *err)
{
    (void)arg;
    ab_bench_must(code, "not sent", err);
}

static void on_ready(void *arg, const char *agent, uint64_t epoch)
{
    const principal *p = arg;
    ab_event *event = NULL;
    ab_error err = {0};
    size_t i = strtoul(agent + 1, NULL, 10); /* they are w0, w1 and so on */
    ab_bench_must(ab_bench_event(&p->pool, i, AB_SOURCE_PRINCIPAL, epoch, &event, &err), "no event",
                  &err);
    ab_bench_must(ab_transport_send(p->transport, agent, AB_LANE_STATE, event, 0, on_sent, NULL),
                  "cannot send", NULL);
    ab_event_unref(event);
}

static int run_principal(const void *arg)
{
    static principal p;
    const ab_bench_crowd *crowd = arg;
    const ab_transport_events events = {.on_ready = on_ready, .arg = &p};
    ab_error err = {0};
    p.host = (ab_bench_host){.certs = crowd->certs, .port = crowd->port};
    ab_bench_host_init(&p.host);
    if (!ab_bench_pool_init(&p.pool, BYTES))
        ab_bench_die("no Applications", "out of memory");
    p.transport = ab_bench_member(&p.host, NULL, &events);
    for (unsigned i = 0; i < AB_BENCH_CROWD; i++) {
        char agent[16];
        (void)snprintf(agent, sizeof(agent), "w%u", i);
        ab_bench_must(ab_transport_add_agent(p.transport, agent, &err), agent, &err);
    }
    ab_bench_must(ab_transport_start(p.transport, &err), "cannot start", &err);
    return ab_bench_host_run(&p.host);
}

/* --- the agents --- */

typedef struct {
    char name[16];
    ab_transport *transport;
    ab_bench_crowd_track *track;
} agent;

static void on_event(void *arg, ab_delivery *delivery)
{
    const agent *a = arg;
    ab_transport_ack(a->transport, delivery, AB_VERDICT_APPLIED);
    a->track->served_ns = ab_bench_now_ns();
    (void)__atomic_add_fetch(&a->track->served, 1, __ATOMIC_SEQ_CST);
}

static int run_agents(const void *arg)
{
    static agent agents[AB_BENCH_CROWD];
    const ab_bench_crowd *crowd = arg;
    ab_bench_host host = {.certs = crowd->certs, .port = crowd->port};
    ab_error err = {0};
    ab_bench_host_init(&host);
    for (unsigned i = 0; i < AB_BENCH_CROWD; i++) {
        agent *a = &agents[i];
        const ab_transport_events events = {.on_event = on_event, .arg = a};
        (void)snprintf(a->name, sizeof(a->name), "w%u", i);
        a->track = crowd->track;
        a->transport = ab_bench_member(&host, a->name, &events);
        ab_bench_must(ab_transport_start(a->transport, &err), "cannot start", &err);
    }
    return ab_bench_host_run(&host);
}

/* --- both --- */

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
