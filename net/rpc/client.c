/* SPDX-License-Identifier: Apache-2.0
 *
 * By HTTP/2 the link is one connection. By WebSockets each call has one: the link is up once the
 * first is, which waits for a call, and down when one of them has failed.
 */
#include "net/rpc/carrier/carrier.h"
#include "net/rpc/rpc_priv.h"

#include "net/rpc/codec/fields.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define LASTING_MS 60000 /* a connection that stood so long was a good one */
/* A server that was of use and is gone is most likely restarting. */
#define HURRY_MS       10000
#define HURRY_EVERY_MS 200

struct ab_rpc_client {
    ab_rpc_endpoint endpoint;
    ab_rpc_client_events events;
    char *host;
    int port;
    char *authority; /* "host:port" */
    bool started;
    ab_rpc_link link;
    uv_timer_t retry;
    ab_backoff backoff;
    ab_backoff hurry; /* of equal steps; instead of the other until `hurry_until_ms` */
    int64_t hurry_until_ms;
    uv_getaddrinfo_t resolver;
    bool resolving;
    struct addrinfo *addresses;   /* of this attempt */
    struct addrinfo *next;        /* to be tried when the present one fails */
    struct sockaddr_storage peer; /* where the link leads */
    socklen_t peer_len;
    ab_rpc_conn *conn; /* that a call can begin on; NULL: none */
    bool failed;       /* by WebSockets: DOWN follows when all connections are gone */
    ab_error why;      /* of it */
    int64_t up_ms;
};

static ab_rpc_client *client_of(ab_rpc_endpoint *endpoint)
{
    return (ab_rpc_client *)endpoint;
}

static void set_link(ab_rpc_client *c, ab_rpc_link link, const ab_error *err)
{
    c->link = link;
    c->events.on_link(c->events.arg, link, err);
}

static void on_retry(uv_timer_t *timer);

static void drop_addresses(ab_rpc_client *c)
{
    uv_freeaddrinfo(c->addresses);
    c->addresses = NULL;
    c->next = NULL;
}

static int64_t next_wait_ms(ab_rpc_client *c)
{
    bool hurry = ab_rpc_endpoint_now_ms(&c->endpoint) < c->hurry_until_ms;
    return ab_backoff_next(hurry ? &c->hurry : &c->backoff);
}

/* This attempt is over. */
static void go_down(ab_rpc_client *c, const ab_error *err)
{
    drop_addresses(c);
    c->failed = false;
    uv_timer_start(&c->retry, on_retry, (uint64_t)next_wait_ms(c), 0);
    set_link(c, AB_RPC_DOWN, err);
}

static bool is_websocket(const ab_rpc_client *c)
{
    return c->endpoint.secure.websocket;
}

static ab_err dial(ab_rpc_client *c, ab_rpc_conn **out)
{
    const struct sockaddr *peer = (const struct sockaddr *)&c->peer;
    int fd = socket(peer->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return ab_err_from_errno(errno);
    if ((connect(fd, peer, c->peer_len) == 0 || errno == EINPROGRESS) &&
        ab_rpc_conn_new(&c->endpoint, fd, peer, true, out) == AB_ERR_OK)
        return AB_ERR_OK;
    close(fd);
    return AB_ERR_UNAVAILABLE;
}

/* @return false when there are none left */
static bool dial_next(ab_rpc_client *c)
{
    while (c->next != NULL) {
        const struct addrinfo *a = c->next;
        c->next = a->ai_next;
        memcpy(&c->peer, a->ai_addr, a->ai_addrlen);
        c->peer_len = a->ai_addrlen;
        if (dial(c, &c->conn) == AB_ERR_OK)
            return true;
    }
    return false;
}

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *list)
{
    ab_rpc_client *c = req->data;
    ab_error err = {0};
    c->resolving = false;
    if (c->endpoint.closing) {
        uv_freeaddrinfo(list);
        ab_rpc_endpoint_unref(&c->endpoint);
        return;
    }
    ab_rpc_endpoint_unref(&c->endpoint);
    c->addresses = list;
    c->next = list;
    if (status == 0 && dial_next(c))
        return;
    if (status != 0)
        ab_fail(&err, AB_ERR_UNAVAILABLE, "cannot resolve %s: %s", c->host, uv_strerror(status));
    else
        ab_fail(&err, AB_ERR_UNAVAILABLE, "cannot connect to %s", c->authority);
    go_down(c, &err);
}

