/* SPDX-License-Identifier: Apache-2.0
 *
 * argocd-agent's compatibility layer: what a link needs to have a peer that is not argobus. A
 * compatibility layer stands between a link and the streams to such a peer. To the link it is an
 * argobus peer with hello, versions and acknowledgements; to the peer it is an argocd-agent: one
 * event under way per resource, sent again until acknowledged, resync messages answered.
 * docs/protocol.md says what becomes of what.
 *
 * It remembers, as long as it lives, what the peer has acknowledged; so a new stream goes on where
 * the last one broke off. Loop thread. No upcall is made but from
 * ab_compat_run_woken.
 */
#pragma once

#include "base/core/list.h"
#include "transport/grpc/link/link.h"

typedef struct ab_compat ab_compat;

typedef struct {
    const ab_transport_env *env;
    /** Have ab_compat_run_woken called soon. */
    void (*wake)(void *arg);
    void *arg;
    ab_link woken; /* the layers with something to do; ab_link_init makes it empty */
} ab_compat_env;

/** @param env   borrowed, as the link is, for as long as the compatibility layer lives
 *  @return NOMEM */
AB_MUST_USE ab_err ab_compat_new(ab_compat_env *env, ab_grpc_link *link, ab_compat **out);
/** NULL is allowed. The link must have been freed, or have no stream of this compatibility layer.
 */
void ab_compat_free(ab_compat *d);
/** Forget the peer: who comes next is another one. Without a stream, or with one that was cut. */
void ab_compat_reset(ab_compat *d);

/* What is known of the peer when a stream to it opens; borrowed. */
typedef struct {
    ab_str mode;      /* of an agent; "" for a principal */
    ab_str namespace; /* Argo CD's at the peer; "" = it did not say */
} ab_compat_peer;

/** A stream to the peer is open; one that was open before is cut, since the newest counts. */
void ab_compat_open(ab_compat *d, const ab_grpc_stream_ops *ops, void *stream,
                    const ab_compat_peer *peer);
/** The stream has ended; one that is not the newest is passed over; so below. */
void ab_compat_close(ab_compat *d, const void *stream);
/** The stream that is open; NULL: none. */
void *ab_compat_stream(const ab_compat *d);
/** One message has come by a stream. */
void ab_compat_receive(ab_compat *d, const void *stream, ab_str message);
/** After FULL: the stream takes more. */
void ab_compat_writable(ab_compat *d, const void *stream);
/** For each layer with something to do: send what can be sent, and tell the link what is due. */
void ab_compat_run_woken(ab_compat_env *env);
/** Time has passed: what was not acknowledged is sent again. */
void ab_compat_tick(ab_compat *d);
