/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients are plain sockets of this process; the loop is turned until what they wait for is there.
 * The application answers by path, and notes what it is told.
 */
#include "net/http/https_server.h"

#include "base/core/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 60000
#define STREAM      (32u * 1024 * 1024)

typedef struct fixture {
    uv_loop_t loop;
    ab_https_server *server;
    int requests;
    int overs;
    int closed; /* overs because the client has gone */
    ab_err why; /* of the last over */
    unsigned code;
    size_t came;            /* bytes of bodies */
    size_t messages;        /* that came whole */
    size_t accepted;        /* bytes of /stream that the server took */
    ab_https_request *held; /* the last of /hold, /pause, /later */
} fixture;

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

static const ab_https_handler handler = {on_data, on_end, on_message, on_writable, on_over};

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

static const ab_https_limits patient = {
    .connections = 8, .head_bytes = 4096, .message_bytes = 65536};
static const ab_https_limits hasty = {.connections = 8,
                                      .head_bytes = 4096,
                                      .message_bytes = 65536,
                                      .head_ms = 300,
                                      .body_ms = 300,
                                      .idle_ms = 2000,
                                      .stall_ms = 400,
                                      .ping_ms = 200};

static int start_with(void **state, const ab_https_limits *limits)
{
    fixture *f = calloc(1, sizeof(*f));
    const ab_tls plain = {.insecure = true};
    const ab_https_options o = {
        .host = "127.0.0.1", .tls = &plain, .limits = limits, .on_request = on_request, .arg = f};
    *state = f;
    if (uv_loop_init(&f->loop) != 0)
        return -1;
    return ab_https_server_start(&f->loop, &o, &f->server, NULL) != AB_ERR_OK;
}

/* A busy machine does not let its clients down. */
static int start(void **state)
{
    return start_with(state, &patient);
}

static int start_hasty(void **state)
{
    return start_with(state, &hasty);
}

static int stop(void **state)
{
    fixture *f = *state;
    ab_https_server_free(f->server);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&f->loop); /* busy when a handle was left open */
    free(f);
    return rc;
}

static int dial(const fixture *f)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)ab_https_server_port(f->server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    int rc = connect(fd, (struct sockaddr *)&to, sizeof(to));
    assert_true(rc == 0 || errno == EINPROGRESS);
    return fd;
}

/* Turn the loop once and wait a little for the client. */
static void turn(fixture *f, int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    uv_run(&f->loop, UV_RUN_NOWAIT);
    (void)poll(&p, 1, 1);
}

static int64_t now_ms(void)
{
    return ab_clock_mono_ms(&ab_clock_real);
}

/* Send all of `text`; what the server no longer takes is left out. */
static void send_all(fixture *f, int fd, ab_str text)
{
    for (int64_t until = now_ms() + PATIENCE_MS; text.len > 0 && now_ms() < until;) {
        ssize_t n = send(fd, text.ptr, text.len, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN)
            return;
        if (n > 0)
            text = (ab_str){text.ptr + n, text.len - (size_t)n};
        turn(f, fd, POLLOUT);
    }
}

/* Read until `text` has come, or to the end of the connection where it is NULL. */
static bool read_until(fixture *f, int fd, ab_buf *out, const char *text)
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

#define WAIT_FOR(f, condition)                                                                     \
    do {                                                                                           \
        int64_t until_ = now_ms() + PATIENCE_MS;                                                   \
        while (!(condition) && now_ms() < until_)                                                  \
            turn(f, -1, 0);                                                                        \
        assert_true(condition);                                                                    \
    } while (0)

/* A new connection, on which `request` is sent, and read until `text` comes (NULL: the end). */
static void expect(fixture *f, const char *request, const char *text)
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

/* As expect, and the connection ends. */
static void expect_end(fixture *f, const char *request, const char *text)
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

#define HOST "Host: x\r\n"

/* ---- requests and answers ---- */

