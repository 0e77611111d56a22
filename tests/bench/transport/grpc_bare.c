/* SPDX-License-Identifier: Apache-2.0
 *
 * The gRPC layer alone: the limit that our transport over gRPC is measured against. The same
 * messages over the same connections, in the same window, each answered by a message as large as
 * an acknowledgement; nothing is made or read for any of them.
 */
#include "net/rpc/rpc.h"
#include "tests/bench/base/process.h"
#include "tests/bench/transport/event.h"
#include "tests/bench/transport/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define METHOD "/bench.Events/Take"

struct end;

typedef struct {
    struct end *end;
    ab_rpc_client *client; /* NULL at the server */
    ab_rpc_call *call;     /* NULL: not begun, or ended */
    size_t sent;
    size_t acknowledged;
    size_t owed; /* acknowledgements that the call did not take yet */
} stream;

typedef struct end {
    const ab_bench_run *run;
    bool sends;
    bool serves;
    uv_loop_t loop;
    uv_poll_t go;
    ab_rpc_env env;
    ab_rpc_server *server;
    ab_bench_messages messages;
    stream *streams;
    size_t begun; /* calls */
    size_t ended;
    bool may;            /* sender: the receiver is ready */
    size_t sent;         /* sender: of all streams */
    size_t acknowledged; /* sender: of all streams */
    size_t received;     /* receiver */
    size_t paid;         /* receiver: acknowledgements sent */
    bool failed;
} end;

static void fail(end *e, const char *what, const char *why)
{
    fprintf(stderr, "grpc.bare: %s: %s\n", what, why);
    e->failed = true;
    uv_stop(&e->loop);
}

static bool is_over(const end *e)
{
    return (e->sends ? e->acknowledged : e->paid) == e->run->count;
}

/* --- the sending process --- */

static bool may_send(const stream *s)
{
    const end *e = s->end;
    size_t window = e->run->round_trip ? 1 : AB_BENCH_WINDOW;
    return e->may && s->call != NULL && s->sent < e->run->count / e->run->streams &&
           s->sent - s->acknowledged < window;
}

static void pump(stream *s)
{
    end *e = s->end;
    while (may_send(s)) {
        ab_bench_sending(e->run, e->sent);
        const ab_buf *message = &e->messages.event[e->sent % AB_BENCH_POOL];
        ab_err code = ab_rpc_send(s->call, ab_buf_str(message), false);
        if (code == AB_ERR_FULL)
            return;
        if (code != AB_ERR_OK) {
            fail(e, "cannot send", ab_err_text(code));
            return;
        }
        s->sent++;
        e->sent++;
    }
}

/* Whoever sends ends the calls. */
static void end_calls(end *e)
{
    ab_bench_sent(e->run);
    for (unsigned i = 0; i < e->run->streams; i++) {
        if (e->serves)
            ab_rpc_finish(e->streams[i].call, AB_RPC_OK, NULL);
        else
            ab_rpc_half_close(e->streams[i].call);
    }
}

static void on_ack(stream *s)
{
    end *e = s->end;
    if (e->run->round_trip)
        ab_bench_arrived(e->run, e->acknowledged);
    s->acknowledged++;
    if (++e->acknowledged == e->run->count)
        end_calls(e);
    else
        pump(s);
}

static void on_go(uv_poll_t *poll, int status, int events)
{
    end *e = poll->data;
    uint64_t count = 0;
    (void)status;
    (void)events;
    if (read(e->run->go_fd, &count, sizeof(count)) != sizeof(count))
        return;
    e->may = true;
    for (unsigned i = 0; i < e->run->streams; i++)
        pump(&e->streams[i]);
}

/* --- the receiving process --- */

static void pay(stream *s)
{
    end *e = s->end;
    while (s->owed > 0 && s->call != NULL) {
        ab_err code = ab_rpc_send(s->call, ab_buf_str(&e->messages.ack), false);
        if (code == AB_ERR_FULL)
            return;
        if (code != AB_ERR_OK) {
            fail(e, "cannot acknowledge", ab_err_text(code));
            return;
        }
        s->owed--;
        (void)ab_bench_acknowledged(e->run, e->paid++);
    }
}

/* --- both --- */

static void on_message(void *arg, ab_str bytes)
{
    stream *s = arg;
    end *e = s->end;
    (void)bytes;
    if (e->sends) {
        on_ack(s);
        return;
    }
    if (!e->run->round_trip)
        ab_bench_arrived(e->run, e->received);
    e->received++;
    s->owed++;
    pay(s);
}

static void on_writable(void *arg)
{
    stream *s = arg;
    if (s->end->sends)
        pump(s);
    else
        pay(s);
}

static void on_half_close(void *arg)
{
    const stream *s = arg;
    ab_rpc_finish(s->call, AB_RPC_OK, NULL);
}

static void on_end(void *arg, ab_rpc_status status, ab_str text)
{
    stream *s = arg;
    end *e = s->end;
    s->call = NULL;
    if (!is_over(e))
        fail(e, ab_rpc_status_name(status), text.len == 0 ? "?" : "the call has ended");
    else if (++e->ended == e->run->streams)
        uv_stop(&e->loop);
}

