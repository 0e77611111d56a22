/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether an agent waits while the principal sends another one the largest event there is. The one
 * agent sends a small event every 2 ms, whether the last one is acknowledged or not; the other is
 * sent large ones, one after the other all the time. Each end is a process.
 */
#include "schema/attributes.h"
#include "tests/bench/base/certs.h"
#include "tests/bench/base/process.h"
#include "tests/bench/transport/event.h"
#include "tests/bench/transport/grpc.h"
#include "tests/bench/transport/member.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define SMALL       "w0"
#define LARGE       "w1"
#define SMALL_BYTES (3 * 1024)
#define LARGE_BYTES ((64u * 1024 - 8) * 1024) /* with its attributes it may have 64 MiB */
#define EVERY_MS    2
#define SAMPLES     4000

/* Memory that all processes see. */
typedef struct {
    int64_t sent_ns[SAMPLES];
    int64_t known_ns[SAMPLES];
    unsigned large; /* how many large events have come */
} track;

typedef struct {
    const char *certs;
    int port;
    bool with_large;
    track *track;
} large_run;

static ab_bench_host make_host(const large_run *run)
{
    ab_bench_host host = {.certs = run->certs, .port = run->port};
    return host;
}

/* --- the principal --- */

typedef struct {
    ab_bench_host host;
    const large_run *run;
    ab_transport *transport;
    ab_event *event;
} principal;

static void on_sent(void *arg, ab_err code, const ab_error *err)
{
    (void)arg;
    ab_bench_must(code, "not sent", err);
}

static ab_event *make_large(uint64_t epoch)
{
    char *data = malloc(LARGE_BYTES);
    ab_event *event = NULL;
    ab_error err = {0};
    if (data == NULL)
        ab_bench_die("no large event", "out of memory");
    memset(data, 'x', LARGE_BYTES);
    ab_bench_must(
        ab_bench_event_of((ab_str){data, LARGE_BYTES}, 0, AB_SOURCE_PRINCIPAL, epoch, &event, &err),
        "no large event", &err);
    free(data);
    return event;
}

/* Until the transport is full, which it is with one. */
static void send_large(principal *p)
{
    ab_err code = AB_ERR_OK;
    while (code == AB_ERR_OK)
        code = ab_transport_send(p->transport, LARGE, AB_LANE_STATE, p->event, 0, on_sent, NULL);
    if (code != AB_ERR_FULL)
        ab_bench_must(code, "cannot send", NULL);
}

static void on_ready(void *arg, const char *agent, uint64_t epoch)
{
    principal *p = arg;
    if (!p->run->with_large || strcmp(agent, LARGE) != 0)
        return;
    p->event = make_large(epoch);
    send_large(p);
}

static void on_writable(void *arg, const char *agent)
{
    (void)agent;
    send_large(arg);
}

static void on_small(void *arg, ab_delivery *delivery)
{
    const principal *p = arg;
    ab_transport_ack(p->transport, delivery, AB_VERDICT_APPLIED);
}

static int run_principal(const void *arg)
{
    static principal p;
    const ab_transport_events events = {
        .on_event = on_small, .on_ready = on_ready, .on_writable = on_writable, .arg = &p};
    ab_error err = {0};
    p.run = arg;
    p.host = make_host(arg);
    ab_bench_host_init(&p.host);
    p.transport = ab_bench_member(&p.host, NULL, &events);
    ab_bench_must(ab_transport_add_agent(p.transport, SMALL, &err), SMALL, &err);
    ab_bench_must(ab_transport_add_agent(p.transport, LARGE, &err), LARGE, &err);
    ab_bench_must(ab_transport_start(p.transport, &err), "cannot start", &err);
    return ab_bench_host_run(&p.host);
}

/* --- who takes the large ones --- */

typedef struct {
    ab_transport *transport;
    track *track;
} taker;

static void on_large(void *arg, ab_delivery *delivery)
{
    const taker *t = arg;
    if (ab_event_data(delivery->event).len != LARGE_BYTES)
        ab_bench_die("a large event", "has another size");
    ab_transport_ack(t->transport, delivery, AB_VERDICT_APPLIED);
    (void)__atomic_add_fetch(&t->track->large, 1, __ATOMIC_SEQ_CST);
}

static int run_taker(const void *arg)
{
    const large_run *run = arg;
    taker t = {.track = run->track};
    const ab_transport_events events = {.on_event = on_large, .arg = &t};
    ab_bench_host host = make_host(run);
    ab_error err = {0};
    ab_bench_host_init(&host);
    t.transport = ab_bench_member(&host, LARGE, &events);
    ab_bench_must(ab_transport_start(t.transport, &err), "cannot start", &err);
    return ab_bench_host_run(&host);
}