static void requests_come_as_they_were_sent(void **state)
{
    fixture *f = *state;
    expect(f, "PUT /echo/a%3Ab?x=a%26b%3D+c&y HTTP/1.1\r\n" HOST "\r\n",
           "\r\n\r\nPUT|/echo/a%3Ab|x=a%26b%3D+c&y|127.0.0.1|\n");
    expect(
        f, "OPTIONS /echo HTTP/1.1\r\n" HOST "\r\n",
        "HTTP/1.1 201 Created\r\nx-a: b\r\ncontent-length: 26\r\n\r\nOPTIONS|/echo||127.0.0.1|\n");
    expect(f, "GET /nobody HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 404 Not Found\r\n");
    WAIT_FOR(f, f->overs == 2);
}

static void a_connection_is_kept_and_requests_may_be_pipelined(void **state)
{
    fixture *f = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int fd = dial(f);
    send_all(f, fd,
             AB_STR("POST /count HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello"
                    "GET /echo/2 HTTP/1.1\r\n" HOST "\r\nGET /echo/3 HTTP/1.1\r\n" HOST "\r\n"));
    assert_true(read_until(f, fd, &out, "/echo/3"));
    assert_non_null(strstr(out.ptr, "\r\n\r\n5\n"));
    send_all(f, fd, AB_STR("GET /echo/4 HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n"));
    assert_true(read_until(f, fd, &out, NULL));
    assert_non_null(strstr(out.ptr, "connection: close\r\n\r\nGET|/echo/4"));
    assert_int_equal(f->requests, 4);
    close(fd);
    ab_buf_fini(&out);
}

static void head_has_the_length_and_no_body(void **state)
{
    fixture *f = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int fd = dial(f);
    send_all(f, fd,
             AB_STR("HEAD /echo HTTP/1.1\r\n" HOST "\r\nGET /echo HTTP/1.1\r\n" HOST "\r\n"));
    assert_true(read_until(f, fd, &out, "GET|"));
    assert_non_null(strstr(out.ptr, "content-length: 23\r\n\r\nHTTP/1.1 201"));
    close(fd);
    ab_buf_fini(&out);
}

static void bodies_in_chunks_and_expectations_are_understood(void **state)
{
    fixture *f = *state;
    expect(f,
           "POST /count HTTP/1.1\r\n" HOST
           "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3\r\nabc\r\n0\r\n\r\n",
           "\r\n\r\n8\n");
    expect(f, "POST /count HTTP/1.1\r\n" HOST "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n",
           "HTTP/1.1 100 Continue\r\n\r\n");
    WAIT_FOR(f, f->closed == 1);
}

static void a_long_answer_is_streamed_with_back_pressure(void **state)
{
    fixture *f = *state;
    ab_buf out;
    ab_buf_init(&out, 2 * STREAM);
    int fd = dial(f);
    send_all(f, fd, AB_STR("GET /stream HTTP/1.1\r\n" HOST "\r\n"));
    WAIT_FOR(f, f->accepted > 0);
    for (int i = 0; i < 50; i++)
        turn(f, -1, 0);
    assert_true(f->accepted < STREAM / 2); /* nobody has read it */
    assert_true(read_until(f, fd, &out, "\r\n0\r\n\r\n"));
    assert_true(out.len > STREAM);
    assert_int_equal(f->accepted, STREAM);
    WAIT_FOR(f, f->overs == 1);
    assert_int_equal(f->why, AB_ERR_OK);
    close(fd);
    ab_buf_fini(&out);
}

