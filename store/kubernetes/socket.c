/* SPDX-License-Identifier: Apache-2.0
 *
 * A first 401 is not told: the WebSocket is opened once more, with a new token.
 */
#include "store/kubernetes/socket.h"

#include "store/kubernetes/access/attempt.h"

#include <stdlib.h>

struct ab_kube_socket {
    ab_kube_attempt attempt;
    ab_kube_sockets *all;
    ab_kube_socket_request request; /* `path` and `fields` are not looked at */
    ab_kube_lines lines;
    ab_websocket *socket; /* NULL: waits for the token, or has failed */
};

struct ab_kube_sockets {
    uv_loop_t *loop;
    ab_kube_access *access;
    ab_kube_attempts *attempts;
};

static void on_free(ab_kube_attempt *a)
{
    ab_kube_socket *s = (ab_kube_socket *)a;
    if (s->socket != NULL)
        ab_websocket_cancel(s->socket);
    ab_kube_lines_fini(&s->lines);
    free(s);
}

static void on_failed(ab_kube_attempt *a, const ab_error *why)
{
    const ab_kube_socket *s = (const ab_kube_socket *)a;
    ab_error err = *why;
    ab_error_prefix(&err, "the WebSocket to the API server");
    s->request.on_end(s->request.arg, &(ab_websocket_end){.code = err.code, .err = &err});
}

/* --- what the server says --- */

static void on_open(void *arg, const char *protocol)
{
    const ab_kube_socket *s = arg;
    s->request.on_open(s->request.arg, protocol);
}

static void on_message(void *arg, ab_str piece, bool ends)
{
    const ab_kube_socket *s = arg;
    s->request.on_message(s->request.arg, piece, ends);
}

static void on_writable(void *arg)
{
    const ab_kube_socket *s = arg;
    s->request.on_writable(s->request.arg);
}

static void on_end(void *arg, const ab_websocket_end *end)
{
    ab_kube_socket *s = arg;
    s->socket = NULL;
    if (ab_kube_attempt_again(&s->attempt, end->status))
        return;
    s->request.on_end(s->request.arg, end);
    ab_kube_attempt_free(&s->attempt);
}

/* --- the request --- */

static ab_err on_begin(ab_kube_attempt *a, const char *url, const char *authorization,
                       ab_error *err)
{
    ab_kube_socket *s = (ab_kube_socket *)a;
    return ab_websocket_start(
        s->all->loop,
        &(ab_websocket_request){.http = ab_kube_access_http(s->all->access),
                                .url = url,
                                .headers = ab_kube_lines_with(&s->lines, authorization),
                                .protocols = s->request.protocols,
                                .on_open = on_open,
                                .on_message = on_message,
                                .on_writable = on_writable,
                                .on_end = on_end,
                                .arg = s},
        &s->socket, err);
}

static const ab_kube_attempt_ops OPS = {on_begin, on_failed, on_free};

ab_kube_socket *ab_kube_socket_begin(ab_kube_sockets *all, const ab_kube_socket_request *request)
{
    ab_kube_socket *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->all = all;
    s->request = *request;
    ab_err e = ab_kube_attempt_init(&s->attempt, all->attempts, request->path);
    if (e != AB_ERR_OK || !ab_kube_lines_add(&s->lines, request->fields, request->count)) {
        ab_kube_attempt_free(&s->attempt);
        return NULL;
    }
    ab_kube_attempt_start(&s->attempt);
    return s;
}

ab_err ab_kube_socket_send(ab_kube_socket *s, ab_str bytes)
{
    return s->socket == NULL ? AB_ERR_CLOSED : ab_websocket_send(s->socket, bytes);
}

void ab_kube_socket_pause(ab_kube_socket *s)
{
    if (s->socket != NULL)
        ab_websocket_pause(s->socket);
}

void ab_kube_socket_resume(ab_kube_socket *s)
{
    if (s->socket != NULL)
        ab_websocket_resume(s->socket);
}

void ab_kube_socket_cancel(ab_kube_socket *s)
{
    if (ab_kube_attempt_cancel(&s->attempt))
        ab_kube_attempt_free(&s->attempt);
}

/* --- all of them --- */

ab_kube_sockets *ab_kube_sockets_new(uv_loop_t *loop, ab_kube_access *access)
{
    ab_kube_sockets *all = calloc(1, sizeof(*all));
    if (all == NULL)
        return NULL;
    *all = (ab_kube_sockets){.loop = loop, .access = access};
    if (ab_kube_attempts_new(loop, access, &OPS, &all->attempts) != AB_ERR_OK) {
        free(all);
        return NULL;
    }
    return all;
}

void ab_kube_sockets_free(ab_kube_sockets *all)
{
    if (all == NULL)
        return;
    ab_kube_attempts_free(all->attempts);
    free(all);
}
