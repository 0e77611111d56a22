/* SPDX-License-Identifier: Apache-2.0
 *
 * A first 401 is not told: the request is made once more, with a new token.
 */
#include "store/kubernetes/raw.h"

#include "store/kubernetes/access/attempt.h"

#include <stdlib.h>
#include <string.h>

struct ab_kube_raw_call {
    ab_kube_attempt attempt;
    ab_kube_raw *raw;
    ab_kube_raw_request request; /* `body` is ours, `path` and `fields` are not looked at */
    ab_kube_lines lines;
    ab_http_call *http; /* NULL: waits for the token, or has failed */
    bool refused;       /* this answer is the 401 that is not told */
    bool paused;
};

struct ab_kube_raw {
    ab_kube_access *access;
    ab_http *http;
    ab_kube_attempts *attempts;
};

static void on_free(ab_kube_attempt *a)
{
    ab_kube_raw_call *c = (ab_kube_raw_call *)a;
    ab_kube_lines_fini(&c->lines);
    if (c->request.body.ptr != NULL) /* it may be a Secret */
        explicit_bzero((void *)(uintptr_t)c->request.body.ptr, c->request.body.len);
    free((void *)(uintptr_t)c->request.body.ptr);
    free(c);
}

/* --- the end --- */

static void on_failed(ab_kube_attempt *a, const ab_error *why)
{
    const ab_kube_raw_call *c = (const ab_kube_raw_call *)a;
    ab_error err = *why;
    ab_error_prefix(&err, "the request to the API server");
    c->request.on_over(c->request.arg, err.code, &err);
}

static void on_done(void *arg, const ab_http_result *result)
{
    ab_kube_raw_call *c = arg;
    c->http = NULL;
    if (c->refused && ab_kube_attempt_again(&c->attempt, result->status))
        return;
    if (!c->attempt.cancelled)
        c->request.on_over(c->request.arg, result->code, result->err);
    ab_kube_attempt_free(&c->attempt);
}

/* --- the answer --- */

static void on_head(void *arg, int status, const ab_http_field *fields, size_t count)
{
    ab_kube_raw_call *c = arg;
    c->refused = status == 401 && !c->attempt.asked;
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

static ab_err on_begin(ab_kube_attempt *a, const char *url, const char *authorization,
                       ab_error *err)
{
    ab_kube_raw_call *c = (ab_kube_raw_call *)a;
    (void)err;
    reconnect_if_changed(c->raw);
    c->http =
        ab_http_start(c->raw->http, &(ab_http_request){
                                        .method = c->request.method,
                                        .url = url,
                                        .headers = ab_kube_lines_with(&c->lines, authorization),
                                        .body = c->request.body,
                                        .once = strcmp(c->request.method, "GET") != 0,
                                        .timeout_ms = c->request.timeout_ms,
                                        .on_head = on_head,
                                        .on_data = on_data,
                                        .on_done = on_done,
                                        .arg = c,
                                    });
    if (c->http != NULL && c->paused)
        ab_http_pause(c->http);
    return c->http == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

static const ab_kube_attempt_ops OPS = {on_begin, on_failed, on_free};

static bool copy_fields(ab_kube_raw_call *c, const ab_kube_raw_request *request)
{
    bool typed = false;
    for (size_t i = 0; i < request->count; i++)
        typed = typed || ab_str_is(request->fields[i].name, "content-type");
    /* Without a value: curl would send one by itself. */
    return ab_kube_lines_add(&c->lines, request->fields, request->count) &&
           (typed ||
            ab_kube_lines_add(&c->lines, &(ab_http_field){AB_STR("Content-Type"), AB_STR("")}, 1));
}

ab_kube_raw_call *ab_kube_raw_begin(ab_kube_raw *raw, const ab_kube_raw_request *request)
{
    ab_kube_raw_call *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return NULL;
    c->raw = raw;
    c->request = *request;
    c->request.body.ptr = ab_str_dup(request->body);
    ab_err e = ab_kube_attempt_init(&c->attempt, raw->attempts, request->path);
    if (e != AB_ERR_OK || (request->body.ptr != NULL && c->request.body.ptr == NULL) ||
        !copy_fields(c, request)) {
        ab_kube_attempt_free(&c->attempt);
        return NULL;
    }
    ab_kube_attempt_start(&c->attempt);
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
    if (!ab_kube_attempt_cancel(&c->attempt))
        return;
    if (c->http != NULL)
        ab_http_cancel(c->http);
    ab_kube_attempt_free(&c->attempt);
}

/* --- all of them --- */

ab_err ab_kube_raw_new(uv_loop_t *loop, ab_kube_access *access, ab_kube_raw **out, ab_error *err)
{
    ab_kube_raw *raw = calloc(1, sizeof(*raw));
    if (raw == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for requests to the API server");
    ab_http_options options = *ab_kube_access_http(access);
    options.http1 = true;
    ab_err e = ab_http_new(loop, &options, &raw->http, err);
    if (e != AB_ERR_OK) {
        free(raw);
        return e;
    }
    e = ab_kube_attempts_new(loop, access, &OPS, &raw->attempts);
    if (e != AB_ERR_OK) {
        ab_http_free(raw->http);
        free(raw);
        return ab_fail(err, e, "out of memory for requests to the API server");
    }
    raw->access = access;
    *out = raw;
    return AB_ERR_OK;
}

void ab_kube_raw_free(ab_kube_raw *raw)
{
    if (raw == NULL)
        return;
    ab_http_free(raw->http);
    ab_kube_attempts_free(raw->attempts);
    free(raw);
}
