/* SPDX-License-Identifier: Apache-2.0 */
#include "net/rpc/carrier/websocket_priv.h"

#include "net/rpc/codec/fields.h"

/* ---- the peer does not keep to the protocol ---- */

static void refuse_frames(ab_rpc_conn *conn, uint16_t code, const char *why)
{
    if (conn->why.code == AB_ERR_OK)
        ab_fail(&conn->why, AB_ERR_DENIED, "broken WebSocket: %s", why);
    conn->ws->fault = code;
    conn->ws->fault_text = why;
    ab_rpc_conn_refuse(conn, "websocket", NGHTTP2_PROTOCOL_ERROR);
}

static void refuse_protocol(ab_rpc_conn *conn, const char *why)
{
    refuse_frames(conn, WSLAY_CODE_PROTOCOL_ERROR, why);
}

/* ---- the request and its answer ---- */

static void turn_away(ab_rpc_conn *conn, const ab_rpc_upgrade_refusal *refusal)
{
    ab_fail(&conn->why, AB_ERR_DENIED, "cannot open the WebSocket: %s", refusal->why);
    ab_rpc_upgrade_put_refusal(&conn->ws->out, refusal);
    ab_rpc_websocket_after_put(conn);
    ab_rpc_conn_refuse(conn, "upgrade", NGHTTP2_PROTOCOL_ERROR);
}

static void begin_call(ab_rpc_conn *conn, ab_rpc_head_in *head, const char *accept)
{
    ab_rpc_websocket *ws = conn->ws;
    ab_rpc_upgrade_put_answer(&ws->out, accept);
    ab_rpc_websocket_after_put(conn);
    ws->upgraded = true;
    conn->state = AB_RPC_CONN_READY;
    ab_rpc_call *call = ab_rpc_call_new(conn, AB_RPC_WEBSOCKET_STREAM);
    if (call == NULL)
        ab_rpc_websocket_starve(conn);
    else
        ab_rpc_heads_request(call, head);
}

static void on_request(ab_rpc_conn *conn, ab_str text)
{
    char accept[AB_WEBSOCKET_ACCEPT];
    ab_rpc_head_in *head = ab_rpc_head_in_new(conn->endpoint->limits.header_bytes);
    if (head == NULL) {
        ab_rpc_websocket_starve(conn);
        return;
    }
    ab_rpc_upgrade_refusal refusal = ab_rpc_upgrade_read_request(text, head, accept);
    if (refusal.status != NULL)
        turn_away(conn, &refusal);
    else
        begin_call(conn, head, accept);
    ab_rpc_head_in_free(head);
}

static void on_answer(ab_rpc_conn *conn, ab_str text)
{
    ab_rpc_websocket *ws = conn->ws;
    ab_error err = {0};
    ab_str status;
    const char *why =
        ab_rpc_upgrade_read_answer(text, ws->key, conn->endpoint->limits.header_bytes, &status);
    if (why == NULL) {
        ws->upgraded = true;
        conn->state = AB_RPC_CONN_READY;
        return;
    }
    ab_fail(&err, AB_ERR_UNAVAILABLE, "cannot open the WebSocket: %s%s%.*s", why,
            status.ptr == NULL ? "" : ", HTTP ", AB_STR_ARG(status));
    if (ab_rpc_websocket_call(conn) != NULL && status.ptr != NULL)
        ab_rpc_call_set_fate(ab_rpc_websocket_call(conn), ab_rpc_status_of_http(status),
                             ab_str_of(err.text));
    ab_rpc_conn_doom(conn, &err);
}

static void on_head_too_large(ab_rpc_conn *conn)
{
    static const ab_rpc_upgrade_refusal refusal = {"431 Request Header Fields Too Large",
                                                   "the headers exceed the limit"};
    ab_error err = {0};
    if (conn->endpoint->server) {
        turn_away(conn, &refusal);
        return;
    }
    ab_fail(&err, AB_ERR_UNAVAILABLE,
            "cannot open the WebSocket: the headers of the response exceed the limit");
    ab_rpc_conn_doom(conn, &err);
}

