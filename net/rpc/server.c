/* SPDX-License-Identifier: Apache-2.0 */
#include "net/rpc/rpc_priv.h"

#include "net/listener.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#define ACCEPTS_MAX 16 /* before others have their turn */
#define RETRY_MS    1000
/* So much that connections left behind goes back to the system. */
#define TRIM_BYTES (1024u * 1024)
#define TRIM_MS    20000

struct ab_rpc_server {
    ab_rpc_endpoint endpoint;
    ab_rpc_server_events events;
    char *host;
    int port;
    uv_poll_t listen;
    int fd; /* -1: does not listen */
    bool accepting;
    int64_t retry_ms; /* accepting again after descriptors ran out; 0 = not waiting */
    bool short_of;    /* them, memory or room; until all who waited are taken */
    bool gone;        /* connections have, since memory was given back */
    int64_t trimmed_ms;
    bool draining;
    void (*drained)(void *arg);
    void *drained_arg;
};

static ab_rpc_server *server_of(ab_rpc_endpoint *endpoint)
{
    return (ab_rpc_server *)endpoint;
}

static void on_connection(uv_poll_t *poll, int status, int events);

static void set_accepting(ab_rpc_server *s, bool on)
{
    if (s->fd < 0 || s->accepting == on)
        return;
    s->accepting = on;
    if (on)
        uv_poll_start(&s->listen, UV_READABLE, on_connection);
    else
        uv_poll_stop(&s->listen);
}

/* Accept no more; on_gone or on_care begin again. Said once, however often some get in between. */
static void rest(ab_rpc_server *s, const char *why, const char *advice)
{
    set_accepting(s, false);
    if (!s->short_of)
        AB_WARN(s->endpoint.env.log, TRANSPORT, "cannot accept connections; retrying",
                AB_KV("why", why), AB_KV("connections", s->endpoint.conn_count),
                AB_KV("advice", advice));
    s->short_of = true;
}

/* Without a free descriptor the loop would spin. */
static void rest_a_while(ab_rpc_server *s, int reason)
{
    s->retry_ms = ab_rpc_endpoint_now_ms(&s->endpoint) + RETRY_MS;
    rest(s, strerror(reason), reason == EMFILE ? "raise the limit of open files" : "");
}

static void go_on(ab_rpc_server *s)
{
    if (s->short_of)
        AB_INFO(s->endpoint.env.log, TRANSPORT, "accepting connections again");
    s->short_of = false;
}

/* @return false when there are no more for now */
static bool accept_one(ab_rpc_server *s)
{
    struct sockaddr_storage peer = {0};
    socklen_t len = sizeof(peer);
    ab_rpc_conn *conn = NULL;
    int fd = accept4(s->fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == ECONNABORTED || errno == EINTR))
        return true;
    if (fd < 0 && errno == EAGAIN)
        go_on(s);
    else if (fd < 0)
        rest_a_while(s, errno);
    if (fd < 0)
        return false;
    if (ab_rpc_conn_new(&s->endpoint, fd, (struct sockaddr *)&peer, false, &conn) != AB_ERR_OK)
        close(fd);
    return true;
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    ab_rpc_server *s = poll->data;
    for (int i = 0; i < ACCEPTS_MAX && (i == 0 || ab_rpc_endpoint_has_time(&s->endpoint)); i++) {
        if (s->endpoint.conn_count >= s->endpoint.limits.connections) {
            rest(s, "the limit of connections is reached", "");
            return;
        }
        if (!accept_one(s))
            return;
    }
}

static void on_call(ab_rpc_endpoint *endpoint, ab_rpc_call *call, const ab_rpc_request *request)
{
    ab_rpc_server *s = server_of(endpoint);
    s->events.on_call(s->events.arg, call, request);
}

static void tell_drained(ab_rpc_server *s)
{
    if (!s->draining || s->endpoint.conn_count > 0 || s->drained == NULL)
        return;
    void (*drained)(void *arg) = s->drained;
    s->drained = NULL;
    drained(s->drained_arg);
}

