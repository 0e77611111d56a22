/* SPDX-License-Identifier: Apache-2.0
 *
 * WebSockets to the API server (exec, attach), opened with who the agent is there, as
 * store/kubernetes/raw.h does for requests. Loop thread.
 */
#pragma once

#include "net/websocket/client.h"
#include "store/kubernetes/access/access.h"

typedef struct ab_kube_sockets ab_kube_sockets;
typedef struct ab_kube_socket ab_kube_socket;

typedef struct {
    const char *path;             /* with its query; copied */
    const ab_http_field *fields;  /* beside authorization; copied */
    size_t count;                 /* AB_KUBE_FIELDS_MAX at most */
    const char *const *protocols; /* NULL-terminated; literals */
    /* As in ab_websocket_request. on_end also tells what failed before the server was asked. */
    void (*on_open)(void *arg, const char *protocol);
    void (*on_message)(void *arg, ab_str piece, bool ends);
    void (*on_writable)(void *arg);
    void (*on_end)(void *arg, const ab_websocket_end *end);
    void *arg;
} ab_kube_socket_request;

/** @param access  borrowed; freed before this. @return NULL when out of memory */
ab_kube_sockets *ab_kube_sockets_new(uv_loop_t *loop, ab_kube_access *access);
/** Cancels what is under way, without upcalls, after the access has been freed; NULL is allowed. */
void ab_kube_sockets_free(ab_kube_sockets *all);
/** Begin to connect. @return borrowed until on_end; NULL when out of memory (no upcall) */
ab_kube_socket *ab_kube_socket_begin(ab_kube_sockets *all, const ab_kube_socket_request *request);
/** As ab_websocket_send. */
AB_MUST_USE ab_err ab_kube_socket_send(ab_kube_socket *s, ab_str bytes);
void ab_kube_socket_pause(ab_kube_socket *s);
void ab_kube_socket_resume(ab_kube_socket *s);
/** End it without on_end; from inside its upcalls too, but for on_end. */
void ab_kube_socket_cancel(ab_kube_socket *s);
