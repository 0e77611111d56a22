/* SPDX-License-Identifier: Apache-2.0
 *
 * Our transport without stores, over Kafka or gRPC: one end sends, the other acknowledges each
 * event as it comes. The principal's end is one transport; the agents' is one for each of them.
 */
#include "transport/transport.h"

#include "schema/attributes.h"
#include "tests/bench/base/process.h"
#include "tests/bench/base/settings.h"
#include "tests/bench/transport/event.h"
#include "tests/bench/transport/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STOP_MS 120000

struct end;

/* One agent, at whichever end. */
typedef struct {
    struct end *end;
    char agent[16];
    ab_config *config;
    ab_transport *transport; /* an agent's own, or the principal's */
    uint64_t epoch;          /* sender; 0 = events are not taken yet */
    size_t sent;             /* sender: given to the transport */
    ab_event *refused;       /* sender: when the transport was full; else NULL */
} stream;

typedef void (*configurer)(const struct end *e, const stream *s, ab_bench_settings *out);

typedef struct end {
    const ab_bench_run *run;
    configurer configure;
    ab_role role;
    bool sends;
    uv_loop_t loop;
    uv_poll_t go;
    uv_timer_t ending;
    ab_log *log;
    ab_metrics *metrics;
    stream *streams; /* the first has the principal's transport */
    size_t transports;
    size_t stopped;
    size_t ready; /* receiver: agents that would get what is sent */
    size_t may;   /* sender: how many events may be sent by now */
    size_t sent;  /* sender: given to the transport */
    size_t safe;  /* sender: known to be so */
    size_t received;
    bool failed;
} end;

static void fail(end *e, const char *what, const ab_error *err)
{
    fprintf(stderr, "transport: %s: %s\n", what, err == NULL ? "?" : err->text);
    e->failed = true;
    uv_stop(&e->loop);
}

/* Agents are w0, w1 and so on. */
static stream *find(const end *e, const char *agent)
{
    return &e->streams[strtoul(agent + 1, NULL, 10)];
}

/* --- the end of a run --- */

static void stopped(void *arg)
{
    end *e = arg;
    if (++e->stopped < e->transports)
        return;
    if (e->sends)
        ab_bench_sent(e->run);
    uv_stop(&e->loop);
}

static void on_ending(uv_timer_t *timer)
{
    end *e = timer->data;
    for (size_t i = 0; i < e->transports; i++) {
        ab_transport_close(e->streams[i].transport);
        ab_transport_stop(e->streams[i].transport, STOP_MS, stopped, e);
    }
}

/* Not from inside an upcall. */
static void finish(end *e)
{
    if (!uv_is_active((uv_handle_t *)&e->ending))
        (void)uv_timer_start(&e->ending, on_ending, 0, 0); /* fails only for a closing handle */
}

/* --- the sending process --- */

static void pump(stream *s);

static void on_sent(void *arg, ab_err code, const ab_error *err)
{
    stream *s = arg;
    end *e = s->end;
    if (code != AB_ERR_OK) {
        fail(e, "not sent", err);
        return;
    }
    if (e->run->round_trip) {
        ab_bench_arrived(e->run, e->safe);
        e->may++;
    }
    if (++e->safe == e->run->count)
        finish(e);
    else
        pump(s);
}

static ab_err make_event(const stream *s, ab_event **out, ab_error *err)
{
    const end *e = s->end;
    char source[64] = AB_SOURCE_PRINCIPAL;
    size_t first = strtoul(s->agent + 1, NULL, 10) * (e->run->count / e->run->streams);
    if (e->role == AB_ROLE_AGENT)
        (void)snprintf(source, sizeof(source), "%s%s", AB_SOURCE_AGENT, s->agent);
    return ab_bench_event(e->run->pool, first + s->sent, source, s->epoch, out, err);
}

/* What was refused is kept and sent first, as the outbox of the services does.
 * @return false when no more can be sent now */