static void a_paused_body_holds_up_its_client(void **state)
{
    fixture *f = *state;
    static char bytes[65536];
    ssize_t n = 1;
    size_t sent = 0;
    int fd = dial(f);
    /* Some of the body comes with the head. */
    send_all(f, fd,
             AB_STR("POST /pause HTTP/1.1\r\n" HOST "Content-Length: 33554437\r\n\r\nhello"));
    WAIT_FOR(f, f->held != NULL);
    for (int quiet = 0; quiet < 20 && sent<STREAM; quiet = n> 0 ? 0 : quiet + 1) {
        n = send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
        turn(f, -1, 0);
    }
    assert_true(sent < STREAM / 2);
    assert_int_equal(f->came, 0);
    ab_https_resume(f->held);
    while (sent < STREAM) {
        size_t len = STREAM - sent < sizeof(bytes) ? STREAM - sent : sizeof(bytes);
        n = send(fd, bytes, len, MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
        turn(f, fd, POLLOUT);
    }
    WAIT_FOR(f, f->came == STREAM + 5);
    close(fd);
    WAIT_FOR(f, f->overs == 1);
}

static void a_client_that_leaves_is_told_once(void **state)
{
    fixture *f = *state;
    int fd = dial(f);
    send_all(f, fd, AB_STR("GET /hold HTTP/1.1\r\n" HOST "\r\n"));
    WAIT_FOR(f, f->held != NULL);
    assert_int_equal(ab_https_answer(f->held, 200, NULL, 0, -1), AB_ERR_OK);
    assert_int_equal(ab_https_answer(f->held, 200, NULL, 0, -1), AB_ERR_CLOSED);
    close(fd);
    WAIT_FOR(f, f->overs == 1);
    assert_int_equal(f->why, AB_ERR_CLOSED);
    fd = dial(f);
    send_all(f, fd, AB_STR("POST /pause HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\n"));
    WAIT_FOR(f, f->held != NULL);
    close(fd);
    WAIT_FOR(f, f->overs == 2);
    assert_int_equal(f->closed, 2);
}

static void an_answer_that_is_not_whole_cuts_the_connection(void **state)
{
    fixture *f = *state;
    /* What follows it is not answered, or it would be taken for the rest of the body. */
    expect_end(f, "GET /short HTTP/1.1\r\n" HOST "\r\nGET /echo HTTP/1.1\r\n" HOST "\r\n",
               "content-length: 10\r\n\r\n123");
    assert_int_equal(f->requests, 1);
    ab_buf out;
    ab_buf_init(&out, 4096);
    int fd = dial(f);
    send_all(f, fd, AB_STR("GET /abort HTTP/1.1\r\n" HOST "\r\n"));
    assert_true(read_until(f, fd, &out, NULL));
    assert_int_equal(out.len, 0);
    assert_int_equal(f->closed, 1);
    close(fd);
}

static void a_body_that_nobody_wants_does_not_cost_the_answer(void **state)
{
    fixture *f = *state;
    static char bytes[1024 * 1024];
    ab_buf out;
    ab_buf_init(&out, 65536);
    int fd = dial(f);
    send_all(f, fd, AB_STR("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\n"));
    assert_true(read_until(f, fd, &out, "POST|"));
    send_all(f, fd, AB_STR("abcPOST /echo HTTP/1.1\r\n" HOST "Content-Length: 1048576\r\n\r\n"));
    send_all(f, fd, (ab_str){bytes, sizeof(bytes)});
    assert_true(read_until(f, fd, &out, NULL));
    assert_non_null(strstr(out.ptr, "connection: close"));
    close(fd);
    ab_buf_fini(&out);
}

/* ---- those who mean harm ---- */

static void ambiguous_and_bad_requests_are_refused(void **state)
{
    fixture *f = *state;
    expect_end(
        f, "POST /count HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
        "HTTP/1.1 400 ");
    expect_end(f,
               "POST /count HTTP/1.1\r\n" HOST
               "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /echo",
               "HTTP/1.1 400 ");
    expect_end(f, "GET /echo/../admin HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 400 ");
    expect_end(f, "GET /echo/%2e%2e/admin HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 400 ");
    expect_end(f, "GET /echo%2fadmin HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 400 ");
    expect_end(f, "GET /echo HTTP/1.1\r\n\r\n", "exactly one Host");
    expect_end(f, "GET /echo HTTP/1.0\r\n\r\n", "HTTP/1.1 505 ");
    expect_end(f, "\x16\x03\x01\x02\r\n\r\n", "HTTP/1.1 400 ");
    expect_end(f,
               "POST /count HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n",
               "HTTP/1.1 400 ");
    WAIT_FOR(f, f->overs == 1);
    assert_int_equal(f->why, AB_ERR_PARSE);
    assert_int_equal(f->requests, 1);
}

static void heads_are_bounded(void **state)
{
    fixture *f = *state;
    static char big[20000];
    memset(big, 'a', sizeof(big) - 1);
    memcpy(big, "GET / HTTP/1.1\r\nX: ", 19);
    expect_end(f, big, "HTTP/1.1 431 ");
    memcpy(big + 6000, "\r\n\r\n", 5);
    expect_end(f, big, "HTTP/1.1 431 ");
}

static void slow_clients_are_let_go(void **state)
{
    fixture *f = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int fd = dial(f);
    int silent = dial(f);
    int64_t until = now_ms() + PATIENCE_MS;
    char peek;
    /* A byte now and then does not help. */
    send_all(f, fd, AB_STR("GET / HTTP/1.1\r\nA: "));
    while (now_ms() < until && recv(fd, &peek, 1, MSG_PEEK) < 0 && errno == EAGAIN) {
        (void)send(fd, "a", 1, MSG_NOSIGNAL);
        turn(f, fd, POLLIN);
    }
    assert_true(read_until(f, fd, &out, NULL));
    assert_non_null(strstr(out.ptr, "HTTP/1.1 408 "));
    assert_true(read_until(f, silent, &out, NULL));
    close(fd);
    close(silent);
    ab_buf_clear(&out);
    fd = dial(f);
    send_all(f, fd, AB_STR("POST /count HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nabc"));
    assert_true(read_until(f, fd, &out, NULL));
    assert_non_null(strstr(out.ptr, "HTTP/1.1 408 "));
    assert_int_equal(f->why, AB_ERR_TIMEOUT);
    assert_int_equal(f->overs, 1);
    close(fd);
    ab_buf_fini(&out);
}

static void a_viewer_that_never_reads_is_let_go(void **state)
{
    fixture *f = *state;
    int fd = dial(f);
    send_all(f, fd, AB_STR("GET /stream HTTP/1.1\r\n" HOST "\r\n"));
    WAIT_FOR(f, f->overs == 1);
    assert_int_equal(f->why, AB_ERR_TIMEOUT);
    assert_true(f->accepted < STREAM / 2);
    close(fd);
}

static void connections_are_bounded_and_idle_ones_make_room(void **state)
{
    fixture *f = *state;
    int fds[20];
    for (size_t i = 0; i < 20; i++) {
        ab_buf out;
        ab_buf_init(&out, 65536);
        fds[i] = dial(f);
        send_all(f, fds[i], AB_STR("GET /echo HTTP/1.1\r\n" HOST "\r\n"));
        assert_true(read_until(f, fds[i], &out, "GET|"));
        assert_true(ab_https_server_connections(f->server) <= patient.connections);
        ab_buf_fini(&out);
    }
    for (size_t i = 0; i < 20; i++)
        close(fds[i]);
}

static void who_finds_no_room_waits(void **state)
{
    fixture *f = *state;
    int fds[9];
    for (int i = 0; i < 7; i++) {
        fds[i] = dial(f);
        send_all(f, fds[i], AB_STR("GET /hold HTTP/1.1\r\n" HOST "\r\n"));
        WAIT_FOR(f, f->requests == i + 1);
    }
    fds[7] = dial(f); /* its request is under way: it does not make room */
    fds[8] = dial(f);
    send_all(f, fds[8], AB_STR("GET /echo HTTP/1.1\r\n" HOST "\r\n"));
    int64_t since = now_ms();
    WAIT_FOR(f, now_ms() - since > 200); /* the server has looked for room several times */
    assert_int_equal(f->requests, 7);
    send_all(f, fds[7], AB_STR("GET /hold HTTP/1.1\r\n" HOST "\r\n"));
    WAIT_FOR(f, f->requests == 8);
    close(fds[0]);
    ab_buf out;
    ab_buf_init(&out, 65536);
    assert_true(read_until(f, fds[8], &out, "GET|"));
    for (int i = 1; i < 9; i++)
        close(fds[i]);
    ab_buf_fini(&out);
}

static void freeing_tells_those_under_way(void **state)
{
    fixture *f = *state;
    int fd = dial(f);
    int half = dial(f);
    send_all(f, fd, AB_STR("GET /hold HTTP/1.1\r\n" HOST "\r\n"));
    send_all(f, half, AB_STR("GET /hold HT"));
    WAIT_FOR(f, f->held != NULL);
    ab_https_server_free(f->server);
    f->server = NULL;
    assert_int_equal(f->closed, 1);
    close(fd);
    close(half);
}

/* ---- WebSockets ---- */

#define UPGRADE                                                                                    \
    HOST "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"              \
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

/* A frame of a client, masked with zeros. */
#define FRAME(head, len) head len "\0\0\0\0"

static int open_websocket(fixture *f, ab_buf *out)
{
    int fd = dial(f);
    ab_buf_init(out, 1u << 20);
    send_all(f, fd,
             AB_STR("GET /ws HTTP/1.1\r\n" UPGRADE
                    "Sec-WebSocket-Protocol: v5.channel.k8s.io, v4.channel.k8s.io\r\n\r\n"));
    assert_true(read_until(f, fd, out, "\r\n\r\n"));
    assert_non_null(strstr(out->ptr, "HTTP/1.1 101 "));
    assert_non_null(strstr(out->ptr, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    assert_non_null(strstr(out->ptr, "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n"));
    ab_buf_clear(out);
    return fd;
}

static void messages_go_both_ways(void **state)
{
    fixture *f = *state;
    ab_buf out;
    int fd = open_websocket(f, &out);
    send_all(f, fd, AB_STR(FRAME("\x82", "\x83") "abc"));
    assert_true(read_until(f, fd, &out,
                           "\x82\x03"
                           "abc"));
    /* One message in two frames, with a ping between. */
    send_all(
        f, fd,
        AB_STR(FRAME("\x02", "\x82") "de" FRAME("\x89", "\x81") "p" FRAME("\x80", "\x81") "f"));
    assert_true(read_until(f, fd, &out, "\x8a\x01p"));
    WAIT_FOR(f, f->messages == 2);
    assert_int_equal(f->came, 6);
    send_all(f, fd, AB_STR(FRAME("\x88", "\x82") "\x03\xe9"));
    assert_true(read_until(f, fd, &out, NULL));
    assert_non_null(memmem(out.ptr, out.len, "\x88\x02\x03\xe9", 4));
    assert_int_equal(f->overs, 1);
    assert_int_equal(f->why, AB_ERR_OK);
    assert_int_equal(f->code, 1001);
    close(fd);
    ab_buf_fini(&out);
}

static void a_websocket_without_a_known_protocol_gets_an_answer(void **state)
{
    fixture *f = *state;
    expect(f, "GET /ws HTTP/1.1\r\n" UPGRADE "Sec-WebSocket-Protocol: channel.k8s.io\r\n\r\n",
           "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: 12\r\n\r\n"
           "no protocol\n");
    expect(f, "GET /ws HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n",
           "no protocol\n");
    expect_end(f,
               "GET /ws HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n"
               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n",
               "HTTP/1.1 400 ");
}

static void a_websocket_may_be_accepted_later(void **state)
{
    fixture *f = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int fd = dial(f);
    /* The client may not wait for the answer. */
    send_all(f, fd, AB_STR("GET /later HTTP/1.1\r\n" UPGRADE "\r\n" FRAME("\x82", "\x83") "abc"));
    WAIT_FOR(f, f->held != NULL);
    assert_int_equal(ab_https_message(f->held, AB_STR("x")), AB_ERR_CLOSED);
    assert_int_equal(ab_https_accept(f->held, NULL), AB_ERR_OK);
    assert_true(read_until(f, fd, &out,
                           "\x82\x03"
                           "abc"));
    ab_https_close(f->held, 1000, "bye");
    assert_true(read_until(f, fd, &out,
                           "\x88\x05\x03\xe8"
                           "bye"));
    assert_int_equal(f->overs, 0);
    send_all(f, fd, AB_STR(FRAME("\x88", "\x82") "\x03\xe8"));
    WAIT_FOR(f, f->overs == 1);
    assert_int_equal(f->code, 1000);
    close(fd);
    ab_buf_fini(&out);
}

static void expect_close(fixture *f, ab_str frames, const char *code, ab_err why)
{
    ab_buf out;
    int overs = f->overs;
    int fd = open_websocket(f, &out);
    send_all(f, fd, frames);
    assert_true(read_until(f, fd, &out, NULL));
    assert_true(out.len >= 4 && out.ptr[0] == '\x88');
    assert_memory_equal(out.ptr + 2, code, 2);
    assert_int_equal(f->overs, overs + 1);
    assert_int_equal(f->why, why);
    close(fd);
    ab_buf_fini(&out);
}

static void broken_frames_close_the_websocket(void **state)
{
    fixture *f = *state;
    expect_close(f,
                 AB_STR("\x82\x03"
                        "abc"),
                 "\x03\xea", AB_ERR_PARSE); /* not masked */
    expect_close(f, AB_STR(FRAME("\x81", "\x83") "abc"), "\x03\xeb", AB_ERR_UNSUPPORTED);
    expect_close(f, AB_STR(FRAME("\xf2", "\x83") "abc"), "\x03\xea", AB_ERR_PARSE);
    expect_close(f, AB_STR(FRAME("\x80", "\x83") "abc"), "\x03\xea", AB_ERR_PARSE);
    expect_close(f, AB_STR("\x82\xff\0\0\0\0\0\x02\0\0\0\0\0\0aaaa"), "\x03\xf1", AB_ERR_TOOBIG);
}

static void a_flood_of_pings_is_bounded(void **state)
{
    fixture *f = *state;
    static char flood[1u << 20];
    static const char ping[] = FRAME("\x89", "\x80");
    ab_buf out;
    int fd = open_websocket(f, &out);
    for (size_t i = 0; i + 6 <= sizeof(flood); i += 6)
        memcpy(flood + i, ping, 6);
    for (int i = 0; i < 64; i++) {
        (void)send(fd, flood, sizeof(flood) / 6 * 6, MSG_NOSIGNAL);
        turn(f, -1, 0);
    }
    /* It is not read by its client, and so let go; others are served. */
    expect(f, "GET /echo HTTP/1.1\r\n" HOST "\r\n", "GET|");
    WAIT_FOR(f, f->overs == 2);
    close(fd);
    ab_buf_fini(&out);
}

static void a_silent_websocket_is_pinged_and_let_go(void **state)
{
    fixture *f = *state;
    ab_buf out;
    int fd = open_websocket(f, &out);
    assert_true(read_until(f, fd, &out, NULL));
    assert_memory_equal(out.ptr, "\x89\0", 2);
    assert_int_equal(f->why, AB_ERR_TIMEOUT);
    close(fd);
    ab_buf_fini(&out);
}

#define SERVED(name) cmocka_unit_test_setup_teardown(name, start, stop)
#define HASTY(name)  cmocka_unit_test_setup_teardown(name, start_hasty, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED(requests_come_as_they_were_sent),
        SERVED(a_connection_is_kept_and_requests_may_be_pipelined),
        SERVED(head_has_the_length_and_no_body),
        SERVED(bodies_in_chunks_and_expectations_are_understood),
        SERVED(a_long_answer_is_streamed_with_back_pressure),
        SERVED(a_paused_body_holds_up_its_client),
        SERVED(a_client_that_leaves_is_told_once),
        SERVED(an_answer_that_is_not_whole_cuts_the_connection),
        SERVED(a_body_that_nobody_wants_does_not_cost_the_answer),
        SERVED(ambiguous_and_bad_requests_are_refused),
        SERVED(heads_are_bounded),
        HASTY(slow_clients_are_let_go),
        HASTY(a_viewer_that_never_reads_is_let_go),
        SERVED(connections_are_bounded_and_idle_ones_make_room),
        HASTY(who_finds_no_room_waits),
        SERVED(freeing_tells_those_under_way),
        SERVED(messages_go_both_ways),
        SERVED(a_websocket_without_a_known_protocol_gets_an_answer),
        SERVED(a_websocket_may_be_accepted_later),
        SERVED(broken_frames_close_the_websocket),
        SERVED(a_flood_of_pings_is_bounded),
        HASTY(a_silent_websocket_is_pinged_and_let_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
