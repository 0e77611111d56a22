/* SPDX-License-Identifier: Apache-2.0
 *
 * A WebSocket's parts: websocket.c is the carrier, websocket_in.c takes what comes, and
 * websocket_out.c, which both call, sends.
 */
#pragma once

#include "net/rpc/call.h"
#include "net/rpc/carrier/carrier.h"
#include "net/rpc/codec/upgrade.h"
#include "net/rpc/conn_end.h"
#include "net/rpc/endpoint.h"
#include "net/websocket/frame.h"

#define AB_RPC_WEBSOCKET_METADATA 0x80u /* flag of a prefix */
#define AB_RPC_WEBSOCKET_STREAM   1     /* the only one */
#define AB_RPC_WEBSOCKET_OUT_MAX  (128u * 1024)

struct ab_rpc_websocket {
    char key[AB_WEBSOCKET_KEY]; /* client: of the request */
    ab_buf head;                /* of HTTP/1.1, while it comes in */
    bool upgraded;

    ab_websocket_frames frames;
    uint8_t prefix[AB_RPC_PREFIX]; /* of the message that comes in */
    size_t prefix_len;
    size_t left;     /* of what it announces */
    ab_buf metadata; /* while it comes in */
    bool heard_close;

    ab_buf out; /* what goes out between two messages of the call */
    size_t out_sent;
    size_t frame_left; /* of a message of which some has gone */
    bool end_queued;   /* client: the call's half-close */

    uint16_t fault; /* by which the peer is refused; 0: not one of its frames */
    const char *fault_text;
    bool ending; /* the call ends when `out` has gone */
    uint32_t end_code;
};

/** The call, unless there is none or it has ended. */
ab_rpc_call *ab_rpc_websocket_call(const ab_rpc_conn *conn);
/** It has to go, since there is no memory. */
void ab_rpc_websocket_starve(ab_rpc_conn *conn);
/** Queue a control frame, or a message of bytes. */
void ab_rpc_websocket_put(ab_rpc_conn *conn, enum wslay_opcode opcode, ab_str payload);
/** Something was appended to `out`. */
void ab_rpc_websocket_after_put(ab_rpc_conn *conn);
/** Queue headers of the call. @return NOMEM, TOOBIG */
AB_MUST_USE ab_err ab_rpc_websocket_put_metadata(ab_rpc_conn *conn, const ab_rpc_head_out *head);
/** Something waits to be sent. */
bool ab_rpc_websocket_is_pending(const ab_rpc_websocket *ws);
/** ab_rpc_carrier.send */
void ab_rpc_websocket_send(ab_rpc_conn *conn);
/** ab_rpc_carrier.refuse */
void ab_rpc_websocket_refuse(ab_rpc_conn *conn, uint32_t code);
/** The call ends when what is to be said of it has gone. @param code  of HTTP/2 */
void ab_rpc_websocket_end(ab_rpc_conn *conn, uint32_t code, uint16_t close);
/** ab_rpc_carrier.receive */
void ab_rpc_websocket_receive(ab_rpc_conn *conn, uint8_t *bytes, size_t len);
