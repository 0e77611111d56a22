/* SPDX-License-Identifier: Apache-2.0
 *
 * A call lives in the client's list from ab_kube_send until its `done`. It waits for the token,
 * which cannot be called back (a cancelled call then lives until the token comes), then for the
 * answer; what fails before there is anything to wait for is reported by a timer.
 */
#include "store/kubernetes/request.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* Of an answer that is not 2xx; a Status is smaller. */
#define REFUSAL_MAX (64u * 1024)

struct ab_kube_call {
    ab_kube_client *client;
    LIST_ENTRY(ab_kube_call) link;
    ab_kube_request request; /* `what`, `path` and `body` are ours */
    ab_buf answer;
    ab_http_call *http; /* NULL: waits for the token, or has failed */
    uint64_t begun_ns;
    bool waits;     /* for the token */
    bool asked;     /* with a token that was refused */
    bool in_stream; /* an upcall of its stream is running */
    bool cancelled;
    bool failed; /* before the server was asked; `err` says why */
    ab_error err;
};

struct ab_kube_client {
    ab_kube_client_env env;
    ab_http *http;
    LIST_HEAD(, ab_kube_call) calls;
    uv_timer_t *later; /* reports failed calls; frees itself */
    ab_metric *seconds;
    bool refused; /* the last answer was 401 */
};

static void free_call(ab_kube_call *c)
{
    LIST_REMOVE(c, link);
    free((void *)(uintptr_t)c->request.what);
    free((void *)(uintptr_t)c->request.path);
    if (c->request.body.ptr != NULL) /* it may hold a Secret */
        explicit_bzero((void *)(uintptr_t)c->request.body.ptr, c->request.body.len);
    free((void *)(uintptr_t)c->request.body.ptr);
    ab_buf_wipe(&c->answer);
    free(c);
}

/* --- the end --- */

static void count(const ab_kube_call *c, const char *code)
{
    const ab_label labels[] = {{"method", ab_str_of(c->request.method)}, {"code", ab_str_of(code)}};
    ab_metric_add(ab_metric_get(c->client->env.metrics, AB_METRIC_COUNTER,
                                "argobus_kubernetes_requests_total",
                                "Requests to the API server, by method and HTTP status (0: none).",
                                labels, 2),
                  1);
    if (c->request.stream == NULL)
        ab_metric_observe(c->client->seconds, (double)(uv_hrtime() - c->begun_ns) / 1e9);
}

static void deliver(ab_kube_call *c, const ab_kube_answer *answer)
{
    if (!c->cancelled)
        c->request.done(c->request.arg, answer);
    free_call(c);
}

static void on_later(uv_timer_t *timer)
{
    ab_kube_client *client = timer->data;
    ab_kube_call *c = LIST_FIRST(&client->calls);
    while (c != NULL && !c->failed)
        c = LIST_NEXT(c, link);
    if (c == NULL)
        return;
    (void)uv_timer_start(timer, on_later, 0, 0); /* there may be more */
    deliver(c, &(ab_kube_answer){.code = c->err.code, .retry_after_ms = -1, .err = &c->err});
}

static void fail_later(ab_kube_call *c)
{
    c->failed = true;
    (void)uv_timer_start(c->client->later, on_later, 0, 0);
}

static void put_request(const ab_kube_call *c, char *out, size_t room)
{
    (void)snprintf(out, room, "%s %s", c->request.method, c->request.what);
}

static void note_credentials(ab_kube_client *c, int status)
{
    if (status != 0 && status != 401) {
        c->refused = false;
    } else if (status == 401 && !c->refused) {
        c->refused = true;
        AB_WARN(c->env.log, STORE,
                "the API server rejects the credentials (401); waiting for new ones");
    }
}

static void get_token(ab_kube_call *c);

static void on_done(void *arg, const ab_http_result *result)
{
    ab_kube_call *c = arg;
    char request[AB_ERROR_TEXT_MAX];
    char code[16];
    ab_error err = {0};
    ab_kube_answer answer = {.code = result->code,
                             .status = result->status,
                             .body = ab_buf_str(&c->answer),
                             .retry_after_ms = result->retry_after_ms,
                             .err = &err};
    (void)snprintf(code, sizeof(code), "%d", result->status);
    count(c, code);
    c->http = NULL;
    if (result->status == 401 && !c->asked && !c->cancelled) {
        c->asked = true;
        ab_kube_access_rejected(c->client->env.access);
        get_token(c);
        return;
    }
    note_credentials(c->client, result->status);
    put_request(c, request, sizeof(request));
    bool refused = result->status >= 300;
    if (c->err.code != AB_ERR_OK) /* what the stream or the buffer said */
        err = c->err;
    else if (refused)
        answer.code =
            ab_kube_status_explain(result->status, answer.body, request, &answer.why, &err);
    else if (result->code != AB_ERR_OK)
        err = *result->err;
    else if (c->request.stream != NULL)
        answer.code = ab_kube_stream_end(c->request.stream, &err);
    if (answer.code != AB_ERR_OK && (!refused || c->err.code != AB_ERR_OK))
        ab_error_prefix(&err, "%s", request);
    deliver(c, &answer);
}

/* --- the answer as it comes --- */

static ab_err collect(ab_kube_call *c, bool ok, ab_str piece)
{
    /* Of a refusal the beginning is enough. */
    if (!ok && c->answer.len + piece.len > REFUSAL_MAX)
        return AB_ERR_OK;
    ab_buf_put(&c->answer, piece);
    ab_err e = ab_buf_status(&c->answer);
    if (e != AB_ERR_OK)
        (void)ab_fail(&c->err, e, "the answer: %s", ab_err_text(e));
    return e;
}

