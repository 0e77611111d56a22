/* SPDX-License-Identifier: Apache-2.0
 *
 * As a call of raw.c: waits for the token, which cannot be called back, then for the server. A
 * first 401 is not told: the token is fetched again, and the WebSocket is opened once more.
 */
#include "store/kubernetes/raw_socket.h"

#include "store/kubernetes/raw_priv.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define URL_MAX   (96u * 1024)
#define FIELD_MAX (64u * 1024)
#define TOKEN_MAX (1024u * 1024)

struct ab_kube_raw_socket {
    ab_kube_raw *raw;
    LIST_ENTRY(ab_kube_raw_socket) link;
    ab_kube_raw_socket_request request;      /* `path` is ours, `fields` is not looked at */
    char *lines[AB_KUBE_RAW_FIELDS_MAX + 2]; /* "name: value", and NULL at the end */
    size_t line_count;
    ab_websocket *socket; /* NULL: waits for the token, or has failed */
    bool waits;           /* for the token */
    bool asked;           /* with a token that was refused */
    bool cancelled;
    bool failed; /* before the server was asked; `err` says why */
    ab_error err;
};

static void free_socket(ab_kube_raw_socket *s)
{
    LIST_REMOVE(s, link);
    for (size_t i = 0; i < s->line_count; i++)
        free(s->lines[i]);
    free((void *)(uintptr_t)s->request.path);
    free(s);
}

static void fail_later(ab_kube_raw_socket *s)
{
    s->failed = true;
    ab_kube_raw_tell_later(s->raw);
}

bool ab_kube_raw_socket_tell(ab_kube_raw *raw)
{
    ab_kube_raw_socket *s = LIST_FIRST(&raw->sockets);
    while (s != NULL && !s->failed)
        s = LIST_NEXT(s, link);
    if (s == NULL)
        return false;
    if (!s->cancelled)
        s->request.on_end(s->request.arg, &(ab_websocket_end){.code = s->err.code, .err = &s->err});
    free_socket(s);
    return true;
}

void ab_kube_raw_socket_free_all(ab_kube_raw *raw)
{
    while (!LIST_EMPTY(&raw->sockets)) {
        ab_kube_raw_socket *s = LIST_FIRST(&raw->sockets);
        if (s->socket != NULL)
            ab_websocket_cancel(s->socket);
        free_socket(s);
    }
}

/* --- what the server says --- */

static void get_token(ab_kube_raw_socket *s);

static void on_open(void *arg, const char *protocol)
{
    const ab_kube_raw_socket *s = arg;
    s->request.on_open(s->request.arg, protocol);
}

static void on_message(void *arg, ab_str piece, bool ends)
{
    const ab_kube_raw_socket *s = arg;
    s->request.on_message(s->request.arg, piece, ends);
}

static void on_writable(void *arg)
{
    const ab_kube_raw_socket *s = arg;
    s->request.on_writable(s->request.arg);
}

static void on_end(void *arg, const ab_websocket_end *end)
{
    ab_kube_raw_socket *s = arg;
    s->socket = NULL;
    if (end->status == 401 && !s->asked) {
        s->asked = true;
        ab_kube_access_rejected(s->raw->access);
        get_token(s);
        return;
    }
    s->request.on_end(s->request.arg, end);
    free_socket(s);
}

/* --- the request --- */

static ab_err open_socket(ab_kube_raw_socket *s, const char *bearer)
{
    ab_buf url, authorization;
    ab_buf_init(&url, URL_MAX);
    ab_buf_init_secret(&authorization, TOKEN_MAX);
    ab_buf_printf(&url, "%s%s", ab_kube_access_server(s->raw->access), s->request.path);
    if (bearer != NULL)
        ab_buf_printf(&authorization, "Authorization: Bearer %s", bearer);
    ab_err e = ab_buf_status(&url);
    if (e == AB_ERR_OK)
        e = ab_buf_status(&authorization);
    if (e == AB_ERR_OK) {
        s->lines[s->line_count] = bearer == NULL ? NULL : authorization.ptr;
        e = ab_websocket_start(s->raw->loop,
                               &(ab_websocket_request){.http = ab_kube_access_http(s->raw->access),
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
    ab_kube_raw_socket *s = arg;
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

static void get_token(ab_kube_raw_socket *s)
{
    s->waits = true;
    ab_kube_access_token(s->raw->access, on_token, s);
}

static bool copy_fields(ab_kube_raw_socket *s, const ab_kube_raw_socket_request *request)
{
    assert(request->count <= AB_KUBE_RAW_FIELDS_MAX);
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

ab_kube_raw_socket *ab_kube_raw_socket_begin(ab_kube_raw *raw,
                                             const ab_kube_raw_socket_request *request)
{
    ab_kube_raw_socket *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->raw = raw;
    s->request = *request;
    s->request.path = ab_str_dup(ab_str_of(request->path));
    LIST_INSERT_HEAD(&raw->sockets, s, link);
    if (s->request.path == NULL || !copy_fields(s, request)) {
        free_socket(s);
        return NULL;
    }
    get_token(s);
    return s;
}

ab_err ab_kube_raw_socket_send(ab_kube_raw_socket *s, ab_str bytes)
{
    return s->socket == NULL ? AB_ERR_CLOSED : ab_websocket_send(s->socket, bytes);
}

void ab_kube_raw_socket_pause(ab_kube_raw_socket *s)
{
    if (s->socket != NULL)
        ab_websocket_pause(s->socket);
}

void ab_kube_raw_socket_resume(ab_kube_raw_socket *s)
{
    if (s->socket != NULL)
        ab_websocket_resume(s->socket);
}

void ab_kube_raw_socket_cancel(ab_kube_raw_socket *s)
{
    s->cancelled = true;
    if (s->waits || s->failed)
        return;
    if (s->socket != NULL)
        ab_websocket_cancel(s->socket);
    free_socket(s);
}