static const ab_rpc_handler handler = {.on_message = on_message,
                                       .on_half_close = on_half_close,
                                       .on_writable = on_writable,
                                       .on_end = on_end};

/* All calls are there: whatever is sent from now on arrives. */
static void on_begun(end *e)
{
    if (++e->begun < e->run->streams)
        return;
    if (!e->sends)
        ab_bench_go(e->run);
    else
        (void)uv_poll_start(&e->go, UV_READABLE, on_go);
}

static void on_call(void *arg, ab_rpc_call *call, const ab_rpc_request *request)
{
    end *e = arg;
    (void)request;
    if (e->begun == e->run->streams)
        return; /* refused by the layer */
    stream *s = &e->streams[e->begun];
    s->call = call;
    ab_rpc_accept(call, &handler, s);
    if (ab_rpc_respond(call, NULL, 0) != AB_ERR_OK)
        fail(e, "cannot respond", "the call is over");
    on_begun(e);
}

static void on_link(void *arg, ab_rpc_link link, const ab_error *err)
{
    stream *s = arg;
    end *e = s->end;
    const ab_rpc_begin begin = {.path = METHOD};
    if (link == AB_RPC_DOWN && !is_over(e))
        fail(e, "connection", err->text);
    if (link != AB_RPC_UP)
        return;
    ab_err code = ab_rpc_call_begin(s->client, &begin, &handler, s, &s->call);
    if (code == AB_ERR_OK)
        on_begun(e);
    else
        fail(e, "cannot begin a call", ab_err_text(code));
}

static ab_err make_server(end *e, ab_error *err)
{
    char ca[PATH_MAX], cert[PATH_MAX], key[PATH_MAX];
    (void)snprintf(ca, sizeof(ca), "%s/ca.crt", e->run->certs);
    (void)snprintf(cert, sizeof(cert), "%s/server.crt", e->run->certs);
    (void)snprintf(key, sizeof(key), "%s/server.key", e->run->certs);
    const ab_tls tls = {
        .ca = ca, .cert = cert, .key = key, .client_cert = AB_TLS_CLIENT_CERT_REQUEST};
    const ab_rpc_server_events events = {on_call, e};
    ab_err code = ab_rpc_server_new(&e->env, "127.0.0.1", e->run->port, &tls,
                                    &ab_rpc_default_limits, &events, &e->server, err);
    return code == AB_ERR_OK ? ab_rpc_server_start(e->server, err) : code;
}

static ab_err make_client(end *e, unsigned i, ab_error *err)
{
    char ca[PATH_MAX], cert[PATH_MAX], key[PATH_MAX];
    (void)snprintf(ca, sizeof(ca), "%s/ca.crt", e->run->certs);
    (void)snprintf(cert, sizeof(cert), "%s/w%u.crt", e->run->certs, i);
    (void)snprintf(key, sizeof(key), "%s/agent.key", e->run->certs);
    const ab_tls tls = {.ca = ca, .cert = cert, .key = key};
    const ab_rpc_client_events events = {on_link, &e->streams[i]};
    ab_err code = ab_rpc_client_new(&e->env, "localhost", e->run->port, &tls,
                                    &ab_rpc_default_limits, &events, &e->streams[i].client, err);
    if (code == AB_ERR_OK)
        ab_rpc_client_start(e->streams[i].client);
    return code;
}

static ab_err make(end *e, ab_error *err)
{
    e->env = (ab_rpc_env){.loop = &e->loop, .clock = &ab_clock_real};
    e->env.metrics = ab_metrics_new();
    e->streams = calloc(e->run->streams, sizeof(*e->streams));
    if (e->env.metrics == NULL || e->streams == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    ab_err code = ab_bench_messages_init(&e->messages, e->run->pool, err);
    if (code == AB_ERR_OK)
        code = ab_log_new(STDERR_FILENO, "warn", AB_LOG_TEXT, &ab_clock_real, &e->env.log, err);
    for (unsigned i = 0; i < e->run->streams; i++)
        e->streams[i].end = e;
    if (code == AB_ERR_OK && e->serves)
        return make_server(e, err);
    for (unsigned i = 0; i < e->run->streams && code == AB_ERR_OK; i++)
        code = make_client(e, i, err);
    return code;
}

/* What is left to close ends with the process. */
static int run_end(const ab_bench_run *run, bool sends)
{
    static end e;
    ab_error err = {0};
    e = (end){.run = run, .sends = sends, .serves = sends != run->round_trip};
    if (uv_loop_init(&e.loop) != 0 || uv_poll_init(&e.loop, &e.go, run->go_fd) != 0)
        return 1;
    e.go.data = &e;
    if (!e.serves && !ab_bench_wait_port(run->port))
        fail(&e, "cannot start", "nobody listens");
    else if (make(&e, &err) != AB_ERR_OK)
        fail(&e, "cannot start", err.text);
    else
        (void)uv_run(&e.loop, UV_RUN_DEFAULT);
    return e.failed ? 1 : 0;
}

static int send_all(const void *run)
{
    return run_end(run, true);
}

static int receive_all(const void *run)
{
    return run_end(run, false);
}

const ab_bench_carrier ab_bench_grpc_bare = {"grpc.bare", send_all, receive_all};
