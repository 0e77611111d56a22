/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls. curl must not be told about its transfers from inside its own callbacks, but the upcalls
 * may begin, cancel and free: what they ask for then is noted and done when curl has returned.
 *
 * A connection that is dead without a word, or behind something that lives on and acknowledges for
 * the dead, would be called on for ever: curl ends a call that timed out and keeps the connection
 * of HTTP/2 for the next. So when a call got no answer in time, and no other was heard meanwhile,
 * all connections are given up, with the calls on them.
 */
#include "net/http/client_priv.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 32 /* connections, at least */

static void free_call(ab_http_call *c)
{
    curl_easy_cleanup(c->easy);
    curl_slist_free_all(c->headers);
    curl_slist_free_all(c->connect_to);
    free(c);
}

/* curl keeps four connections for each call under way. With HTTP/1.1, when few are, it would close
 * those that the next burst of calls needs, and every new one costs both ends a TLS handshake. */
static void keep_connections(ab_http *h)
{
    long four_each = 4 * (long)h->added;
    curl_multi_setopt(ab_http_loop_multi(h->curl), CURLMOPT_MAXCONNECTS,
                      four_each < KEPT ? (long)KEPT : four_each);
}

/* Out of the list and out of curl; never from inside curl. */
static void detach(ab_http_call *c)
{
    LIST_REMOVE(c, at);
    if (!c->added)
        return;
    curl_multi_remove_handle(ab_http_loop_multi(c->http->curl), c->easy);
    c->http->added--;
    keep_connections(c->http);
    if (!c->http->only_http1)
        ab_http_loop_nudge(c->http->curl);
}

static void drop(ab_http_call *c)
{
    detach(c);
    free_call(c);
}

/* Milliseconds of the header Retry-After, -1 without a usable one. */
static int64_t retry_after_ms(CURL *easy)
{
    struct curl_header *header = NULL;
    curl_off_t seconds = 0;
    uint64_t count = 0;
    if (curl_easy_header(easy, "Retry-After", 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
        return -1;
    if (ab_str_to_u64(ab_str_of(header->value), &count) == AB_ERR_OK)
        return count > INT32_MAX ? (int64_t)INT32_MAX * 1000 : (int64_t)count * 1000;
    if (curl_getdate(header->value, NULL) == -1 ||
        curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds) != CURLE_OK)
        return -1;
    return seconds > 0 ? (int64_t)seconds * 1000 : 0;
}

/* Tell the caller how it ended. The client may be freed by that. */
static void finish(ab_http_call *c, ab_err code, const ab_error *err)
{
    long status = 0;
    detach(c);
    curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    const ab_http_result result = {code, (int)status, retry_after_ms(c->easy), err};
    c->ended = true;
    if (!c->cancelled)
        c->request.on_done(c->request.arg, &result);
    free_call(c);
}

static void finish_curl(ab_http_call *c)
{
    ab_error err = {0};
    ab_err e = AB_ERR_OK;
    if (c->data_code != AB_ERR_OK) {
        e = ab_fail(&err, c->data_code, "the response was rejected: %s", ab_err_text(c->data_code));
    } else if (c->code != CURLE_OK) {
        ab_http_hide_proxy(c->said);
        e = ab_http_explain(c->easy, c->code, c->said, &err);
    }
    finish(c, e, &err);
}

static void end_silent(ab_http_call *c, const char *why)
{
    c->over = true;
    c->code = CURLE_OPERATION_TIMEDOUT;
    snprintf(c->said, sizeof(c->said), "%s", why);
}

static void on_turned(void *arg, bool ok);

/* Without memory for that, the calls to come time out in their turn. */
static void give_up_connections(ab_http *h)
{
    ab_http_loop *fresh = ab_http_loop_new(h->loop, on_turned, h);
    if (fresh == NULL)
        return;
    ab_http_call *c = NULL;
    LIST_FOREACH(c, &h->calls, at)
    {
        if (c->added)
            curl_multi_remove_handle(ab_http_loop_multi(h->curl), c->easy);
        c->added = false;
        if (!c->over)
            end_silent(c, "the connection has been silent for too long");
    }
    ab_http_loop_free(h->curl);
    h->curl = fresh;
    h->added = 0;
}

/* Whether the connection of a call that is over is to be taken for dead.
 * @param since  the call has got nothing since then */
static bool is_dead(const ab_http_call *c, uint64_t since)
{
    curl_off_t sent_us = 0;
    curl_easy_getinfo(c->easy, CURLINFO_PRETRANSFER_TIME_T, &sent_us);
    return c->code == CURLE_OPERATION_TIMEDOUT && sent_us > 0 && !c->http->is_http1 &&
           c->http->heard <= since;
}

static ab_http_call *find_over(const ab_http *h)
{
    ab_http_call *c = NULL;
    LIST_FOREACH(c, &h->calls, at)
    {
        if (c->over && !c->ended)
            break;
    }
    return c;
}

/* What upcalls begin is on new connections already. */
static void finish_over(ab_http *h, bool dead)
{
    ab_http_call *c = NULL;
    if (dead)
        give_up_connections(h);
    while (!h->freed && (c = find_over(h)) != NULL)
        finish_curl(c);
}

static void finish_read(ab_http *h)
{
    int left = 0;
    bool dead = false;
    CURLMsg *msg = NULL;
    while ((msg = curl_multi_info_read(ab_http_loop_multi(h->curl), &left)) != NULL) {
        char *arg = NULL;
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &arg);
        ab_http_call *c = (ab_http_call *)(void *)arg;
        c->over = true;
        c->code = msg->data.result;
        dead = dead || is_dead(c, c->began);
    }
    finish_over(h, dead);
}

