/* SPDX-License-Identifier: Apache-2.0
 *
 * As a call of raw.c: waits for the token, which cannot be called back, then for the server. A
 * first 401 is not told: the token is fetched again, and the WebSocket is opened once more.
 */
#include "store/kubernetes/socket.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#define URL_MAX   (96u * 1024)
#define FIELD_MAX (64u * 1024)
#define TOKEN_MAX (1024u * 1024)

struct ab_kube_socket {
    ab_kube_sockets *all;
    LIST_ENTRY(ab_kube_socket) link;
    ab_kube_socket_request request;             /* `path` is ours, `fields` is not looked at */
    char *lines[AB_KUBE_SOCKET_FIELDS_MAX + 2]; /* "name: value", and NULL at the end */
    size_t line_count;
    ab_websocket *socket; /* NULL: waits for the token, or has failed */
    bool waits;           /* for the token */
    bool asked;           /* with a token that was refused */
    bool cancelled;
    bool failed; /* before the server was asked; `err` says why */
    ab_error err;
};

struct ab_kube_sockets {
    uv_loop_t *loop;
    ab_kube_access *access;
    uv_timer_t *later; /* tells of what failed before the server was asked; frees itself */
    LIST_HEAD(, ab_kube_socket) list;
};

static void free_socket(ab_kube_socket *s)
{
    LIST_REMOVE(s, link);
    for (size_t i = 0; i < s->line_count; i++)
        free(s->lines[i]);
    free((void *)(uintptr_t)s->request.path);
    free(s);
}

static void on_later(uv_timer_t *timer)
{
    ab_kube_sockets *all = timer->data;
    ab_kube_socket *s = LIST_FIRST(&all->list);
    while (s != NULL && !s->failed)
        s = LIST_NEXT(s, link);
    if (s == NULL)
        return;
    (void)uv_timer_start(timer, on_later, 0, 0); /* there may be more */
    if (!s->cancelled)
        s->request.on_end(s->request.arg, &(ab_websocket_end){.code = s->err.code, .err = &s->err});
    free_socket(s);
}

static void fail_later(ab_kube_socket *s)
{
    s->failed = true;
    (void)uv_timer_start(s->all->later, on_later, 0, 0);
}

/* --- what the server says --- */

static void get_token(ab_kube_socket *s);

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
    if (end->status == 401 && !s->asked) {
        s->asked = true;
        ab_kube_access_rejected(s->all->access);
        get_token(s);
        return;
    }
    s->request.on_end(s->request.arg, end);
    free_socket(s);
}

/* --- the request --- */

static ab_err open_socket(ab_kube_socket *s, const char *bearer)
{
    ab_buf url, authorization;
    ab_buf_init(&url, URL_MAX);
    ab_buf_init_secret(&authorization, TOKEN_MAX);
    ab_buf_printf(&url, "%s%s", ab_kube_access_server(s->all->access), s->request.path);
    if (bearer != NULL)
        ab_buf_printf(&authorization, "Authorization: Bearer %s", bearer);
    ab_err e = ab_buf_status(&url);
    if (e == AB_ERR_OK)
        e = ab_buf_status(&authorization);
    if (e == AB_ERR_OK) {
        s->lines[s->line_count] = bearer == NULL ? NULL : authorization.ptr;
        e = ab_websocket_start(s->all->loop,
                               &(ab_websocket_request){.http = ab_kube_access_http(s->all->access),
                                                       .url = url.ptr,
                                                       .headers = (const char *const *)s->lines,
                                                       .protocols = s->request.protocols,
                                                       .on_open = on_open,
                                                       .on_message = on_message,
                                                       .on_writable = on_writable,
                                                       .on_end = on_end,
                                                       .arg = s},
                               &s->socket, &s->err);
        s->lines[s->line_count] = NULL;
    }
    ab_buf_fini(&url);
    ab_buf_fini(&authorization);
    return e;
}

static void on_token(void *arg, ab_err code, const char *bearer, const ab_error *err)
{
    ab_kube_socket *s = arg;
    s->waits = false;
    if (s->cancelled) {
        free_socket(s);
        return;
    }
    if (code == AB_ERR_OK) {
        code = open_socket(s, bearer);
        if (code == AB_ERR_OK)
            return;
        err = &s->err;
    }
    char why[AB_ERROR_TEXT_MAX];
    (void)snprintf(why, sizeof(why), "%s", err->text[0] == '\0' ? ab_err_text(code) : err->text);
    (void)ab_fail(&s->err, code, "the WebSocket to the API server: %s", why);
    fail_later(s);
}

static void get_token(ab_kube_socket *s)
{
    s->waits = true;
    ab_kube_access_token(s->all->access, on_token, s);
}

static bool copy_fields(ab_kube_socket *s, const ab_kube_socket_request *request)
{
    assert(request->count <= AB_KUBE_SOCKET_FIELDS_MAX);
    for (size_t i = 0; i < request->count; i++) {
        ab_buf line;
        ab_buf_init(&line, FIELD_MAX);
        ab_buf_printf(&line, "%.*s: %.*s", AB_STR_ARG(request->fields[i].name),
                      AB_STR_ARG(request->fields[i].value));
        char *text = ab_buf_take(&line);
        if (text == NULL)
            return false;
        s->lines[s->line_count++] = text;
    }
    return true;
}

ab_kube_socket *ab_kube_socket_begin(ab_kube_sockets *all, const ab_kube_socket_request *request)
{
    ab_kube_socket *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->all = all;
    s->request = *request;
    s->request.path = ab_str_dup(ab_str_of(request->path));
    LIST_INSERT_HEAD(&all->list, s, link);
    if (s->request.path == NULL || !copy_fields(s, request)) {
        free_socket(s);
        return NULL;
    }
    get_token(s);
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
    s->cancelled = true;
    if (s->waits || s->failed)
        return;
    if (s->socket != NULL)
        ab_websocket_cancel(s->socket);
    free_socket(s);
}

/* --- all of them --- */

static void free_timer(uv_handle_t *handle)
{
    free(handle);
}

ab_kube_sockets *ab_kube_sockets_new(uv_loop_t *loop, ab_kube_access *access)
{
    ab_kube_sockets *all = calloc(1, sizeof(*all));
    uv_timer_t *timer = calloc(1, sizeof(*timer));
    if (all == NULL || timer == NULL) {
        free(all);
        free(timer);
        return NULL;
    }
    int failed = uv_timer_init(loop, timer);
    assert(failed == 0);
    (void)failed;
    timer->data = all;
    *all = (ab_kube_sockets){.loop = loop, .access = access, .later = timer};
    LIST_INIT(&all->list);
    return all;
}

void ab_kube_sockets_free(ab_kube_sockets *all)
{
    if (all == NULL)
        return;
    while (!LIST_EMPTY(&all->list)) {
        ab_kube_socket *s = LIST_FIRST(&all->list);
        if (s->socket != NULL)
            ab_websocket_cancel(s->socket);
        free_socket(s);
    }
    uv_close((uv_handle_t *)all->later, free_timer);
    free(all);
}
