/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/https_priv.h"

#include <arpa/inet.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <unistd.h>

#define IN_MAX    (1024u * 1024)
#define AHEAD_MAX (64u * 1024) /* of what follows the present request */

static uint64_t now_of(const ab_https_conn *c)
{
    return uv_now(c->server->loop);
}

/* ---- a request ---- */

static void ignore_over(void *arg, ab_err why, unsigned close_code)
{
    (void)arg;
    (void)why;
    (void)close_code;
}

static const ab_https_handler nobody = {.on_over = ignore_over};

/* @return 0, or the status to refuse it with */
static int read_upgrade(const ab_http_head *head, ab_https_request *r, const char **why)
{
    if (head->old || !ab_http_list_has(ab_http_head_find(head, "connection"), "upgrade") ||
        !ab_http_list_has(ab_http_head_find(head, "upgrade"), "websocket"))
        return 0;
    ab_str key = ab_http_head_find(head, "sec-websocket-key");
    *why = "a WebSocket starts with GET, version 13, one key, and no body";
    if (!ab_str_is(head->method, "GET") || head->chunked || head->length_bytes > 0 ||
        !ab_str_is(ab_http_head_find(head, "sec-websocket-version"), "13") ||
        !ab_websocket_key_is_good(key))
        return 400;
    r->upgrade = true;
    *why = "out of memory";
    return ab_websocket_key_accept(key, r->accept) ? 0 : 500;
}

/* @return whether its certificate has been revoked since this was asked last */
static bool ask_revoked(ab_https_conn *c)
{
    const ab_revoked_ask *ask = &c->server->options.revoked;
    bool before = c->revoked;
    c->revoked = c->certified && ask->has != NULL && ask->has(ask->arg, c->fingerprint);
    return c->revoked && !before;
}

/* When other authorities may be trusted than when it began. */
static bool is_trusted(ab_https_conn *c)
{
    ab_https_server *s = c->server;
    if (c->trusted == s->tls.reloads || s->checks == 0 || !c->open)
        return true;
    s->checks--;
    c->trusted = s->tls.reloads;
    return ab_tls_socket_is_trusted(c->socket, &s->tls);
}

/* Whether who asks may not any more, by the certificate or by what the application knows. */
static bool has_lost_right(ab_https_conn *c)
{
    const ab_https_request *r = c->request;
    return r != NULL &&
           (ask_revoked(c) || (r->handler->may_go_on != NULL && !r->handler->may_go_on(r->arg)));
}

static void tell_request(ab_https_conn *c, const ab_http_head *head)
{
    const ab_https_options *o = &c->server->options;
    (void)ask_revoked(c);
    const ab_https_info info = {
        .head = head,
        .body_bytes = c->chunked ? -1 : (int64_t)c->left,
        .websocket = c->request->upgrade,
        .address = c->address,
        .certificate = ab_tls_socket_certificate(c->socket),
        .common_name = c->common_name,
        .revoked = c->revoked,
    };
    o->on_request(o->arg, c->request, &info);
    ab_https_request *r = c->request;
    if (r->handler == NULL) {
        ab_https_take(r, &nobody, NULL);
        if (ab_https_reply(r, 404, "text/plain", AB_STR("not found\n")) != AB_ERR_OK)
            ab_https_abort(r);
    }
    bool waits = ab_str_is(ab_http_head_find(head, "expect"), "100-continue");
    if (waits && !head->old && !r->answered && info.body_bytes != 0)
        ab_buf_puts(ab_tls_socket_out(c->socket), "HTTP/1.1 100 Continue\r\n\r\n");
}

static void begin_body(ab_https_conn *c, const ab_http_head *head)
{
    c->close = head->close || c->server->options.one_request;
    c->chunked = head->chunked;
    c->chunks = (ab_http_chunked){0};
    c->left = head->length_bytes > 0 ? (uint64_t)head->length_bytes : 0;
    c->came = 0;
    c->since = now_of(c);
}