static void on_retry(uv_timer_t *timer)
{
    ab_rpc_client *c = timer->data;
    ab_error err = {0};
    char service[16];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    set_link(c, AB_RPC_CONNECTING, NULL);
    snprintf(service, sizeof(service), "%d", c->port);
    int rc =
        uv_getaddrinfo(c->endpoint.env.loop, &c->resolver, on_resolved, c->host, service, &hints);
    if (rc != 0) {
        ab_fail(&err, AB_ERR_UNAVAILABLE, "cannot resolve %s: %s", c->host, uv_strerror(rc));
        go_down(c, &err);
        return;
    }
    c->resolving = true;
    ab_rpc_endpoint_ref(&c->endpoint);
}

static void on_ready(ab_rpc_conn *conn)
{
    ab_rpc_client *c = client_of(conn->endpoint);
    if (c->link != AB_RPC_CONNECTING)
        return; /* one more */
    drop_addresses(c);
    c->up_ms = ab_rpc_endpoint_now_ms(&c->endpoint);
    set_link(c, AB_RPC_UP, NULL);
}

static void on_leaving(ab_rpc_conn *conn)
{
    ab_rpc_client *c = client_of(conn->endpoint);
    if (c->link == AB_RPC_UP)
        set_link(c, AB_RPC_DRAINING, &conn->why);
}

static void on_going(ab_rpc_conn *conn)
{
    ab_rpc_client *c = client_of(conn->endpoint);
    if (c->conn == conn)
        c->conn = NULL;
}

static void fail(ab_rpc_client *c, const ab_error *err)
{
    ab_rpc_conn *conn;
    if (c->failed)
        return;
    c->failed = true;
    c->why = *err;
    TAILQ_FOREACH(conn, &c->endpoint.conns, at)
    ab_rpc_conn_doom(conn, err);
}

/* One of several has gone. @return false while the link is not down by it */
static bool is_last(ab_rpc_client *c, const ab_error *why)
{
    if (why->code != AB_ERR_OK)
        fail(c, why);
    return c->failed && c->endpoint.conn_count == 0;
}

static void on_gone(ab_rpc_conn *conn)
{
    ab_rpc_client *c = client_of(conn->endpoint);
    bool up = c->link != AB_RPC_CONNECTING;
    if (up && is_websocket(c) && !is_last(c, &conn->why))
        return;
    if (!up && dial_next(c))
        return;
    if (up && ab_rpc_endpoint_now_ms(&c->endpoint) - c->up_ms >= LASTING_MS)
        ab_backoff_reset(&c->backoff);
    ab_error err = c->failed ? c->why : conn->why;
    if (err.code == AB_ERR_OK)
        ab_fail(&err, AB_ERR_CLOSED, "connection closed");
    ab_error_prefix(&err, "%s (%s)", c->authority, conn->peer.address);
    go_down(c, &err);
}

static void on_closed(ab_rpc_endpoint *endpoint)
{
    ab_rpc_client *c = client_of(endpoint);
    free(c->host);
    free(c->authority);
    free(c);
}

static const ab_rpc_endpoint_ops ops = {
    .on_ready = on_ready,
    .on_leaving = on_leaving,
    .on_going = on_going,
    .on_gone = on_gone,
    .on_closed = on_closed,
};

