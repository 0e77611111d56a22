/* SPDX-License-Identifier: Apache-2.0
 *
 * The principal is started twice on the same logs, before and after w0's topic is broken. When all
 * others are ready it sends one of them a small event every few milliseconds, in turns, whether the
 * last one has arrived or not: what waits makes all behind it late, and shows. Meanwhile w0 is sent
 * as much as is taken.
 */
#include "tests/bench/transport/beside.h"

#include "schema/attributes.h"
#include "tests/bench/base/process.h"
#include "tests/bench/base/rounds.h"
#include "tests/bench/transport/event.h"
#include "tests/bench/transport/member.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define AGENTS      20
#define LINKS_MAX   250
#define SMALL_BYTES (3 * 1024)
#define LARGE_BYTES (20 * 1024)
#define EVERY_MS    4
#define WARM_UP     200
#define SAMPLES     3000
#define SENT        (WARM_UP + SAMPLES)
#define FIRST_LARGE 1000000 /* its index; those of small ones are below */
#define WAIT_MS     120000
#define LOOK_MS     5

/* Memory that all processes see. */
typedef struct {
    ab_bench_control control;
    int64_t sent_ns[2 * SENT]; /* before w0's topic is broken, and after */
    int64_t arrived_ns[2 * SENT];
    unsigned arrived;
    int64_t begun_ns; /* the principal is started */
    int64_t ready_ns; /* all others are ready */
    unsigned taken;   /* events for w0 that the transport took */
    unsigned safe;    /* and that its topic has */
    bool bad_ready;   /* w0 is */
} track;

typedef struct {
    const char *name;
    unsigned links; /* w0 among them */
    bool mock;      /* the broker is librdkafka's */
    int (*break_it)(const void *beside);
} beside_case;

typedef struct {
    const beside_case *kind;
    ab_bench_beside beside;
    bool broken;
    track *track;
} beside_run;

static void configure(void *arg, ab_bench_settings *out)
{
    const beside_run *run = arg;
    ab_bench_set(out, "kafka.brokers=%s", run->track->control.address);
    ab_bench_set(out, "kafka.insecure=true");
    ab_bench_set(out, "kafka.prefix=%s", run->beside.prefix);
    ab_bench_set(out, "kafka.topics=%s", run->kind->mock ? "external" : "create");
    ab_bench_set(out, "kafka.replication-factor=1");
    ab_bench_set(out, "kafka.min-insync-replicas=1");
    ab_bench_set(out, "transport.heartbeat=1s");
    /* The mock cluster does not check sequences: of several requests it may mix up the answers. */
    if (run->kind->mock)
        ab_bench_set(out, "kafka.librdkafka.max.in.flight=1");
}

static void arrived(track *t, size_t i)
{
    t->arrived_ns[i] = ab_bench_now_ns();
    (void)__atomic_add_fetch(&t->arrived, 1, __ATOMIC_SEQ_CST);
}

/* --- the agents --- */

typedef struct {
    char name[16];
    ab_transport *transport;
    track *track;
} agent;

static void on_event(void *arg, ab_delivery *delivery)
{
    const agent *a = arg;
    uint64_t version = 0;
    if (ab_event_attr_u64(delivery->event, AB_CE_OBJVERSION, &version) == AB_ERR_OK &&
        version <= sizeof(a->track->arrived_ns) / sizeof(a->track->arrived_ns[0]))
        arrived(a->track, version - 1);
    ab_transport_ack(a->transport, delivery, AB_VERDICT_APPLIED);
}

static int run_agents(const void *arg)
{
    static agent agents[AGENTS];
    static beside_run run;
    run = *(const beside_run *)arg;
    ab_bench_host host = {.configure = configure, .configure_arg = &run};
    ab_error err = {0};
    ab_bench_host_init(&host);
    for (unsigned i = 0; i < AGENTS; i++) {
        agent *a = &agents[i];
        const ab_transport_events events = {.on_event = on_event, .arg = a};
        (void)snprintf(a->name, sizeof(a->name), "w%u", i + 1);
        a->track = run.track;
        a->transport = ab_bench_member(&host, a->name, &events);
        ab_bench_must(ab_transport_start(a->transport, &err), "cannot start", &err);
    }
    return ab_bench_host_run(&host);
}

