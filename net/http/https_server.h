/* SPDX-License-Identifier: Apache-2.0
 *
 * An HTTP/1.1 server on the loop, with TLS and client certificates or plain: requests and answers
 * of any size go through it in pieces with back-pressure, and an upgrade makes a WebSocket of
 * binary messages. It is for who passes requests on: paths and queries come as they were sent, and
 * what could be read in two ways is refused before the application sees it.
 *
 * A request lives until on_over, which is called exactly once for each. No upcall is made from
 * inside a call, except where said. Loop thread; nothing blocks.
 */
#pragma once

#include "base/crypto/revoked.h"
#include "base/observe/log.h"
#include "net/http/head.h"
#include "net/tls/tls.h"

#include <uv.h>

typedef struct ab_https_server ab_https_server;
typedef struct ab_https_request ab_https_request;

/*
 * Bounds. What is 0 is taken from ab_https_default_limits.
 *
 * When all connections are taken and another comes, the one that has been without a request for
 * longest ends, if that is grace_ms or more: TLS or a head is not finished, the client takes its
 * time with the end of an answer, or is idle. So clients that send nothing keep nobody waiting for
 * longer than grace_ms for each `connections` of them. Requests under way are never ended for
 * others; while all connections have one, new clients wait.
 */
typedef struct {
    size_t connections;   /* when more come, one without a request makes room, or they wait */
    size_t head_bytes;    /* of a request; 431 beyond */
    size_t send_bytes;    /* of an answer that wait for the client; beyond, ab_https_send is FULL */
    size_t message_bytes; /* of one message that comes by a WebSocket */
    int64_t grace_ms; /* before a connection makes room: TLS, a head, or a pause takes as long */
    int64_t head_ms;  /* for TLS and a head, from its first byte */
    int64_t body_ms;  /* for a body, and one second more for each KiB that has come */
    int64_t idle_ms;  /* between requests */
    int64_t stall_ms; /* a client that takes nothing of its answer for so long is gone */
    int64_t ping_ms;  /* WebSockets: a silent peer is pinged, and gone after twice as long */
} ab_https_limits;

/* 1024 connections, 32 KiB, 128 KiB, 1 MiB; 1 s, 10 s, 30 s, 120 s, 600 s, 30 s. */
extern const ab_https_limits ab_https_default_limits;

/* A request; all is borrowed for the upcall. */
typedef struct {
    const ab_http_head *head; /* method, path and query as sent, fields */
    int64_t body_bytes;       /* of the body; 0: none; -1: known at its end only */
    bool websocket;           /* wants to become a WebSocket: ab_https_accept, or answer */
    const char *address;      /* of the client, without its port */
    X509 *certificate;        /* of the client, verified; NULL: none */
    const char *common_name;  /* of its subject; "": none, or not exactly one */
    bool revoked;             /* the certificate is: the request is to be refused */
} ab_https_info;

/* What is told about a request. NULL: not wanted, except on_over. */
typedef struct {
    /** A piece of the body. */
    void (*on_data)(void *arg, ab_str piece);
    /** The body is whole. Also where there is none. */
    void (*on_end)(void *arg);
    /** A part of a binary message came by the WebSocket; `ends`: the last of its message. */
    void (*on_message)(void *arg, ab_str piece, bool ends);
    /** There is room again after FULL. */
    void (*on_writable)(void *arg);
    /** Asked at least every 500 ms while it is under way. False: who asks may not any more, and the
     * connection is cut. */
    bool (*may_go_on)(void *arg);
    /**
     * The end of the request; it is freed after this. Never NULL.
     *
     * @param why         OK: answered in full, or the WebSocket was closed in order; CLOSED: the
     *                    client has gone, the answer was aborted, or the server is freed; TIMEOUT:
     *                    the client did not send or take in time; PARSE, TOOBIG: the client broke
     * the protocol
     * @param close_code  of a WebSocket that was closed in order; 0: none
     */
    void (*on_over)(void *arg, ab_err why, unsigned close_code);
} ab_https_handler;