static void init_retry(ab_rpc_client *c)
{
    uv_timer_init(c->endpoint.env.loop, &c->retry);
    c->retry.data = c;
    c->resolver.data = c;
    ab_rpc_endpoint_ref(&c->endpoint);
}

/* A literal IPv6 address stands in brackets. */
static char *authority_of(const char *host, int port)
{
    bool v6 = strchr(host, ':') != NULL;
    ab_buf text = ab_buf_up_to(512);
    ab_buf_printf(&text, "%s%s%s:%d", v6 ? "[" : "", host, v6 ? "]" : "", port);
    return ab_buf_take(&text);
}

ab_err ab_rpc_client_new(const ab_rpc_env *env, const char *host, int port, const ab_tls *tls,
                         const ab_rpc_limits *limits, const ab_rpc_client_events *events,
                         ab_rpc_client **out, ab_error *err)
{
    ab_rpc_client *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the gRPC client");
    c->events = *events;
    c->port = port;
    c->link = AB_RPC_DOWN;
    c->host = strdup(host);
    c->authority = authority_of(host, port);
    ab_backoff_init(&c->backoff, limits->retry_first_ms, limits->retry_max_ms);
    ab_backoff_init(&c->hurry, HURRY_EVERY_MS, HURRY_EVERY_MS);
    ab_err e = ab_rpc_endpoint_init(&c->endpoint, &ops, env, limits, tls, false, host, err);
    init_retry(c);
    if (e == AB_ERR_OK && (c->host == NULL || c->authority == NULL))
        e = ab_fail(err, AB_ERR_NOMEM, "out of memory for the gRPC client");
    if (e != AB_ERR_OK) {
        ab_rpc_client_free(c);
        return e;
    }
    *out = c;
    return AB_ERR_OK;
}

void ab_rpc_client_start(ab_rpc_client *client)
{
    assert(!client->started);
    client->started = true;
    uv_timer_start(&client->retry, on_retry, 0, 0);
}

static void on_given_up(uv_timer_t *timer)
{
    ab_rpc_client *c = timer->data;
    go_down(c, &c->why);
}

static void give_up(ab_rpc_client *c, const ab_error *err)
{
    if (c->link != AB_RPC_UP || c->failed)
        return;
    fail(c, err);
    if (c->endpoint.conn_count == 0)
        uv_timer_start(&c->retry, on_given_up, 0, 0);
}

void ab_rpc_client_reconnect(ab_rpc_client *client)
{
    ab_error err = {0};
    ab_fail(&err, AB_ERR_CLOSED, "given up");
    if (is_websocket(client)) {
        give_up(client, &err);
        return;
    }
    if (client->conn == NULL)
        return;
    client->conn->leaving = true;
    ab_rpc_conn_doom(client->conn, &err);
}

void ab_rpc_client_good(ab_rpc_client *client)
{
    ab_backoff_reset(&client->backoff);
}

void ab_rpc_client_hurry(ab_rpc_client *client, bool on)
{
    client->hurry_until_ms = on ? ab_rpc_endpoint_now_ms(&client->endpoint) + HURRY_MS : 0;
    if (on)
        ab_backoff_reset(&client->backoff);
}

static void on_retry_closed(uv_handle_t *handle)
{
    ab_rpc_client *c = handle->data;
    ab_rpc_endpoint_unref(&c->endpoint);
}

void ab_rpc_client_free(ab_rpc_client *client)
{
    if (client == NULL)
        return;
    drop_addresses(client);
    if (client->resolving)
        (void)uv_cancel((uv_req_t *)&client->resolver);
    uv_close((uv_handle_t *)&client->retry, on_retry_closed);
    ab_rpc_endpoint_close(&client->endpoint);
}

/* ---- calls ---- */

static bool can_begin(const ab_rpc_client *c)
{
    if (c->link != AB_RPC_UP || c->failed)
        return false;
    return c->conn == NULL ? is_websocket(c)
                           : !c->conn->leaving && !c->conn->doomed && !c->conn->closing;
}

