/* SPDX-License-Identifier: Apache-2.0 */
#include "net/rpc/carrier/carrier.h"
#include "net/rpc/rpc_priv.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

#define INFLATE_MAX (256u * 1024) /* in one turn: half a millisecond's work */
/* Bytes that the kernel has and has not sent: what is queued later waits for them, on a slow way
 * for long. Those that are on their way to the peer do not count. */
#define UNSENT_MAX (128 * 1024)
#define READS_MAX  8 /* of AB_RPC_SCRATCH bytes at most, before others have their turn */

static bool takes(const ab_rpc_conn *conn)
{
    return !ab_rpc_conn_is_open(conn) || conn->carrier->takes == NULL || conn->carrier->takes(conn);
}

static bool read_all(ab_rpc_conn *conn)
{
    ab_rpc_endpoint *endpoint = conn->endpoint;
    for (int i = 0; i < READS_MAX && !conn->doomed && takes(conn); i++) {
        size_t got = 0;
        if (ab_rpc_wire_read(conn, endpoint->in, AB_RPC_SCRATCH, &got) != AB_RPC_WIRE_DONE)
            return true;
        conn->heard_ms = ab_rpc_endpoint_now_ms(endpoint);
        conn->pinged_ms = 0;
        conn->carrier->receive(conn, endpoint->in, got);
    }
    return false;
}

static void receive(ab_rpc_conn *conn)
{
    conn->read_on = !read_all(conn);
}

/* @return false: nothing has come yet */
static bool peek(const ab_rpc_conn *conn, char *first)
{
    ssize_t n = recv(conn->fd, first, 1, MSG_PEEK);
    return n >= 0 || (errno != EAGAIN && errno != EINTR);
}

/* By which carrier a peer that has connected wants to call: what TLS has agreed on, or else its
 * first byte says. @return NULL: nothing has come yet */
static const ab_rpc_carrier *carrier_of(const ab_rpc_conn *conn)
{
    char first = 'P'; /* HTTP/2 begins with "PRI" */
    if (!conn->endpoint->secure.websocket)
        return &ab_rpc_http2;
    if (conn->ssl != NULL)
        return ab_rpc_wire_speaks_h2(conn) ? &ab_rpc_http2 : &ab_rpc_over_websocket;
    if (conn->endpoint->server && !peek(conn, &first))
        return NULL;
    return conn->endpoint->server && first == 'P' ? &ab_rpc_http2 : &ab_rpc_over_websocket;
}

/* @return false while it is not through */
static bool open_up(ab_rpc_conn *conn)
{
    ab_error err = {0};
    if (ab_rpc_wire_open(conn) != AB_RPC_WIRE_DONE)
        return false;
    if (conn->carrier == NULL)
        conn->carrier = carrier_of(conn);
    if (conn->carrier == NULL)
        return false;
    if (conn->carrier->open(conn) == AB_ERR_OK)
        return true;
    ab_fail(&err, AB_ERR_NOMEM, "out of memory for the connection");
    ab_rpc_conn_doom(conn, &err);
    return false;
}

/* Out of time: it waits for its turn in the queue, and epoll need not name it again until then. */
static void defer(ab_rpc_conn *conn)
{
    uv_poll_stop(&conn->poll);
    conn->watched = 0;
    ab_rpc_endpoint_wake(conn);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    ab_rpc_conn *conn = poll->data;
    ab_rpc_endpoint *endpoint = conn->endpoint;
    conn->polled |= status < 0 ? UV_READABLE : events;
    if (!ab_rpc_endpoint_has_time(endpoint)) {
        defer(conn);
        return;
    }
    ab_rpc_endpoint_forget(conn);
    ab_rpc_conn_work(conn);
    ab_rpc_call_feed(endpoint);
}

static int events_of(const ab_rpc_conn *conn)
{
    if (conn->state == AB_RPC_CONN_TCP)
        return UV_WRITABLE;
    if (conn->state == AB_RPC_CONN_TLS)
        return SSL_want_write(conn->ssl) ? UV_WRITABLE : UV_READABLE;
    return (takes(conn) ? UV_READABLE : 0) | (conn->out != NULL ? UV_WRITABLE : 0);
}

static void watch(ab_rpc_conn *conn)
{
    int events = events_of(conn);
    if (events == conn->watched)
        return;
    conn->watched = events;
    uv_poll_start(&conn->poll, events, on_poll);
}

static void go_on_with_calls(ab_rpc_conn *conn)
{
    ab_rpc_call *next;
    conn->resumed = false;
    for (ab_rpc_call *c = TAILQ_FIRST(&conn->calls); c != NULL && !conn->doomed; c = next) {
        next = TAILQ_NEXT(c, at);
        ab_rpc_call_go_on(c);
    }
}

/* Calls end before the connection does: what they hold is not kept while it lingers. */
static void end_calls(ab_rpc_conn *conn, bool silent)
{
    ab_str why = ab_str_of(conn->why.code == AB_ERR_OK ? "connection closed" : conn->why.text);
    ab_rpc_call *call;
    while ((call = TAILQ_FIRST(&conn->calls)) != NULL) {
        if (call->stream > 0 && conn->carrier->forget != NULL)
            conn->carrier->forget(call);
        call->stream = 0;
        call->over = true;
        ab_rpc_call_set_fate(call, AB_RPC_UNAVAILABLE, why);
        ab_rpc_call_free(call, silent);
    }
}