/* @return how many of the bytes belonged to HTTP/1.1 */
static size_t take_head(ab_rpc_conn *conn, ab_str bytes)
{
    ab_rpc_websocket *ws = conn->ws;
    size_t before = ws->head.len;
    size_t room = ws->head.cap - before;
    /* What is beyond it may belong to messages, which come right behind the answer. */
    ab_buf_put(&ws->head, (ab_str){bytes.ptr, bytes.len < room ? bytes.len : room});
    if (ab_buf_status(&ws->head) != AB_ERR_OK) {
        ab_rpc_websocket_starve(conn);
        return bytes.len;
    }
    size_t len = ab_rpc_upgrade_head_len(ab_buf_str(&ws->head));
    if (len == 0) {
        if (bytes.len >= room)
            on_head_too_large(conn);
        return bytes.len;
    }
    if (conn->endpoint->server)
        on_request(conn, (ab_str){ws->head.ptr, len});
    else
        on_answer(conn, (ab_str){ws->head.ptr, len});
    ab_buf_wipe(&ws->head);
    return len - before;
}

/* ---- frames that come ---- */

static bool is_metadata(const ab_rpc_websocket *ws)
{
    return ws->prefix[0] == AB_RPC_WEBSOCKET_METADATA;
}

static void on_metadata(ab_rpc_conn *conn, ab_rpc_call *call)
{
    ab_rpc_websocket *ws = conn->ws;
    if (conn->endpoint->server) {
        ab_rpc_call_peer_closed(call);
        return;
    }
    ab_rpc_head_in *head = ab_rpc_head_in_new(conn->endpoint->limits.header_bytes);
    if (head == NULL) {
        ab_rpc_websocket_starve(conn);
        return;
    }
    ab_rpc_head_in_add(head, AB_STR(":status"), AB_STR("200"));
    if (!ab_rpc_upgrade_read_fields(ab_buf_str(&ws->metadata), head)) {
        refuse_protocol(conn, "a metadata line is invalid");
    } else {
        bool last = call->answered || ab_rpc_head_in_find(head, "grpc-status").ptr != NULL;
        ab_rpc_heads_response(call, head, last);
        if (last)
            ab_rpc_websocket_end(conn, NGHTTP2_NO_ERROR, WSLAY_CODE_NORMAL_CLOSURE);
    }
    ab_rpc_head_in_free(head);
    ab_buf_wipe(&ws->metadata);
}

/* The prefix is whole. @return why the message is none; NULL: it goes on */
static const char *begin_receiving(ab_rpc_conn *conn, ab_rpc_call *call)
{
    ab_rpc_websocket *ws = conn->ws;
    const uint8_t *p = ws->prefix;
    ws->left = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (call->peer_closed)
        return "a message follows the end of the stream";
    if (is_metadata(ws)) {
        if (conn->endpoint->server && ws->left > 0)
            return "a client's metadata is not empty";
        return ws->left > conn->endpoint->limits.header_bytes ? "metadata exceeds the limit" : NULL;
    }
    if (!conn->endpoint->server && !call->answered)
        return "a message comes before the headers";
    ab_rpc_call_receive(call, (ab_str){(const char *)p, AB_RPC_PREFIX});
    return NULL;
}

/* @return what of the bytes follows the prefix */
static ab_str take_prefix(ab_rpc_websocket *ws, ab_str bytes)
{
    size_t n = AB_RPC_PREFIX - ws->prefix_len;
    n = bytes.len < n ? bytes.len : n;
    memcpy(ws->prefix + ws->prefix_len, bytes.ptr, n);
    ws->prefix_len += n;
    return (ab_str){bytes.ptr + n, bytes.len - n};
}

