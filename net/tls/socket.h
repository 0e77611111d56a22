/* SPDX-License-Identifier: Apache-2.0
 *
 * One TCP connection on the loop, with or without TLS: bytes come as upcalls and can be held up,
 * bytes go by a queue that says when it is full. OpenSSL works on the socket itself and libuv only
 * says when it is ready, so that an idle connection holds no buffer.
 *
 * Upcalls come from the loop only, never from inside a call. Freeing is allowed in each of them.
 * Loop thread.
 */
#pragma once

#include "base/core/buf.h"
#include "net/tls/tls.h"

#include <uv.h>

typedef struct ab_tls_socket ab_tls_socket;

/* None is NULL. */
typedef struct {
    /** TCP and TLS are up. */
    void (*on_open)(void *arg);
    /** Bytes came; borrowed. */
    void (*on_bytes)(void *arg, ab_str bytes);
    /** ab_tls_socket_wake, or the queue has room again after it was full. */
    void (*on_turn)(void *arg);
    /** It failed, or the peer has ended it; nothing follows. CLOSED: the end of the stream; DENIED:
     * by TLS; UNAVAILABLE. */
    void (*on_end)(void *arg, const ab_error *why);
} ab_tls_socket_events;

typedef struct {
    const ab_tls_context *tls; /* borrowed for the call */
    int fd;                    /* non-blocking; taken over on success only */
    bool connecting;           /* connect() was called, and may not be through */
    bool patient;              /* a peer that goes while no bytes are wanted is noticed when they
                                  are again, so that nothing that it sent before is lost */
    size_t full_bytes;         /* the queue is full from so many bytes on */
    const ab_tls_socket_events *events;
    void *arg;
} ab_tls_socket_options;

/** @return NOMEM */
AB_MUST_USE ab_err ab_tls_socket_new(uv_loop_t *loop, const ab_tls_socket_options *options,
                                     ab_tls_socket **out);
/** Close at once, without upcalls. The memory is freed when the loop has closed the handles. NULL
 * is allowed. */
void ab_tls_socket_free(ab_tls_socket *s);
/** Whether bytes that come are wanted; true in the beginning. While they are not, TCP holds the
 * peer up, and unless `patient` it counts as ended when it goes. */
void ab_tls_socket_read(ab_tls_socket *s, bool on);
/** The queue: append to it; it leaves before the loop sleeps. @return NOMEM */
ab_buf *ab_tls_socket_out(ab_tls_socket *s);
/** The queue has as many bytes as it may have: on_turn follows when half of them have left. */
bool ab_tls_socket_is_full(ab_tls_socket *s);
/** Bytes that TCP has not taken. */
size_t ab_tls_socket_queued(const ab_tls_socket *s);
/** End the sending side when the queue has left. */
void ab_tls_socket_shut(ab_tls_socket *s);
/** Have on_turn called soon. */
void ab_tls_socket_wake(ab_tls_socket *s);
/** Bytes have come that the loop has not come to. */
bool ab_tls_socket_has_unread(const ab_tls_socket *s);
/** uv_now() when TCP last took some bytes, or the queue began to have some. */
uint64_t ab_tls_socket_moved(const ab_tls_socket *s);
/** The certificate of the peer, verified; NULL: none. Borrowed. */
X509 *ab_tls_socket_certificate(const ab_tls_socket *s);
/** As ab_tls_context_trusts. */
bool ab_tls_socket_is_trusted(const ab_tls_socket *s, const ab_tls_context *tls);
