/* SPDX-License-Identifier: Apache-2.0
 *
 * What the sources of this folder have of each other; state.h draws them.
 */
#pragma once

#include "net/rpc/call.h"
#include "net/rpc/conn_end.h"
#include "net/rpc/endpoint.h"
#include "net/rpc/wire.h"

/* ---- endpoint_loop.c ---- */

/** Everything but what is the server's or client's own. @return CONFIG, NOMEM; give it to
 * ab_rpc_endpoint_close in any case */
AB_MUST_USE ab_err ab_rpc_endpoint_init(ab_rpc_endpoint *endpoint, const ab_rpc_endpoint_ops *ops,
                                        const ab_rpc_env *env, const ab_rpc_limits *limits,
                                        const ab_tls *tls, bool server, const char *host,
                                        ab_error *err);
/** Free all connections and calls without an upcall, and close; on_closed follows. */
void ab_rpc_endpoint_close(ab_rpc_endpoint *endpoint);

/* ---- conn.c ---- */

/**
 * Take a socket into the loop.
 *
 * @param fd  non-blocking; taken over on success only
 * @return NOMEM, IO
 */
AB_MUST_USE ab_err ab_rpc_conn_new(ab_rpc_endpoint *endpoint, int fd, const struct sockaddr *peer,
                                   bool connecting, ab_rpc_conn **out);
/** Take no new calls, and close when the last has ended, or at `deadline_ms`. */
void ab_rpc_conn_leave(ab_rpc_conn *conn, int64_t deadline_ms);
/** Do what there is to do: read on, deliver, send, free. Counts the time. From the top. */
void ab_rpc_conn_work(ab_rpc_conn *conn);
/** Time has passed. From the top. */
void ab_rpc_conn_care(ab_rpc_conn *conn, int64_t now_ms);
/** Free it. @param silent  its calls get no on_end, and nobody is told */
void ab_rpc_conn_free(ab_rpc_conn *conn, bool silent);

/* ---- account.c ---- */

/** A connection is there: whose address it has pays for it. It may be doomed, or another one, when
 * there are too many. */
void ab_rpc_account_open(ab_rpc_conn *conn, const struct sockaddr *from);
/** Its peer has logged in as `agent`, which pays for it from now on. */
void ab_rpc_account_welcome(ab_rpc_conn *conn, const char *agent);
/** It has no calls any more and goes. */
void ab_rpc_account_close(ab_rpc_conn *conn);
/** Bytes that a message on this connection may have. */
size_t ab_rpc_account_message_max(const ab_rpc_conn *conn);

/* ---- peer.c ---- */

/** Who is counted as one: an address of IPv4, a network of 64 bits of IPv6. */
void ab_rpc_peer_network(const struct sockaddr *from, char text[AB_RPC_ADDRESS_MAX]);

/** Set address, port and loopback of `peer` by the socket's address.
 *  @param text  room for the address, which `peer` borrows: an IP address without brackets and
 * port, with its zone where it has one */
void ab_rpc_peer_set_address(ab_rpc_peer *peer, const struct sockaddr *from,
                             char text[AB_RPC_ADDRESS_MAX]);