static bool send_one(stream *s)
{
    end *e = s->end;
    ab_error err = {0};
    ab_err code = AB_ERR_OK;
    if (s->refused == NULL) {
        ab_bench_sending(e->run, e->sent);
        code = make_event(s, &s->refused, &err);
    }
    if (code == AB_ERR_OK)
        code = ab_transport_send(s->transport, e->role == AB_ROLE_AGENT ? NULL : s->agent,
                                 AB_LANE_STATE, s->refused, 0, on_sent, s);
    if (code == AB_ERR_OK) {
        ab_event_unref(s->refused);
        s->refused = NULL;
        s->sent++;
        e->sent++;
    } else if (code != AB_ERR_FULL) {
        (void)ab_fail(&err, code, "%s", ab_err_text(code));
        fail(e, "cannot send", &err);
    }
    return code == AB_ERR_OK;
}

static void pump(stream *s)
{
    end *e = s->end;
    size_t share = e->run->count / e->run->streams;
    if (s->epoch == 0)
        return;
    while (!e->failed && s->sent < share && e->sent < e->may && send_one(s))
        ;
}

static void on_go(uv_poll_t *poll, int status, int events)
{
    end *e = poll->data;
    uint64_t count = 0;
    (void)status;
    (void)events;
    if (read(e->run->go_fd, &count, sizeof(count)) != sizeof(count))
        return;
    e->may = e->run->one_by_one ? e->may + 1 : e->run->count;
    if (e->may > e->run->count)
        e->may = e->run->count;
    for (unsigned i = 0; i < e->run->streams; i++)
        pump(&e->streams[i]);
}

static void on_ready(void *arg, const char *agent, uint64_t epoch)
{
    end *e = arg;
    stream *s = find(e, agent);
    s->epoch = epoch;
    if (e->sends)
        pump(s);
}

static void on_writable(void *arg, const char *agent)
{
    pump(find(arg, agent));
}

/* --- the receiving process --- */

static void on_caught_up(void *arg, const char *agent)
{
    end *e = arg;
    (void)agent;
    if (!e->sends && e->received == 0 && ++e->ready == e->run->streams)
        ab_bench_go(e->run);
}

static void on_event(void *arg, ab_delivery *delivery)
{
    end *e = arg;
    size_t i = e->received++;
    if (i >= e->run->count) {
        fail(e, "more events came than were sent", NULL);
        return;
    }
    if (!e->run->round_trip)
        ab_bench_arrived(e->run, i);
    ab_transport_ack(find(e, delivery->agent)->transport, delivery, AB_VERDICT_APPLIED);
    if (ab_bench_acknowledged(e->run, i) && !e->run->round_trip)
        finish(e);
}

/* --- both --- */

