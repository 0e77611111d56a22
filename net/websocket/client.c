/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a WebSocket: names are resolved, addresses tried one after the other, the upgrade
 * asked for, and then messages pass until either side ends it. The memory is freed when libuv has
 * closed its handles.
 */
#include "net/websocket/client_priv.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_MAX (1024u * 1024)
#define OPEN_MS     30000
#define PING_MS     30000
#define CLOSE_MS    2000
#define FULL_BYTES  (128u * 1024)
#define AHEAD_MAX   (64u * 1024)
#define IN_MAX      (1024u * 1024)

/* ---- the end ---- */

static void free_memory(ab_websocket *w)
{
    ab_tls_context_fini(&w->tls);
    ab_websocket_frames_fini(&w->frames);
    ab_buf_fini(&w->head);
    ab_buf_fini(&w->body);
    free(w->host);
    free(w->protocols);
    free(w->protocol);
    free(w->type);
    free(w);
}

static void unref(ab_websocket *w)
{
    if (--w->pending == 0)
        free_memory(w);
}

static void on_timer_closed(uv_handle_t *handle)
{
    unref(handle->data);
}

static void stop(ab_websocket *w)
{
    if (w->state == AB_WEBSOCKET_OVER)
        return;
    w->state = AB_WEBSOCKET_OVER;
    ab_tls_socket_free(w->socket);
    w->socket = NULL;
    uv_freeaddrinfo(w->addresses);
    w->addresses = NULL;
    if (w->pending > 1)
        (void)uv_cancel((uv_req_t *)&w->resolver);
    uv_close((uv_handle_t *)&w->timer, on_timer_closed);
}

/* From the loop. */
static void end(ab_websocket *w, const ab_error *err)
{
    if (w->told)
        return;
    const ab_websocket_end how = {.code = err->code,
                                  .status = w->status,
                                  .type = ab_str_of(w->type),
                                  .body = ab_buf_str(&w->body),
                                  .close_code = w->close_code,
                                  .close_text = ab_str_of(w->close_text),
                                  .err = err};
    w->told = true;
    w->request.on_end(w->request.arg, &how);
    stop(w);
}

static void end_refused(ab_websocket *w)
{
    ab_error err = {0};
    ab_fail(&err, AB_ERR_DENIED, "cannot open the WebSocket: HTTP status %d", w->status);
    end(w, &err);
}

static void end_closed(ab_websocket *w)
{
    const ab_error none = {0};
    end(w, &none);
}

/* ---- the socket ---- */

static void on_timer(uv_timer_t *timer);

/* It has opened, or begun to close. */
static void set_timer(ab_websocket *w)
{
    uint64_t ping_ms = (uint64_t)w->request.ping_ms;
    if (w->state == AB_WEBSOCKET_OPEN)
        uv_timer_start(&w->timer, on_timer, ping_ms, ping_ms);
    else if (w->state == AB_WEBSOCKET_CLOSING)
        uv_timer_start(&w->timer, on_timer, CLOSE_MS, 0);
}

static void go_on(ab_websocket *w)
{
    ab_error err = {0};
    bool ended = false;
    ab_websocket_state before = w->state;
    if (w->full && !ab_tls_socket_is_full(w->socket)) {
        w->full = false;
        if (w->request.on_writable != NULL)
            w->request.on_writable(w->request.arg);
    }
    if (w->state == AB_WEBSOCKET_OVER)
        return;
    ab_err e = ab_websocket_read(w, &ended, &err);
    if (w->state == AB_WEBSOCKET_OVER)
        return;
    if (w->state != before)
        set_timer(w);
    if (e != AB_ERR_OK)
        end(w, &err);
    else if (ended && w->state == AB_WEBSOCKET_REFUSED)
        end_refused(w);
    else if (ended)
        end_closed(w);
    else
        ab_tls_socket_read(w->socket, !w->paused && w->head.len < AHEAD_MAX);
}

