/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/net/http/https_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* One request in the application. */
typedef struct {
    fixture *f;
    ab_https_request *r;
    size_t left; /* of /stream */
    size_t count;
    bool counts;
} exchange;

/* ---- the application ---- */

static void go_on_streaming(exchange *x)
{
    static char piece[16384];
    while (x->left > 0) {
        size_t len = x->left < sizeof(piece) ? x->left : sizeof(piece);
        ab_err e = ab_https_send(x->r, (ab_str){piece, len});
        if (e == AB_ERR_FULL)
            return;
        assert_int_equal(e, AB_ERR_OK);
        x->left -= len;
        x->f->accepted += len;
    }
    ab_https_finish(x->r);
}

static void on_data(void *arg, ab_str piece)
{
    exchange *x = arg;
    x->count += piece.len;
    x->f->came += piece.len;
}

static void on_end(void *arg)
{
    exchange *x = arg;
    char text[32];
    if (!x->counts)
        return;
    snprintf(text, sizeof(text), "%zu\n", x->count);
    assert_int_equal(ab_https_reply(x->r, 200, "text/plain", ab_str_of(text)), AB_ERR_OK);
}

static void on_message(void *arg, ab_str piece, bool ends)
{
    exchange *x = arg;
    x->f->came += piece.len;
    x->f->messages += ends;
    if (ends && piece.len < 100)
        assert_int_equal(ab_https_message(x->r, piece), AB_ERR_OK);
}

static void on_writable(void *arg)
{
    go_on_streaming(arg);
}

static void on_over(void *arg, ab_err why, unsigned code)
{
    exchange *x = arg;
    x->f->overs++;
    x->f->closed += why == AB_ERR_CLOSED;
    x->f->why = why;
    x->f->code = code;
    if (x->f->held == x->r)
        x->f->held = NULL;
    free(x);
}

static const ab_https_handler handler = {.on_data = on_data,
                                         .on_end = on_end,
                                         .on_message = on_message,
                                         .on_writable = on_writable,
                                         .on_over = on_over};

static void echo_head(ab_https_request *r, const ab_https_info *info)
{
    ab_buf text;
    ab_buf_init(&text, 65536);
    ab_buf_printf(&text, "%.*s|%.*s|%.*s|%s|%s\n", AB_STR_ARG(info->head->method),
                  AB_STR_ARG(info->head->path), AB_STR_ARG(info->head->query), info->address,
                  info->common_name);
    const ab_http_field fields[] = {{AB_STR("x-a"), AB_STR("b")},
                                    {AB_STR("Content-Length"), AB_STR("7")},
                                    {AB_STR("Connection"), AB_STR("upgrade")}};
    assert_int_equal(ab_https_answer(r, 201, fields, 3, (int64_t)text.len), AB_ERR_OK);
    assert_int_equal(ab_https_send(r, ab_buf_str(&text)), AB_ERR_OK);
    ab_https_finish(r);
    ab_buf_fini(&text);
}

static void open_socket(ab_https_request *r, const ab_https_info *info)
{
    const char *protocol = ab_https_offers(info, "v5.channel.k8s.io")   ? "v5.channel.k8s.io"
                           : ab_https_offers(info, "v4.channel.k8s.io") ? "v4.channel.k8s.io"
                                                                        : NULL;
    if (!info->websocket || protocol == NULL)
        assert_int_equal(ab_https_reply(r, 400, "text/plain", AB_STR("no protocol\n")), AB_ERR_OK);
    else
        assert_int_equal(ab_https_accept(r, protocol), AB_ERR_OK);
}

static void begin_stream(exchange *x, ab_https_request *r)
{
    x->left = STREAM;
    assert_int_equal(ab_https_answer(r, 200, NULL, 0, -1), AB_ERR_OK);
    go_on_streaming(x);
}

static void answer_short(ab_https_request *r)
{
    assert_int_equal(ab_https_answer(r, 200, NULL, 0, 10), AB_ERR_OK);
    assert_int_equal(ab_https_send(r, AB_STR("12345678901")), AB_ERR_TOOBIG);
    assert_int_equal(ab_https_send(r, AB_STR("123")), AB_ERR_OK);
    ab_https_finish(r);
}