static void begin_request(ab_https_conn *c, const ab_http_head *head)
{
    const char *why = NULL;
    ab_https_request *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        c->doomed = true;
        return;
    }
    int status = read_upgrade(head, r, &why);
    if (status != 0) {
        free(r);
        ab_https_refuse(c, status, why);
        return;
    }
    r->conn = c;
    r->is_head = ab_str_is(head->method, "HEAD");
    r->old = head->old;
    c->request = r;
    c->state = r->upgrade ? AB_HTTPS_ANSWER : AB_HTTPS_BODY;
    begin_body(c, head);
    tell_request(c, head);
}

static bool step_head(ab_https_conn *c)
{
    ab_http_head head;
    const char *why = "the headers exceed the limit";
    ab_str rest = ab_https_conn_rest(c);
    if (rest.len == 0 || ab_tls_socket_is_full(c->socket))
        return false;
    size_t len = ab_http_head_len(rest, c->seen);
    size_t limit = c->server->limits.head_bytes;
    if (len > limit || (len == 0 && rest.len > limit)) {
        ab_https_refuse(c, 431, why);
        return false;
    }
    c->seen = rest.len;
    if (len == 0)
        return false;
    int status = ab_http_head_read_request(c->in.ptr + c->read, len, &head, &why);
    if (status == 0 && head.old && !c->server->options.one_request) {
        why = "only HTTP/1.1 is supported";
        status = 505;
    }
    if (status == 0)
        begin_request(c, &head);
    else
        ab_https_refuse(c, status, why);
    ab_https_conn_consume(c, len);
    return true;
}

/* ---- its body ---- */

/* The next piece of the body, which is absent when more has to come. */
static ab_err read_body(ab_https_conn *c, ab_str *piece, bool *ended)
{
    ab_str rest = ab_https_conn_rest(c);
    ab_str in = rest;
    ab_err e = AB_ERR_OK;
    if (c->chunked) {
        e = ab_http_chunked_next(&c->chunks, &in, piece, ended);
    } else {
        size_t len = rest.len < c->left ? rest.len : (size_t)c->left;
        *piece = len == 0 ? AB_STR_NONE : (ab_str){rest.ptr, len};
        in = (ab_str){rest.ptr + len, rest.len - len};
        c->left -= len;
        *ended = c->left == 0;
    }
    c->came += piece->len;
    ab_https_conn_consume(c, rest.len - in.len);
    return e;
}

static bool step_body(ab_https_conn *c)
{
    ab_https_request *r = c->request;
    ab_str piece;
    bool ended = false;
    if (r->paused)
        return false;
    if (read_body(c, &piece, &ended) != AB_ERR_OK) {
        ab_https_refuse(c, 400, "the chunks of the body are invalid");
        return false;
    }
    if (piece.ptr != NULL && r->handler->on_data != NULL)
        r->handler->on_data(r->arg, piece);
    if (ended) {
        c->state = AB_HTTPS_ANSWER;
        if (r->handler->on_end != NULL)
            r->handler->on_end(r->arg);
    }
    return ended || piece.ptr != NULL;
}

/* It is answered, and the body is not wanted. */
static bool step_drop(ab_https_conn *c)
{
    ab_str piece;
    bool ended = false;
    if (read_body(c, &piece, &ended) != AB_ERR_OK || c->came > AB_HTTPS_DROP_BYTES) {
        ab_https_conn_linger(c);
        return false;
    }
    if (ended) {
        c->state = AB_HTTPS_HEAD;
        c->since = now_of(c);
    }
    return ended || piece.ptr != NULL;
}

static void finish_request(ab_https_conn *c)
{
    bool cut = !c->request->no_body && !c->request->chunked && c->request->left > 0;
    bool rest = c->state == AB_HTTPS_BODY;
    ab_https_conn_over(c, AB_ERR_OK, 0);
    if (c->doomed)
        return;
    c->came = 0;
    c->since = now_of(c);
    if (c->close || cut || c->server->draining)
        ab_https_conn_linger(c);
    else
        c->state = rest ? AB_HTTPS_DROP : AB_HTTPS_HEAD;
}

/* ---- its turn ---- */

/* What the application asked for, or waits for. @return false: nothing */
static bool step_request(ab_https_conn *c)
{
    ab_https_request *r = c->request;
    if (r->aborted) {
        c->doomed = true;
        return true;
    }
    if (r->finished) {
        finish_request(c);
        return true;
    }
    if (!r->full || ab_tls_socket_is_full(c->socket))
        return false;
    r->full = false;
    if (r->handler->on_writable != NULL)
        r->handler->on_writable(r->arg);
    return true;
}

