/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the HTTP server: listening and time (https_server.c), what comes on a connection
 * (https_conn.c), WebSockets (https_websocket.c), what the application says to a request
 * (https_answer.c), and what they all need (https_request.c). Each calls those after it only.
 *
 *            request                   body is whole              finished
 *   HEAD ------------> BODY ------------------------> ANSWER --------------> HEAD
 *                        \ finished: DROP the rest of it -------------------> HEAD
 *                         \ accepted: WEBSOCKET
 *   any of them: refused, or the last request of the connection -> LINGER, until the client has
 *   read what was said
 *
 * What the application asks for is noted and done when the loop comes to the connection; who finds
 * that a connection has to go dooms it, and the entry from the loop frees it.
 */
#pragma once

#include "net/http/chunked.h"
#include "net/http/https_server.h"
#include "net/tls/socket.h"
#include "net/websocket/frame.h"
#include "net/websocket/key.h"

#include <netinet/in.h>
#include <sys/queue.h>

#define AB_HTTPS_LINGER_MS 2000
#define AB_HTTPS_DROP_BYTES                                                                        \
    (256u * 1024) /* of a body that nobody wants, to keep the connection                           \
                   */

typedef enum {
    AB_HTTPS_HEAD,
    AB_HTTPS_BODY,
    AB_HTTPS_ANSWER,
    AB_HTTPS_DROP,
    AB_HTTPS_WEBSOCKET,
    AB_HTTPS_LINGER,
} ab_https_state;

typedef struct ab_https_conn {
    TAILQ_ENTRY(ab_https_conn) at;
    ab_https_server *server;
    ab_tls_socket *socket;
    ab_https_state state;
    bool open;   /* TLS is up */
    bool close;  /* after this request */
    bool doomed; /* is to be freed */
    ab_buf in;   /* what came and was not read */
    size_t read; /* of `in` */
    size_t seen; /* bytes of `in` past `read` without the end of a head */
    ab_http_chunked chunks;
    bool chunked;
    uint64_t left;  /* of a body that is not in chunks */
    uint64_t came;  /* of a body */
    uint64_t since; /* uv_now() when what is waited for began */
    uint64_t heard; /* ... when bytes came */
    bool pinged;    /* since it was heard */
    ab_https_request *request;
    char address[INET6_ADDRSTRLEN + 11];
    char common_name[256];
    bool certified; /* the client has a certificate: */
    uint8_t fingerprint[AB_FINGERPRINT_BYTES];
    bool revoked;     /* it was, when this was asked last */
    unsigned trusted; /* by the files as they were after so many reloads */
} ab_https_conn;

struct ab_https_request {
    ab_https_conn *conn;
    const ab_https_handler *handler;
    void *arg;
    bool paused;
    uint64_t paused_at;
    bool is_head;
    bool old; /* HTTP/1.0 */
    bool upgrade;
    char accept[AB_WEBSOCKET_ACCEPT];
    bool answered;
    bool no_body;
    bool chunked;
    int64_t left; /* of the answer's body, when its length is known */
    bool full;    /* on_writable is owed */
    bool finished;
    bool aborted;
    ab_websocket_frames frames;
    bool closing; /* our close was sent */
    unsigned close_code;
};

struct ab_https_server {
    uv_loop_t *loop;
    ab_https_options options; /* only its upcalls, arg, revoked, one_request and log */
    ab_https_limits limits;
    ab_tls_context tls;
    uv_poll_t listen;
    uv_timer_t retry; /* accepting again: descriptors ran out, or a connection will make room */
    uv_timer_t care;
    unsigned handles;
    int fd;
    int port;
    uint64_t stale;  /* uv_now() when files were looked at */
    unsigned checks; /* of certificates, that are left in this round of care */
    bool draining;   /* each answer ends its connection */
    size_t count;
    TAILQ_HEAD(, ab_https_conn) conns;
    void (*on_room)(ab_https_server *s); /* a connection has ended */
};

/* ---- https_request.c ---- */

/** What came and was not read. */
ab_str ab_https_conn_rest(const ab_https_conn *c);
void ab_https_conn_consume(ab_https_conn *c, size_t len);
/** Tell the request of its end, and free it. */
void ab_https_conn_over(ab_https_conn *c, ab_err why, unsigned close_code);
/** Nothing more is read of it: let what was said go out, and wait a moment for the client's end. */
void ab_https_conn_linger(ab_https_conn *c);

/* ---- https_conn.c ---- */

/** @param fd  taken over on success only @return NOMEM */
AB_MUST_USE ab_err ab_https_conn_new(ab_https_server *s, int fd, const struct sockaddr *from);
/** Time has passed. From the loop; the connection may be freed. */
void ab_https_conn_care(ab_https_conn *c, uint64_t now);
/** uv_now() since when it has had no request, and its client has taken nothing of the last answer;
 *  UINT64_MAX: a request is under way. */
uint64_t ab_https_conn_spare_since(const ab_https_conn *c);
/** It has a request, or its client has not taken the end of the last answer. */
bool ab_https_conn_is_busy(const ab_https_conn *c);
/** A request may have come, or the next step of TLS, and the loop will come to it. */
bool ab_https_conn_has_unread(const ab_https_conn *c);
/** Cut it; its request is told. From the loop. */
void ab_https_conn_free(ab_https_conn *c);

/* ---- https_answer.c ---- */

/** Answer by the server itself, and linger. */
void ab_https_refuse(ab_https_conn *c, int status, const char *why);

/* ---- https_websocket.c ---- */

/** Read on. @return false: nothing is to be read now */
bool ab_https_websocket_step(ab_https_conn *c);
/** Time has passed: ping, or give up. */
void ab_https_websocket_care(ab_https_conn *c, uint64_t now);
