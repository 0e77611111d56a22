/* SPDX-License-Identifier: Apache-2.0
 *
 * A call waits for the token, which cannot be called back (a cancelled call then lives until the
 * token comes), then for the answer. A first 401 is not told: the token is fetched again, and the
 * request is made once more. What fails before there is anything to wait for is told by a timer.
 */
#include "store/kubernetes/raw.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define URL_MAX    (96u * 1024)
#define FIELDS_MAX (64u * 1024)
#define TOKEN_MAX  (1024u * 1024)

struct ab_kube_raw_call {
    ab_kube_raw *raw;
    LIST_ENTRY(ab_kube_raw_call) link;
    ab_kube_raw_request request; /* `path` and `body` are ours, `fields` is not looked at */
    char *lines[AB_KUBE_RAW_FIELDS_MAX + 4]; /* "name: value", and NULL at the end */
    size_t line_count;
    ab_http_call *http; /* NULL: waits for the token, or has failed */
    bool waits;         /* for the token */
    bool asked;         /* with a token that was refused */
    bool refused;       /* this answer is the 401 that is not told */
    bool paused;
    bool cancelled;
    bool failed; /* before the server was asked; `err` says why */
    ab_error err;
};

struct ab_kube_raw {
    ab_kube_access *access;
    ab_http *http;
    uv_timer_t *later; /* tells of failed calls; frees itself */
    LIST_HEAD(, ab_kube_raw_call) calls;
};

static void free_call(ab_kube_raw_call *c)
{
    LIST_REMOVE(c, link);
    for (size_t i = 0; i < c->line_count; i++)
        free(c->lines[i]);
    if (c->request.body.ptr != NULL) /* it may be a Secret */
        explicit_bzero((void *)(uintptr_t)c->request.body.ptr, c->request.body.len);
    free((void *)(uintptr_t)c->request.body.ptr);
    free((void *)(uintptr_t)c->request.path);
    free(c);
}

/* --- the end --- */

static void finish(ab_kube_raw_call *c, ab_err code, const ab_error *err)
{
    if (!c->cancelled)
        c->request.on_over(c->request.arg, code, err);
    free_call(c);
}

static void on_later(uv_timer_t *timer)
{
    ab_kube_raw *raw = timer->data;
    ab_kube_raw_call *c = LIST_FIRST(&raw->calls);
    while (c != NULL && !c->failed)
        c = LIST_NEXT(c, link);
    if (c == NULL)
        return;
    (void)uv_timer_start(timer, on_later, 0, 0); /* there may be more */
    finish(c, c->err.code, &c->err);
}

static void fail_later(ab_kube_raw_call *c)
{
    c->failed = true;
    (void)uv_timer_start(c->raw->later, on_later, 0, 0);
}

static void get_token(ab_kube_raw_call *c);

static void on_done(void *arg, const ab_http_result *result)
{
    ab_kube_raw_call *c = arg;
    c->http = NULL;
    if (c->refused && !c->cancelled) {
        c->refused = false;
        c->asked = true;
        ab_kube_access_rejected(c->raw->access);
        get_token(c);
        return;
    }
    finish(c, result->code, result->err);
}

/* --- the answer --- */

static void on_head(void *arg, int status, const ab_http_field *fields, size_t count)
{
    ab_kube_raw_call *c = arg;
    c->refused = status == 401 && !c->asked;
    if (!c->refused)
        c->request.on_head(c->request.arg, status, fields, count);
}

static ab_err on_data(void *arg, int status, ab_str piece)
{
    ab_kube_raw_call *c = arg;
    (void)status;
    if (!c->refused)
        c->request.on_data(c->request.arg, piece); /* `c` may be gone */
    return AB_ERR_OK;
}

/* --- the request --- */

static void reconnect_if_changed(ab_kube_raw *raw)
{
    ab_http_options options;
    if (!ab_kube_access_changed(raw->access))
        return;
    options = *ab_kube_access_http(raw->access);
    options.http1 = true;
    /* Those of the store say so in the log when they cannot be used. */
    ab_err e = ab_http_reconfigure(raw->http, &options, NULL);
    (void)e;
}

static ab_err send_http(ab_kube_raw_call *c, const char *bearer)
{
    ab_buf url, authorization;
    ab_buf_init(&url, URL_MAX);
    ab_buf_init_secret(&authorization, TOKEN_MAX);
    ab_buf_printf(&url, "%s%s", ab_kube_access_server(c->raw->access), c->request.path);
    if (bearer != NULL)
        ab_buf_printf(&authorization, "Authorization: Bearer %s", bearer);
    ab_err e = ab_buf_status(&url);
    if (e == AB_ERR_OK)
        e = ab_buf_status(&authorization);
    if (e == AB_ERR_OK) {
        c->lines[c->line_count] = bearer == NULL ? NULL : authorization.ptr;
        c->http = ab_http_start(c->raw->http, &(ab_http_request){
                                                  .method = c->request.method,
                                                  .url = url.ptr,
                                                  .headers = (const char *const *)c->lines,
                                                  .body = c->request.body,
                                                  .timeout_ms = c->request.timeout_ms,
                                                  .on_head = on_head,
                                                  .on_data = on_data,
                                                  .on_done = on_done,
                                                  .arg = c,
                                              });
        c->lines[c->line_count] = NULL;
        e = c->http == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
    }
    ab_buf_fini(&url);
    ab_buf_fini(&authorization);
    return e;
}