/* --- the principal --- */

struct principal;

typedef struct {
    const struct principal *principal;
    size_t i; /* of the event */
} sending;

typedef struct principal {
    ab_bench_host host;
    beside_run run;
    ab_transport *transport;
    ab_bench_pool small;
    ab_bench_pool large;
    uv_timer_t timer;
    uint64_t epochs[LINKS_MAX]; /* 0: not ready */
    bool heard[LINKS_MAX];
    unsigned ready; /* of all but w0 */
    unsigned up;
    sending small_sent[SENT];
    size_t sent;
    size_t large_sent;
    ab_event *refused; /* by the transport, for w0; NULL: none */
} principal;

/* Agents are w0, w1 and so on. */
static unsigned number_of(const char *name)
{
    return (unsigned)strtoul(name + 1, NULL, 10);
}

/* The mock cluster lets a fetch wait, also when something has come: there, what counts is when an
 * event is safe. */
static void on_safe(void *arg, ab_err code, const ab_error *err)
{
    const sending *s = arg;
    ab_bench_must(code, "not sent", err);
    if (s->principal->run.kind->mock)
        arrived(s->principal->run.track, s->i);
}

static void on_large_safe(void *arg, ab_err code, const ab_error *err)
{
    principal *p = arg;
    (void)err;
    if (code == AB_ERR_OK)
        p->run.track->safe++;
}

static void make_event(const ab_bench_pool *pool, size_t i, uint64_t epoch, ab_event **out)
{
    ab_error err = {0};
    ab_bench_must(ab_bench_event(pool, i, AB_SOURCE_PRINCIPAL, epoch, out, &err), "no event", &err);
}

/* Until the transport takes no more. */
static void press(principal *p)
{
    ab_err code = AB_ERR_OK;
    if (p->epochs[0] == 0 || p->sent < WARM_UP)
        return;
    while (code == AB_ERR_OK) {
        if (p->refused == NULL)
            make_event(&p->large, FIRST_LARGE + p->large_sent++, p->epochs[0], &p->refused);
        code =
            ab_transport_send(p->transport, "w0", AB_LANE_STATE, p->refused, 0, on_large_safe, p);
        if (code != AB_ERR_OK)
            return;
        p->run.track->taken++;
        ab_event_unref(p->refused);
        p->refused = NULL;
    }
}

static void on_writable(void *arg, const char *name)
{
    if (number_of(name) == 0)
        press(arg);
}

static void send_small(principal *p)
{
    char name[16];
    unsigned to = 1 + (unsigned)(p->sent % (p->run.kind->links - 1));
    sending *s = &p->small_sent[p->sent];
    size_t i = p->sent++ + (p->run.broken ? SENT : 0);
    ab_event *event = NULL;
    (void)snprintf(name, sizeof(name), "w%u", to);
    make_event(&p->small, i, p->epochs[to], &event);
    *s = (sending){p, i};
    p->run.track->sent_ns[i] = ab_bench_now_ns();
    ab_bench_must(ab_transport_send(p->transport, name, AB_LANE_STATE, event, 0, on_safe, s),
                  "cannot send", NULL);
    ab_event_unref(event);
}

static void on_time(uv_timer_t *timer)
{
    principal *p = timer->data;
    if (p->ready < p->run.kind->links - 1 || (!p->run.kind->mock && p->up < AGENTS))
        return;
    if (p->sent < SENT)
        send_small(p);
    if (p->run.broken || p->run.kind->mock)
        press(p);
    if (__atomic_load_n(&p->run.track->arrived, __ATOMIC_SEQ_CST) >= SENT)
        uv_stop(&p->host.loop);
}

