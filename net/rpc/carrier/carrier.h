/* SPDX-License-Identifier: Apache-2.0
 *
 * How calls travel over a connection: as streams of HTTP/2, or alone by a WebSocket.
 */
#pragma once

#include "net/rpc/state.h"

extern const ab_rpc_carrier ab_rpc_http2;
extern const ab_rpc_carrier ab_rpc_over_websocket;

/* http2.c */

/** Callbacks and options, the same for all connections. @return NOMEM */
AB_MUST_USE ab_err ab_rpc_http2_init(ab_rpc_endpoint *endpoint);
/** Client: the server allows no more calls at a time. */
bool ab_rpc_http2_is_full(const ab_rpc_conn *conn);
