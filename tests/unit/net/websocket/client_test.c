/* SPDX-License-Identifier: Apache-2.0
 *
 * The WebSocket client with servers that do not keep to the protocol, or end it in every way: plain
 * sockets of this process. What our own server does is in tests/integration/http/websocket_test.c.
 */
#include "net/websocket/client.h"

#include "net/websocket/key.h"
#include "tests/unit/net/http/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_MS 60000
#define HASTY_MS    100
#define PROMPT_MS   1000         /* in which a busy machine answers, too */
#define LONG        (65u * 1024) /* more than what is kept of a refusal, or read of a head */

#define SWITCHES "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
#define ACCEPTS  "Sec-WebSocket-Accept: %s\r\n"

typedef struct {
    uv_loop_t loop;
    int listener;
    int fd; /* of the server, to the client; -1: none */
    char accept[AB_WEBSOCKET_ACCEPT];
    ab_buf heard; /* by the server, after the request */
    bool heard_end;
    ab_websocket_request request;
    ab_websocket *handle;
    bool cancels; /* in its own end */
    int opens;
    int ends;
    size_t bytes; /* of messages */
    ab_err code;
    int status;
    unsigned close_code;
    size_t body;
    char
        text[128]; /* the type and the beginning of the body of a refusal, or the text of a close */
    char err[AB_ERROR_TEXT_MAX];
} fixture;

static in_port_t served; /* the server's port, in the order of the network */

/* ---- the client ---- */

static void on_open(void *arg, const char *protocol)
{
    fixture *f = arg;
    assert_null(protocol);
    f->opens++;
}

static void on_message(void *arg, ab_str piece, bool ends)
{
    fixture *f = arg;
    (void)ends;
    f->bytes += piece.len;
}

static void on_end(void *arg, const ab_websocket_end *end)
{
    fixture *f = arg;
    f->ends++;
    f->code = end->code;
    f->status = end->status;
    f->close_code = end->close_code;
    f->body = end->body.len;
    snprintf(f->text, sizeof(f->text), "%.*s|%.*s%.*s", AB_STR_ARG(end->type),
             AB_STR_ARG(end->body), AB_STR_ARG(end->close_text));
    snprintf(f->err, sizeof(f->err), "%s", end->err->text);
    if (f->cancels)
        ab_websocket_cancel(f->handle);
}

/* ---- the server ---- */

static int listen_here(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    served = at.sin_port;
    return fd;
}

/* Turn the loop once, and note what came. */
static void turn(fixture *f)
{
    char part[4096];
    socket_turn(&f->loop, f->fd, POLLIN);
    if (f->fd < 0)
        return;
    ssize_t n = recv(f->fd, part, sizeof(part), 0);
    if (n > 0)
        ab_buf_put(&f->heard, (ab_str){part, (size_t)n});
    f->heard_end = f->heard_end || n == 0;
}

#define WAIT_FOR(f, condition)                                                                     \
    do {                                                                                           \
        int64_t until_ = now_ms() + PATIENCE_MS;                                                   \
        while (!(condition) && now_ms() < until_)                                                  \
            turn(f);                                                                               \
        assert_true(condition);                                                                    \
    } while (0)

static bool has_heard(const fixture *f, ab_str bytes)
{
    return f->heard.len > 0 && memmem(f->heard.ptr, f->heard.len, bytes.ptr, bytes.len) != NULL;
}

static void say(fixture *f, ab_str bytes)
{
    socket_send(&f->loop, f->fd, bytes, PATIENCE_MS);
}

static void hang_up(fixture *f)
{
    close(f->fd);
    f->fd = -1;
}

