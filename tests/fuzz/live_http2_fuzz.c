/* SPDX-License-Identifier: Apache-2.0
 *
 * What the other end of a session of live access sends, in pieces of the size that the first byte
 * says; its lowest bit: it comes to the principal, which has asked something, else to an agent,
 * after a good preface. Every stream is told its end once.
 */
#include "live/lane/http2.h"

#include <assert.h>
#include <stdlib.h>

#define STREAMS 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct {
    ab_live_http2 *h2;
    size_t begun, over, sent;
} end;

typedef struct {
    end *end;
    ab_live_stream *stream;
    size_t bytes;
} ear;

static void on_answer(void *arg, int status, const ab_http_field *fields, size_t count)
{
    (void)arg;
    assert(status >= 200 && status <= 999 && count <= AB_LIVE_FIELDS_MAX);
    (void)ab_http_field_find(fields, count, "content-type");
}

static void on_data(void *arg, ab_str bytes)
{
    ear *e = arg;
    e->bytes += bytes.len;
    if (e->bytes % 3 != 0)
        ab_live_stream_consumed(e->stream, bytes.len);
    if (ab_live_stream_send(e->stream, bytes) == AB_ERR_TOOBIG)
        abort();
}

static void on_end(void *arg)
{
    ab_live_stream_end(((ear *)arg)->stream);
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    ear *e = arg;
    assert((code == AB_ERR_OK) == (err == NULL));
    e->end->over++;
    free(e);
}

static const ab_live_handler handler = {
    .on_answer = on_answer, .on_data = on_data, .on_end = on_end, .on_over = on_over};

static void on_request(void *arg, ab_live_stream *s, const ab_live_request *request)
{
    end *to = arg;
    assert(request->method.len > 0 && request->count <= AB_LIVE_FIELDS_MAX);
    ear *e = to->begun < STREAMS ? calloc(1, sizeof(*e)) : NULL;
    if (e == NULL)
        return;
    *e = (ear){.end = to, .stream = s};
    to->begun++;
    ab_live_stream_serve(s, &handler, e);
    if (ab_live_stream_answer(s, 200, request->fields, request->count) == AB_ERR_FULL)
        abort();
}

static ab_err write_out(void *arg, ab_str bytes)
{
    ((end *)arg)->sent += bytes.len;
    return AB_ERR_OK;
}

static bool has_room(void *arg)
{
    return ((end *)arg)->sent < 64u * 1024 * 1024;
}

static void on_work(void *arg)
{
    (void)arg;
}

static void ask(end *e)
{
    const ab_live_request r = {.service = AB_STR("kubernetes"),
                               .method = AB_STR("GET"),
                               .path = AB_STR("/api"),
                               .deadline_ms = 1000};
    ear *heard = calloc(1, sizeof(*heard));
    if (heard == NULL)
        return;
    heard->end = e;
    if (ab_live_http2_begin(e->h2, &r, 0, &handler, heard, &heard->stream) != AB_ERR_OK)
        abort();
    e->begun++;
}

static void feed(end *e, ab_str bytes, size_t piece)
{
    ab_err rc = AB_ERR_OK;
    for (size_t at = 0; at < bytes.len && rc == AB_ERR_OK; at += piece) {
        size_t len = bytes.len - at < piece ? bytes.len - at : piece;
        rc = ab_live_http2_receive(e->h2, (ab_str){bytes.ptr + at, len}, (int64_t)at, NULL);
        if (rc == AB_ERR_OK)
            rc = ab_live_http2_flush(e->h2, NULL);
        if (rc == AB_ERR_OK && at % 7 == 0)
            rc = ab_live_http2_tick(e->h2, (int64_t)at, NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    if (size == 0)
        return 0;
    end e = {0};
    bool client = (data[0] & 1) != 0;
    const ab_live_http2_env env = {client, write_out, has_room, on_work, on_work, on_request, &e};
    if (ab_live_http2_new(&env, &e.h2) != AB_ERR_OK)
        return 0;
    for (int i = 0; client && i < 3; i++)
        ask(&e);
    if (!client)
        feed(&e, (ab_str){preface, sizeof(preface) - 1}, sizeof(preface));
    feed(&e, (ab_str){(const char *)data + 1, size - 1}, 1u + data[0]);
    const ab_error err = {.code = AB_ERR_UNAVAILABLE, .text = "over"};
    ab_live_http2_end(e.h2, AB_ERR_UNAVAILABLE, &err);
    assert(e.begun == e.over);
    return 0;
}