static void on_gone(ab_rpc_conn *conn)
{
    ab_rpc_server *s = server_of(conn->endpoint);
    s->gone = true;
    if (s->retry_ms == 0)
        set_accepting(s, true);
}

/* Connections leave holes between what others hold, which malloc keeps otherwise. */
static void trim(ab_rpc_server *s)
{
    int64_t now_ms = ab_rpc_endpoint_now_ms(&s->endpoint);
    if (!s->gone || now_ms - s->trimmed_ms < TRIM_MS)
        return;
    s->gone = false;
    s->trimmed_ms = now_ms;
    if (mallinfo2().fordblks >= TRIM_BYTES)
        (void)malloc_trim(0);
}

static void on_care(ab_rpc_endpoint *endpoint)
{
    ab_rpc_server *s = server_of(endpoint);
    trim(s);
    if (s->retry_ms > 0 && ab_rpc_endpoint_now_ms(endpoint) >= s->retry_ms) {
        s->retry_ms = 0;
        set_accepting(s, true);
    }
    tell_drained(s);
}

static void on_closed(ab_rpc_endpoint *endpoint)
{
    ab_rpc_server *s = server_of(endpoint);
    free(s->host);
    free(s);
}

static const ab_rpc_endpoint_ops ops = {
    .on_call = on_call,
    .on_gone = on_gone,
    .on_care = on_care,
    .on_closed = on_closed,
};

ab_err ab_rpc_server_new(const ab_rpc_env *env, const char *host, int port, const ab_tls *tls,
                         const ab_rpc_limits *limits, const ab_rpc_server_events *events,
                         ab_rpc_server **out, ab_error *err)
{
    ab_rpc_server *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the gRPC server");
    s->events = *events;
    s->port = port;
    s->fd = -1;
    s->host = strdup(host);
    ab_err e = ab_rpc_endpoint_init(&s->endpoint, &ops, env, limits, tls, true, host, err);
    if (e == AB_ERR_OK && s->host == NULL)
        e = ab_fail(err, AB_ERR_NOMEM, "out of memory for the gRPC server");
    if (e != AB_ERR_OK) {
        ab_rpc_server_free(s);
        return e;
    }
    *out = s;
    return AB_ERR_OK;
}

ab_err ab_rpc_server_start(ab_rpc_server *server, ab_error *err)
{
    assert(server->fd < 0 && !server->draining);
    int fd = -1;
    ab_err e = ab_listener_open(server->host, server->port, &fd, &server->port, err);
    if (e != AB_ERR_OK)
        return e;
    int rc = uv_poll_init_socket(server->endpoint.env.loop, &server->listen, fd);
    if (rc != 0) {
        close(fd);
        return ab_fail(err, AB_ERR_UNAVAILABLE, "cannot listen: %s", uv_strerror(rc));
    }
    server->fd = fd;
    server->listen.data = &server->endpoint;
    ab_rpc_endpoint_ref(&server->endpoint);
    set_accepting(server, true);
    return AB_ERR_OK;
}

int ab_rpc_server_port(const ab_rpc_server *server)
{
    return server->port;
}

size_t ab_rpc_server_connections(const ab_rpc_server *server)
{
    return server->endpoint.conn_count;
}

static void on_listen_closed(uv_handle_t *handle)
{
    ab_rpc_endpoint_unref(handle->data);
}

static void stop_listening(ab_rpc_server *s)
{
    if (s->fd < 0)
        return;
    set_accepting(s, false);
    uv_close((uv_handle_t *)&s->listen, on_listen_closed);
    close(s->fd);
    s->fd = -1;
}

void ab_rpc_server_drain(ab_rpc_server *server, int64_t deadline_ms, void (*drained)(void *arg),
                         void *arg)
{
    ab_rpc_conn *conn;
    stop_listening(server);
    server->draining = true;
    server->drained = drained;
    server->drained_arg = arg;
    TAILQ_FOREACH(conn, &server->endpoint.conns, at)
    ab_rpc_conn_leave(conn, deadline_ms);
}

void ab_rpc_server_free(ab_rpc_server *server)
{
    if (server == NULL)
        return;
    stop_listening(server);
    ab_rpc_endpoint_close(&server->endpoint);
}