static void on_open(void *arg)
{
    ab_websocket *w = arg;
    ab_buf_put(ab_tls_socket_out(w->socket), ab_buf_str(&w->head));
    ab_buf_fini(&w->head);
    ab_buf_init(&w->head, IN_MAX);
    uv_freeaddrinfo(w->addresses);
    w->addresses = NULL;
    w->next = NULL;
    w->state = AB_WEBSOCKET_UPGRADE;
}

static void on_bytes(void *arg, ab_str bytes)
{
    ab_websocket *w = arg;
    ab_error err = {0};
    w->heard = uv_now(w->loop);
    w->pinged = false;
    ab_buf_put(&w->head, bytes);
    if (ab_buf_status(&w->head) == AB_ERR_OK) {
        go_on(w);
        return;
    }
    ab_fail(&err, ab_buf_status(&w->head), "out of memory for a WebSocket");
    end(w, &err);
}

static void on_turn(void *arg)
{
    go_on(arg);
}

static void connect_next(ab_websocket *w, const ab_error *why);

static void on_end(void *arg, const ab_error *why)
{
    ab_websocket *w = arg;
    w->socket = NULL; /* it frees itself */
    if (w->state == AB_WEBSOCKET_CONNECT)
        connect_next(w, why);
    else if (w->state == AB_WEBSOCKET_REFUSED)
        end_refused(w);
    else if (w->state == AB_WEBSOCKET_CLOSING)
        end_closed(w);
    else
        end(w, why);
}

static const ab_tls_socket_events events = {on_open, on_bytes, on_turn, on_end};

static ab_err dial(ab_websocket *w, const struct addrinfo *a, ab_error *err)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return ab_fail_errno(err, AB_ERR_UNAVAILABLE, errno, "cannot connect to %s", w->host);
    const ab_tls_socket_options options = {.tls = &w->tls,
                                           .fd = fd,
                                           .connecting = true,
                                           .patient = true,
                                           .full_bytes = FULL_BYTES,
                                           .events = &events,
                                           .arg = w};
    if (connect(fd, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS) {
        int reason = errno;
        close(fd);
        return ab_fail_errno(err, AB_ERR_UNAVAILABLE, reason, "cannot connect to %s", w->host);
    }
    ab_err e = ab_tls_socket_new(w->loop, &options, &w->socket);
    if (e != AB_ERR_OK)
        close(fd);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "out of memory for a WebSocket");
}

static void connect_next(ab_websocket *w, const ab_error *why)
{
    ab_error err = *why;
    ab_err e = AB_ERR_UNAVAILABLE;
    while (e != AB_ERR_OK && w->next != NULL) {
        const struct addrinfo *a = w->next;
        w->next = a->ai_next;
        e = dial(w, a, &err);
    }
    if (e != AB_ERR_OK) {
        ab_error_prefix(&err, "%s:%d", w->host, w->port);
        end(w, &err);
    }
}

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *list)
{
    ab_websocket *w = req->data;
    ab_error err = {0};
    if (w->state == AB_WEBSOCKET_OVER) {
        uv_freeaddrinfo(list);
        unref(w);
        return;
    }
    w->pending--;
    w->addresses = list;
    w->next = list;
    if (status != 0)
        ab_fail(&err, AB_ERR_UNAVAILABLE, "cannot resolve: %s", uv_strerror(status));
    connect_next(w, &err);
}

/* ---- time ---- */

static void keep_alive(ab_websocket *w)
{
    ab_error err = {0};
    uint64_t silent = uv_now(w->loop) - w->heard;
    if (w->paused || silent < (uint64_t)w->request.ping_ms)
        return;
    if (w->pinged) { /* a turn of the timer ago, or more */
        ab_fail(&err, AB_ERR_TIMEOUT, "the server of the WebSocket does not answer pings");
        end(w, &err);
    } else {
        w->pinged = true;
        if (ab_websocket_frame_put(ab_tls_socket_out(w->socket), WSLAY_PING, AB_STR(""), false) !=
            AB_ERR_OK)
            ab_tls_socket_wake(w->socket);
    }
}

