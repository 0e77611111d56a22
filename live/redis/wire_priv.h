/* SPDX-License-Identifier: Apache-2.0
 *
 * A wire's insides: wire.c has the connection, wire_open.c brings it about, and both use the socket
 * by wire_io.c. Loop thread, as all of it.
 */
#pragma once

#include "live/redis/wire.h"

#include <netdb.h>

/* Resolving, connecting, handshake, open; an accepted one begins with the handshake. Down when
 * on_down was called, from any of them. */
typedef enum {
    AB_REDIS_WIRE_RESOLVING,
    AB_REDIS_WIRE_CONNECTING,
    AB_REDIS_WIRE_HANDSHAKE,
    AB_REDIS_WIRE_OPEN,
    AB_REDIS_WIRE_DOWN
} ab_redis_wire_state;

struct ab_redis_wire {
    uv_loop_t *loop;
    const ab_redis_wire_ops *ops;
    void *arg;
    uv_poll_cb on_ready; /* the socket says something */
    ab_redis_wire_state state;
    uv_poll_t poll;
    bool polls; /* `poll` is initialised */
    int fd;
    SSL *ssl;
    const ab_tls_context *tls; /* until the connection stands */
    char *name;                /* "host:port", for errors; NULL: accepted */
    uv_getaddrinfo_t *resolver;
    struct addrinfo *addresses;
    struct addrinfo *next; /* to be tried when the present one fails */
    uv_timer_t deadline;   /* of opening */
    ab_buf in;             /* came and was not taken */
    ab_buf out;
    size_t sent; /* of `out` */
    bool paused;
    bool wants_write; /* TLS does */
    bool kicked;      /* look at `in` and into TLS, whatever the socket says */
    bool owes_room;
    bool closing;
    int handles; /* that are not closed */
    ab_error why;
};

/** Ask the loop for what is waited for now. */
void ab_redis_wire_watch(ab_redis_wire *w);
/** The first failure counts; on_down follows from the loop.
 * @param reason  errno's value, 0: `what` says it all */
void ab_redis_wire_fail(ab_redis_wire *w, ab_err code, int reason, const char *what);
/** Tell the owner that the wire has failed. From the loop only. */
void ab_redis_wire_go_down(ab_redis_wire *w);
/** Wait for what OpenSSL wants after it returned `rc`, or fail.
 * @param what  was tried
 * @return 0, bytes for now */
size_t ab_redis_wire_after_tls(ab_redis_wire *w, int rc, const char *what);
/** Some of what came.
 * @return bytes; 0: none now, or it has failed */
size_t ab_redis_wire_read(ab_redis_wire *w, char *into, size_t len);
/** As much as goes now.
 * @return bytes; 0: none now, or it has failed */
size_t ab_redis_wire_write(ab_redis_wire *w, const char *bytes, size_t len);
/** Close the socket, and what TLS has of it. */
void ab_redis_wire_drop_socket(ab_redis_wire *w);
/** Free it when it was closed and libuv holds it no longer. */
void ab_redis_wire_free_if_done(ab_redis_wire *w);
/** AB_REDIS_WIRE_CONNECTING: goes on to AB_REDIS_WIRE_HANDSHAKE, to the next address, or fails. */
void ab_redis_wire_finish_connect(ab_redis_wire *w);
/** AB_REDIS_WIRE_HANDSHAKE: goes on to AB_REDIS_WIRE_OPEN, waits, or fails. */
void ab_redis_wire_shake_hands(ab_redis_wire *w);
/** Begin with a socket that was accepted. */
void ab_redis_wire_adopt(ab_redis_wire *w, int fd, const ab_tls_context *tls);
/** Begin with a name to resolve. */
void ab_redis_wire_dial(ab_redis_wire *w, const char *host, int port, const ab_tls_context *tls);
/** From now on it has AB_REDIS_WIRE_OPEN_MS to open. */
void ab_redis_wire_limit(ab_redis_wire *w);