static void finish_no_memory(ab_http_call *c)
{
    ab_error err = {0};
    ab_err e = ab_fail(&err, AB_ERR_NOMEM, "out of memory for an HTTP call");
    finish(c, e, &err);
}

static bool add_call(ab_http_call *c)
{
    c->added = curl_multi_add_handle(ab_http_loop_multi(c->http->curl), c->easy) == CURLM_OK;
    c->http->added += c->added ? 1 : 0;
    keep_connections(c->http);
    return c->added;
}

/* What upcalls asked for while curl was at work. */
static void catch_up(ab_http *h)
{
    ab_http_call *next = NULL;
    for (ab_http_call *c = LIST_FIRST(&h->calls); c != NULL; c = next) {
        next = LIST_NEXT(c, at);
        if (c->cancelled)
            drop(c);
    }
    for (ab_http_call *c = LIST_FIRST(&h->calls); c != NULL && !h->freed; c = next) {
        next = LIST_NEXT(c, at);
        if (c->added || add_call(c))
            continue;
        finish_no_memory(c);
        next = LIST_FIRST(&h->calls); /* the upcall may have changed the list */
    }
}

static void free_now(ab_http *h);

static void on_turned(void *arg, bool ok)
{
    ab_http *h = arg;
    if (h->freed) {
        free_now(h);
        return;
    }
    while (!ok && !LIST_EMPTY(&h->calls) && !h->freed)
        finish_no_memory(LIST_FIRST(&h->calls));
    if (!h->freed)
        finish_read(h);
    if (!h->freed)
        catch_up(h);
}

static void hear(ab_http_call *c)
{
    c->heard = uv_now(c->http->loop);
    c->http->heard = c->heard;
    c->warned = false;
}

