/* SPDX-License-Identifier: Apache-2.0
 *
 * A WebSocket of binary messages to a server, on the loop: what kubectl opens for exec and attach.
 * Messages go both ways with back-pressure. A server that does not upgrade says why by a status and
 * a body, which are told.
 *
 * A WebSocket lives until on_end, or until it is cancelled. No upcall is made from inside a call.
 * Loop thread; nothing blocks.
 */
#pragma once

#include "net/http/client.h"

typedef struct ab_websocket ab_websocket;

/* How it ended; all is borrowed for the upcall. The code is OK when either side closed it in order.
 * DENIED: the server does not upgrade, with a status, or by TLS one side does not trust the other.
 * UNAVAILABLE, CLOSED: it was not reached, or the connection broke. PARSE, TOOBIG, UNSUPPORTED: the
 * server broke the protocol. Or TIMEOUT, NOMEM. */
typedef struct {
    ab_err code;
    int status;          /* of HTTP when the server did not upgrade; 0: none came */
    ab_str type;         /* content type of that answer; absent: none */
    ab_str body;         /* of that answer, its first 64 KiB */
    unsigned close_code; /* that the server gave; 0: none */
    ab_str close_text;   /* beside it */
    const ab_error *err; /* text for people when code is not OK */
} ab_websocket_end;

typedef struct {
    const ab_http_options *http; /* ca, cert, key, sni, agent; copied. A proxy is not supported */
    const char *url;             /* http or https; copied */
    const char *const
        *headers; /* "Name: value", NULL-terminated, copied; NULL: none. Never logged */
    const char *const
        *protocols;       /* sub-protocols to offer, the preferred first, NULL-terminated, copied */
    size_t message_bytes; /* of one message that comes; 0: 1 MiB */
    int64_t open_ms;      /* until it is open; 0: 30 s */
    int64_t ping_ms;      /* a silent server is pinged, and gone after twice as long; 0: 30 s */
    /** It is open. @param protocol  that the server chose; NULL: none */
    void (*on_open)(void *arg, const char *protocol);
    /** A part of a binary message came; `ends`: the last of its message. */
    void (*on_message)(void *arg, ab_str piece, bool ends);
    /** There is room again after FULL. NULL: not wanted. */
    void (*on_writable)(void *arg);
    /** Once, at the end; it is freed after this. */
    void (*on_end)(void *arg, const ab_websocket_end *end);
    void *arg;
} ab_websocket_request;

/**
 * Begin to connect.
 *
 * @param out  borrowed until on_end
 * @return INVALID: not a URL of http or https, or a header that cannot be sent; UNSUPPORTED: a
 * proxy; CONFIG: a certificate, key or CA is not usable; NOMEM. Then there is no upcall
 */
AB_MUST_USE ab_err ab_websocket_start(uv_loop_t *loop, const ab_websocket_request *request,
                                      ab_websocket **out, ab_error *err);
/** Send one binary message, whole; it is copied.
 *  @return FULL: nothing was taken, on_writable follows; CLOSED: it is not open; NOMEM */
AB_MUST_USE ab_err ab_websocket_send(ab_websocket *w, ab_str bytes);
/** Tell no more messages until it is resumed; the server is held up by TCP. */
void ab_websocket_pause(ab_websocket *w);
void ab_websocket_resume(ab_websocket *w);
/** End it at once, without on_end. Allowed from inside any of its upcalls; does nothing from inside
 * on_end. */
void ab_websocket_cancel(ab_websocket *w);
