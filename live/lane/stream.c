/* SPDX-License-Identifier: Apache-2.0
 *
 * What a stream sends waits in its own buffer, from which nghttp2 takes as much as the credits of
 * the other end allow.
 */
#include "live/lane/stream_priv.h"

#include <stdlib.h>
#include <string.h>

#define OUT_MAX  (128u * 1024) /* bytes that wait to be sent on one stream */
#define HEAD_MAX (32u * 1024)
/* So many bytes wait for more to go with them. */
#define PATIENT_BYTES (16u * 1024)

ab_live_stream *ab_live_stream_new(ab_live_http2 *h)
{
    ab_live_stream *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->h2 = h;
    s->deadline_ms = INT64_MAX;
    ab_buf_init(&s->out, OUT_MAX);
    LIST_INSERT_HEAD(&h->streams, s, at);
    h->count++;
    return s;
}

static void free_head(ab_live_stream *s)
{
    if (s->head != NULL)
        ab_buf_fini(&s->head->text);
    free(s->head);
    s->head = NULL;
}

void ab_live_stream_free(ab_live_stream *s)
{
    if (s->starved)
        TAILQ_REMOVE(&s->h2->starved, s, starved_at);
    LIST_REMOVE(s, at);
    s->h2->count--;
    ab_buf_fini(&s->out);
    free_head(s);
    free(s);
}

/* ----- heads ----- */

bool ab_live_head_add(ab_live_stream *s, ab_str name, ab_str value)
{
    if (s->head == NULL && (s->head = calloc(1, sizeof(*s->head))) != NULL)
        ab_buf_init(&s->head->text, HEAD_MAX);
    ab_live_head *h = s->head;
    if (h == NULL || h->count == sizeof(h->fields) / sizeof(h->fields[0]))
        return false;
    h->fields[h->count].name = h->text.len;
    h->fields[h->count].name_len = name.len;
    ab_buf_put(&h->text, name);
    h->fields[h->count].value = h->text.len;
    h->fields[h->count].value_len = value.len;
    ab_buf_put(&h->text, value);
    h->count++;
    return ab_buf_status(&h->text) == AB_ERR_OK;
}

static void read_number(ab_str text, uint64_t max, int64_t *out)
{
    uint64_t n = 0;
    if (ab_str_to_u64(text, &n) == AB_ERR_OK && n <= max)
        *out = (int64_t)n;
}

static bool read_pseudo(ab_http_field f, ab_live_request *r, int *status)
{
    int64_t number = 0;
    if (ab_str_is(f.name, ":method"))
        r->method = f.value;
    else if (ab_str_is(f.name, ":path"))
        r->path = f.value;
    else if (ab_str_is(f.name, ":authority"))
        r->service = f.value;
    else if (ab_str_is(f.name, AB_LIVE_TIMEOUT))
        read_number(f.value, INT32_MAX, &r->deadline_ms);
    else if (ab_str_is(f.name, ":status"))
        read_number(f.value, 599, &number);
    else
        return f.name.len > 0 && f.name.ptr[0] == ':';
    if (number > 0)
        *status = (int)number;
    return true;
}

size_t ab_live_head_read(const ab_live_stream *s, ab_http_field *fields, ab_live_request *request,
                         int *status)
{
    const ab_live_head *h = s->head;
    size_t count = 0;
    *request = (ab_live_request){0};
    for (size_t i = 0; h != NULL && i < h->count; i++) {
        const ab_http_field f = {{h->text.ptr + h->fields[i].name, h->fields[i].name_len},
                                 {h->text.ptr + h->fields[i].value, h->fields[i].value_len}};
        if (!read_pseudo(f, request, status) && count < AB_LIVE_FIELDS_MAX)
            fields[count++] = f;
    }
    request->fields = fields;
    request->count = count;
    return count;
}

static uint8_t *bytes_of(ab_str s)
{
    union {
        const char *from;
        uint8_t *to; /* nghttp2 copies it, and takes no const */
    } cast = {.from = s.ptr == NULL ? "" : s.ptr};
    return cast.to;
}

size_t ab_live_head_write(nghttp2_nv *nv, size_t at, const ab_http_field *fields, size_t count)
{
    if (count > AB_LIVE_FIELDS_MAX)
        return 0;
    for (size_t i = 0; i < count; i++) {
        ab_str name = fields[i].name, value = fields[i].value;
        bool good =
            name.len > 0 && nghttp2_check_header_value(bytes_of(value), value.len) != 0 &&
            (name.ptr[0] == ':' || nghttp2_check_header_name(bytes_of(name), name.len) != 0);
        if (!good)
            return 0;
        nv[at + i] = (nghttp2_nv){.name = bytes_of(name),
                                  .value = bytes_of(value),
                                  .namelen = name.len,
                                  .valuelen = value.len};
    }
    return at + count;
}

/* ----- what is sent ----- */

static void work(ab_live_stream *s)
{
    s->h2->env.on_work(s->h2->env.arg);
}

/* Memory is not kept for streams that have nothing to send. */
static void forget_sent(ab_live_stream *s)
{
    if (s->out_sent < s->out.len)
        return;
    s->out_sent = 0;
    ab_buf_fini(&s->out);
    ab_buf_init(&s->out, OUT_MAX);
}