/* --- who sends the small ones --- */

typedef struct {
    ab_bench_host host;
    const large_run *run;
    ab_transport *transport;
    ab_bench_pool pool;
    uv_timer_t timer;
    uint64_t epoch;
    size_t sent;
    size_t known;
} sender;

static void on_known(void *arg, ab_err code, const ab_error *err)
{
    sender *s = arg;
    ab_bench_must(code, "not sent", err);
    s->run->track->known_ns[s->known++] = ab_bench_now_ns();
    if (s->known == SAMPLES)
        uv_stop(&s->host.loop);
}

static void on_time(uv_timer_t *timer)
{
    sender *s = timer->data;
    ab_event *event = NULL;
    ab_error err = {0};
    bool large = __atomic_load_n(&s->run->track->large, __ATOMIC_SEQ_CST) > 0;
    if (s->epoch == 0 || s->sent == SAMPLES || (s->run->with_large && !large))
        return;
    ab_bench_must(ab_bench_event(&s->pool, s->sent, AB_SOURCE_AGENT SMALL, s->epoch, &event, &err),
                  "no event", &err);
    s->run->track->sent_ns[s->sent++] = ab_bench_now_ns();
    ab_bench_must(ab_transport_send(s->transport, NULL, AB_LANE_STATE, event, 0, on_known, s),
                  "cannot send", NULL);
    ab_event_unref(event);
}

static void on_epoch(void *arg, const char *agent, uint64_t epoch)
{
    sender *s = arg;
    (void)agent;
    s->epoch = epoch;
}

static int run_sender(const void *arg)
{
    static sender s;
    const ab_transport_events events = {.on_ready = on_epoch, .arg = &s};
    ab_error err = {0};
    s.run = arg;
    s.host = make_host(arg);
    ab_bench_host_init(&s.host);
    if (!ab_bench_pool_init(&s.pool, SMALL_BYTES) || uv_timer_init(&s.host.loop, &s.timer) != 0 ||
        uv_timer_start(&s.timer, on_time, EVERY_MS, EVERY_MS) != 0)
        ab_bench_die("cannot start", "out of memory");
    s.timer.data = &s;
    s.transport = ab_bench_member(&s.host, SMALL, &events);
    ab_bench_must(ab_transport_start(s.transport, &err), "cannot start", &err);
    (void)ab_bench_host_run(&s.host);
    return 0;
}

/* --- the case --- */

static void kill_one(pid_t pid)
{
    if (pid <= 0)
        return;
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static bool run_once(const large_run *run)
{
    int status = 1;
    memset(run->track, 0, sizeof(*run->track));
    pid_t hub = ab_bench_fork(run_principal, run);
    bool ok = hub > 0 && ab_bench_wait_port(run->port);
    pid_t beside = ok ? ab_bench_fork(run_taker, run) : 0;
    pid_t timed = ok ? ab_bench_fork(run_sender, run) : 0;
    ok = ok && timed > 0 && waitpid(timed, &status, 0) == timed && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
    kill_one(beside);
    kill_one(hub);
    return ok;
}

static void take_times(const track *t, double ms[SAMPLES])
{
    for (size_t i = 0; i < SAMPLES; i++)
        ms[i] = (double)(t->known_ns[i] - t->sent_ns[i]) / 1e6;
}

static bool measure(const ab_bench_options *o, large_run *run)
{
    static double alone[SAMPLES], beside[SAMPLES];
    if (!run_once(run))
        return false;
    take_times(run->track, alone);
    run->with_large = true;
    run->port = ab_bench_free_port();
    if (!run_once(run))
        return false;
    take_times(run->track, beside);
    ab_bench_row row = ab_bench_row_new("grpc.large");
    row.unit = "ms";
    row.p50_ms = ab_bench_quantile(beside, SAMPLES, 0.5);
    row.value = row.p99_ms = ab_bench_quantile(beside, SAMPLES, 0.99);
    row.limit = ab_bench_quantile(alone, SAMPLES, 0.99);
    ab_bench_report(o->format, &row);
    ab_bench_row passed = ab_bench_row_new("grpc.large.passed");
    passed.unit = "events";
    passed.value = run->track->large;
    ab_bench_report(o->format, &passed);
    return true;
}

bool ab_bench_grpc_large(const ab_bench_options *o)
{
    static ab_bench_certs certs;
    large_run run = {.certs = certs.folder, .port = ab_bench_free_port()};
    run.track =
        mmap(NULL, sizeof(*run.track), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run.track == MAP_FAILED)
        return false;
    bool ok = ab_bench_certs_open(&certs, 2) && measure(o, &run);
    ab_bench_certs_close(&certs);
    (void)munmap(run.track, sizeof(*run.track));
    return ok;
}
