/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's Kubernetes API server, as live access asks it: who the agent is there, and how one
 * speaks to it, is a matter of the implementation (store/kubernetes/raw.c). Answers come as the
 * server gives them, in pieces and with back-pressure. Loop thread; nothing blocks, no upcall is
 * made from inside a call.
 */
#pragma once

#include "live/lane/stream.h"

/* A request under way. Implementations begin their own with it. */
typedef struct ab_resource_call ab_resource_call;

typedef struct {
    const char *method;
    ab_str target; /* path and query */
    /* Beside those that say who the agent is; copied. */
    const ab_http_field *fields;
    size_t count;
    ab_str body;        /* copied; absent: none */
    int64_t timeout_ms; /* for all of it; 0: none */
} ab_resource_call_request;

/* None may be NULL. */
typedef struct {
    /** The head of the answer, names in lower case; borrowed. */
    void (*on_head)(void *arg, int status, const ab_http_field *fields, size_t count);
    /** A piece of the body; borrowed. None comes while it is paused. */
    void (*on_data)(void *arg, ab_str piece);
    /** Once, as the last. OK: the answer came in full, whatever its status; UNAVAILABLE, TIMEOUT,
     * DENIED, NOMEM. @param err  text for people when code is not OK; borrowed */
    void (*on_over)(void *arg, ab_err code, const ab_error *err);
} ab_resource_call_handler;

/* A WebSocket under way: exec or attach. */
typedef struct ab_resource_socket ab_resource_socket;

typedef struct {
    ab_str target;
    const ab_http_field *fields; /* as above */
    size_t count;
    const char *const *protocols; /* to offer, the preferred first, NULL-terminated; copied */
} ab_resource_socket_request;

/* How a WebSocket ended; borrowed. */
typedef struct {
    ab_err code;         /* OK: closed in order by the server; else broken, or not opened */
    int status;          /* of HTTP where the server did not open it; 0: none came */
    ab_str type;         /* content type of that answer; absent: none */
    ab_str body;         /* of that answer */
    const ab_error *err; /* text for people when code is not OK */
} ab_resource_socket_end;

/* None may be NULL. */
typedef struct {
    /** It is open. @param protocol  that the server chose */
    void (*on_open)(void *arg, const char *protocol);
    /** A part of a message; `ends`: the last of it. None comes while it is paused. */
    void (*on_message)(void *arg, ab_str piece, bool ends);
    /** After FULL: room again. */
    void (*on_room)(void *arg);
    /** Once, as the last. */
    void (*on_over)(void *arg, const ab_resource_socket_end *end);
} ab_resource_socket_handler;

typedef struct {
    /** @param handler  borrowed, static
     *  @return borrowed until on_over; NULL when out of memory (no upcall) */
    ab_resource_call *(*begin)(void *self, const ab_resource_call_request *request,
                               const ab_resource_call_handler *handler, void *arg);
    /** No on_data until it is resumed; allowed from inside its upcalls. */
    void (*pause)(ab_resource_call *call);
    void (*resume)(ab_resource_call *call);
    /** End it without on_over; allowed from inside its upcalls. */
    void (*cancel)(ab_resource_call *call);
    /** Open a WebSocket; as begin. */
    ab_resource_socket *(*connect)(void *self, const ab_resource_socket_request *request,
                                   const ab_resource_socket_handler *handler, void *arg);
    /** Send a message, whole; copied. @return FULL: nothing was taken, on_room follows; CLOSED;
     * NOMEM */
    ab_err (*message)(ab_resource_socket *socket, ab_str bytes);
    void (*pause_socket)(ab_resource_socket *socket);
    void (*resume_socket)(ab_resource_socket *socket);
    /** As cancel. What runs in the container is killed. */
    void (*cancel_socket)(ab_resource_socket *socket);
} ab_resource_api_ops;

typedef struct {
    const ab_resource_api_ops *ops;
    void *self;
} ab_resource_api;