static ab_err on_data(void *arg, int status, ab_str piece)
{
    ab_kube_call *c = arg;
    bool ok = status < 300;
    if (!ok || c->request.stream == NULL)
        return collect(c, ok, piece);
    c->in_stream = true;
    ab_err e = ab_kube_stream_feed(c->request.stream, piece, &c->err);
    c->in_stream = false;
    return c->cancelled ? AB_ERR_CLOSED : e;
}

/* --- the request --- */

static void reconnect_if_changed(ab_kube_client *c)
{
    ab_error err = {0};
    if (!ab_kube_access_changed(c->env.access))
        return;
    if (ab_http_reconfigure(c->http, ab_kube_access_http(c->env.access), &err) != AB_ERR_OK)
        AB_WARN(c->env.log, STORE, "cannot use the new certificates; still using the previous ones",
                AB_KV("why", (const char *)err.text));
}

static ab_err send_http(ab_kube_call *c, const char *bearer)
{
    ab_buf url, authorization;
    char type[96];
    const char *headers[4] = {"Accept: application/json"};
    size_t count_of = 1;
    ab_buf_init(&url, 64 * 1024);
    ab_buf_init(&authorization, 1024 * 1024);
    ab_buf_printf(&url, "%s%s", ab_kube_access_server(c->client->env.access), c->request.path);
    if (c->request.type != NULL) {
        (void)snprintf(type, sizeof(type), "Content-Type: %s", c->request.type);
        headers[count_of++] = type;
    }
    if (bearer != NULL) {
        ab_buf_printf(&authorization, "Authorization: Bearer %s", bearer);
        headers[count_of++] = authorization.ptr;
    }
    ab_err e = ab_buf_status(&url);
    if (e == AB_ERR_OK)
        e = ab_buf_status(&authorization);
    if (e == AB_ERR_OK) {
        c->http = ab_http_start(c->client->http, &(ab_http_request){
                                                     .method = c->request.method,
                                                     .url = url.ptr,
                                                     .headers = headers,
                                                     .body = c->request.body,
                                                     .timeout_ms = c->request.timeout_ms,
                                                     .idle_ms = c->request.idle_ms,
                                                     .on_data = on_data,
                                                     .on_done = on_done,
                                                     .arg = c,
                                                 });
        e = c->http == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
    }
    ab_buf_fini(&url);
    ab_buf_wipe(&authorization);
    return e;
}

static void on_token(void *arg, ab_err code, const char *bearer, const ab_error *err)
{
    ab_kube_call *c = arg;
    c->waits = false;
    if (c->cancelled) {
        free_call(c);
        return;
    }
    if (code == AB_ERR_OK) {
        reconnect_if_changed(c->client);
        code = send_http(c, bearer);
        if (code == AB_ERR_OK)
            return;
        err = NULL;
    }
    (void)ab_fail(&c->err, code, "%s %s: %s", c->request.method, c->request.what,
                  err == NULL ? ab_err_text(code) : err->text);
    fail_later(c);
}

static void get_token(ab_kube_call *c)
{
    ab_buf_clear(&c->answer);
    c->waits = true;
    ab_kube_access_token(c->client->env.access, on_token, c);
}

ab_kube_call *ab_kube_send(ab_kube_client *client, const ab_kube_request *request)
{
    ab_kube_call *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return NULL;
    c->client = client;
    c->request = *request;
    c->request.what = ab_str_dup(ab_str_of(request->what));
    c->request.path = ab_str_dup(ab_str_of(request->path));
    c->request.body.ptr = ab_str_dup(request->body);
    c->begun_ns = uv_hrtime();
    ab_buf_init(&c->answer, client->env.body_max);
    LIST_INSERT_HEAD(&client->calls, c, link);
    if (c->request.what == NULL || c->request.path == NULL ||
        (request->body.ptr != NULL && c->request.body.ptr == NULL)) {
        free_call(c);
        return NULL;
    }
    get_token(c);
    return c;
}

void ab_kube_cancel(ab_kube_call *c)
{
    if (c == NULL)
        return;
    c->cancelled = true;
    if (c->waits || c->in_stream || c->failed)
        return;
    if (c->http != NULL)
        ab_http_cancel(c->http);
    free_call(c);
}

/* --- the client --- */

static void free_timer(uv_handle_t *handle)
{
    free(handle);
}

ab_err ab_kube_client_new(const ab_kube_client_env *env, ab_kube_client **out, ab_error *err)
{
    ab_kube_client *c = calloc(1, sizeof(*c));
    uv_timer_t *timer = calloc(1, sizeof(*timer));
    if (c == NULL || timer == NULL) {
        free(c);
        free(timer);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the API client");
    }
    c->env = *env;
    ab_err e = ab_http_new(env->loop, ab_kube_access_http(env->access), &c->http, err);
    if (e != AB_ERR_OK) {
        free(c);
        free(timer);
        return e;
    }
    int failed = uv_timer_init(env->loop, timer);
    assert(failed == 0);
    (void)failed;
    timer->data = c;
    c->later = timer;
    c->seconds = ab_metric_get(
        env->metrics, AB_METRIC_HISTOGRAM, "argobus_kubernetes_request_seconds",
        "Time that requests to the API server took, lists and watches apart.", NULL, 0);
    *out = c;
    return AB_ERR_OK;
}

void ab_kube_client_free(ab_kube_client *c)
{
    if (c == NULL)
        return;
    ab_http_free(c->http);
    while (!LIST_EMPTY(&c->calls))
        free_call(LIST_FIRST(&c->calls));
    uv_close((uv_handle_t *)c->later, free_timer);
    free(c);
}