static void on_ready(void *arg, const char *name, uint64_t epoch)
{
    principal *p = arg;
    unsigned i = number_of(name);
    bool first = p->epochs[i] == 0;
    p->epochs[i] = epoch;
    if (i == 0)
        p->run.track->bad_ready = true;
    else if (first && ++p->ready == p->run.kind->links - 1)
        p->run.track->ready_ns = ab_bench_now_ns();
}

static void on_peer(void *arg, const char *name, bool up, const ab_peer *peer)
{
    principal *p = arg;
    unsigned i = number_of(name);
    (void)peer;
    if (up && !p->heard[i])
        p->up++;
    p->heard[i] = p->heard[i] || up;
}

static int run_principal(const void *arg)
{
    static principal p;
    const ab_transport_events events = {
        .on_ready = on_ready, .on_peer = on_peer, .on_writable = on_writable, .arg = &p};
    ab_error err = {0};
    p.run = *(const beside_run *)arg;
    p.host = (ab_bench_host){.configure = configure, .configure_arg = &p.run};
    ab_bench_host_init(&p.host);
    if (!ab_bench_pool_init(&p.small, SMALL_BYTES) || !ab_bench_pool_init(&p.large, LARGE_BYTES) ||
        uv_timer_init(&p.host.loop, &p.timer) != 0 ||
        uv_timer_start(&p.timer, on_time, EVERY_MS, EVERY_MS) != 0)
        ab_bench_die("cannot start", "out of memory");
    p.timer.data = &p;
    p.transport = ab_bench_member(&p.host, NULL, &events);
    for (unsigned i = 0; i < p.run.kind->links; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "w%u", i);
        ab_bench_must(ab_transport_add_agent(p.transport, name, &err), name, &err);
    }
    p.run.track->begun_ns = ab_bench_now_ns();
    ab_bench_must(ab_transport_start(p.transport, &err), "cannot start", &err);
    (void)ab_bench_host_run(&p.host);
    return 0;
}

/* --- the case --- */

typedef struct {
    double p50_ms[AB_BENCH_ROUNDS_MAX];
    double p99_ms[AB_BENCH_ROUNDS_MAX];
    double ready_s[AB_BENCH_ROUNDS_MAX];
    double held[AB_BENCH_ROUNDS_MAX];
} results;