static size_t on_piece(char *bytes, size_t size, size_t count, void *arg)
{
    ab_http_call *c = arg;
    long status = 0;
    size_t len = size * count;
    hear(c);
    if (c->cancelled || c->http->freed)
        return 0;
    if (c->paused)
        return CURL_WRITEFUNC_PAUSE;
    if (c->request.on_data == NULL || len == 0)
        return len;
    curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    c->data_code = c->request.on_data(c->request.arg, (int)status, (ab_str){bytes, len});
    return c->data_code == AB_ERR_OK && !c->cancelled && !c->http->freed ? len : 0;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *arg)
{
    ab_http_call *c = arg;
    long version = 0;
    hear(c);
    curl_easy_getinfo(c->easy, CURLINFO_HTTP_VERSION, &version);
    c->http->is_http1 = version == CURL_HTTP_VERSION_1_0 || version == CURL_HTTP_VERSION_1_1;
    if (c->cancelled || c->http->freed)
        return 0;
    c->data_code = ab_http_read_head(c, (ab_str){bytes, size * count});
    return c->data_code == AB_ERR_OK ? size * count : 0;
}

/* Milliseconds until the call has been idle for too long. */
static int64_t idle_left(const ab_http_call *c)
{
    if (c->paused)
        return c->request.idle_ms;
    return c->request.idle_ms - (int64_t)(uv_now(c->http->loop) - c->heard);
}

static void on_idle(uv_timer_t *timer);

static void watch_idle(ab_http *h, int64_t ms)
{
    uint64_t due = (uint64_t)(ms < 1 ? 1 : ms);
    if (!uv_is_active((uv_handle_t *)&h->idle) || uv_timer_get_due_in(&h->idle) > due)
        uv_timer_start(&h->idle, on_idle, due, 0);
}

static void on_idle(uv_timer_t *timer)
{
    ab_http *h = timer->data;
    ab_http_call *c = NULL;
    bool dead = false;
    LIST_FOREACH(c, &h->calls, at)
    {
        if (!c->warned || idle_left(c) > 0)
            continue;
        end_silent(c, "nothing came");
        dead = dead || is_dead(c, c->heard);
    }
    finish_over(h, dead);
    if (h->freed)
        return;
    /* After the loop was held up, timers come before what has arrived meanwhile: it is read first.
     */
    LIST_FOREACH(c, &h->calls, at)
    {
        if (c->request.idle_ms <= 0)
            continue;
        c->warned = idle_left(c) <= 0;
        watch_idle(h, idle_left(c));
    }
}

/* Calls were resumed, and perhaps paused again. */
static void on_kick(uv_timer_t *timer)
{
    ab_http *h = timer->data;
    ab_http_call *c = NULL;
    LIST_FOREACH(c, &h->calls, at)
    {
        if (!c->kicked || !c->added || c->over || h->freed)
            continue;
        c->kicked = false;
        CURLcode code =
            ab_http_loop_pause(h->curl, c->easy, c->paused ? CURLPAUSE_RECV : CURLPAUSE_CONT);
        c->over = code != CURLE_OK;
        c->code = code;
    }
    if (!h->freed)
        finish_over(h, false);
    else
        free_now(h);
    if (!h->freed)
        on_turned(h, true);
}

static void on_handle_closed(uv_handle_t *handle)
{
    ab_http *h = handle->data;
    if (--h->handles == 0)
        free(h);
}

static void free_now(ab_http *h)
{
    while (!LIST_EMPTY(&h->calls))
        drop(LIST_FIRST(&h->calls));
    ab_http_loop_free(h->curl);
    curl_easy_cleanup(h->model);
    free(h->sni);
    uv_close((uv_handle_t *)&h->idle, on_handle_closed);
    uv_close((uv_handle_t *)&h->kick, on_handle_closed);
}

void ab_http_free(ab_http *h)
{
    if (h == NULL || h->freed)
        return;
    h->freed = true;
    if (!ab_http_loop_inside(h->curl))
        free_now(h);
}

