/* SPDX-License-Identifier: Apache-2.0
 *
 * argocd-agent's dialect: what a link needs to have a peer that is no argobus. A dialect stands
 * between a link and the streams to such a peer. To the link it is an argobus peer with hello,
 * versions and acknowledgements; to the peer it is an argocd-agent: one event under way per
 * resource, sent again until acknowledged, resync messages answered. docs/protocol.md says what
 * becomes of what.
 *
 * It remembers, as long as it lives, what the peer has acknowledged; so a new stream goes on where
 * the last one broke off. Loop thread. No upcall is made but from ab_dialect_run.
 */
#pragma once

#include "transport/grpc/link.h"

typedef struct ab_dialect ab_dialect;

typedef struct {
    const ab_transport_env *env;
    /** Have ab_dialect_run called soon. */
    void (*wake)(void *arg, ab_dialect *d);
    void *arg;
} ab_dialect_env;

/** @param env   borrowed, as the link is, for as long as the dialect lives
 *  @return NOMEM */
AB_MUST_USE ab_err ab_dialect_new(const ab_dialect_env *env, ab_grpc_link *link, ab_dialect **out);
/** NULL is allowed. The link must have been freed, or have no stream of this dialect. */
void ab_dialect_free(ab_dialect *d);
/** Forget the peer: who comes next is another one. Without a stream, or with one that was cut. */
void ab_dialect_reset(ab_dialect *d);

/* What is known of the peer when a stream to it opens; borrowed. */
typedef struct {
    ab_str mode;      /* of an agent; "" for a principal */
    ab_str namespace; /* Argo CD's at the peer; "" = it did not say */
} ab_dialect_peer;

/** A stream to the peer is open; one that was open before is cut, since the newest counts. */
void ab_dialect_open(ab_dialect *d, const ab_grpc_stream_ops *ops, void *stream,
                     const ab_dialect_peer *peer);
/** The stream has ended; one that is not the newest is passed over; so below. */
void ab_dialect_close(ab_dialect *d, const void *stream);
/** One message has come by a stream. */
void ab_dialect_receive(ab_dialect *d, const void *stream, ab_str message);
/** After FULL: the stream takes more. */
void ab_dialect_writable(ab_dialect *d, const void *stream);
/** Send what can be sent, and tell the link what is due. */
void ab_dialect_run(ab_dialect *d);
/** Time has passed: what was not acknowledged is sent again. */
void ab_dialect_tick(ab_dialect *d);