static bool step(ab_https_conn *c)
{
    if (c->doomed)
        return false;
    if (c->request != NULL && step_request(c))
        return true;
    switch (c->state) {
    case AB_HTTPS_HEAD:
        return step_head(c);
    case AB_HTTPS_BODY:
        return step_body(c);
    case AB_HTTPS_DROP:
        return step_drop(c);
    case AB_HTTPS_WEBSOCKET:
        return ab_https_websocket_step(c);
    case AB_HTTPS_LINGER:
        ab_https_conn_consume(c, ab_https_conn_rest(c).len);
        return false;
    case AB_HTTPS_ANSWER:
        break;
    }
    return false;
}

/* An idle connection holds no buffer. */
static void compact(ab_https_conn *c)
{
    ab_str rest = ab_https_conn_rest(c);
    if (rest.len == 0) {
        ab_buf_fini(&c->in);
    } else if (c->read > 0) {
        memmove(c->in.ptr, rest.ptr, rest.len);
        c->in.len = rest.len;
    }
    c->read = 0;
}

static bool wants_more(const ab_https_conn *c)
{
    const ab_https_request *r = c->request;
    bool paused = r != NULL && r->paused && c->state != AB_HTTPS_ANSWER;
    return !paused && ab_https_conn_rest(c).len < AHEAD_MAX;
}

/* Do what there is to do. From the loop; the connection may be freed. */
static void go_on(ab_https_conn *c)
{
    while (step(c))
        continue;
    if (c->doomed) {
        ab_https_conn_free(c);
        return;
    }
    compact(c);
    ab_tls_socket_read(c->socket, wants_more(c));
}

/* ---- time ---- */

/* The client is too slow; who waits for it is told. */
static void time_out(ab_https_conn *c, bool silent)
{
    if (!silent) {
        ab_https_refuse(c, 408, "the request did not come in time");
        return;
    }
    if (c->request != NULL)
        ab_https_conn_over(c, AB_ERR_TIMEOUT, 0);
    c->doomed = true;
}

static void care_for_request(ab_https_conn *c, uint64_t waited)
{
    const ab_https_limits *l = &c->server->limits;
    bool body = c->state == AB_HTTPS_BODY || c->state == AB_HTTPS_DROP;
    bool begun = ab_https_conn_rest(c).len > 0;
    if (c->state == AB_HTTPS_HEAD && begun && waited > (uint64_t)l->head_ms)
        time_out(c, false);
    else if (c->state == AB_HTTPS_HEAD && waited > (uint64_t)l->idle_ms)
        time_out(c, true);
    else if (body && (c->request == NULL || !c->request->paused) &&
             waited > (uint64_t)l->body_ms + c->came * 1000 / 1024)
        time_out(c, c->state == AB_HTTPS_DROP);
}

void ab_https_conn_care(ab_https_conn *c, uint64_t now)
{
    const ab_https_limits *l = &c->server->limits;
    uint64_t waited = now - c->since;
    uint64_t moved = now - ab_tls_socket_moved(c->socket);
    bool sending = ab_tls_socket_queued(c->socket) > 0;
    bool stuck = sending && moved > (uint64_t)l->stall_ms;
    bool lingers = c->state == AB_HTTPS_LINGER && !sending;
    if (stuck || (!c->open && waited > (uint64_t)l->head_ms) ||
        (lingers && waited > AB_HTTPS_LINGER_MS && moved > AB_HTTPS_LINGER_MS))
        time_out(c, true);
    else if (has_lost_right(c) || !is_trusted(c))
        c->doomed = true;
    else if (c->state == AB_HTTPS_WEBSOCKET)
        ab_https_websocket_care(c, now);
    else if (c->open)
        care_for_request(c, waited);
    go_on(c);
}

uint64_t ab_https_conn_spare_since(const ab_https_conn *c)
{
    uint64_t moved = ab_tls_socket_moved(c->socket);
    if (c->request != NULL)
        return UINT64_MAX;
    return ab_tls_socket_queued(c->socket) > 0 && moved > c->since ? moved : c->since;
}

