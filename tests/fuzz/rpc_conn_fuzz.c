/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client sends to a server of ours, over a socket, in pieces of the size that the first byte
 * says; its lowest bit: after a good preface of HTTP/2; else what comes may also be a WebSocket.
 * When the client is gone, so is all that it caused.
 */
#include "net/rpc/rpc_priv.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define ROUNDS_MAX 1000
#define PREFACE    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"

typedef struct {
    uv_loop_t loop;
    ab_rpc_server *server;
    size_t calls;
    size_t ends;
} world;

typedef struct {
    world *world;
    ab_rpc_call *call;
} session;

static void on_message(void *arg, ab_str bytes)
{
    ab_rpc_call *call = ((session *)arg)->call;
    assert(bytes.len <= 65536);
    if (ab_rpc_send(call, bytes, true) == AB_ERR_FULL)
        ab_rpc_pause(call);
}

static void on_writable(void *arg)
{
    ab_rpc_resume(((session *)arg)->call);
}

static void on_half_close(void *arg)
{
    ab_rpc_finish(((session *)arg)->call, AB_RPC_OK, NULL);
}

static void on_end(void *arg, ab_rpc_status status, ab_str text)
{
    session *s = arg;
    (void)status;
    (void)text;
    s->world->ends++;
    free(s);
}

static const ab_rpc_handler echo = {.on_message = on_message,
                                    .on_half_close = on_half_close,
                                    .on_writable = on_writable,
                                    .on_end = on_end};

static void on_call(void *arg, ab_rpc_call *call, const ab_rpc_request *request)
{
    if (!ab_str_is(request->path, "/Echo"))
        return;
    session *s = malloc(sizeof(*s));
    assert(s != NULL);
    *s = (session){arg, call};
    s->world->calls++;
    ab_rpc_accept(call, &echo, s);
}

/* One for all inputs, since what an input leaves behind must not show in the next. */
static world *get_world(void)
{
    static world w;
    if (w.server != NULL)
        return &w;
    ab_rpc_limits limits = ab_rpc_default_limits;
    limits.message_bytes = 65536;
    limits.buffered_bytes = 256u * 1024;
    limits.header_bytes = 4096;
    limits.window_bytes = 65536;
    limits.streams = 8;
    const ab_rpc_env env = {&w.loop, NULL, ab_metrics_new(), &ab_clock_real};
    const ab_tls tls = {.insecure = true, .websocket = true};
    const ab_rpc_server_events events = {on_call, &w};
    int rc = uv_loop_init(&w.loop);
    ab_err e = ab_rpc_server_new(&env, "", 0, &tls, &limits, &events, &w.server, NULL);
    assert(rc == 0 && e == AB_ERR_OK && env.metrics != NULL);
    (void)rc;
    (void)e;
    return &w;
}

/* The client takes what comes. */
static void turn(world *w, int fd)
{
    char sink[65536];
    (void)uv_run(&w->loop, UV_RUN_NOWAIT);
    while (recv(fd, sink, sizeof(sink), MSG_DONTWAIT) > 0)
        ;
}

static void say(world *w, int fd, const uint8_t *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        turn(w, fd);
        if (n < 0 && errno != EAGAIN)
            return; /* the server wants no more */
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fds[2];
    ab_rpc_conn *conn = NULL;
    const struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    world *w = get_world();
    ab_rpc_endpoint *end = (ab_rpc_endpoint *)w->server; /* its first member */
    if (size < 1 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0)
        return 0;
    ab_err e = ab_rpc_conn_new(end, fds[0], (const struct sockaddr *)&peer, false, &conn);
    assert(e == AB_ERR_OK);
    (void)e;
    if ((data[0] & 1) != 0)
        say(w, fds[1], (const uint8_t *)PREFACE, sizeof(PREFACE) - 1);
    size_t step = data[0] < 2 ? size : data[0];
    for (size_t at = 1; at < size; at += step)
        say(w, fds[1], data + at, size - at < step ? size - at : step);
    (void)shutdown(fds[1], SHUT_WR);
    for (int i = 0; end->conn_count > 0 && i < ROUNDS_MAX; i++)
        turn(w, fds[1]);
    close(fds[1]);
    assert(end->conn_count == 0 && end->budget.used == 0 && w->calls == w->ends);
    return 0;
}