/* A socket that is closed with something left to read is reset, and the peer may never see the
 * GOAWAY. So its end is waited for, and what comes is dropped. */
static void linger(ab_rpc_conn *conn)
{
    end_calls(conn, false);
    if (conn->shut || conn->out != NULL || conn->carrier->wants_send(conn))
        return;
    conn->shut = true;
    ab_rpc_wire_shut(conn);
}

static bool is_through(const ab_rpc_conn *conn)
{
    if (!ab_rpc_conn_is_open(conn) || conn->out != NULL || conn->closing)
        return false;
    bool last = (conn->leaving && conn->call_count == 0) || conn->carrier->is_ended(conn);
    return last && !conn->carrier->wants_send(conn);
}

/* The last step of every entry from the top: send, then free or go on watching. */
static void finish(ab_rpc_conn *conn)
{
    if (ab_rpc_conn_is_open(conn) && !conn->doomed)
        conn->carrier->send(conn);
    if (conn->closing && !conn->doomed)
        linger(conn);
    if (conn->doomed || is_through(conn)) {
        ab_rpc_conn_free(conn, false);
        return;
    }
    watch(conn);
    if ((conn->read_on && takes(conn)) || conn->resumed || (conn->send_on && conn->out == NULL))
        ab_rpc_endpoint_wake(conn);
}

/* With the end of the handshake, the first frames may have come. */
static bool has_come(ab_rpc_conn *conn)
{
    int events = conn->polled;
    conn->polled = 0;
    if (ab_rpc_conn_is_open(conn))
        return conn->read_on || (events & UV_READABLE) != 0;
    return events != 0 && open_up(conn);
}

static void work(ab_rpc_conn *conn)
{
    conn->may_inflate = INFLATE_MAX;
    if (conn->resumed)
        go_on_with_calls(conn);
    if (!conn->doomed && has_come(conn))
        receive(conn);
    finish(conn);
}

void ab_rpc_conn_work(ab_rpc_conn *conn)
{
    ab_rpc_endpoint *endpoint = conn->endpoint;
    uint64_t begun_ns = uv_hrtime();
    work(conn);
    endpoint->spent_ns += uv_hrtime() - begun_ns;
}

ab_err ab_rpc_conn_new(ab_rpc_endpoint *endpoint, int fd, const struct sockaddr *peer,
                       bool connecting, ab_rpc_conn **out)
{
    const int on = 1;
    const int unsent_max = UNSENT_MAX;
    ab_rpc_conn *conn = calloc(1, sizeof(*conn));
    SSL *ssl = endpoint->secure.insecure ? NULL : ab_tls_context_open(&endpoint->secure, fd);
    if (conn == NULL || (ssl == NULL && !endpoint->secure.insecure) ||
        uv_poll_init_socket(endpoint->env.loop, &conn->poll, fd) != 0) {
        SSL_free(ssl);
        free(conn);
        return AB_ERR_NOMEM;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_max, sizeof(unsent_max));
    conn->poll.data = conn;
    conn->endpoint = endpoint;
    conn->fd = fd;
    conn->ssl = ssl;
    conn->trusted = endpoint->secure.reloads;
    conn->state = ssl == NULL ? AB_RPC_CONN_OPEN : AB_RPC_CONN_TLS;
    if (connecting)
        conn->state = AB_RPC_CONN_TCP;
    TAILQ_INIT(&conn->calls);
    ab_rpc_peer_set_address(&conn->peer, peer, conn->address);
    conn->born_ms = ab_rpc_endpoint_now_ms(endpoint);
    conn->heard_ms = conn->born_ms;
    conn->moved_ms = conn->born_ms;
    ab_rpc_endpoint_ref(endpoint);
    TAILQ_INSERT_TAIL(&endpoint->conns, conn, at);
    endpoint->conn_count++;
    ab_rpc_account_open(conn, peer);
    watch(conn);
    *out = conn;
    return AB_ERR_OK;
}

static void on_closed(uv_handle_t *handle)
{
    ab_rpc_conn *conn = handle->data;
    ab_rpc_endpoint *endpoint = conn->endpoint;
    free(conn);
    ab_rpc_endpoint_unref(endpoint);
}

void ab_rpc_conn_free(ab_rpc_conn *conn, bool silent)
{
    ab_rpc_endpoint *endpoint = conn->endpoint;
    conn->doomed = true;
    conn->leaving = true;
    if (!silent && endpoint->ops->on_going != NULL)
        endpoint->ops->on_going(conn);
    end_calls(conn, silent);
    ab_rpc_account_close(conn);
    ab_rpc_endpoint_forget(conn);
    TAILQ_REMOVE(&endpoint->conns, conn, at);
    endpoint->conn_count--;
    if (conn->carrier != NULL)
        conn->carrier->close(conn);
    uv_close((uv_handle_t *)&conn->poll, on_closed);
    if (!silent)
        endpoint->ops->on_gone(conn);
    ab_rpc_wire_close(conn);
}

