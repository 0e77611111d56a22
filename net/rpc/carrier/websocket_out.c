/* SPDX-License-Identifier: Apache-2.0
 *
 * What a WebSocket sends, and how it ends.
 */
#include "net/rpc/carrier/websocket_priv.h"

#include "net/rpc/wire.h"

#define WRITES_MAX 8 /* of AB_RPC_SCRATCH bytes at most, before others have their turn */

ab_rpc_call *ab_rpc_websocket_call(const ab_rpc_conn *conn)
{
    ab_rpc_call *call = TAILQ_FIRST(&conn->calls);
    return call != NULL && call->stream > 0 ? call : NULL;
}

bool ab_rpc_websocket_is_pending(const ab_rpc_websocket *ws)
{
    return ws->out_sent < ws->out.len || ws->frame_left > 0;
}

void ab_rpc_websocket_starve(ab_rpc_conn *conn)
{
    ab_error err = {0};
    ab_fail(&err, AB_ERR_NOMEM, "out of memory for a WebSocket");
    ab_rpc_conn_doom(conn, &err);
}

void ab_rpc_websocket_after_put(ab_rpc_conn *conn)
{
    if (ab_buf_status(&conn->ws->out) != AB_ERR_OK)
        ab_rpc_websocket_starve(conn);
    ab_rpc_endpoint_wake(conn);
}

static void give_up_masking(ab_rpc_conn *conn)
{
    ab_error err = {0};
    ab_fail(&err, AB_ERR_FATAL, "the random number generator failed");
    ab_rpc_conn_doom(conn, &err);
}

static void after_frame(ab_rpc_conn *conn, ab_err e)
{
    if (e == AB_ERR_FATAL)
        give_up_masking(conn);
    else if (e != AB_ERR_OK)
        ab_rpc_websocket_starve(conn);
    ab_rpc_endpoint_wake(conn);
}

void ab_rpc_websocket_put(ab_rpc_conn *conn, enum wslay_opcode opcode, ab_str payload)
{
    after_frame(conn,
                ab_websocket_frame_put(&conn->ws->out, opcode, payload, conn->endpoint->server));
}

/* Amid a message nothing can be said any more: the end of TCP has to do. */
static void put_close(ab_rpc_conn *conn, uint16_t code, const char *why)
{
    ab_rpc_websocket *ws = conn->ws;
    if (ws->frame_left == 0) {
        after_frame(conn,
                    ab_websocket_frame_put_close(&ws->out, code, why, conn->endpoint->server));
        return;
    }
    ws->frame_left = 0;
    ws->out_sent = 0;
    ab_buf_wipe(&ws->out);
}

ab_err ab_rpc_websocket_put_metadata(ab_rpc_conn *conn, const ab_rpc_head_out *head)
{
    ab_buf text = ab_buf_up_to(AB_RPC_WEBSOCKET_OUT_MAX);
    char *prefix = ab_buf_extend(&text, AB_RPC_PREFIX);
    ab_rpc_upgrade_put_fields(&text, head);
    ab_err e = ab_buf_status(&text);
    if (prefix != NULL && e == AB_ERR_OK) {
        ab_rpc_prefix_put((uint8_t *)text.ptr, false, text.len - AB_RPC_PREFIX);
        text.ptr[0] = (char)AB_RPC_WEBSOCKET_METADATA;
        ab_rpc_websocket_put(conn, WSLAY_BINARY_FRAME, ab_buf_str(&text));
    }
    ab_buf_wipe(&text);
    return e;
}

/* A message begins in the scratch; @return bytes of its head */
static size_t begin_message(ab_rpc_conn *conn, uint8_t *into, size_t len)
{
    size_t n = ab_websocket_frames_begin(&conn->ws->frames, into, len);
    if (n == 0)
        give_up_masking(conn);
    conn->ws->frame_left = len;
    conn->pings.count = 0;
    return n;
}

static size_t go_on_with_message(ab_rpc_conn *conn, uint8_t *into, size_t room)
{
    ab_rpc_websocket *ws = conn->ws;
    size_t n = ab_rpc_call_pull(ab_rpc_websocket_call(conn), into,
                                room < ws->frame_left ? room : ws->frame_left);
    ab_websocket_frames_go_on(&ws->frames, into, n);
    ws->frame_left -= n;
    return n;
}