bool ab_https_conn_is_busy(const ab_https_conn *c)
{
    return c->state != AB_HTTPS_HEAD || ab_tls_socket_queued(c->socket) > 0;
}

bool ab_https_conn_has_unread(const ab_https_conn *c)
{
    return c->state == AB_HTTPS_HEAD && ab_tls_socket_has_unread(c->socket);
}

/* ---- the socket ---- */

/* The name of the client, when its certificate has exactly one. */
static void read_common_name(ab_https_conn *c)
{
    X509 *cert = ab_tls_socket_certificate(c->socket);
    X509_NAME *subject = cert == NULL ? NULL : X509_get_subject_name(cert);
    int at = subject == NULL ? -1 : X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0)
        return;
    unsigned char *text = NULL;
    int len =
        ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (len > 0 && (size_t)len < sizeof(c->common_name) && memchr(text, 0, (size_t)len) == NULL)
        memcpy(c->common_name, text, (size_t)len);
    OPENSSL_free(text);
}

static void on_open(void *arg)
{
    ab_https_conn *c = arg;
    const X509 *cert = ab_tls_socket_certificate(c->socket);
    c->open = true;
    c->since = now_of(c);
    c->certified = cert != NULL;
    if (cert != NULL && ab_certificate_fingerprint(cert, c->fingerprint) != AB_ERR_OK)
        c->doomed = true; /* when the first request comes */
    read_common_name(c);
}

static void on_bytes(void *arg, ab_str bytes)
{
    ab_https_conn *c = arg;
    c->heard = now_of(c);
    c->pinged = false;
    if (c->state == AB_HTTPS_HEAD && ab_https_conn_rest(c).len == 0)
        c->since = c->heard;
    ab_buf_put(&c->in, bytes);
    if (ab_buf_status(&c->in) != AB_ERR_OK)
        c->doomed = true;
    go_on(c);
}

static void on_turn(void *arg)
{
    go_on(arg);
}

static void on_end(void *arg, const ab_error *why)
{
    ab_https_conn *c = arg;
    (void)why;
    ab_https_conn_free(c);
}

static const ab_tls_socket_events events = {on_open, on_bytes, on_turn, on_end};

/* An IPv4 address that comes mapped into IPv6 reads as IPv4. */
static void read_address(const struct sockaddr *from, char *text, size_t room)
{
    const struct sockaddr_in *v4 = (const void *)from;
    const struct sockaddr_in6 *v6 = (const void *)from;
    if (from->sa_family == AF_INET)
        (void)inet_ntop(AF_INET, &v4->sin_addr, text, (socklen_t)room);
    else if (from->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        (void)inet_ntop(AF_INET, v6->sin6_addr.s6_addr + 12, text, (socklen_t)room);
    else if (from->sa_family == AF_INET6)
        (void)inet_ntop(AF_INET6, &v6->sin6_addr, text, (socklen_t)room);
}

ab_err ab_https_conn_new(ab_https_server *s, int fd, const struct sockaddr *from)
{
    ab_https_conn *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return AB_ERR_NOMEM;
    const ab_tls_socket_options options = {
        .tls = &s->tls, .fd = fd, .full_bytes = s->limits.send_bytes, .events = &events, .arg = c};
    ab_err e = ab_tls_socket_new(s->loop, &options, &c->socket);
    if (e != AB_ERR_OK) {
        free(c);
        return e;
    }
    c->server = s;
    c->trusted = s->tls.reloads;
    ab_buf_init(&c->in, IN_MAX);
    c->since = now_of(c);
    read_address(from, c->address, sizeof(c->address));
    TAILQ_INSERT_TAIL(&s->conns, c, at);
    s->count++;
    return AB_ERR_OK;
}

void ab_https_conn_free(ab_https_conn *c)
{
    ab_https_server *s = c->server;
    c->doomed = true;
    ab_tls_socket_free(c->socket);
    if (c->request != NULL)
        ab_https_conn_over(c, c->request->closing ? AB_ERR_OK : AB_ERR_CLOSED,
                           c->request->close_code);
    TAILQ_REMOVE(&s->conns, c, at);
    s->count--;
    ab_buf_fini(&c->in);
    free(c);
    s->on_room(s);
}
