/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the WebSocket client: its life (client.c), what comes (client_in.c), and the request
 * that begins it (client_upgrade.c). Each calls those after it only.
 *
 *   CONNECT --> UPGRADE --> OPEN --> CLOSING --> OVER
 *                      \--> REFUSED, until the body of the answer is in --> OVER
 */
#pragma once

#include "net/http/chunked.h"
#include "net/tls/socket.h"
#include "net/websocket/client.h"
#include "net/websocket/frame.h"
#include "net/websocket/key.h"

#define AB_WEBSOCKET_BODY_MAX (64u * 1024) /* of a refusal */

typedef enum {
    AB_WEBSOCKET_CONNECT,
    AB_WEBSOCKET_UPGRADE,
    AB_WEBSOCKET_REFUSED,
    AB_WEBSOCKET_OPEN,
    AB_WEBSOCKET_CLOSING,
    AB_WEBSOCKET_OVER,
} ab_websocket_state;

struct ab_websocket {
    uv_loop_t *loop;
    ab_websocket_request request; /* its upcalls, arg and limits; nothing borrowed */
    ab_websocket_state state;
    uv_timer_t timer;
    uv_getaddrinfo_t resolver;
    unsigned pending; /* handles and requests of libuv that are not over */
    struct addrinfo *addresses;
    struct addrinfo *next;
    ab_tls_context tls;
    ab_tls_socket *socket;
    char *host;
    int port;
    char key[AB_WEBSOCKET_KEY];
    ab_buf head;     /* the request, then what came and was not read */
    char *protocols; /* offered, as in the request's field */
    char *protocol;  /* chosen */
    size_t read;     /* of `head`, from the answer on */
    ab_websocket_frames frames;
    bool paused;
    bool full;   /* on_writable is owed */
    bool pinged; /* since it was heard */
    bool told;   /* on_end was, or is not wanted */
    uint64_t heard;
    int status; /* of a refusal */
    char *type;
    int64_t left; /* of its body; -1: to the end of the connection */
    bool chunked;
    ab_http_chunked chunks;
    ab_buf body;
    unsigned close_code;
    char close_text[AB_WEBSOCKET_FRAME_CONTROL];
};

/* ---- client_in.c ---- */

/** Read what is there, and tell. @return OK: go on; else it is over, with `err` set where it
 * failed, and *ended where it did not */
AB_MUST_USE ab_err ab_websocket_read(ab_websocket *w, bool *ended, ab_error *err);

/* ---- client_upgrade.c ---- */

/** Set host, port and the text of the request. @return INVALID, NOMEM, FATAL */
AB_MUST_USE ab_err ab_websocket_make_request(ab_websocket *w, const ab_websocket_request *request,
                                             bool *plain, ab_error *err);
/** Read the answer to it: OPEN or REFUSED follow.
 *  @param head  whole @return PARSE: it is not one, with a text; NOMEM */
AB_MUST_USE ab_err ab_websocket_read_answer(ab_websocket *w, char *head, size_t len, ab_error *err);
