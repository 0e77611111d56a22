/* SPDX-License-Identifier: Apache-2.0
 *
 * One TCP connection of the redis proxy, with or without TLS: bytes in as they come, bytes out
 * through a queue. An idle connection holds no buffers (net/tls/socket.h). Loop thread.
 *
 * Upcalls come from the loop only, never out of a function of this header. A wire may be closed
 * from any of them.
 */
#pragma once

#include "base/core/buf.h"
#include "net/tls/tls.h"

#include <uv.h>

/* When so much is queued, its source should be paused. */
#define AB_REDIS_WIRE_HIGH (256u * 1024)
/* A peer that cannot be connected to in this time is given up. */
#define AB_REDIS_WIRE_OPEN_MS 10000

typedef struct ab_redis_wire ab_redis_wire;

typedef struct {
    /** Bytes can flow. May be NULL. */
    void (*on_open)(void *arg);
    /** Bytes came: those that were not taken before, and more behind them.
     *  @return how many were taken from their front */
    size_t (*on_bytes)(void *arg, ab_str bytes);
    /** After ab_redis_wire_is_full has said so: there is room again. May be NULL. */
    void (*on_room)(void *arg);
    /** The peer has gone or cannot be reached; once. The wire is still to be closed. */
    void (*on_down)(void *arg, const ab_error *why);
    /** After ab_redis_wire_close, the last. */
    void (*on_closed)(void *arg);
} ab_redis_wire_ops;

/**
 * Take a connection that was accepted.
 *
 * @param fd   the wire's from now on, also on failure
 * @param tls  server's; borrowed for the call; insecure: plain TCP
 * @param ops  borrowed, as long as the wire lives
 * @return NOMEM
 */
AB_MUST_USE ab_err ab_redis_wire_accept(uv_loop_t *loop, int fd, const ab_tls_context *tls,
                                        const ab_redis_wire_ops *ops, void *arg,
                                        ab_redis_wire **out);
/**
 * Connect: on_open or on_down follows.
 *
 * @param host  name or address, copied
 * @param tls   client's; borrowed until on_open or on_down
 * @return NOMEM
 */
AB_MUST_USE ab_err ab_redis_wire_connect(uv_loop_t *loop, const char *host, int port,
                                         const ab_tls_context *tls, const ab_redis_wire_ops *ops,
                                         void *arg, ab_redis_wire **out);
/** Close now; on_closed follows, and no other upcall. What is queued is dropped. NULL is allowed.
 */
void ab_redis_wire_close(ab_redis_wire *w);

/** Queue bytes, copied; they leave before the loop sleeps. When memory is short, or 64 MiB wait,
 * on_down follows. */
void ab_redis_wire_put(ab_redis_wire *w, ab_str bytes);
/** The queue, to append to it, with the same bound. */
ab_buf *ab_redis_wire_out(ab_redis_wire *w);
/** End the sending side when the queue has left. */
void ab_redis_wire_shut(ab_redis_wire *w);
/** More is queued than should be: on_room follows. */
bool ab_redis_wire_is_full(ab_redis_wire *w);
/** Bytes that are queued. */
size_t ab_redis_wire_queued(const ab_redis_wire *w);
/** Read nothing for now, or go on; when it goes on, what was not taken comes again. */
void ab_redis_wire_pause(ab_redis_wire *w, bool paused);
