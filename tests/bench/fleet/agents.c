/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/fleet/agents.h"

#include "schema/attributes.h"
#include "services/sender.h"
#include "tests/bench/fleet/shared_kafka.h"
#include "tests/bench/transport/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define TICK_MS    250 /* of the agent program */
#define DEFER_MS   60000
#define WINDOW_MS  60000
#define LIFE_MAX_S 3600
/* Priority: the agents share a few cores with the principal, which has its own in reality. Or its
 * turns of the loop would last as long as the kernel runs agents in between. */
#define BEHIND 10

typedef struct {
    ab_bench_spoke spoke;
    char name[16];
    char source[32];
    ab_transport *transport;
    ab_sender sender;
} agent;

typedef struct {
    const ab_bench_agents *given;
    ab_bench_host host;
    ab_bench_shared_kafka *shared; /* NULL: each has a transport of its own */
    agent *agents;
    uv_timer_t tick;
} crowd;

/* --- upcalls of the transport --- */

static void on_event(void *arg, ab_delivery *delivery)
{
    const agent *a = arg;
    if (delivery->lane == AB_LANE_STATE)
        ab_agent_deliver(a->spoke.machine, delivery->event, delivery);
    else
        ab_transport_ack(a->transport, delivery, AB_VERDICT_APPLIED);
}

static void on_written(void *arg, const char *name, ab_event *head)
{
    const agent *a = arg;
    (void)name;
    ab_agent_written(a->spoke.machine, head);
}

static void on_ready(void *arg, const char *name, uint64_t epoch)
{
    agent *a = arg;
    (void)name;
    ab_agent_ready(a->spoke.machine, epoch);
    ab_sender_run(&a->sender);
}

static void on_gap(void *arg, const char *name, ab_gap gap)
{
    const agent *a = arg;
    (void)name;
    if (gap == AB_GAP_RECREATED)
        ab_agent_log_lost(a->spoke.machine);
    ab_agent_gap(a->spoke.machine);
}

static void on_writable(void *arg, const char *name)
{
    agent *a = arg;
    (void)name;
    ab_sender_run(&a->sender);
}

static void on_displaced(void *arg, bool displaced)
{
    const agent *a = arg;
    ab_agent_pause(a->spoke.machine, displaced);
}

/* --- effects --- */

static void fx_ack(void *arg, void *delivery)
{
    const agent *a = arg;
    ab_transport_ack(a->transport, delivery, AB_VERDICT_APPLIED);
}

static void fx_wake(void *arg, const char *name)
{
    agent *a = arg;
    (void)name;
    ab_sender_run(&a->sender);
}

static void unsendable(void *arg, const char *name, const ab_event *event, const ab_error *err)
{
    const agent *a = arg;
    (void)name;
    ab_agent_unsendable(a->spoke.machine, event, err);
}

/* --- */

static void configure(void *arg, ab_bench_settings *out)
{
    const ab_bench_site *site = arg;
    ab_bench_set(out, "transport=kafka");
    ab_bench_set(out, "kafka.brokers=%s", site->o->broker);
    ab_bench_set(out, "kafka.insecure=true");
    ab_bench_set(out, "kafka.prefix=%s", strrchr(site->root, '/') + 1);
    ab_bench_set(out, "kafka.topics=verify");
}

static void make_machine(crowd *c, agent *a)
{
    ab_agent_env env = {
        .policy = {.namespace = "argocd",
                   .guard = {.max = 100000, .percent = 100, .window_ms = WINDOW_MS},
                   .defer_after_ms = DEFER_MS,
                   .name = a->name},
        .effects = ab_bench_spoke_effects(&a->spoke),
        .clock = &ab_clock_real,
        .log = c->host.log,
        .metrics = c->host.metrics,
        .source = a->source,
    };
    env.effects.ack = fx_ack;
    env.effects.wake = fx_wake;
    ab_bench_must(ab_agent_new(&env, &a->spoke.machine), a->name, NULL);
}

static void start_one(crowd *c, agent *a, unsigned number)
{
    const ab_transport_events events = {.on_event = on_event,
                                        .on_written = on_written,
                                        .on_ready = on_ready,
                                        .on_gap = on_gap,
                                        .on_writable = on_writable,
                                        .on_displaced = on_displaced,
                                        .arg = a};
    ab_error err = {0};
    (void)snprintf(a->name, sizeof(a->name), "w%u", number);
    (void)snprintf(a->source, sizeof(a->source), AB_SOURCE_AGENT "%s", a->name);
    ab_bench_spoke_init(&a->spoke, &c->host.loop, c->given->track, (int)number);
    make_machine(c, a);
    a->transport = c->shared == NULL ? ab_bench_member(&c->host, a->name, &events)
                                     : ab_bench_shared_kafka_member(c->shared, a->name, &events);
    a->sender = (ab_sender){.transport = a->transport,
                            .outbox = ab_agent_outbox(a->spoke.machine),
                            .clock = &ab_clock_real,
                            .unsendable = unsendable,
                            .arg = a};
    ab_agent_on_list_done(a->spoke.machine);
    ab_agent_on_synced(a->spoke.machine);
    ab_bench_must(ab_transport_start(a->transport, &err), a->name, &err);
}

static void on_tick(uv_timer_t *timer)
{
    crowd *c = timer->data;
    for (unsigned i = 0; i < c->given->count; i++) {
        ab_agent_tick(c->agents[i].spoke.machine);
        ab_sender_run(&c->agents[i].sender);
    }
}

static int run(const void *arg)
{
    static crowd c;
    const ab_bench_agents *given = arg;
    ab_bench_site *site = given->site;
    (void)alarm(LIFE_MAX_S);
    (void)setpriority(PRIO_PROCESS, 0, BEHIND);
    c.given = given;
    c.host = (ab_bench_host){.certs = site->grpc.certs, .port = site->grpc.port};
    if (site->grpc.certs == NULL) {
        c.host.configure = configure;
        c.host.configure_arg = site;
    }
    ab_bench_host_init(&c.host);
    if (site->grpc.certs == NULL && given->count > 1)
        c.shared = ab_bench_shared_kafka_new(&c.host);
    c.agents = calloc(given->count, sizeof(*c.agents));
    if (c.agents == NULL)
        ab_bench_die("agents", "out of memory");
    for (unsigned i = 0; i < given->count; i++)
        start_one(&c, &c.agents[i], given->first + i);
    (void)uv_timer_init(&c.host.loop, &c.tick);
    c.tick.data = &c;
    (void)uv_timer_start(&c.tick, on_tick, TICK_MS, TICK_MS);
    return ab_bench_host_run(&c.host);
}

pid_t ab_bench_agents_start(const ab_bench_agents *agents)
{
    return ab_bench_fork(run, agents);
}