/* A client has come, and asked for a WebSocket. */
static void take_request(fixture *f)
{
    static const char name[] = "Sec-WebSocket-Key: ";
    while ((f->fd = accept4(f->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) < 0)
        socket_turn(&f->loop, f->listener, POLLIN);
    WAIT_FOR(f, has_heard(f, AB_STR("\r\n\r\n")));
    const char *key = strstr(f->heard.ptr, name);
    assert_non_null(key);
    key += sizeof(name) - 1;
    assert_true(ab_websocket_key_accept((ab_str){key, strcspn(key, "\r")}, f->accept));
    ab_buf_clear(&f->heard);
}

static void begin(fixture *f)
{
    char url[64];
    const ab_http_options o = {.agent = "test"};
    snprintf(url, sizeof(url), "http://name.test:%d/", ntohs(served));
    f->request.http = &o;
    f->request.url = url;
    f->opens = f->ends = 0;
    f->bytes = 0;
    f->heard_end = false;
    ab_buf_clear(&f->heard);
    assert_int_equal(ab_websocket_start(&f->loop, &f->request, &f->handle, NULL), AB_ERR_OK);
    take_request(f);
}

/* @param head  with a %s for the key's answer, or without */
static void answer(fixture *f, const char *head)
{
    ab_buf text;
    const char *mark = strstr(head, "%s");
    ab_buf_init(&text, 4096);
    ab_buf_put(&text, (ab_str){head, mark == NULL ? strlen(head) : (size_t)(mark - head)});
    if (mark != NULL)
        ab_buf_printf(&text, "%s%s", f->accept, mark + 2);
    say(f, ab_buf_str(&text));
    ab_buf_fini(&text);
}

static void open_websocket(fixture *f)
{
    begin(f);
    answer(f, SWITCHES ACCEPTS "\r\n");
    WAIT_FOR(f, f->opens == 1);
}

/* The first address of every name is one where nobody listens.
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
int getaddrinfo(const char *restrict name, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict out)
{
    static struct sockaddr_in at[2];
    static struct addrinfo rows[2];
    (void)name;
    (void)service;
    for (int i = 0; i < 2; i++) {
        at[i] = (struct sockaddr_in){.sin_family = AF_INET,
                                     .sin_port = served,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 - (unsigned)i)};
        rows[i] = (struct addrinfo){.ai_family = AF_INET,
                                    .ai_socktype = hints->ai_socktype,
                                    .ai_addr = (struct sockaddr *)&at[i],
                                    .ai_addrlen = sizeof(at[i]),
                                    .ai_next = i == 0 ? &rows[1] : NULL};
    }
    *out = rows;
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    (void)list;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

static int start(void **state)
{
    static fixture f;
    f = (fixture){.fd = -1};
    f.request = (ab_websocket_request){
        .on_open = on_open, .on_message = on_message, .on_end = on_end, .arg = &f};
    ab_buf_init(&f.heard, 1u << 20);
    f.listener = listen_here();
    *state = &f;
    return uv_loop_init(&f.loop);
}

static int stop(void **state)
{
    fixture *f = *state;
    close(f->listener);
    if (f->fd >= 0)
        close(f->fd);
    ab_buf_fini(&f->heard);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    return uv_loop_close(&f->loop); /* busy when a handle was left open */
}

/* ---- how it begins ---- */

static void a_protocol_cannot_add_a_header(void **state)
{
    fixture *f = *state;
    static const char *const protocols[] = {"a\r\nb: c", NULL};
    const ab_http_options o = {.agent = "test"};
    f->request.http = &o;
    f->request.url = "http://name.test/";
    f->request.protocols = protocols;
    assert_int_equal(ab_websocket_start(&f->loop, &f->request, &f->handle, NULL), AB_ERR_INVALID);
}

