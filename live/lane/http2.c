/* SPDX-License-Identifier: Apache-2.0 */
#include "live/lane/stream_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define STREAM_WINDOW     (1024 * 1024) /* the way over a broker and back takes milliseconds */
#define CONNECTION_WINDOW (16 * 1024 * 1024)
#define SILENT_PING_MS    15000
#define SILENT_MAX_MS     45000

static ab_live_stream *stream_of(ab_live_http2 *h, int32_t id)
{
    return nghttp2_session_get_stream_user_data(h->ng, id);
}

/* ----- what comes ----- */

static int reset(ab_live_http2 *h, int32_t id, uint32_t code)
{
    return nghttp2_submit_rst_stream(h->ng, NGHTTP2_FLAG_NONE, id, code);
}

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
    ab_live_http2 *h = arg;
    if (h->env.client || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    ab_live_stream *s = ab_live_stream_new(h);
    if (s == NULL)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    s->id = frame->hd.stream_id;
    return nghttp2_session_set_stream_user_data(ng, s->id, s);
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *arg)
{
    (void)ng, (void)flags;
    ab_live_stream *s = stream_of(arg, frame->hd.stream_id);
    if (s == NULL)
        return 0;
    bool taken = ab_live_head_add(s, (ab_str){(const char *)name, name_len},
                                  (ab_str){(const char *)value, value_len});
    return taken ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static void take_request(ab_live_http2 *h, ab_live_stream *s)
{
    ab_http_field fields[AB_LIVE_FIELDS_MAX];
    ab_live_request request;
    int status = 0;
    (void)ab_live_head_read(s, fields, &request, &status);
    if (request.deadline_ms > 0)
        s->deadline_ms = h->now_ms + request.deadline_ms;
    h->env.on_request(h->env.arg, s, &request);
    if (s->handler == NULL)
        (void)reset(h, s->id, NGHTTP2_REFUSED_STREAM); /* no memory shows by the next that fails */
}

static void take_answer(ab_live_stream *s)
{
    ab_http_field fields[AB_LIVE_FIELDS_MAX];
    ab_live_request request;
    int status = 0;
    size_t count = ab_live_head_read(s, fields, &request, &status);
    if (s->has_answered || status < 200)
        return;
    s->has_answered = true;
    if (s->handler != NULL && s->handler->on_answer != NULL)
        s->handler->on_answer(s->arg, status, fields, count);
}

/* Trailers mean nothing here. The stream stays until nghttp2 has closed it. */
static void take_head(ab_live_http2 *h, ab_live_stream *s, nghttp2_headers_category category)
{
    ab_live_head *head = s->head;
    if (head == NULL)
        return;
    if (h->env.client)
        take_answer(s);
    else if (category == NGHTTP2_HCAT_REQUEST)
        take_request(h, s);
    ab_buf_fini(&head->text);
    free(head);
    s->head = NULL;
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
    (void)ng;
    ab_live_http2 *h = arg;
    bool carries = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    ab_live_stream *s = carries ? stream_of(h, frame->hd.stream_id) : NULL;
    if (s == NULL)
        return 0;
    if (frame->hd.type == NGHTTP2_HEADERS)
        take_head(h, s, frame->headers.cat);
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 && !s->in_ended) {
        s->in_ended = true;
        if (s->handler != NULL && s->handler->on_end != NULL)
            s->handler->on_end(s->arg);
    }
    return 0;
}

static int on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *bytes, size_t len,
                   void *arg)
{
    (void)flags;
    ab_live_stream *s = stream_of(arg, id);
    if (nghttp2_session_consume_connection(ng, len) == NGHTTP2_ERR_NOMEM)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (s != NULL && s->handler != NULL && s->handler->on_data != NULL)
        s->handler->on_data(s->arg, (ab_str){(const char *)bytes, len});
    else if (s != NULL)
        ab_live_stream_consumed(s, len);
    return 0;
}

/* As the other end is called in texts for people. */
static const char *peer_of(const ab_live_http2 *h)
{
    return h->env.client ? "the agent" : "the principal";
}

static ab_err outcome_of(const ab_live_stream *s, uint32_t code, ab_error *err)
{
    const char *peer = peer_of(s->h2);
    if (s->why != AB_ERR_OK)
        return ab_fail(err, s->why, "the deadline has passed");
    if (code == NGHTTP2_NO_ERROR && s->in_ended)
        return AB_ERR_OK;
    if (code == NGHTTP2_REFUSED_STREAM)
        return ab_fail(err, AB_ERR_FULL, "%s accepts no more requests", peer);
    return ab_fail(err, AB_ERR_UNAVAILABLE, "%s broke the request off (%s)", peer,
                   nghttp2_http2_strerror(code));
}

