/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS 1.3 (RFC 8446) over bytes that somebody else carries in order, by OpenSSL. Both ends show a
 * certificate of the trusted authority; whose it is, is for the caller to check. The principal is
 * the client. What certificates may be used for (extended key usage) is not asked: those of agents
 * are made for clients, and here an agent is the server. Loop thread.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/error.h"
#include "net/tls/tls.h"

typedef struct ab_live_tls ab_live_tls;

/** @param ctx  certificate, key and trusted authorities. @param out  owned by the caller
 *  @return NOMEM */
AB_MUST_USE ab_err ab_live_tls_new(SSL_CTX *ctx, bool client, ab_live_tls **out);
/** NULL is allowed. */
void ab_live_tls_free(ab_live_tls *t);
/**
 * Bytes came; empty: begin the handshake.
 * @param on_plain  gets what was in them, borrowed; anything but OK ends the call with that
 * @return DENIED: the other end is not trusted, or was changed on the way; NOMEM
 */
AB_MUST_USE ab_err ab_live_tls_receive(ab_live_tls *t, ab_str bytes,
                                       ab_err (*on_plain)(void *arg, ab_str bytes), void *arg,
                                       ab_error *err);
/** Whether the other end is known: only now may be sent. */
bool ab_live_tls_is_up(const ab_live_tls *t);
/** Its certificate, borrowed; when up. */
const X509 *ab_live_tls_peer(const ab_live_tls *t);
/** As ab_tls_context_trusts. */
bool ab_live_tls_is_trusted(const ab_live_tls *t, const ab_tls_context *tls);
/** Seal. @return NOMEM, DENIED: it is broken */
AB_MUST_USE ab_err ab_live_tls_send(ab_live_tls *t, ab_str bytes);
/** Append what is to be carried to the other end. @return whether there was anything; a failure is
 * in `out` */
bool ab_live_tls_take(ab_live_tls *t, ab_buf *out);