static ab_err take_conn(ab_rpc_client *c, ab_rpc_conn **out)
{
    *out = c->conn;
    if (!is_websocket(c))
        return ab_rpc_http2_is_full(c->conn) ? AB_ERR_FULL : AB_ERR_OK;
    c->conn = NULL;
    ab_err e = *out == NULL ? dial(c, out) : AB_ERR_OK;
    if (e == AB_ERR_OK)
        (*out)->carrier = &ab_rpc_over_websocket;
    return e;
}

static void give_back(ab_rpc_client *c, ab_rpc_conn *conn)
{
    const ab_error none = {0};
    if (is_websocket(c))
        ab_rpc_conn_doom(conn, &none);
}

static void fill_head(const ab_rpc_client *c, const ab_rpc_begin *begin,
                      char timeout[AB_RPC_TIMEOUT_TEXT], ab_rpc_head_out *head)
{
    ab_rpc_head_out_init(head);
    ab_rpc_head_out_add(head, ":method", AB_STR("POST"));
    ab_rpc_head_out_add(head, ":scheme",
                        c->endpoint.secure.insecure ? AB_STR("http") : AB_STR("https"));
    ab_rpc_head_out_add(head, ":path", ab_str_of(begin->path));
    ab_rpc_head_out_add(head, ":authority", ab_str_of(c->authority));
    ab_rpc_head_out_add(head, "te", AB_STR("trailers"));
    ab_rpc_head_out_add(head, "content-type", AB_STR("application/grpc"));
    ab_rpc_head_out_add(head, "user-agent", AB_STR("argobus/" AB_VERSION));
    ab_rpc_head_out_add(head, "grpc-accept-encoding", AB_STR("gzip,identity"));
    if (begin->compress)
        ab_rpc_head_out_add(head, "grpc-encoding", AB_STR("gzip"));
    if (begin->timeout_ms > 0) {
        ab_rpc_timeout_format(begin->timeout_ms, timeout);
        ab_rpc_head_out_add(head, "grpc-timeout", ab_str_of(timeout));
    }
    ab_rpc_head_out_add_metadata(head, begin->metadata, begin->metadata_count);
}

static ab_err submit(ab_rpc_client *c, const ab_rpc_begin *begin, ab_rpc_call *call)
{
    char timeout[AB_RPC_TIMEOUT_TEXT];
    ab_rpc_head_out head;
    fill_head(c, begin, timeout, &head);
    ab_err e = begin->path[0] == '/' ? ab_rpc_head_out_seal(&head) : AB_ERR_INVALID;
    if (e == AB_ERR_OK)
        e = call->conn->carrier->request(call, &head);
    ab_rpc_head_out_fini(&head);
    return e;
}

ab_err ab_rpc_call_begin(ab_rpc_client *client, const ab_rpc_begin *begin,
                         const ab_rpc_handler *handler, void *arg, ab_rpc_call **out)
{
    if (!can_begin(client))
        return AB_ERR_UNAVAILABLE;
    ab_rpc_conn *conn = NULL;
    ab_err e = take_conn(client, &conn);
    if (e != AB_ERR_OK)
        return e;
    ab_rpc_call *call = ab_rpc_call_new(conn, 0);
    e = call == NULL ? AB_ERR_NOMEM : submit(client, begin, call);
    if (e != AB_ERR_OK) {
        if (call != NULL)
            ab_rpc_call_free(call, true);
        give_back(client, conn);
        return e;
    }
    call->handler = handler;
    call->arg = arg;
    call->peer_gzip = begin->compress;
    if (begin->timeout_ms > 0)
        ab_rpc_call_set_deadline(call,
                                 ab_rpc_endpoint_now_ms(&client->endpoint) + begin->timeout_ms);
    ab_rpc_endpoint_wake(conn);
    *out = call;
    return AB_ERR_OK;
}