static void kill_one(pid_t pid)
{
    if (pid <= 0)
        return;
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static bool wait_until(const ab_bench_control *c, pid_t pid, ab_bench_health wanted)
{
    for (int waited = 0; __atomic_load_n(&c->is, __ATOMIC_SEQ_CST) != wanted; waited += LOOK_MS) {
        siginfo_t info = {0};
        (void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
        if (info.si_pid != 0 || waited > WAIT_MS) {
            fprintf(stderr, "argobus-bench: no broker whose topic could be broken\n");
            return false;
        }
        ab_bench_pause(LOOK_MS);
    }
    return true;
}

static void take(const beside_run *run, results *r, unsigned round)
{
    static double ms[SAMPLES];
    const track *t = run->track;
    size_t first = WARM_UP + (run->broken ? SENT : 0);
    for (size_t i = 0; i < SAMPLES; i++)
        ms[i] = (double)(t->arrived_ns[first + i] - t->sent_ns[first + i]) / 1e6;
    r->p50_ms[round] = ab_bench_quantile(ms, SAMPLES, 0.5);
    r->p99_ms[round] = ab_bench_quantile(ms, SAMPLES, 0.99);
    r->ready_s[round] = (double)(t->ready_ns - t->begun_ns) / 1e9;
    r->held[round] = (double)(t->taken - t->safe);
}

static bool run_phase(beside_run *run, bool broken, results *r, unsigned round)
{
    track *t = run->track;
    run->broken = broken;
    t->arrived = t->taken = t->safe = 0;
    t->bad_ready = false;
    if (!ab_bench_wait(ab_bench_fork(run_principal, run)))
        return false;
    take(run, r, round);
    return true;
}

/* Or nothing was measured. */
static bool is_broken(const beside_run *run)
{
    const track *t = run->track;
    bool ok = run->kind->mock ? !t->bad_ready : t->safe == 0 && t->taken > 0;
    if (!ok)
        fprintf(stderr, "argobus-bench: %s: the topic of w0 is well: %u events taken, %u safe\n",
                run->kind->name, t->taken, t->safe);
    return ok;
}

static bool run_round(beside_run *run, results r[2], unsigned round)
{
    ab_bench_control *c = &run->track->control;
    memset(run->track, 0, sizeof(*run->track));
    (void)snprintf(run->beside.prefix, sizeof(run->beside.prefix), "bench-%d-%" PRId64,
                   (int)getpid(), ab_bench_now_ns());
    pid_t trouble = ab_bench_fork(run->kind->break_it, &run->beside);
    bool ok = trouble > 0 && wait_until(c, trouble, AB_BENCH_WELL);
    pid_t agents = ok && !run->kind->mock ? ab_bench_fork(run_agents, run) : 0;
    ok = ok && agents >= 0 && run_phase(run, false, &r[0], round);
    __atomic_store_n(&c->break_now, true, __ATOMIC_SEQ_CST);
    ok = ok && wait_until(c, trouble, AB_BENCH_BROKEN) && run_phase(run, true, &r[1], round) &&
         is_broken(run);
    kill_one(agents);
    kill_one(trouble);
    return ok;
}

static void report(const ab_bench_options *o, const char *name, const results r[2])
{
    ab_bench_row row = ab_bench_row_new("%s", name);
    row.unit = "ms";
    row.p50_ms = ab_bench_median(r[1].p50_ms, o->rounds);
    row.value = row.p99_ms = ab_bench_median(r[1].p99_ms, o->rounds);
    row.limit = ab_bench_median(r[0].p99_ms, o->rounds);
    ab_bench_report(o->format, &row);
}

static void report_ready(const ab_bench_options *o, const char *name, const results r[2])
{
    ab_bench_row row = ab_bench_row_new("%s.ready", name);
    row.unit = "s";
    row.value = ab_bench_median(r[1].ready_s, o->rounds);
    row.limit = ab_bench_median(r[0].ready_s, o->rounds);
    ab_bench_report(o->format, &row);
}

static void report_held(const ab_bench_options *o, const char *name, const results *r)
{
    ab_bench_row row = ab_bench_row_new("%s.held", name);
    row.unit = "events";
    row.value = ab_bench_median(r->held, o->rounds);
    ab_bench_report(o->format, &row);
}

static bool run_case(const ab_bench_options *o, const beside_case *kind)
{
    static results r[2]; /* before, after */
    beside_run run = {.kind = kind, .beside = {.broker = o->broker, .agents = kind->links}};
    run.track =
        mmap(NULL, sizeof(*run.track), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run.track == MAP_FAILED)
        return false;
    run.beside.control = &run.track->control;
    bool ok = true;
    for (unsigned round = 0; round < o->rounds && ok; round++)
        ok = run_round(&run, r, round);
    (void)munmap(run.track, sizeof(*run.track));
    if (!ok)
        return false;
    report(o, kind->name, r);
    if (kind->mock) /* else the topics are made by the first principal */
        report_ready(o, kind->name, r);
    else
        report_held(o, kind->name, &r[1]);
    return true;
}

bool ab_bench_refused(const ab_bench_options *o)
{
    static const beside_case kind = {"transport.refused", 1 + AGENTS, false, ab_bench_refuse};
    return run_case(o, &kind);
}

bool ab_bench_silent(const ab_bench_options *o)
{
    static const beside_case kind = {"transport.silent", LINKS_MAX, true, ab_bench_silence};
    return run_case(o, &kind);
}
