/* SPDX-License-Identifier: Apache-2.0
 *
 * A request that has become a WebSocket. libwslay reads and writes the frames; pings are answered,
 * but none beyond what the queue holds: a peer that floods gets fewer pongs, as RFC 6455 allows.
 */
#include "net/http/https_priv.h"

#define CLOSE_TEXT_MAX (AB_WEBSOCKET_FRAME_CONTROL - 2)

static ab_buf *out_of(const ab_https_conn *c)
{
    return ab_tls_socket_out(c->socket);
}

/* The frame could not be made: the client sees the end. */
static ab_err check_put(ab_https_request *r, ab_err e)
{
    if (e != AB_ERR_OK)
        ab_https_abort(r);
    return e;
}

bool ab_https_offers(const ab_https_info *info, const char *protocol)
{
    for (size_t i = 0; i < info->head->field_count; i++) {
        const ab_http_field *f = &info->head->fields[i];
        if (ab_str_is(f->name, "sec-websocket-protocol") && ab_http_list_has(f->value, protocol))
            return true;
    }
    return false;
}

ab_err ab_https_accept(ab_https_request *r, const char *protocol)
{
    ab_https_conn *c = r->conn;
    if (c->doomed || r->answered || r->finished || r->aborted)
        return AB_ERR_CLOSED;
    if (!r->upgrade)
        return AB_ERR_INVALID;
    ab_err e = ab_websocket_frames_init(&r->frames, true, c->server->limits.message_bytes);
    if (e != AB_ERR_OK)
        return e;
    r->answered = true;
    c->state = AB_HTTPS_WEBSOCKET;
    c->heard = uv_now(c->server->loop);
    ab_buf_printf(out_of(c),
                  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                  "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n",
                  r->accept);
    if (protocol != NULL)
        ab_buf_printf(out_of(c), "Sec-WebSocket-Protocol: %s\r\n", protocol);
    ab_buf_puts(out_of(c), "\r\n");
    ab_tls_socket_wake(c->socket); /* messages may have come already */
    return check_put(r, ab_buf_status(out_of(c)));
}

static bool is_open(const ab_https_request *r)
{
    return r->conn->state == AB_HTTPS_WEBSOCKET && !r->conn->doomed && !r->closing && !r->aborted;
}

ab_err ab_https_message(ab_https_request *r, ab_str bytes)
{
    if (!is_open(r))
        return AB_ERR_CLOSED;
    if (ab_tls_socket_is_full(r->conn->socket)) {
        r->full = true;
        return AB_ERR_FULL;
    }
    return check_put(r, ab_websocket_frame_put(out_of(r->conn), WSLAY_BINARY_FRAME, bytes, true));
}

void ab_https_close(ab_https_request *r, uint16_t code, const char *why)
{
    char text[CLOSE_TEXT_MAX + 1] = {0};
    if (!is_open(r))
        return;
    strncat(text, why, CLOSE_TEXT_MAX);
    r->closing = true;
    r->close_code = code;
    r->conn->since = uv_now(r->conn->server->loop);
    (void)check_put(r, ab_websocket_frame_put_close(out_of(r->conn), code, text, true));
}

/* ---- what comes ---- */

static void on_close(ab_https_conn *c, ab_str payload)
{
    ab_https_request *r = c->request;
    uint16_t code = ab_websocket_frame_close_code(payload);
    uint16_t answer = code == WSLAY_CODE_NO_STATUS_RCVD ? WSLAY_CODE_NORMAL_CLOSURE : code;
    if (!r->closing && ab_websocket_frame_put_close(out_of(c), answer, "", true) != AB_ERR_OK)
        c->doomed = true;
    ab_https_conn_over(c, AB_ERR_OK, code);
    if (!c->doomed)
        ab_https_conn_linger(c);
}

static void on_ping(ab_https_conn *c, ab_str payload)
{
    if (ab_tls_socket_is_full(c->socket) || c->request->closing)
        return;
    (void)check_put(c->request, ab_websocket_frame_put(out_of(c), WSLAY_PONG, payload, true));
}

static void on_frame(ab_https_conn *c, const ab_websocket_frame *frame)
{
    const ab_https_request *r = c->request;
    if (frame->opcode == WSLAY_CONNECTION_CLOSE)
        on_close(c, frame->bytes);
    else if (frame->opcode == WSLAY_PING)
        on_ping(c, frame->bytes);
    else if (frame->opcode == WSLAY_BINARY_FRAME && r->handler->on_message != NULL && !r->closing)
        r->handler->on_message(r->arg, frame->bytes, frame->ends);
}

static void refuse_frames(ab_https_conn *c, ab_err e, const char *why)
{
    uint16_t code = ab_websocket_frames_close_code(e);
    if (!c->request->closing &&
        ab_websocket_frame_put_close(out_of(c), code, why, true) != AB_ERR_OK)
        c->doomed = true;
    ab_https_conn_over(c, e, 0);
    if (!c->doomed)
        ab_https_conn_linger(c);
}

bool ab_https_websocket_step(ab_https_conn *c)
{
    ab_https_request *r = c->request;
    const char *why = NULL;
    ab_websocket_frame frame;
    if (r->paused)
        return false;
    ab_str rest = ab_https_conn_rest(c);
    ab_websocket_frames_feed(&r->frames, rest);
    ab_err e = ab_websocket_frames_next(&r->frames, &frame, &why);
    ab_https_conn_consume(c, rest.len - r->frames.in.len);
    if (e != AB_ERR_OK) {
        refuse_frames(c, e, why);
        return false;
    }
    if (frame.bytes.ptr == NULL)
        return false;
    on_frame(c, &frame);
    return true;
}

void ab_https_websocket_care(ab_https_conn *c, uint64_t now)
{
    const ab_https_request *r = c->request;
    uint64_t ping_ms = (uint64_t)c->server->limits.ping_ms;
    uint64_t silent = now - c->heard;
    if (r->closing && now - c->since > AB_HTTPS_LINGER_MS) {
        c->doomed = true;
        return;
    }
    if (r->paused || r->closing || silent < ping_ms)
        return;
    if (c->pinged && silent > 2 * ping_ms) {
        ab_https_conn_over(c, AB_ERR_TIMEOUT, 0);
        c->doomed = true;
    } else if (!c->pinged) {
        c->pinged = true;
        c->heard = now - ping_ms; /* it has as long to answer, also when nothing ran meanwhile */
        (void)check_put(c->request,
                        ab_websocket_frame_put(out_of(c), WSLAY_PING, AB_STR(""), true));
    }
}