static void on_data(ab_rpc_conn *conn, ab_rpc_call *call, const ab_websocket_frame *frame)
{
    ab_rpc_websocket *ws = conn->ws;
    ab_str bytes = frame->bytes;
    const char *why = NULL;
    if (ws->prefix_len < AB_RPC_PREFIX) {
        bytes = take_prefix(ws, bytes);
        if (ws->prefix_len == AB_RPC_PREFIX)
            why = begin_receiving(conn, call);
    }
    if (why == NULL && bytes.len > ws->left)
        why = "a message is longer than its prefix says";
    if (why == NULL) {
        ws->left -= bytes.len;
        if (frame->ends && (ws->prefix_len < AB_RPC_PREFIX || ws->left > 0))
            why = "a message is shorter than its prefix says";
    }
    if (why != NULL) {
        refuse_protocol(conn, why);
        return;
    }
    if (ws->prefix_len == AB_RPC_PREFIX && is_metadata(ws))
        ab_buf_put(&ws->metadata, bytes);
    else if (bytes.len > 0)
        ab_rpc_call_receive(call, bytes);
    if (!frame->ends)
        return;
    ws->prefix_len = 0;
    if (is_metadata(ws))
        on_metadata(conn, call);
}

static void on_ping(ab_rpc_conn *conn, ab_str payload)
{
    if (ab_rpc_conn_allows(conn, &conn->pings, &conn->endpoint->limits.pings, "pings"))
        ab_rpc_websocket_put(conn, WSLAY_PONG, payload);
}

static ab_rpc_status status_of_close(uint16_t code)
{
    switch (code) {
    case WSLAY_CODE_MESSAGE_TOO_BIG:
        return AB_RPC_RESOURCE_EXHAUSTED;
    case WSLAY_CODE_PROTOCOL_ERROR:
    case WSLAY_CODE_UNSUPPORTED_DATA:
    case WSLAY_CODE_INTERNAL_SERVER_ERROR:
        return AB_RPC_INTERNAL;
    default:
        return AB_RPC_UNAVAILABLE;
    }
}

/* Before the call has ended in order. */
static void on_close(ab_rpc_conn *conn, ab_rpc_call *call, ab_str payload)
{
    char text[64];
    uint16_t code = ab_websocket_frame_close_code(payload);
    ab_rpc_status status = conn->endpoint->server ? AB_RPC_CANCELLED : status_of_close(code);
    snprintf(text, sizeof(text), "the peer closed the WebSocket (%u)", code);
    ab_rpc_call_set_fate(call, status, ab_str_of(text));
    conn->ws->heard_close = true;
    ab_rpc_websocket_end(conn, NGHTTP2_CANCEL, WSLAY_CODE_NORMAL_CLOSURE);
}

static void on_frame(ab_rpc_conn *conn, ab_rpc_call *call, const ab_websocket_frame *frame)
{
    switch (frame->opcode) {
    case WSLAY_PING:
        on_ping(conn, frame->bytes);
        break;
    case WSLAY_CONNECTION_CLOSE:
        on_close(conn, call, frame->bytes);
        break;
    case WSLAY_PONG:
        break;
    default:
        on_data(conn, call, frame);
        break;
    }
}

static void take_frames(ab_rpc_conn *conn, ab_str bytes)
{
    ab_rpc_websocket *ws = conn->ws;
    ab_websocket_frame frame = {.bytes = bytes};
    ab_websocket_frames_feed(&ws->frames, bytes);
    while (frame.bytes.ptr != NULL && !conn->doomed && !conn->closing && !ws->ending) {
        const char *why = NULL;
        ab_err e = ab_websocket_frames_next(&ws->frames, &frame, &why);
        ab_rpc_call *call = ab_rpc_websocket_call(conn);
        if (e != AB_ERR_OK)
            refuse_frames(conn, ab_websocket_frames_close_code(e), why);
        else if (frame.bytes.ptr != NULL && call != NULL)
            on_frame(conn, call, &frame);
    }
}

void ab_rpc_websocket_receive(ab_rpc_conn *conn, uint8_t *bytes, size_t len)
{
    size_t taken = 0;
    if (conn->closing || conn->ws->ending)
        return;
    if (!conn->ws->upgraded)
        taken = take_head(conn, (ab_str){(const char *)bytes, len});
    take_frames(conn, (ab_str){(const char *)bytes + taken, len - taken});
}
