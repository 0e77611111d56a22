/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes over TCP, with or without TLS.
 */
#pragma once

#include "net/rpc/state.h"

typedef enum { AB_RPC_WIRE_DONE, AB_RPC_WIRE_AGAIN, AB_RPC_WIRE_FAILED } ab_rpc_wire;

/** Go on connecting; DONE once bytes can flow. */
ab_rpc_wire ab_rpc_wire_open(ab_rpc_conn *conn);
/** TLS has agreed on HTTP/2. Without ALPN the peer may be anything. */
bool ab_rpc_wire_speaks_h2(const ab_rpc_conn *conn);
/** At most `len` bytes to `into`; FAILED also at the end. */
ab_rpc_wire ab_rpc_wire_read(ab_rpc_conn *conn, uint8_t *into, size_t len, size_t *got);
/** Send, or keep what cannot be sent now. AGAIN: some is kept, and with it the `more` bytes that
 * lie behind it; give no more. */
ab_rpc_wire ab_rpc_wire_write(ab_rpc_conn *conn, const uint8_t *bytes, size_t len, size_t more);
/** More follows at once: let TCP wait for it. */
void ab_rpc_wire_cork(const ab_rpc_conn *conn, bool on);
/** Send what was kept. */
ab_rpc_wire ab_rpc_wire_flush(ab_rpc_conn *conn);
/** Tell the peer that nothing more is sent. */
void ab_rpc_wire_shut(ab_rpc_conn *conn);
void ab_rpc_wire_close(ab_rpc_conn *conn);
