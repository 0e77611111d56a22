/* SPDX-License-Identifier: Apache-2.0
 *
 * Our transport without stores: the principal's end sends, the agent's end acknowledges each event
 * as it comes. Events carry the attributes that the services give them.
 */
#include "transport/transport.h"

#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "tests/bench/process.h"
#include "tests/bench/run.h"

#include <stdio.h>
#include <unistd.h>

#define AGENT   "bench"
#define STOP_MS 10000
#define TABLES  12

typedef struct {
    const ab_bench_run *run;
    ab_role role;
    uv_loop_t loop;
    uv_poll_t go;
    uv_timer_t ending;
    ab_config *config;
    ab_log *log;
    ab_metrics *metrics;
    ab_transport *transport;
    uint64_t epoch;    /* sender; 0 = events are not taken yet */
    size_t may;        /* sender: how many events may be sent by now */
    size_t sent;       /* sender: given to the transport */
    size_t safe;       /* sender: known to be in the log */
    ab_event *refused; /* sender: when the transport was full; else NULL */
    size_t received;
    bool failed;
} end;

static void fail(end *e, const char *what, const ab_error *err)
{
    fprintf(stderr, "transport: %s: %s\n", what, err == NULL ? "?" : err->text);
    e->failed = true;
    uv_stop(&e->loop);
}

/* --- the end of a run --- */

static void stopped(void *arg)
{
    end *e = arg;
    uv_stop(&e->loop);
}

static void on_ending(uv_timer_t *timer)
{
    end *e = timer->data;
    ab_transport_close(e->transport);
    ab_transport_stop(e->transport, STOP_MS, stopped, e);
}

/* Not from inside an upcall. */
static void finish(end *e)
{
    if (!uv_is_active((uv_handle_t *)&e->ending))
        (void)uv_timer_start(&e->ending, on_ending, 0, 0); /* fails only for a closing handle */
}

/* --- the sending process --- */

static void pump(end *e);

static void on_sent(void *arg, ab_err code, const ab_error *err)
{
    end *e = arg;
    if (code != AB_ERR_OK) {
        fail(e, "not sent", err);
        return;
    }
    if (++e->safe == e->run->count)
        finish(e);
    else
        pump(e);
}

static ab_err make_event(const end *e, size_t i, ab_event **out, ab_error *err)
{
    char key[32];
    char id[37];
    ab_bench_key(i, key);
    (void)snprintf(id, sizeof(id), "3f2b9c1e-7a64-4d0f-9b1c-%012zu", i);
    ab_event_draft draft = {.data = ab_bench_pool_at(e->run->pool, i)};
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(AB_TYPE_SPEC_UPDATE));
    ab_event_set_text(&draft, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_APPLICATION));
    ab_event_set_text(&draft, AB_CE_SUBJECT, key + sizeof("Application/") - 1);
    ab_event_set_text(&draft, AB_CE_RESOURCEID, id);
    ab_event_set_text(&draft, AB_CE_EVENTID, id);
    ab_event_set_text(&draft, AB_CE_PRINCIPALUID, "8d3a5f60-5d1f-4c35-8f0e-3f9b57c0a1d2");
    ab_event_set_text(&draft, AB_CE_ID, id);
    ab_event_set_text(&draft, AB_CE_SOURCE, AB_SOURCE_PRINCIPAL);
    ab_event_set_text(&draft, AB_CE_TIME, "2026-01-02T03:04:05.678901Z");
    ab_event_set_text(&draft, AB_CE_PARTITIONKEY, key);
    ab_event_set_u64(&draft, AB_CE_WRITEREPOCH, e->epoch);
    ab_event_set_u64(&draft, AB_CE_OBJVERSION, i + 1);
    ab_event_set_text(&draft, AB_CE_CONTENTHASH, "9f86d081884c7d659a2feaa0c55ad015");
    ab_event_set_text(&draft, AB_CE_DATACONTENTTYPE, "application/json");
    return ab_event_new(&draft, out, err);
}

/* What was refused is kept and sent first, as the outbox of the services does.
 * @return false when no more can be sent now */
static bool send_one(end *e)
{
    ab_error err = {0};
    ab_err code = AB_ERR_OK;
    if (e->refused == NULL) {
        ab_bench_sending(e->run, e->sent);
        code = make_event(e, e->sent, &e->refused, &err);
    }
    if (code == AB_ERR_OK)
        code = ab_transport_send(e->transport, AGENT, AB_LANE_STATE, e->refused, 0, on_sent, e);
    if (code == AB_ERR_OK) {
        ab_event_unref(e->refused);
        e->refused = NULL;
        e->sent++;
    } else if (code != AB_ERR_FULL) {
        (void)ab_fail(&err, code, "%s", ab_err_text(code));
        fail(e, "cannot send", &err);
    }
    return code == AB_ERR_OK;
}