static void an_answer_that_does_not_fit_the_request_opens_nothing(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *answer;
        const char *why;
    } rows[] = {
        {SWITCHES "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n", "does not match"},
        {SWITCHES "\r\n", "does not match"},
        {"HTTP/1.1 101 x\r\nConnection: Upgrade\r\n" ACCEPTS "\r\n", "does not upgrade"},
        {"HTTP/1.1 101 x\r\nUpgrade: websocket\r\n" ACCEPTS "\r\n", "does not upgrade"},
        {SWITCHES ACCEPTS "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n", "extensions"},
        {SWITCHES ACCEPTS "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n", "not offered"},
        {"HTTP/1.0 101 x\r\n\r\n", "not HTTP/1.1"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin(f);
        answer(f, rows[i].answer);
        WAIT_FOR(f, f->ends == 1);
        assert_int_equal(f->opens, 0);
        assert_int_equal(f->code, AB_ERR_PARSE);
        if (strstr(f->err, rows[i].why) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", f->err, rows[i].why);
        hang_up(f);
    }
}

static void say_long(fixture *f)
{
    static char text[LONG];
    memset(text, 'x', sizeof(text));
    say(f, (ab_str){text, sizeof(text)});
}

static void the_head_of_an_answer_is_bounded(void **state)
{
    fixture *f = *state;
    begin(f);
    say(f, AB_STR(SWITCHES "A: "));
    say_long(f);
    WAIT_FOR(f, f->ends == 1);
    assert_int_equal(f->code, AB_ERR_TOOBIG);
}

#define REFUSES "HTTP/1.1 403 Forbidden\r\nContent-Type: a/b\r\n"

static void assert_refused(fixture *f, const char *text)
{
    WAIT_FOR(f, f->ends == 1);
    assert_int_equal(f->code, AB_ERR_DENIED);
    assert_int_equal(f->status, 403);
    assert_string_equal(f->text, text);
    hang_up(f);
}

static void a_refusal_has_a_body_of_every_form(void **state)
{
    fixture *f = *state;
    begin(f);
    answer(f, REFUSES "Content-Length: 2\r\n\r\nno");
    assert_refused(f, "a/b|no");
    begin(f);
    answer(f, REFUSES "Content-Length: 0\r\n\r\n");
    assert_refused(f, "a/b|");
    begin(f);
    answer(f, REFUSES "Transfer-Encoding: chunked\r\n\r\n2\r\nno\r\n1\r\n!\r\n0\r\n\r\n");
    assert_refused(f, "a/b|no!");
    begin(f);
    answer(f, REFUSES "\r\nto the end");
    assert_int_equal(shutdown(f->fd, SHUT_WR), 0);
    assert_refused(f, "a/b|to the end");
}

static void a_refusal_without_end_is_one_all_the_same(void **state)
{
    fixture *f = *state;
    begin(f);
    answer(f, REFUSES "\r\n");
    say_long(f);
    WAIT_FOR(f, f->ends == 1);
    assert_int_equal(f->code, AB_ERR_DENIED);
    assert_int_equal(f->body, 64u * 1024);
    hang_up(f);
    f->request.open_ms = HASTY_MS;
    begin(f);
    answer(f, REFUSES "Content-Length: 3\r\n\r\nno");
    assert_refused(f, "a/b|no");
}

/* ---- while it is open ---- */

static void what_breaks_the_protocol_ends_it(void **state)
{
    fixture *f = *state;
    static const struct {
        ab_str frames;
        ab_err code;
    } rows[] = {
        {{"\x82\x81\0\0\0\0a", 7}, AB_ERR_PARSE}, /* masked */
        {{"\xc2\x01"
          "a",
          3},
         AB_ERR_PARSE},
        {{"\x81\x01"
          "a",
          3},
         AB_ERR_UNSUPPORTED},
        {{"\x82\x05"
          "abcde",
          7},
         AB_ERR_TOOBIG},
    };
    f->request.message_bytes = 4;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        open_websocket(f);
        say(f, rows[i].frames);
        WAIT_FOR(f, f->ends == 1);
        assert_int_equal(f->code, rows[i].code);
        assert_int_equal(f->bytes, 0);
        hang_up(f);
    }
}

/* Of a frame whose payload has two bytes at most: its bytes, without the mask. */
static bool has_heard_frame(const fixture *f, char head, const char *payload, size_t len)
{
    const char *p = f->heard.ptr;
    if (f->heard.len != 6 + len || p[0] != head || p[1] != (char)(0x80 | len))
        return false;
    for (size_t i = 0; i < len; i++) {
        if ((p[6 + i] ^ p[2 + i]) != payload[i])
            return false;
    }
    return true;
}

static void a_ping_is_answered(void **state)
{
    fixture *f = *state;
    open_websocket(f);
    say(f, AB_STR("\x89\x02pi"));
    WAIT_FOR(f, has_heard_frame(f, '\x8a', "pi", 2));
    ab_websocket_cancel(f->handle);
}