static void on_token(void *arg, ab_err code, const char *bearer, const ab_error *err)
{
    ab_kube_raw_call *c = arg;
    c->waits = false;
    if (c->cancelled) {
        free_call(c);
        return;
    }
    if (code == AB_ERR_OK) {
        reconnect_if_changed(c->raw);
        code = send_http(c, bearer);
        if (code == AB_ERR_OK && c->paused)
            ab_http_pause(c->http);
        if (code == AB_ERR_OK)
            return;
        err = NULL;
    }
    (void)ab_fail(&c->err, code, "the request to the API server: %s",
                  err == NULL ? ab_err_text(code) : err->text);
    fail_later(c);
}

static void get_token(ab_kube_raw_call *c)
{
    c->waits = true;
    ab_kube_access_token(c->raw->access, on_token, c);
}

/* As curl reads them: these fields it would send by itself are left out. */
static bool add_absent(ab_kube_raw_call *c, const char *line)
{
    char *text = ab_str_dup(ab_str_of(line));
    if (text != NULL)
        c->lines[c->line_count++] = text;
    return text != NULL;
}

static bool copy_fields(ab_kube_raw_call *c, const ab_kube_raw_request *request)
{
    bool typed = false;
    assert(request->count <= AB_KUBE_RAW_FIELDS_MAX);
    for (size_t i = 0; i < request->count; i++) {
        typed = typed || ab_str_is(request->fields[i].name, "content-type");
        ab_buf line;
        ab_buf_init(&line, FIELDS_MAX);
        ab_buf_printf(&line, "%.*s: %.*s", AB_STR_ARG(request->fields[i].name),
                      AB_STR_ARG(request->fields[i].value));
        char *text = ab_buf_take(&line);
        if (text == NULL)
            return false;
        c->lines[c->line_count++] = text;
    }
    return add_absent(c, "Expect:") && (typed || add_absent(c, "Content-Type:"));
}

ab_kube_raw_call *ab_kube_raw_begin(ab_kube_raw *raw, const ab_kube_raw_request *request)
{
    ab_kube_raw_call *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return NULL;
    c->raw = raw;
    c->request = *request;
    c->request.path = ab_str_dup(ab_str_of(request->path));
    c->request.body.ptr = ab_str_dup(request->body);
    LIST_INSERT_HEAD(&raw->calls, c, link);
    if (c->request.path == NULL || (request->body.ptr != NULL && c->request.body.ptr == NULL) ||
        !copy_fields(c, request)) {
        free_call(c);
        return NULL;
    }
    get_token(c);
    return c;
}

void ab_kube_raw_pause(ab_kube_raw_call *c)
{
    c->paused = true;
    if (c->http != NULL)
        ab_http_pause(c->http);
}

void ab_kube_raw_resume(ab_kube_raw_call *c)
{
    c->paused = false;
    if (c->http != NULL)
        ab_http_resume(c->http);
}

void ab_kube_raw_cancel(ab_kube_raw_call *c)
{
    c->cancelled = true;
    if (c->waits || c->failed)
        return;
    if (c->http != NULL)
        ab_http_cancel(c->http);
    free_call(c);
}

/* --- all of them --- */

static void free_timer(uv_handle_t *handle)
{
    free(handle);
}

ab_err ab_kube_raw_new(uv_loop_t *loop, ab_kube_access *access, ab_kube_raw **out, ab_error *err)
{
    ab_kube_raw *raw = calloc(1, sizeof(*raw));
    uv_timer_t *timer = calloc(1, sizeof(*timer));
    if (raw == NULL || timer == NULL) {
        free(raw);
        free(timer);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for requests to the API server");
    }
    ab_http_options options = *ab_kube_access_http(access);
    options.http1 = true;
    ab_err e = ab_http_new(loop, &options, &raw->http, err);
    if (e != AB_ERR_OK) {
        free(raw);
        free(timer);
        return e;
    }
    raw->access = access;
    int failed = uv_timer_init(loop, timer);
    assert(failed == 0);
    (void)failed;
    timer->data = raw;
    raw->later = timer;
    *out = raw;
    return AB_ERR_OK;
}

void ab_kube_raw_free(ab_kube_raw *raw)
{
    if (raw == NULL)
        return;
    ab_http_free(raw->http);
    while (!LIST_EMPTY(&raw->calls))
        free_call(LIST_FIRST(&raw->calls));
    uv_close((uv_handle_t *)raw->later, free_timer);
    free(raw);
}