typedef struct {
    const char *host;
    int port;                      /* 0: any free one */
    const ab_tls *tls;             /* copied; `insecure`: plain HTTP. Version 1.2 at least */
    const ab_https_limits *limits; /* copied; NULL: the default ones */
    /** A request came: take it by ab_https_take, now; otherwise 404 is answered. */
    void (*on_request)(void *arg, ab_https_request *request, const ab_https_info *info);
    /** Write the body of an answer of the server's own, e.g. 400 for a path that is refused.
     *  @return its content type. NULL: one line of plain text */
    const char *(*write_refusal)(void *arg, int status, const char *why, ab_buf *body);
    void *arg;
    /** Asked with each request that has a client certificate, and at least every 500 ms while one
     * is under way: that of a certificate which has been revoked since is cut. */
    ab_revoked_ask revoked;
    /** Each answer ends its connection. Clients of HTTP/1.0 are served, who get 505 otherwise. */
    bool one_request;
    ab_log *log;
} ab_https_options;

/**
 * Listen. Certificates are read again when their files change; connections keep what they began
 * with, and are cut when the client's certificate is trusted no more.
 *
 * @return UNAVAILABLE with host, port and reason when the port cannot be bound; CONFIG for files
 * that are not usable; NOMEM
 */
AB_MUST_USE ab_err ab_https_server_start(uv_loop_t *loop, const ab_https_options *options,
                                         ab_https_server **out, ab_error *err);
/** The port that is listened on. */
int ab_https_server_port(const ab_https_server *s);
/** Connections that are open. */
size_t ab_https_server_connections(const ab_https_server *s);
/** From now on each answer ends its connection, those under way included. Clients are served as
 * before. */
void ab_https_server_drain(ab_https_server *s);
/** Connections that have a request, or of whose last answer the client has not taken the end. */
size_t ab_https_server_busy(const ab_https_server *s);
/** Cut all connections and free. on_over is called from inside for each request. The loop has to
 * run on for handles to close. Not from inside an upcall of a request. NULL is allowed. */
void ab_https_server_free(ab_https_server *s);

/** From inside on_request: what follows is told to `handler` (borrowed, static) with `arg`. */
void ab_https_take(ab_https_request *r, const ab_https_handler *handler, void *arg);
/** Tell no more of the body, or of messages, until it is resumed; the client is held up by TCP.
 * Some that has been read already is kept, 64 KiB at most. */
void ab_https_pause(ab_https_request *r);
void ab_https_resume(ab_https_request *r);

/**
 * Begin the answer; once. Fields that frame the message (connection, content-length,
 * transfer-encoding, keep-alive, upgrade, trailer) are the server's own and are left out.
 *
 * @param length  bytes of the body; -1: known at its end only, which to a client of HTTP/1.0 is the
 *                end of the connection. With HEAD, 204 and 304 there is no body: what is sent is
 *                dropped, and the length is told as it is given
 * @return INVALID: a field that cannot be sent, nothing was begun; CLOSED: the client has gone, or
 *         the answer was begun before; NOMEM
 */
AB_MUST_USE ab_err ab_https_answer(ab_https_request *r, int status, const ab_http_field *fields,
                                   size_t count, int64_t length);
/**
 * Send some of the body; it is copied.
 *
 * @return FULL: nothing was taken, on_writable follows; TOOBIG: past the length that was announced,
 *         nothing was taken; CLOSED: the client has gone, on_over follows; NOMEM
 */
AB_MUST_USE ab_err ab_https_send(ab_https_request *r, ab_str bytes);
/** The answer is whole; on_over follows. A WebSocket is cut. One that is shorter than announced
 * cuts the connection, so that the client sees it. */
void ab_https_finish(ab_https_request *r);
/** Cut the connection, so that the client sees that the answer is not whole; on_over follows. */
void ab_https_abort(ab_https_request *r);
/** Answer with a whole body at once, and finish. @param type  content type */
AB_MUST_USE ab_err ab_https_reply(ab_https_request *r, int status, const char *type, ab_str body);

/** Does the client offer this sub-protocol (Sec-WebSocket-Protocol)? */
bool ab_https_offers(const ab_https_info *info, const char *protocol);
/**
 * Make it a WebSocket, now or later; until then the client waits. Messages that come are told by
 * on_message.
 *
 * @param protocol  that was offered, as text in lower case; NULL: none
 * @return INVALID: not an upgrade; CLOSED: the client has gone, or it was answered before; NOMEM
 */
AB_MUST_USE ab_err ab_https_accept(ab_https_request *r, const char *protocol);
/** Send one binary message, whole. @return as ab_https_send */
AB_MUST_USE ab_err ab_https_message(ab_https_request *r, ab_str bytes);
/** Close the WebSocket in order after what was sent; on_over follows, in 2 s at the latest.
 *  @param why  at most 123 bytes of it are sent */
void ab_https_close(ab_https_request *r, uint16_t code, const char *why);