ab_err ab_http_reconfigure(ab_http *h, const ab_http_options *options, ab_error *err)
{
    CURL *model = NULL;
    char *sni = ab_str_dup(ab_str_of(options->sni));
    if (options->sni != NULL && sni == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for an HTTP client");
    ab_err e = ab_http_easy_new(options, &model, err);
    if (e != AB_ERR_OK) {
        free(sni);
        return e;
    }
    curl_easy_cleanup(h->model);
    free(h->sni);
    h->model = model;
    h->sni = sni;
    h->only_http1 = options->http1;
    return AB_ERR_OK;
}

ab_err ab_http_new(uv_loop_t *loop, const ab_http_options *options, ab_http **out, ab_error *err)
{
    ab_http *h = calloc(1, sizeof(*h));
    if (h == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for an HTTP client");
    h->loop = loop;
    h->curl = ab_http_loop_new(loop, on_turned, h);
    if (h->curl == NULL) {
        free(h);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for an HTTP client");
    }
    uv_timer_init(loop, &h->idle);
    uv_timer_init(loop, &h->kick);
    h->idle.data = h;
    h->kick.data = h;
    h->handles = 2;
    ab_err e = ab_http_reconfigure(h, options, err);
    if (e != AB_ERR_OK) {
        ab_http_free(h);
        return e;
    }
    *out = h;
    return AB_ERR_OK;
}

static bool set_headers(ab_http_call *c, const char *const *headers)
{
    for (size_t i = 0; headers != NULL && headers[i] != NULL; i++) {
        if (!ab_http_list_append(&c->headers, headers[i]))
            return false;
    }
    /* Without this curl waits for leave before it sends a large body over HTTP/1.1. */
    return ab_http_list_append(&c->headers, "Expect:") &&
           curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers) == CURLE_OK;
}

static bool set_body(CURL *easy, const char *method, ab_str body)
{
    if (body.ptr != NULL) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
        if (curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, body.ptr) != CURLE_OK)
            return false;
    }
    if (strcmp(method, "HEAD") == 0)
        return curl_easy_setopt(easy, CURLOPT_NOBODY, 1L) == CURLE_OK;
    return curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method) == CURLE_OK;
}

static bool prepare(ab_http_call *c, const ab_http_request *r)
{
    int64_t timeout_ms = r->timeout_ms < LONG_MAX ? r->timeout_ms : LONG_MAX;
    c->easy = curl_easy_duphandle(c->http->model);
    if (c->easy == NULL)
        return false;
    curl_easy_setopt(c->easy, CURLOPT_PRIVATE, c);
    curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->said);
    curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_piece);
    curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c->easy, CURLOPT_HEADERDATA, c);
    curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    curl_easy_setopt(c->easy, CURLOPT_FRESH_CONNECT, r->once ? 1L : 0L);
    return ab_http_easy_set_url(c->easy, r->url, c->http->sni, &c->connect_to, &c->headers) &&
           set_headers(c, r->headers) && set_body(c->easy, r->method, r->body);
}

ab_http_call *ab_http_start(ab_http *h, const ab_http_request *request)
{
    ab_http_call *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return NULL;
    c->http = h;
    c->request = *request;
    c->began = c->heard = uv_now(h->loop);
    if (h->freed || !prepare(c, request) || (!ab_http_loop_inside(h->curl) && !add_call(c))) {
        free_call(c);
        return NULL;
    }
    LIST_INSERT_HEAD(&h->calls, c, at);
    if (request->idle_ms > 0)
        watch_idle(h, request->idle_ms);
    return c;
}

void ab_http_cancel(ab_http_call *call)
{
    if (call == NULL || call->ended)
        return;
    call->cancelled = true;
    if (!ab_http_loop_inside(call->http->curl))
        drop(call);
}

void ab_http_pause(ab_http_call *call)
{
    call->paused = true;
}

void ab_http_resume(ab_http_call *call)
{
    if (!call->paused)
        return;
    call->paused = false;
    call->heard = uv_now(call->http->loop);
    call->kicked = true;
    uv_timer_start(&call->http->kick, on_kick, 0, 0);
}