static void on_timer(uv_timer_t *timer)
{
    ab_websocket *w = timer->data;
    ab_error err = {0};
    if (w->state == AB_WEBSOCKET_OPEN) {
        keep_alive(w);
    } else if (w->state == AB_WEBSOCKET_CLOSING) {
        end_closed(w);
    } else if (w->state == AB_WEBSOCKET_REFUSED) {
        end_refused(w);
    } else {
        ab_fail(&err, AB_ERR_TIMEOUT, "%s:%d: the WebSocket did not open in time", w->host,
                w->port);
        end(w, &err);
    }
}

/* ---- what is called ---- */

static ab_err prepare(ab_websocket *w, const ab_websocket_request *request, ab_error *err)
{
    bool plain = false;
    const ab_http_options *o = request->http;
    if (o->proxy != NULL)
        return ab_fail(err, AB_ERR_UNSUPPORTED, "a WebSocket through a proxy is not supported");
    ab_err e = ab_websocket_make_request(w, request, &plain, err);
    if (e != AB_ERR_OK)
        return e;
    if (plain) {
        w->tls.insecure = true;
        return AB_ERR_OK;
    }
    const ab_tls_texts texts = {o->ca, o->cert, o->key, o->sni == NULL ? w->host : o->sni};
    return ab_tls_context_init_texts(&w->tls, &texts, err);
}

static ab_err resolve(ab_websocket *w, ab_error *err)
{
    char service[16];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    snprintf(service, sizeof(service), "%d", w->port);
    int rc = uv_getaddrinfo(w->loop, &w->resolver, on_resolved, w->host, service, &hints);
    if (rc != 0)
        return ab_fail(err, AB_ERR_NOMEM, "cannot resolve %s: %s", w->host, uv_strerror(rc));
    w->pending++;
    return AB_ERR_OK;
}

static void set_limits(ab_websocket *w, const ab_websocket_request *r)
{
    w->request.message_bytes = r->message_bytes == 0 ? MESSAGE_MAX : r->message_bytes;
    w->request.open_ms = r->open_ms == 0 ? OPEN_MS : r->open_ms;
    w->request.ping_ms = r->ping_ms == 0 ? PING_MS : r->ping_ms;
}

ab_err ab_websocket_start(uv_loop_t *loop, const ab_websocket_request *request, ab_websocket **out,
                          ab_error *err)
{
    ab_websocket *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for a WebSocket");
    w->loop = loop;
    w->request = *request;
    set_limits(w, request);
    ab_buf_init(&w->body, AB_WEBSOCKET_BODY_MAX);
    ab_err e = prepare(w, request, err);
    w->resolver.data = w;
    if (e == AB_ERR_OK)
        e = resolve(w, err);
    if (e != AB_ERR_OK) {
        free_memory(w);
        return e;
    }
    uv_timer_init(loop, &w->timer);
    w->timer.data = w;
    w->pending++;
    uv_timer_start(&w->timer, on_timer, (uint64_t)w->request.open_ms, 0);
    *out = w;
    return AB_ERR_OK;
}

ab_err ab_websocket_send(ab_websocket *w, ab_str bytes)
{
    if (w->state != AB_WEBSOCKET_OPEN)
        return AB_ERR_CLOSED;
    if (ab_tls_socket_is_full(w->socket)) {
        w->full = true;
        return AB_ERR_FULL;
    }
    return ab_websocket_frame_put(ab_tls_socket_out(w->socket), WSLAY_BINARY_FRAME, bytes, false);
}

void ab_websocket_pause(ab_websocket *w)
{
    w->paused = true;
}

void ab_websocket_resume(ab_websocket *w)
{
    if (!w->paused)
        return;
    w->paused = false;
    w->pinged = false; /* its answer may be among what was not read */
    w->heard = uv_now(w->loop);
    if (w->socket != NULL)
        ab_tls_socket_wake(w->socket);
}

void ab_websocket_cancel(ab_websocket *w)
{
    if (w->told)
        return;
    w->told = true;
    stop(w);
}
