/* SPDX-License-Identifier: Apache-2.0
 *
 * A call lives from ab_kube_send until its `done`; a cancelled one that waits for its token, until
 * that comes.
 */
#include "store/kubernetes/request.h"

#include "base/core/map.h"
#include "store/kubernetes/access/attempt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of an answer that is not 2xx; a Status is smaller. */
#define REFUSAL_MAX (64u * 1024)
/* Texts of warnings that are logged in the life of a process. */
#define WARNINGS_MAX 64

struct ab_kube_call {
    ab_kube_attempt attempt;
    ab_kube_client *client;
    ab_kube_request request; /* `what` and `body` are ours, `path` is not looked at */
    ab_buf answer;
    ab_http_call *http; /* NULL: waits for the token, or has failed */
    uint64_t begun_ns;
    bool in_stream; /* an upcall of its stream is running */
    ab_error err;   /* what the stream or the buffer said */
};

struct ab_kube_client {
    ab_kube_client_env env;
    ab_http *http;
    ab_kube_attempts *attempts;
    ab_metric *seconds;
    ab_map *warnings; /* texts that were logged */
    bool refused;     /* the last answer was 401 */
};

static void on_free(ab_kube_attempt *a)
{
    ab_kube_call *c = (ab_kube_call *)a;
    free((void *)(uintptr_t)c->request.what);
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

static void on_failed(ab_kube_attempt *a, const ab_error *why)
{
    const ab_kube_call *c = (const ab_kube_call *)a;
    ab_error err = *why;
    ab_error_prefix(&err, "%s %s", c->request.method, c->request.what);
    c->request.done(c->request.arg,
                    &(ab_kube_answer){.code = err.code, .retry_after_ms = -1, .err = &err});
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
    if (ab_kube_attempt_again(&c->attempt, result->status))
        return;
    note_credentials(c->client, result->status);
    put_request(c, request, sizeof(request));
    bool refused = result->status >= 300;
    if (c->err.code != AB_ERR_OK)
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
    if (!c->attempt.cancelled)
        c->request.done(c->request.arg, &answer);
    ab_kube_attempt_free(&c->attempt);
}

/* --- the answer as it comes --- */

/* With a warning only, an API server drops fields that its schema does not know. It says so with
 * every write. */
static void note_warning(const ab_kube_call *c, ab_str text)
{
    ab_map *known = c->client->warnings;
    if (ab_map_count(known) >= WARNINGS_MAX || ab_map_find(known, text) != NULL ||
        ab_map_put(known, text, known, NULL) != AB_ERR_OK)
        return;
    AB_WARN(c->client->env.log, STORE, "the API server warns", AB_KV("request", c->request.what),
            AB_KV("text", text));
}

static void on_head(void *arg, int status, const ab_http_field *fields, size_t count_of)
{
    (void)status;
    for (size_t i = 0; i < count_of; i++)
        if (ab_str_is(fields[i].name, "warning"))
            note_warning(arg, fields[i].value);
}

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
    return c->attempt.cancelled ? AB_ERR_CLOSED : e;
}

/* --- the request --- */

static void reconnect_if_changed(ab_kube_client *c)
{
    ab_error err = {0};
    if (!ab_kube_access_changed(c->env.access))
        return;
    if (ab_http_reconfigure(c->http, ab_kube_access_http(c->env.access), &err) != AB_ERR_OK)
        AB_WARN(c->env.log, STORE, "cannot use the new certificates; still using the previous ones",
                AB_KV("why", err.text));
}

static ab_err on_begin(ab_kube_attempt *a, const char *url, const char *authorization,
                       ab_error *err)
{
    ab_kube_call *c = (ab_kube_call *)a;
    char type[96];
    const char *headers[4] = {"Accept: application/json"};
    size_t count_of = 1;
    (void)err;
    ab_buf_clear(&c->answer);
    reconnect_if_changed(c->client);
    if (c->request.type != NULL) {
        (void)snprintf(type, sizeof(type), "Content-Type: %s", c->request.type);
        headers[count_of++] = type;
    }
    if (authorization != NULL)
        headers[count_of++] = authorization;
    c->http = ab_http_start(c->client->http, &(ab_http_request){
                                                 .method = c->request.method,
                                                 .url = url,
                                                 .headers = headers,
                                                 .body = c->request.body,
                                                 .timeout_ms = c->request.timeout_ms,
                                                 .idle_ms = c->request.idle_ms,
                                                 .on_head = on_head,
                                                 .on_data = on_data,
                                                 .on_done = on_done,
                                                 .arg = c,
                                             });
    return c->http == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

static const ab_kube_attempt_ops OPS = {on_begin, on_failed, on_free};

ab_kube_call *ab_kube_send(ab_kube_client *client, const ab_kube_request *request)
{
    ab_kube_call *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return NULL;
    c->client = client;
    c->request = *request;
    c->request.what = ab_str_dup(ab_str_of(request->what));
    c->request.body.ptr = ab_str_dup(request->body);
    c->begun_ns = uv_hrtime();
    ab_buf_init_secret(&c->answer, client->env.body_max);
    ab_err e = ab_kube_attempt_init(&c->attempt, client->attempts, request->path);
    if (e != AB_ERR_OK || c->request.what == NULL ||
        (request->body.ptr != NULL && c->request.body.ptr == NULL)) {
        ab_kube_attempt_free(&c->attempt);
        return NULL;
    }
    ab_kube_attempt_start(&c->attempt);
    return c;
}

void ab_kube_cancel(ab_kube_call *c)
{
    if (c == NULL)
        return;
    if (!ab_kube_attempt_cancel(&c->attempt) || c->in_stream)
        return;
    if (c->http != NULL)
        ab_http_cancel(c->http);
    ab_kube_attempt_free(&c->attempt);
}

/* --- the client --- */

ab_err ab_kube_client_new(const ab_kube_client_env *env, ab_kube_client **out, ab_error *err)
{
    ab_kube_client *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the API client");
    c->env = *env;
    ab_err e = ab_http_new(env->loop, ab_kube_access_http(env->access), &c->http, err);
    if (e != AB_ERR_OK) {
        free(c);
        return e;
    }
    c->warnings = ab_map_new();
    e = c->warnings == NULL ? AB_ERR_NOMEM
                            : ab_kube_attempts_new(env->loop, env->access, &OPS, &c->attempts);
    if (e != AB_ERR_OK) {
        ab_map_free(c->warnings, NULL);
        ab_http_free(c->http);
        free(c);
        return ab_fail(err, e, "out of memory for the API client");
    }
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
    ab_kube_attempts_free(c->attempts);
    ab_map_free(c->warnings, NULL);
    free(c);
}