void ab_rpc_conn_leave(ab_rpc_conn *conn, int64_t deadline_ms)
{
    conn->close_ms = ab_rpc_endpoint_now_ms(conn->endpoint) + deadline_ms;
    if (conn->why.code == AB_ERR_OK)
        ab_fail(&conn->why, AB_ERR_CLOSED, "server is stopping");
    if (!ab_rpc_conn_is_open(conn))
        conn->doomed = true;
    else if (!conn->leaving && conn->carrier->leave != NULL)
        conn->carrier->leave(conn);
    conn->leaving = true;
    ab_rpc_endpoint_wake(conn);
}

/* Why it has to go now; NULL: it need not. */
static const char *fault_of(const ab_rpc_conn *conn, int64_t now_ms)
{
    const ab_rpc_limits *l = &conn->endpoint->limits;
    if (conn->state != AB_RPC_CONN_READY)
        return now_ms - conn->born_ms >= l->handshake_ms ? "handshake" : NULL;
    bool silent = !conn->carrier->blocks || now_ms - conn->heard_ms >= l->ping_timeout_ms;
    if (conn->out != NULL && now_ms - conn->moved_ms >= l->ping_timeout_ms && silent)
        return "slow";
    if (takes(conn) && conn->pinged_ms > 0 && now_ms - conn->pinged_ms >= l->ping_timeout_ms)
        return "ping";
    return NULL;
}

static void ping_if_silent(ab_rpc_conn *conn, int64_t now_ms)
{
    int64_t every_ms = conn->endpoint->limits.ping_ms;
    if (conn->state != AB_RPC_CONN_READY || every_ms == 0 || conn->pinged_ms > 0 ||
        now_ms - conn->heard_ms < every_ms || !takes(conn))
        return;
    /* Servers take pings without calls for abuse. */
    if (!conn->endpoint->server && conn->call_count == 0)
        return;
    if (!conn->carrier->ping(conn))
        return;
    conn->pinged_ms = now_ms;
    ab_rpc_endpoint_wake(conn);
}

/* Who hears no more, because a call that blocks is paused, shows that he is still there, and asks
 * for no answer: a peer that waits until its message is taken may be unable to give one. */
static void show_up(ab_rpc_conn *conn, int64_t now_ms)
{
    if (conn->state != AB_RPC_CONN_READY || takes(conn) || conn->closing ||
        now_ms - conn->shown_ms < conn->endpoint->limits.ping_timeout_ms / 2)
        return;
    conn->carrier->show(conn);
    conn->shown_ms = now_ms;
    if (conn->pinged_ms > 0) /* its answer is not read now */
        conn->pinged_ms = now_ms;
}

/* Nobody may hold a connection for ever who does not say who he is, though he answers pings. */
static void refuse_stranger(ab_rpc_conn *conn, int64_t now_ms)
{
    int64_t limit_ms = conn->endpoint->limits.login_ms;
    bool stranger = conn->endpoint->server && conn->state == AB_RPC_CONN_READY && !conn->welcome;
    if (!stranger || limit_ms == 0 || now_ms - conn->born_ms < limit_ms || conn->closing ||
        conn->doomed)
        return;
    if (conn->why.code == AB_ERR_OK)
        ab_fail(&conn->why, AB_ERR_TIMEOUT, "no login within %lld ms", (long long)limit_ms);
    ab_rpc_conn_refuse(conn, "login", NGHTTP2_NO_ERROR);
}

/* When other authorities may be trusted than when it began. */
static void refuse_untrusted(ab_rpc_conn *conn)
{
    ab_rpc_endpoint *endpoint = conn->endpoint;
    if (conn->trusted == endpoint->secure.reloads || endpoint->checks == 0 ||
        !ab_rpc_conn_is_open(conn) || conn->closing || conn->doomed)
        return;
    endpoint->checks--;
    conn->trusted = endpoint->secure.reloads;
    if (ab_tls_context_trusts(&endpoint->secure, conn->ssl))
        return;
    if (conn->why.code == AB_ERR_OK)
        ab_fail(&conn->why, AB_ERR_DENIED,
                "the authority of the peer's certificate is not trusted any more");
    ab_rpc_conn_refuse(conn, "untrusted", NGHTTP2_NO_ERROR);
}

void ab_rpc_conn_care(ab_rpc_conn *conn, int64_t now_ms)
{
    ab_error err = {0};
    refuse_stranger(conn, now_ms);
    refuse_untrusted(conn);
    ping_if_silent(conn, now_ms);
    show_up(conn, now_ms);
    const char *fault = fault_of(conn, now_ms);
    if (fault != NULL) {
        ab_fail(&err, AB_ERR_TIMEOUT, "the peer does not answer (%s)", fault);
        ab_rpc_conn_doom(conn, &err);
        ab_rpc_endpoint_log_refusal(conn->endpoint, conn, fault);
    }
    if (conn->close_ms > 0 && now_ms >= conn->close_ms)
        ab_rpc_conn_doom(conn, &conn->why);
}