static ssize_t on_read(nghttp2_session *ng, int32_t id, uint8_t *into, size_t room, uint32_t *flags,
                       nghttp2_data_source *source, void *arg)
{
    (void)ng, (void)id, (void)arg;
    ab_live_stream *s = source->ptr;
    size_t left = s->out.len - s->out_sent;
    size_t len = left < room ? left : room;
    if (len == 0 && !s->out_ended) {
        s->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    if (len > 0)
        memcpy(into, s->out.ptr + s->out_sent, len);
    s->out_sent += len;
    forget_sent(s);
    if (s->out_ended && s->out.len == 0)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)len;
}

nghttp2_data_provider ab_live_stream_source(ab_live_stream *s)
{
    return (nghttp2_data_provider){.source = {.ptr = s}, .read_callback = on_read};
}

static bool is_patient(const ab_live_stream *s)
{
    return s->patient && !s->out_ended && s->out.len - s->out_sent < PATIENT_BYTES;
}

static void resume(ab_live_stream *s)
{
    bool deferred = s->deferred;
    s->deferred = false;
    if (deferred && nghttp2_session_resume_data(s->h2->ng, s->id) != 0)
        s->h2->out_of_memory = true; /* its only error for a stream that is deferred */
    if (is_patient(s))
        s->h2->env.on_patient_work(s->h2->env.arg);
    else if (deferred || s->patient)
        work(s);
}

void ab_live_stream_be_patient(ab_live_stream *s)
{
    s->patient = true;
}

/* What was sent is cut off the front, so that the bytes fit. */
static void make_room(ab_live_stream *s)
{
    if (s->out_sent == 0)
        return;
    memmove(s->out.ptr, s->out.ptr + s->out_sent, s->out.len - s->out_sent);
    s->out.len -= s->out_sent;
    s->out_sent = 0;
}

ab_err ab_live_stream_send(ab_live_stream *s, ab_str bytes)
{
    if (s->out_ended)
        return AB_ERR_CLOSED;
    size_t waits = s->out.len - s->out_sent;
    if (waits > 0 && waits + bytes.len > OUT_MAX) {
        if (!s->starved)
            TAILQ_INSERT_TAIL(&s->h2->starved, s, starved_at);
        s->starved = true;
        return AB_ERR_FULL;
    }
    if (bytes.len > OUT_MAX)
        return AB_ERR_TOOBIG;
    make_room(s);
    ab_buf_put(&s->out, bytes);
    resume(s);
    return ab_buf_status(&s->out);
}

void ab_live_stream_end(ab_live_stream *s)
{
    s->out_ended = true;
    resume(s);
}

static bool has_room(const ab_live_stream *s)
{
    return s->out.len - s->out_sent <= OUT_MAX / 2;
}

/* Who is told may send, cancel and begin: look from the beginning after each, which was taken off.
 */
void ab_live_stream_feed(ab_live_http2 *h)
{
    size_t most = h->count;
    ab_live_stream *s = NULL;
    while (most-- > 0 && (s = TAILQ_FIRST(&h->starved)) != NULL) {
        TAILQ_REMOVE(&h->starved, s, starved_at);
        s->starved = false;
        if (!has_room(s)) {
            s->starved = true;
            TAILQ_INSERT_TAIL(&h->starved, s, starved_at);
        } else if (s->handler != NULL && s->handler->on_room != NULL) {
            s->handler->on_room(s->arg);
        }
    }
}

ab_err ab_live_stream_answer(ab_live_stream *s, int status, const ab_http_field *fields,
                             size_t count)
{
    char text[4] = {(char)('0' + status / 100 % 10), (char)('0' + status / 10 % 10),
                    (char)('0' + status % 10), 0};
    nghttp2_nv nv[AB_LIVE_FIELDS_MAX + 1];
    if (s->has_answered || s->why != AB_ERR_OK)
        return AB_ERR_CLOSED;
    if (status < 200 || status > 599)
        return AB_ERR_INVALID;
    const ab_http_field first = {AB_STR(":status"), {text, 3}};
    (void)ab_live_head_write(nv, 0, &first, 1);
    size_t n = ab_live_head_write(nv, 1, fields, count);
    if (n == 0)
        return AB_ERR_INVALID;
    s->has_answered = true;
    nghttp2_data_provider source = ab_live_stream_source(s);
    if (nghttp2_submit_response(s->h2->ng, s->id, nv, n, &source) != 0)
        return AB_ERR_NOMEM;
    work(s);
    return AB_ERR_OK;
}

void ab_live_stream_consumed(ab_live_stream *s, size_t bytes)
{
    if (bytes > 0 && nghttp2_session_consume_stream(s->h2->ng, s->id, bytes) == NGHTTP2_ERR_NOMEM)
        s->h2->out_of_memory = true;
    work(s);
}

void ab_live_stream_serve(ab_live_stream *s, const ab_live_handler *handler, void *arg)
{
    s->handler = handler;
    s->arg = arg;
}

void ab_live_stream_cancel(ab_live_stream *s)
{
    s->handler = NULL;
    s->out_ended = true;
    if (nghttp2_submit_rst_stream(s->h2->ng, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_CANCEL) != 0)
        s->h2->out_of_memory = true;
    work(s);
}