static void pump(end *e)
{
    if (e->epoch == 0)
        return;
    while (!e->failed && e->sent < e->may && send_one(e))
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
    pump(e);
}

static void on_ready(void *arg, const char *agent, uint64_t epoch)
{
    end *e = arg;
    (void)agent;
    e->epoch = epoch;
    if (e->role == AB_ROLE_PRINCIPAL)
        pump(e);
}

static void on_writable(void *arg, const char *agent)
{
    (void)agent;
    pump(arg);
}

/* --- the receiving process --- */

static void on_caught_up(void *arg, const char *agent)
{
    end *e = arg;
    (void)agent;
    if (e->role == AB_ROLE_AGENT && e->received == 0)
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
    ab_bench_arrived(e->run, i);
    ab_transport_ack(e->transport, delivery, AB_VERDICT_APPLIED);
    if (ab_bench_acknowledged(e->run, i))
        finish(e);
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

static void on_fatal(void *arg, const ab_error *err)
{
    fail(arg, "fatal", err);
}

static ab_err load_config(end *e, ab_error *err)
{
    char brokers[256];
    char prefix[128];
    (void)snprintf(brokers, sizeof(brokers), "kafka.brokers=%s", e->run->broker);
    (void)snprintf(prefix, sizeof(prefix), "kafka.prefix=%s", e->run->name);
    const char *const set[] = {brokers,
                               prefix,
                               "kafka.topics=create",
                               "kafka.replication-factor=1",
                               "kafka.min-insync-replicas=1",
                               e->run->one_by_one ? "kafka.linger=0ms" : "kafka.linger=5ms"};
    const ab_config_sources sources = {.set = set, .set_count = sizeof(set) / sizeof(set[0])};
    ab_options tables[TABLES];
    size_t count = 0;
    tables[count++] = ab_transport_options;
    for (size_t i = 0; ab_transport_table[i] != NULL; i++)
        for (size_t j = 0; ab_transport_table[i]->options[j] != NULL && count < TABLES; j++)
            tables[count++] = *ab_transport_table[i]->options[j];
    return ab_config_load(tables, count, &sources, &e->config, err);
}

static ab_err make_transport(end *e, ab_error *err)
{
    const ab_transport_env env = {
        .loop = &e->loop,
        .config = e->config,
        .log = e->log,
        .metrics = e->metrics,
        .clock = &ab_clock_real,
        .role = e->role,
        .agent = e->role == AB_ROLE_AGENT ? AGENT : NULL,
        .mode = e->role == AB_ROLE_AGENT ? "managed" : "",
        .events = {on_event, on_peer, on_written, on_ready, on_gap, on_caught_up, on_writable,
                   on_fatal, e},
    };
    ab_err code = ab_transport_new(&env, &e->transport, err);
    if (code == AB_ERR_OK && e->role == AB_ROLE_PRINCIPAL)
        code = ab_transport_add_agent(e->transport, AGENT, err);
    return code == AB_ERR_OK ? ab_transport_start(e->transport, err) : code;
}

static ab_err make(end *e, ab_error *err)
{
    ab_err code = load_config(e, err);
    if (code == AB_ERR_OK)
        code = ab_log_new(STDERR_FILENO, "warn", AB_LOG_TEXT, &ab_clock_real, &e->log, err);
    e->metrics = ab_metrics_new();
    if (code == AB_ERR_OK && e->metrics == NULL)
        code = ab_fail(err, AB_ERR_NOMEM, "out of memory");
    return code == AB_ERR_OK ? make_transport(e, err) : code;
}

/* What is left to close ends with the process. */
static int run_end(const ab_bench_run *run, ab_role role)
{
    end e = {.run = run, .role = role};
    ab_error err = {0};
    if (uv_loop_init(&e.loop) != 0 || uv_timer_init(&e.loop, &e.ending) != 0 ||
        uv_poll_init(&e.loop, &e.go, run->go_fd) != 0)
        return 1;
    e.ending.data = &e;
    e.go.data = &e;
    if (role == AB_ROLE_PRINCIPAL)
        (void)uv_poll_start(&e.go, UV_READABLE, on_go);
    if (make(&e, &err) != AB_ERR_OK)
        fail(&e, "cannot start", &err);
    else
        (void)uv_run(&e.loop, UV_RUN_DEFAULT);
    return e.failed ? 1 : 0;
}

static int run_sender(const void *run)
{
    return run_end(run, AB_ROLE_PRINCIPAL);
}

static int run_receiver(const void *run)
{
    return run_end(run, AB_ROLE_AGENT);
}

const ab_bench_carrier ab_bench_transport = {"transport", run_sender, run_receiver};
