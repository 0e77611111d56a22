/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a connection goes: it has failed, has come to its end, or its peer went past a bound.
 */
#pragma once

#include "net/rpc/state.h"

/** Bytes can flow, and it is known how calls travel. */
bool ab_rpc_conn_is_open(const ab_rpc_conn *conn);
/** It has to go, for the reason `err`; the first reason is kept. */
void ab_rpc_conn_doom(ab_rpc_conn *conn, const ab_error *err);
/** The peer went past a bound: count it, say GOAWAY, close. @param reason  a literal */
void ab_rpc_conn_refuse(ab_rpc_conn *conn, const char *reason, uint32_t code);
/** One more event of a kind. @return false: more than `rate` allows, and the peer is refused for
 * `reason` */
bool ab_rpc_conn_allows(ab_rpc_conn *conn, ab_rpc_count *c, const ab_rpc_rate *rate,
                        const char *reason);
/** The last was said: let it go out, and wait a moment for the peer's end. */
void ab_rpc_conn_close(ab_rpc_conn *conn);
