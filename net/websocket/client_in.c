/* SPDX-License-Identifier: Apache-2.0
 *
 * What comes from the server: the answer to the upgrade, the body of a refusal, frames. Each step
 * reads a little, and may make an upcall in which the WebSocket is cancelled.
 */
#include "net/websocket/client_priv.h"

#define HEAD_MAX (32u * 1024)

typedef enum { MORE, AGAIN, ENDED } progress; /* something was read; nothing is there; it is over */

static ab_str rest_of(const ab_websocket *w)
{
    if (w->head.ptr == NULL)
        return AB_STR("");
    return (ab_str){w->head.ptr + w->read, w->head.len - w->read};
}

/* ---- the answer ---- */

static ab_err step_head(ab_websocket *w, progress *p, ab_error *err)
{
    ab_str rest = rest_of(w);
    size_t len = ab_http_head_len(rest, 0);
    if (len > HEAD_MAX || (len == 0 && rest.len > HEAD_MAX))
        return ab_fail(err, AB_ERR_TOOBIG, "the headers of the response exceed the limit");
    *p = len == 0 ? AGAIN : MORE;
    if (len == 0)
        return AB_ERR_OK;
    ab_err e = ab_websocket_read_answer(w, w->head.ptr + w->read, len, err);
    w->read += len;
    if (e == AB_ERR_OK && w->state == AB_WEBSOCKET_OPEN)
        w->request.on_open(w->request.arg, w->protocol);
    return e;
}

static void keep_body(ab_websocket *w, ab_str piece)
{
    size_t room = AB_WEBSOCKET_BODY_MAX - w->body.len;
    ab_buf_put(&w->body, (ab_str){piece.ptr, piece.len < room ? piece.len : room});
}

static ab_err step_body(ab_websocket *w, progress *p)
{
    ab_str rest = rest_of(w);
    ab_str in = rest;
    ab_str piece = AB_STR_NONE;
    bool ended = false;
    ab_err e = AB_ERR_OK;
    if (w->chunked) {
        e = ab_http_chunked_next(&w->chunks, &in, &piece, &ended);
    } else {
        size_t len = w->left < 0 || rest.len < (uint64_t)w->left ? rest.len : (size_t)w->left;
        piece = len == 0 ? AB_STR_NONE : (ab_str){rest.ptr, len};
        in = (ab_str){rest.ptr + len, rest.len - len};
        w->left -= w->left < 0 ? 0 : (int64_t)len;
        ended = w->left == 0;
    }
    if (piece.ptr != NULL)
        keep_body(w, piece);
    w->read += rest.len - in.len;
    ended = ended || w->body.len == AB_WEBSOCKET_BODY_MAX;
    *p = ended ? ENDED : piece.ptr != NULL ? MORE : AGAIN;
    return e;
}

/* ---- frames ---- */

static ab_err put(ab_websocket *w, enum wslay_opcode opcode, ab_str payload)
{
    return ab_websocket_frame_put(ab_tls_socket_out(w->socket), opcode, payload, false);
}

/* The server ends the connection when it has our answer. */
static ab_err on_close(ab_websocket *w, ab_str payload, progress *p)
{
    uint16_t code = ab_websocket_frame_close_code(payload);
    w->close_code = code;
    if (payload.len > 2)
        memcpy(w->close_text, payload.ptr + 2, payload.len - 2);
    *p = w->state == AB_WEBSOCKET_CLOSING ? ENDED : AGAIN;
    if (w->state == AB_WEBSOCKET_CLOSING)
        return AB_ERR_OK;
    w->state = AB_WEBSOCKET_CLOSING;
    uint16_t answer = code == WSLAY_CODE_NO_STATUS_RCVD ? WSLAY_CODE_NORMAL_CLOSURE : code;
    ab_err e = ab_websocket_frame_put_close(ab_tls_socket_out(w->socket), answer, "", false);
    ab_tls_socket_shut(w->socket);
    return e;
}

static ab_err on_frame(ab_websocket *w, const ab_websocket_frame *frame, progress *p)
{
    bool open = w->state == AB_WEBSOCKET_OPEN;
    *p = MORE;
    if (frame->opcode == WSLAY_CONNECTION_CLOSE)
        return on_close(w, frame->bytes, p);
    if (frame->opcode == WSLAY_PING && open && !ab_tls_socket_is_full(w->socket))
        return put(w, WSLAY_PONG, frame->bytes);
    if (frame->opcode == WSLAY_BINARY_FRAME && open)
        w->request.on_message(w->request.arg, frame->bytes, frame->ends);
    return AB_ERR_OK;
}

static ab_err step_frames(ab_websocket *w, progress *p, ab_error *err)
{
    const char *why = NULL;
    ab_websocket_frame frame;
    ab_str rest = rest_of(w);
    *p = AGAIN;
    if (w->paused)
        return AB_ERR_OK;
    ab_websocket_frames_feed(&w->frames, rest);
    ab_err e = ab_websocket_frames_next(&w->frames, &frame, &why);
    w->read += rest.len - w->frames.in.len;
    if (e != AB_ERR_OK)
        return ab_fail(err, e, "broken WebSocket: %s", why);
    return frame.bytes.ptr == NULL ? AB_ERR_OK : on_frame(w, &frame, p);
}

static ab_err step(ab_websocket *w, progress *p, ab_error *err)
{
    switch (w->state) {
    case AB_WEBSOCKET_UPGRADE:
        return step_head(w, p, err);
    case AB_WEBSOCKET_REFUSED:
        return step_body(w, p);
    case AB_WEBSOCKET_OPEN:
    case AB_WEBSOCKET_CLOSING:
        return step_frames(w, p, err);
    case AB_WEBSOCKET_CONNECT:
    case AB_WEBSOCKET_OVER:
        break;
    }
    *p = AGAIN;
    return AB_ERR_OK;
}

/* What was read goes; a WebSocket that waits holds no buffer. */
static void compact(ab_websocket *w)
{
    ab_str rest = rest_of(w);
    if (rest.len == 0) {
        ab_buf_fini(&w->head);
    } else if (w->read > 0) {
        memmove(w->head.ptr, rest.ptr, rest.len);
        w->head.len = rest.len;
    }
    w->read = 0;
}

ab_err ab_websocket_read(ab_websocket *w, bool *ended, ab_error *err)
{
    progress p = MORE;
    ab_err e = AB_ERR_OK;
    while (e == AB_ERR_OK && p == MORE)
        e = step(w, &p, err);
    *ended = p == ENDED;
    if (e != AB_ERR_OK && err->code == AB_ERR_OK)
        ab_fail(err, e, "WebSocket: %s", ab_err_text(e));
    if (w->state != AB_WEBSOCKET_OVER)
        compact(w);
    return e;
}