static void on_peer(void *arg, const char *agent, bool up, const ab_peer *peer)
{
    end *e = arg;
    (void)agent;
    (void)peer;
    /* The receiver of round trips goes when the sender has heard of the last. */
    if (e->run->round_trip && !e->sends && !up && e->received == e->run->count)
        finish(e);
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

static void on_fatal(void *arg, const ab_error *err)
{
    fail(arg, "fatal", err);
}

static void use_kafka(const end *e, const stream *s, ab_bench_settings *out)
{
    (void)s;
    ab_bench_set(out, "kafka.brokers=%s", e->run->broker);
    ab_bench_set(out, "kafka.insecure=true");
    ab_bench_set(out, "kafka.prefix=%s", e->run->name);
    ab_bench_set(out, "kafka.topics=create");
    ab_bench_set(out, "kafka.replication-factor=1");
    ab_bench_set(out, "kafka.min-insync-replicas=1");
}

static void use_grpc(const end *e, const stream *s, ab_bench_settings *out)
{
    ab_bench_set_grpc(out, e->run->certs, e->run->port, e->role == AB_ROLE_AGENT ? s->agent : NULL);
}

static ab_err load_config(stream *s, ab_error *err)
{
    static ab_bench_settings settings;
    settings.count = 0;
    s->end->configure(s->end, s, &settings);
    return ab_bench_settings_load(&settings, &s->config, err);
}

static ab_err make_transport(end *e, stream *s, ab_error *err)
{
    ab_err code = load_config(s, err);
    const ab_transport_env env = {
        .loop = &e->loop,
        .config = s->config,
        .log = e->log,
        .metrics = e->metrics,
        .clock = &ab_clock_real,
        .role = e->role,
        .agent = e->role == AB_ROLE_AGENT ? s->agent : NULL,
        .mode = e->role == AB_ROLE_AGENT ? "managed" : "",
        .events = {on_event, on_peer, on_written, on_ready, on_gap, on_caught_up, on_writable,
                   .on_fatal = on_fatal, .arg = e},
    };
    return code == AB_ERR_OK ? ab_transport_new(&env, &s->transport, err) : code;
}

/* The i-th agent, and a transport for it where it has its own. */
static ab_err make_stream(end *e, unsigned i, ab_error *err)
{
    stream *s = &e->streams[i];
    ab_err code = AB_ERR_OK;
    s->end = e;
    (void)snprintf(s->agent, sizeof(s->agent), "w%u", i);
    if (i < e->transports)
        code = make_transport(e, s, err);
    else
        s->transport = e->streams[0].transport;
    if (code == AB_ERR_OK && e->role == AB_ROLE_PRINCIPAL)
        code = ab_transport_add_agent(s->transport, s->agent, err);
    return code;
}

static ab_err make(end *e, ab_error *err)
{
    ab_err code = ab_log_new(STDERR_FILENO, "warn", AB_LOG_TEXT, &ab_clock_real, &e->log, err);
    e->transports = e->role == AB_ROLE_PRINCIPAL ? 1 : e->run->streams;
    e->streams = calloc(e->run->streams, sizeof(*e->streams));
    e->metrics = ab_metrics_new();
    if (code == AB_ERR_OK && (e->metrics == NULL || e->streams == NULL))
        code = ab_fail(err, AB_ERR_NOMEM, "out of memory");
    for (unsigned i = 0; i < e->run->streams && code == AB_ERR_OK; i++)
        code = make_stream(e, i, err);
    for (size_t i = 0; i < e->transports && code == AB_ERR_OK; i++)
        code = ab_transport_start(e->streams[i].transport, err);
    return code;
}

/* What is left to close ends with the process. */
static int run_end(const ab_bench_run *run, configurer use, bool sends)
{
    end e = {.run = run,
             .configure = use,
             .sends = sends,
             .role = sends == run->round_trip ? AB_ROLE_AGENT : AB_ROLE_PRINCIPAL};
    ab_error err = {0};
    if (uv_loop_init(&e.loop) != 0 || uv_timer_init(&e.loop, &e.ending) != 0 ||
        uv_poll_init(&e.loop, &e.go, run->go_fd) != 0)
        return 1;
    e.ending.data = &e;
    e.go.data = &e;
    if (sends)
        (void)uv_poll_start(&e.go, UV_READABLE, on_go);
    if (use == use_grpc && e.role == AB_ROLE_AGENT && !ab_bench_wait_port(run->port))
        return 1;
    if (make(&e, &err) != AB_ERR_OK)
        fail(&e, "cannot start", &err);
    else
        (void)uv_run(&e.loop, UV_RUN_DEFAULT);
    return e.failed ? 1 : 0;
}

static int send_by_kafka(const void *run)
{
    return run_end(run, use_kafka, true);
}

static int receive_by_kafka(const void *run)
{
    return run_end(run, use_kafka, false);
}

static int send_by_grpc(const void *run)
{
    return run_end(run, use_grpc, true);
}

static int receive_by_grpc(const void *run)
{
    return run_end(run, use_grpc, false);
}

const ab_bench_carrier ab_bench_transport = {"transport", send_by_kafka, receive_by_kafka};
const ab_bench_carrier ab_bench_grpc = {"grpc", send_by_grpc, receive_by_grpc};
