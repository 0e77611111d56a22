/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/live/resource/front/front_bed.h"

#include "live/resource/service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* ----- the agent ----- */

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

static void on_data(void *arg, ab_str bytes)
{
    asked *a = arg;
    a->came += bytes.len;
    if (!a->bed->greedy)
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

static void serve(void *arg, ab_live_stream *s, const ab_live_request *request)
{
    bed *b = arg;
    assert_true(b->count < ASKED_MAX);
    asked *a = &b->asked[b->count++];
    *a = (asked){.bed = b, .stream = s};
    snprintf(a->service, sizeof(a->service), "%.*s", AB_STR_ARG(request->service));
    snprintf(a->method, sizeof(a->method), "%.*s", AB_STR_ARG(request->method));
    snprintf(a->path, sizeof(a->path), "%.*s", AB_STR_ARG(request->path));
    ab_live_stream_serve(s, &handler, a);
}

asked *bed_last(bed *b)
{
    assert_true(b->count > 0);
    return &b->asked[b->count - 1];
}

void bed_answer(asked *a, int status, const char *text)
{
    assert_non_null(a->stream);
    assert_int_equal(ab_live_stream_answer(a->stream, status, NULL, 0), AB_ERR_OK);
    assert_int_equal(ab_live_stream_send(a->stream, ab_str_of(text)), AB_ERR_OK);
}

void bed_flood(asked *a, size_t bytes)
{
    a->left = bytes;
    assert_int_equal(ab_live_stream_answer(a->stream, 200, NULL, 0), AB_ERR_OK);
    send_flood(a);
}

void bed_lose_agent(bed *b)
{
    ab_live_hub_disconnected(b->ends.hub, "w1");
}

/* ----- life ----- */

static void write_tokens(bed *b)
{
    static const char text[] = TOKEN_ANY " *\n" TOKEN_W1 " w1\n";
    snprintf(b->tokens, sizeof(b->tokens), "/tmp/ab-front-XXXXXX");
    int fd = mkstemp(b->tokens);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);
}

int bed_start(void **state)
{
    const ab_tls plain = {.insecure = true};
    bed *b = calloc(1, sizeof(*b));
    *state = b;
    b->services[0] = (ab_live_service){AB_RESOURCE_SERVICE, serve, b};
    b->services[1] = (ab_live_service){AB_RESOURCE_EXEC_SERVICE, serve, b};
    joined_open(&b->ends, b->services);
    write_tokens(b);
    const ab_resource_front_env env = {.loop = &b->ends.loop,
                                       .host = "127.0.0.1",
                                       .tls = &plain,
                                       .tokens = b->tokens,
                                       .clock = &b->ends.clock,
                                       .hub = b->ends.hub,
                                       .metrics = b->ends.metrics};
    assert_int_equal(ab_resource_front_start(&env, &b->front, NULL), AB_ERR_OK);
    return 0;
}

int bed_stop(void **state)
{
    bed *b = *state;
    ab_resource_front_free(b->front);
    int rc = joined_close(&b->ends);
    unlink(b->tokens);
    free(b);
    return rc;
}

/* ----- clients ----- */

int bed_dial(const bed *b)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)ab_https_server_port(b->front->server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    int few = 65536; /* so that the kernel does not hold all that a test sends */
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &few, sizeof(few)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &few, sizeof(few)), 0);
    int rc = connect(fd, (struct sockaddr *)&to, sizeof(to));
    assert_true(rc == 0 || errno == EINPROGRESS);
    return fd;
}

size_t bed_offer(bed *b, int fd, ab_str bytes)
{
    size_t sent = 0;
    for (int quiet = 0; quiet < 50 && sent < bytes.len; quiet++) {
        ssize_t n = send(fd, bytes.ptr + sent, bytes.len - sent, MSG_NOSIGNAL);
        if (n > 0) {
            sent += (size_t)n;
            quiet = 0;
        }
        joined_turn(&b->ends);
    }
    return sent;
}

void bed_send(bed *b, int fd, const char *text)
{
    ab_str left = ab_str_of(text);
    for (int64_t until = joined_now_ms() + 60000; left.len > 0 && joined_now_ms() < until;) {
        size_t n = bed_offer(b, fd, left);
        left = (ab_str){left.ptr + n, left.len - n};
    }
    assert_int_equal(left.len, 0);
}

static bool has(const ab_buf *out, const char *text)
{
    size_t len = strlen(text);
    size_t tail = out->len < 256 * 1024 ? out->len : 256 * 1024; /* has what is new */
    return out->len >= len && memmem(out->ptr + out->len - tail, tail, text, len) != NULL;
}

void bed_read(bed *b, int fd, const char *text, ab_buf *out)
{
    char part[65536];
    for (int64_t until = joined_now_ms() + 60000; joined_now_ms() < until;) {
        ssize_t n = recv(fd, part, sizeof(part), 0);
        if (n > 0)
            ab_buf_put(out, (ab_str){part, (size_t)n});
        if (n == 0 && text == NULL)
            return;
        if (n == 0 || (n < 0 && errno != EAGAIN))
            break;
        if (n > 0 && text != NULL && has(out, text))
            return;
        joined_turn(&b->ends);
    }
    ab_buf_putc(out, '\0');
    fail_msg("no %s; came: %.2000s", text == NULL ? "end" : text, out->ptr);
}

int bed_ask(bed *b, const char *method, const char *target)
{
    char head[1024];
    size_t before = b->count;
    int fd = bed_dial(b);
    snprintf(head, sizeof(head), "%s %s HTTP/1.1\r\n" AS_W1 "\r\n", method, target);
    bed_send(b, fd, head);
    JOINED_WAIT(&b->ends, b->count == before + 1);
    return fd;
}

int bed_begin(bed *b, const char *target, const char *text)
{
    ab_buf out;
    ab_buf_init(&out, 65536);
    int fd = bed_ask(b, "GET", target);
    bed_answer(bed_last(b), 200, text);
    bed_read(b, fd, text, &out);
    ab_buf_fini(&out);
    return fd;
}

void bed_refused(bed *b, const char *head, ab_buf *out)
{
    ab_buf_clear(out);
    int fd = bed_dial(b);
    bed_send(b, fd, head);
    bed_read(b, fd, "\"code\":", out);
    close(fd);
    ab_buf_putc(out, '\0');
}
