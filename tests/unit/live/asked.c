/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/live/asked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

static void send_flood(asked *a)
{
    static const char zeros[16384];
    while (a->stream != NULL && a->left > 0) {
        size_t len = a->left < sizeof(zeros) ? a->left : sizeof(zeros);
        if (ab_live_stream_send(a->stream, (ab_str){zeros, len}) != AB_ERR_OK)
            return; /* on_room follows */
        a->left -= len;
        if (a->left == 0)
            ab_live_stream_end(a->stream);
    }
}

void asked_flood(asked *a, size_t bytes)
{
    a->left = bytes;
    send_flood(a);
}

static void on_data(void *arg, ab_str bytes)
{
    asked *a = arg;
    a->came += bytes.len;
    if (!a->list->greedy)
        ab_live_stream_consumed(a->stream, bytes.len);
}

static void on_end(void *arg)
{
    ((asked *)arg)->ended = true;
}

static void on_room(void *arg)
{
    send_flood(arg);
}

static void on_over(void *arg, ab_err code, const ab_error *err)
{
    asked *a = arg;
    (void)err;
    a->stream = NULL;
    a->code = code;
}

static const ab_live_handler handler = {
    .on_data = on_data, .on_end = on_end, .on_room = on_room, .on_over = on_over};

void asked_serve(void *list, ab_live_stream *s, const ab_live_request *request)
{
    asked_list *l = list;
    assert_true(l->count < ASKED_MAX);
    asked *a = &l->items[l->count++];
    *a = (asked){.list = l, .stream = s};
    snprintf(a->service, sizeof(a->service), "%.*s", AB_STR_ARG(request->service));
    snprintf(a->method, sizeof(a->method), "%.*s", AB_STR_ARG(request->method));
    snprintf(a->path, sizeof(a->path), "%.*s", AB_STR_ARG(request->path));
    ab_live_stream_serve(s, &handler, a);
}
