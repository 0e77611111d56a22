/* SPDX-License-Identifier: Apache-2.0
 *
 * One call over one connection of HTTP/1.1, which a WebSocket has: argocd-agent's way through
 * proxies that do not speak HTTP/2. The headers of the call are in the request; then each message
 * of the WebSocket is binary, and is one message of gRPC with its prefix, or metadata: the flag of
 * the prefix then is 0x80, and lines "Name: value" follow. Empty metadata of the client ends what
 * it sends; the second of the server, or the first with a status, are the trailers.
 */
#include "net/rpc/carrier/websocket_priv.h"

#include <stdlib.h>

#define LINES_MAX 4096u /* of HTTP/1.1, besides the headers of the call */

static ab_rpc_websocket *websocket_new(const ab_rpc_endpoint *endpoint)
{
    ab_rpc_websocket *ws = calloc(1, sizeof(*ws));
    /* The reader of messages has the limit: a call can be told of it, where a WebSocket could only
     * be closed. */
    uint64_t max = AB_RPC_PREFIX + (uint64_t)UINT32_MAX;
    if (ws == NULL || ab_websocket_frames_init(&ws->frames, endpoint->server, max) != AB_ERR_OK) {
        free(ws);
        return NULL;
    }
    ab_buf_init(&ws->head, endpoint->limits.header_bytes + LINES_MAX);
    ab_buf_init(&ws->metadata, endpoint->limits.header_bytes);
    ab_buf_init(&ws->out, AB_RPC_WEBSOCKET_OUT_MAX);
    return ws;
}

static ab_err ensure(ab_rpc_conn *conn)
{
    if (conn->ws == NULL)
        conn->ws = websocket_new(conn->endpoint);
    return conn->ws == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

/* A client's connection may have its call before it has come to be. */
static ab_err websocket_open(ab_rpc_conn *conn)
{
    ab_err e = ensure(conn);
    if (e == AB_ERR_OK && !conn->endpoint->server && ab_rpc_websocket_call(conn) == NULL) {
        conn->state = AB_RPC_CONN_READY;
        conn->endpoint->ops->on_ready(conn);
    }
    return e;
}

static void websocket_close(ab_rpc_conn *conn)
{
    ab_rpc_websocket *ws = conn->ws;
    if (ws == NULL)
        return;
    /* What fails after the end of its call is not a failure of the link. */
    if (ws->ending)
        conn->why = (ab_error){0};
    ab_buf_wipe(&ws->head);
    ab_buf_wipe(&ws->metadata);
    ab_buf_wipe(&ws->out);
    ab_websocket_frames_fini(&ws->frames);
    free(ws);
}

static bool takes(const ab_rpc_conn *conn)
{
    const ab_rpc_call *call = ab_rpc_websocket_call(conn);
    if (conn->ws->ending)
        return conn->endpoint->server;
    return call == NULL || call->held.len < conn->endpoint->limits.window_bytes;
}

static bool wants_send(const ab_rpc_conn *conn)
{
    return ab_rpc_websocket_is_pending(conn->ws) || conn->send_on;
}

static bool is_ended(const ab_rpc_conn *conn)
{
    return conn->ws->ending && conn->call_count == 0;
}

static bool ping(ab_rpc_conn *conn)
{
    ab_rpc_websocket_put(conn, WSLAY_PING, AB_STR(""));
    return true;
}

/* A pong that nobody asked for (RFC 6455, 5.5.3). */
static void show(ab_rpc_conn *conn)
{
    ab_rpc_websocket_put(conn, WSLAY_PONG, AB_STR(""));
}

/* ---- the call ---- */

static ab_err request(ab_rpc_call *call, const ab_rpc_head_out *head)
{
    ab_rpc_conn *conn = call->conn;
    ab_err e = ensure(conn);
    if (e != AB_ERR_OK)
        return e;
    if (!ab_websocket_key_make(conn->ws->key))
        return AB_ERR_UNAVAILABLE;
    ab_rpc_upgrade_put_request(&conn->ws->out, head, conn->ws->key);
    e = ab_buf_status(&conn->ws->out);
    if (e != AB_ERR_OK)
        return e;
    call->stream = AB_RPC_WEBSOCKET_STREAM;
    if (conn->state == AB_RPC_CONN_READY) {
        /* It has waited for this, and now waits for the answer. */
        conn->state = AB_RPC_CONN_OPEN;
        conn->born_ms = ab_rpc_endpoint_now_ms(conn->endpoint);
    }
    return AB_ERR_OK;
}

static ab_err respond(ab_rpc_call *call, const ab_rpc_head_out *head)
{
    return ab_rpc_websocket_put_metadata(call->conn, head);
}

static ab_err trail(ab_rpc_call *call, const ab_rpc_head_out *head)
{
    ab_err e = ab_rpc_websocket_put_metadata(call->conn, head);
    if (e == AB_ERR_OK)
        ab_rpc_websocket_end(call->conn, NGHTTP2_NO_ERROR, WSLAY_CODE_NORMAL_CLOSURE);
    return e;
}

static void reset(ab_rpc_call *call, uint32_t code)
{
    if (code == NGHTTP2_NO_ERROR)
        ab_rpc_websocket_end(call->conn, code, WSLAY_CODE_NORMAL_CLOSURE);
    else if (code == NGHTTP2_CANCEL)
        ab_rpc_websocket_end(call->conn, code, WSLAY_CODE_GOING_AWAY);
    else
        ab_rpc_websocket_end(call->conn, code, WSLAY_CODE_INTERNAL_SERVER_ERROR);
}

const ab_rpc_carrier ab_rpc_over_websocket = {
    .blocks = true,
    .open = websocket_open,
    .close = websocket_close,
    .takes = takes,
    .receive = ab_rpc_websocket_receive,
    .send = ab_rpc_websocket_send,
    .wants_send = wants_send,
    .is_ended = is_ended,
    .refuse = ab_rpc_websocket_refuse,
    .ping = ping,
    .show = show,
    .request = request,
    .respond = respond,
    .trail = trail,
    .reset = reset,
};