static void a_server_that_answers_no_ping_is_given_up(void **state)
{
    fixture *f = *state;
    f->request.ping_ms = PROMPT_MS;
    open_websocket(f);
    for (int i = 0; i < 3; i++) {
        WAIT_FOR(f, has_heard_frame(f, '\x89', "", 0));
        ab_buf_clear(&f->heard);
        say(f, AB_STR("\x8a\0"));
    }
    WAIT_FOR(f, f->ends == 1);
    assert_true(has_heard_frame(f, '\x89', "", 0));
    assert_int_equal(f->code, AB_ERR_TIMEOUT);
}

/* Neither the process nor its timers ran for a while. */
static void a_server_is_not_given_up_unasked(void **state)
{
    fixture *f = *state;
    f->request.ping_ms = PROMPT_MS;
    open_websocket(f);
    int64_t long_past_ms = now_ms() + 3 * (int64_t)PROMPT_MS;
    while (now_ms() < long_past_ms)
        continue;
    WAIT_FOR(f, f->heard.len > 0 || f->ends > 0);
    assert_int_equal(f->ends, 0);
    assert_true(has_heard_frame(f, '\x89', "", 0));
    ab_websocket_cancel(f->handle);
}

/* Meanwhile nothing of the server was read: it is asked whether it is there before it is given up.
 */
static void a_server_is_not_silent_because_the_client_was_paused(void **state)
{
    fixture *f = *state;
    f->request.ping_ms = HASTY_MS;
    open_websocket(f);
    ab_websocket_pause(f->handle);
    int64_t long_past_ms = now_ms() + 5 * (int64_t)HASTY_MS;
    WAIT_FOR(f, now_ms() > long_past_ms);
    assert_int_equal(f->ends, 0);
    ab_buf_clear(&f->heard);
    ab_websocket_resume(f->handle);
    WAIT_FOR(f, f->ends == 1);
    assert_true(has_heard_frame(f, '\x89', "", 0));
    assert_int_equal(f->code, AB_ERR_TIMEOUT);
}

/* ---- how it ends ---- */

static void a_close_is_answered_by_one_like_it(void **state)
{
    fixture *f = *state;
    open_websocket(f);
    say(f, AB_STR("\x88\x05\x03\xe9"
                  "bye"));
    WAIT_FOR(f, has_heard_frame(f, '\x88', "\x03\xe9", 2));
    WAIT_FOR(f, f->heard_end);
    assert_int_equal(f->ends, 0);
    say(f, AB_STR("\x82\x01"
                  "a"));
    hang_up(f);
    WAIT_FOR(f, f->ends == 1);
    assert_int_equal(f->code, AB_ERR_OK);
    assert_int_equal(f->close_code, 1001);
    assert_string_equal(f->text, "|bye");
    assert_int_equal(f->bytes, 0);
}

static void a_close_without_a_code_is_answered_as_normal(void **state)
{
    fixture *f = *state;
    open_websocket(f);
    say(f, AB_STR("\x88\0"));
    WAIT_FOR(f, has_heard_frame(f, '\x88', "\x03\xe8", 2));
    /* The server has its answer, and stays: it is not waited for. */
    WAIT_FOR(f, f->ends == 1);
    assert_int_equal(f->code, AB_ERR_OK);
    assert_int_equal(f->close_code, 1005);
}

static void the_end_of_tcp_is_no_close(void **state)
{
    fixture *f = *state;
    f->cancels = true; /* which then does nothing */
    open_websocket(f);
    hang_up(f);
    WAIT_FOR(f, f->ends == 1);
    assert_int_not_equal(f->code, AB_ERR_OK);
    assert_int_equal(f->close_code, 0);
}

#define SERVED(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED(a_protocol_cannot_add_a_header),
        SERVED(an_answer_that_does_not_fit_the_request_opens_nothing),
        SERVED(the_head_of_an_answer_is_bounded),
        SERVED(a_refusal_has_a_body_of_every_form),
        SERVED(a_refusal_without_end_is_one_all_the_same),
        SERVED(what_breaks_the_protocol_ends_it),
        SERVED(a_ping_is_answered),
        SERVED(a_server_that_answers_no_ping_is_given_up),
        SERVED(a_server_is_not_given_up_unasked),
        SERVED(a_server_is_not_silent_because_the_client_was_paused),
        SERVED(a_close_is_answered_by_one_like_it),
        SERVED(a_close_without_a_code_is_answered_as_normal),
        SERVED(the_end_of_tcp_is_no_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