static void on_request(void *arg, ab_https_request *r, const ab_https_info *info)
{
    fixture *f = arg;
    ab_str path = info->head->path;
    f->requests++;
    if (ab_str_is(path, "/nobody"))
        return;
    exchange *x = calloc(1, sizeof(*x));
    *x = (exchange){.f = f, .r = r, .counts = ab_str_is(path, "/count")};
    ab_https_take(r, &handler, x);
    if (ab_str_starts(path, "/echo"))
        echo_head(r, info);
    else if (ab_str_is(path, "/stream"))
        begin_stream(x, r);
    else if (ab_str_is(path, "/short"))
        answer_short(r);
    else if (ab_str_is(path, "/ws"))
        open_socket(r, info);
    else if (ab_str_is(path, "/abort"))
        ab_https_abort(r);
    else if (!x->counts)
        f->held = r;
    if (ab_str_is(path, "/pause"))
        ab_https_pause(r);
}

/* ---- the fixture ---- */

const ab_https_limits patient = {
    .connections = 8, .head_bytes = 4096, .message_bytes = 65536, .grace_ms = 20, .head_ms = 60000};
static const ab_https_limits hasty = {.connections = 8,
                                      .head_bytes = 4096,
                                      .message_bytes = 65536,
                                      .head_ms = 300,
                                      .body_ms = 300,
                                      .idle_ms = 2000,
                                      .stall_ms = 400,
                                      .ping_ms = 200};

int start_with(void **state, const ab_https_limits *limits, bool one_request)
{
    fixture *f = calloc(1, sizeof(*f));
    const ab_tls plain = {.insecure = true};
    const ab_https_options o = {.host = "127.0.0.1",
                                .tls = &plain,
                                .limits = limits,
                                .on_request = on_request,
                                .arg = f,
                                .one_request = one_request};
    *state = f;
    if (uv_loop_init(&f->loop) != 0)
        return -1;
    return ab_https_server_start(&f->loop, &o, &f->server, NULL) != AB_ERR_OK;
}

int start(void **state)
{
    return start_with(state, &patient, false);
}

int start_one_request(void **state)
{
    return start_with(state, &patient, true);
}

int start_hasty(void **state)
{
    return start_with(state, &hasty, false);
}

int stop(void **state)
{
    fixture *f = *state;
    ab_https_server_free(f->server);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&f->loop); /* busy when a handle was left open */
    free(f);
    return rc;
}

int dial(const fixture *f)
{
    return socket_dial(ab_https_server_port(f->server));
}

void turn(fixture *f, int fd, short events)
{
    socket_turn(&f->loop, fd, events);
}

void send_all(fixture *f, int fd, ab_str text)
{
    socket_send(&f->loop, fd, text, PATIENCE_MS);
}

bool read_until(fixture *f, int fd, ab_buf *out, const char *text)
{
    char part[65536];
    for (int64_t until = now_ms() + PATIENCE_MS; now_ms() < until;) {
        ssize_t n = recv(fd, part, sizeof(part), 0);
        if (n > 0)
            ab_buf_put(out, (ab_str){part, (size_t)n});
        else if (n == 0 || errno != EAGAIN)
            return text == NULL;
        else
            turn(f, fd, POLLIN);
        size_t tail = out->len < 2 * sizeof(part) ? out->len : 2 * sizeof(part); /* has the new */
        if (text != NULL && tail > 0 &&
            memmem(out->ptr + out->len - tail, tail, text, strlen(text)))
            return true;
    }
    return false;
}

void expect(fixture *f, const char *request, const char *text)
{
    ab_buf out;
    ab_buf_init(&out, 64u << 20);
    int fd = dial(f);
    send_all(f, fd, ab_str_of(request));
    if (!read_until(f, fd, &out, text))
        fail_msg("%s\n--- no %s in:\n%s", request, text, out.ptr == NULL ? "" : out.ptr);
    close(fd);
    ab_buf_fini(&out);
}

void expect_end(fixture *f, const char *request, const char *text)
{
    ab_buf out;
    ab_buf_init(&out, 64u << 20);
    int fd = dial(f);
    send_all(f, fd, ab_str_of(request));
    assert_true(read_until(f, fd, &out, NULL));
    if (out.len == 0 || strstr(out.ptr, text) == NULL)
        fail_msg("%s\n--- no %s in:\n%s", request, text, out.ptr == NULL ? "" : out.ptr);
    close(fd);
    ab_buf_fini(&out);
}