static size_t copy_out(ab_rpc_websocket *ws, uint8_t *into, size_t room)
{
    size_t left = ws->out.len - ws->out_sent;
    size_t n = left < room ? left : room;
    memcpy(into, ws->out.ptr + ws->out_sent, n);
    ws->out_sent += n;
    if (ws->out_sent < ws->out.len)
        return n;
    ab_buf_wipe(&ws->out); /* a token is in the request */
    ws->out_sent = 0;
    return n;
}

/* What follows the messages. @return false: nothing does, for now */
static bool put_next(ab_rpc_conn *conn, ab_rpc_call *call)
{
    ab_rpc_websocket *ws = conn->ws;
    const char metadata[AB_RPC_PREFIX] = {(char)AB_RPC_WEBSOCKET_METADATA};
    if (call->finishing && !call->finished) {
        ab_rpc_call_trail(call);
        return true;
    }
    if (!call->half_closed || ws->end_queued)
        return false;
    ws->end_queued = true;
    ab_rpc_websocket_put(conn, WSLAY_BINARY_FRAME, (ab_str){metadata, sizeof(metadata)});
    return true;
}

/* Nothing of the call follows a frame that closes, or the half of a message that was cut short. */
static bool takes_messages(const ab_rpc_conn *conn)
{
    return conn->ws->upgraded && !conn->ws->ending && !conn->closing;
}

/* Fill the scratch. The head of a message goes only with some of it, so that the call knows that
 * it has begun. */
static size_t fill(ab_rpc_conn *conn)
{
    ab_rpc_websocket *ws = conn->ws;
    uint8_t *into = conn->endpoint->out;
    size_t n = 0;
    while (AB_RPC_SCRATCH - n > AB_WEBSOCKET_FRAME_HEAD && !conn->doomed) {
        ab_rpc_call *call = takes_messages(conn) ? ab_rpc_websocket_call(conn) : NULL;
        size_t message = call == NULL ? 0 : ab_rpc_call_next(call);
        if (ws->frame_left > 0)
            n += go_on_with_message(conn, into + n, AB_RPC_SCRATCH - n);
        else if (ws->out_sent < ws->out.len)
            n += copy_out(ws, into + n, AB_RPC_SCRATCH - n);
        else if (message > 0)
            n += begin_message(conn, into + n, message);
        else if (call == NULL || !put_next(conn, call))
            break;
    }
    return n;
}

/* A server waits for the client's end: a socket that is closed with something left to read is
 * reset, and the client may never see the trailers. */
static void end_connection(ab_rpc_conn *conn)
{
    ab_rpc_call *call = ab_rpc_websocket_call(conn);
    if (call != NULL)
        ab_rpc_call_stream_closed(call, conn->ws->end_code);
    if (conn->endpoint->server && !conn->ws->heard_close)
        ab_rpc_conn_close(conn);
}

void ab_rpc_websocket_send(ab_rpc_conn *conn)
{
    ab_rpc_websocket *ws = conn->ws;
    ab_rpc_wire w = ab_rpc_wire_flush(conn);
    conn->send_on = true;
    for (int i = 0; i < WRITES_MAX && w == AB_RPC_WIRE_DONE && conn->send_on; i++) {
        size_t filled = fill(conn);
        conn->send_on = filled > 0;
        if (filled > 0 && !conn->doomed)
            w = ab_rpc_wire_write(conn, conn->endpoint->out, filled, 0);
    }
    if (w == AB_RPC_WIRE_FAILED || conn->doomed)
        return;
    if (ws->ending && !ab_rpc_websocket_is_pending(ws))
        end_connection(conn);
    ab_rpc_call *call = ab_rpc_websocket_call(conn);
    if (call != NULL)
        ab_rpc_call_drained(call);
}

void ab_rpc_websocket_end(ab_rpc_conn *conn, uint32_t code, uint16_t close)
{
    ab_rpc_websocket *ws = conn->ws;
    const ab_error none = {0};
    if (!ws->upgraded)
        ab_rpc_conn_doom(conn, &none);
    if (!ws->upgraded || ws->ending)
        return;
    ws->ending = true;
    ws->end_code = code;
    put_close(conn, close, "");
}

void ab_rpc_websocket_refuse(ab_rpc_conn *conn, uint32_t code)
{
    (void)code;
    const ab_rpc_websocket *ws = conn->ws;
    if (!ws->upgraded || ws->ending)
        return;
    if (ws->fault != 0)
        put_close(conn, ws->fault, ws->fault_text);
    else
        put_close(conn, WSLAY_CODE_POLICY_VIOLATION, "");
}