static void finish(ab_live_stream *s, ab_err code, const ab_error *err)
{
    const ab_live_handler *handler = s->handler;
    s->handler = NULL;
    if (handler != NULL)
        handler->on_over(s->arg, code, code == AB_ERR_OK ? NULL : err);
    ab_live_stream_free(s);
}

static int on_close(nghttp2_session *ng, int32_t id, uint32_t code, void *arg)
{
    (void)ng;
    ab_live_stream *s = stream_of(arg, id);
    ab_error err = {0};
    if (s != NULL)
        finish(s, outcome_of(s, code, &err), &err);
    return 0;
}

/* ----- life ----- */

static int submit_settings(ab_live_http2 *h)
{
    const nghttp2_settings_entry entries[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, h->env.client ? 0 : AB_LIVE_STREAMS_MAX},
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
    };
    int rc = nghttp2_submit_settings(h->ng, NGHTTP2_FLAG_NONE, entries, h->env.client ? 3 : 2);
    return rc == 0 ? nghttp2_session_set_local_window_size(h->ng, NGHTTP2_FLAG_NONE, 0,
                                                           CONNECTION_WINDOW)
                   : rc;
}

static nghttp2_session_callbacks *new_callbacks(void)
{
    nghttp2_session_callbacks *c = NULL;
    if (nghttp2_session_callbacks_new(&c) != 0)
        return NULL;
    nghttp2_session_callbacks_set_on_begin_headers_callback(c, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(c, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, on_close);
    return c;
}

static int open_session(ab_live_http2 *h)
{
    nghttp2_option *option = NULL;
    nghttp2_session_callbacks *callbacks = new_callbacks();
    int rc = callbacks == NULL ? NGHTTP2_ERR_NOMEM : nghttp2_option_new(&option);
    if (rc == 0) {
        nghttp2_option_set_no_auto_window_update(option, 1);
        nghttp2_option_set_no_closed_streams(option, 1);
        rc = h->env.client ? nghttp2_session_client_new2(&h->ng, callbacks, h, option)
                           : nghttp2_session_server_new2(&h->ng, callbacks, h, option);
    }
    if (rc != 0)
        h->ng = NULL;
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return rc == 0 ? submit_settings(h) : rc;
}

ab_err ab_live_http2_new(const ab_live_http2_env *env, ab_live_http2 **out)
{
    ab_live_http2 *h = calloc(1, sizeof(*h));
    if (h == NULL)
        return AB_ERR_NOMEM;
    h->env = *env;
    h->heard_ms = -1;
    LIST_INIT(&h->streams);
    TAILQ_INIT(&h->starved);
    if (open_session(h) != 0) {
        ab_live_http2_end(h, AB_ERR_NOMEM, NULL);
        return AB_ERR_NOMEM;
    }
    *out = h;
    return AB_ERR_OK;
}

void ab_live_http2_end(ab_live_http2 *h, ab_err code, const ab_error *err)
{
    if (h == NULL)
        return;
    ab_live_stream *s = NULL;
    h->ending = true;
    while ((s = LIST_FIRST(&h->streams)) != NULL)
        finish(s, code, err);
    nghttp2_session_del(h->ng);
    free(h);
}

/* After what was invalid, nghttp2 still has to say so. */
static ab_err check_over(ab_live_http2 *h, ab_error *err)
{
    if (nghttp2_session_want_read(h->ng) != 0 || nghttp2_session_want_write(h->ng) != 0)
        return AB_ERR_OK;
    return ab_fail(err, AB_ERR_INVALID, "%s ended the live session, or sent invalid HTTP/2",
                   peer_of(h));
}

ab_err ab_live_http2_receive(ab_live_http2 *h, ab_str bytes, int64_t now_ms, ab_error *err)
{
    h->now_ms = now_ms;
    h->heard_ms = now_ms;
    h->pinged = false;
    ssize_t n = nghttp2_session_mem_recv(h->ng, (const uint8_t *)bytes.ptr, bytes.len);
    if (n == NGHTTP2_ERR_NOMEM || h->out_of_memory)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for live access");
    if (n < 0)
        return ab_fail(err, AB_ERR_INVALID, "%s sent invalid HTTP/2: %s", peer_of(h),
                       nghttp2_strerror((int)n));
    h->env.on_work(h->env.arg);
    return check_over(h, err);
}

ab_err ab_live_http2_flush(ab_live_http2 *h, ab_error *err)
{
    ab_err e = AB_ERR_OK;
    while (e == AB_ERR_OK && h->env.has_room(h->env.arg)) {
        const uint8_t *bytes = NULL;
        ssize_t len = nghttp2_session_mem_send(h->ng, &bytes);
        if (len == 0)
            break;
        e = len < 0 ? AB_ERR_NOMEM
                    : h->env.write(h->env.arg, (ab_str){(const char *)bytes, (size_t)len});
    }
    if (e == AB_ERR_OK && h->out_of_memory)
        e = AB_ERR_NOMEM;
    if (e == AB_ERR_OK)
        ab_live_stream_feed(h);
    return e == AB_ERR_OK ? check_over(h, err) : e;
}

static void expire(ab_live_http2 *h, int64_t now_ms)
{
    ab_live_stream *s = NULL;
    LIST_FOREACH(s, &h->streams, at)
    {
        if (now_ms < s->deadline_ms)
            continue;
        s->deadline_ms = INT64_MAX;
        s->why = AB_ERR_TIMEOUT;
        if (reset(h, s->id, NGHTTP2_CANCEL) != 0)
            h->out_of_memory = true;
        h->env.on_work(h->env.arg);
    }
}

ab_err ab_live_http2_tick(ab_live_http2 *h, int64_t now_ms, ab_error *err)
{
    h->now_ms = now_ms;
    expire(h, now_ms);
    if (h->heard_ms < 0 || h->count == 0)
        h->heard_ms = now_ms;
    if (now_ms - h->heard_ms > SILENT_MAX_MS)
        return ab_fail(err, AB_ERR_UNAVAILABLE, "%s has been silent for %d seconds", peer_of(h),
                       SILENT_MAX_MS / 1000);
    if (now_ms - h->heard_ms > SILENT_PING_MS && !h->pinged) {
        h->pinged = true;
        if (nghttp2_submit_ping(h->ng, NGHTTP2_FLAG_NONE, NULL) != 0)
            h->out_of_memory = true;
        h->env.on_work(h->env.arg);
    }
    return AB_ERR_OK;
}

static bool is_valid(const ab_live_request *r)
{
    const uint8_t *path = (const uint8_t *)r->path.ptr;
    const uint8_t *method = (const uint8_t *)r->method.ptr;
    const uint8_t *service = (const uint8_t *)r->service.ptr;
    return r->path.len > 0 && r->path.ptr[0] == '/' && nghttp2_check_path(path, r->path.len) != 0 &&
           r->method.len > 0 && nghttp2_check_method(method, r->method.len) != 0 &&
           r->service.len > 0 && nghttp2_check_authority(service, r->service.len) != 0;
}

ab_err ab_live_http2_begin(ab_live_http2 *h, const ab_live_request *request, int64_t now_ms,
                           const ab_live_handler *handler, void *arg, ab_live_stream **out)
{
    char timeout[24];
    nghttp2_nv nv[AB_LIVE_FIELDS_MAX + 5];
    if (h->ending)
        return AB_ERR_UNAVAILABLE;
    if (h->count >= AB_LIVE_STREAMS_MAX)
        return AB_ERR_FULL;
    if (!is_valid(request))
        return AB_ERR_INVALID;
    int len = snprintf(timeout, sizeof(timeout), "%" PRId64, request->deadline_ms);
    const ab_http_field heads[] = {{AB_STR(":method"), request->method},
                                   {AB_STR(":scheme"), AB_STR("https")},
                                   {AB_STR(":authority"), request->service},
                                   {AB_STR(":path"), request->path},
                                   {AB_STR(AB_LIVE_TIMEOUT), {timeout, (size_t)len}}};
    size_t n = ab_live_head_write(nv, 0, heads, request->deadline_ms > 0 ? 5 : 4);
    if (n > 0)
        n = ab_live_head_write(nv, n, request->fields, request->count);
    if (n == 0)
        return AB_ERR_INVALID;
    ab_live_stream *s = ab_live_stream_new(h);
    if (s == NULL)
        return AB_ERR_NOMEM;
    ab_live_stream_serve(s, handler, arg);
    if (request->deadline_ms > 0)
        s->deadline_ms = now_ms + request->deadline_ms;
    nghttp2_data_provider source = ab_live_stream_source(s);
    s->id = nghttp2_submit_request(h->ng, NULL, nv, n, &source, s);
    if (s->id < 0) {
        ab_live_stream_free(s);
        return AB_ERR_NOMEM;
    }
    h->env.on_work(h->env.arg);
    *out = s;
    return AB_ERR_OK;
}

size_t ab_live_http2_streams(const ab_live_http2 *h)
{
    return h->count;
}
