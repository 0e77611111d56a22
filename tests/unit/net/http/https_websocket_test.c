/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that become WebSockets.
 */
#include "tests/unit/net/http/https_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* Neither the process nor its timers ran for a while. */
static void a_websocket_is_not_let_go_unasked(void **state)
{
    fixture *f = *state;
    ab_buf out;
    char ping[2];
    int fd = open_websocket(f, &out);
    int64_t long_past_ms = now_ms() + 1000; /* five times between pings */
    while (now_ms() < long_past_ms)
        continue;
    WAIT_FOR(f, f->overs > 0 || recv(fd, ping, 2, MSG_PEEK | MSG_DONTWAIT) == 2);
    assert_int_equal(f->overs, 0);
    assert_memory_equal(ping, "\x89\0", 2);
    close(fd);
    ab_buf_fini(&out);
}

/* Meanwhile nothing of the client was read: it is asked whether it is there before it is let go. */
static void a_websocket_is_not_silent_because_it_was_paused(void **state)
{
    fixture *f = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int fd = dial(f);
    send_all(f, fd, AB_STR("GET /later HTTP/1.1\r\n" UPGRADE "\r\n"));
    WAIT_FOR(f, f->held != NULL);
    assert_int_equal(ab_https_accept(f->held, NULL), AB_ERR_OK);
    assert_true(read_until(f, fd, &out, "\r\n\r\n"));
    ab_buf_clear(&out);
    ab_https_pause(f->held);
    int64_t long_past_ms = now_ms() + 1000; /* five times between pings */
    WAIT_FOR(f, now_ms() > long_past_ms);
    assert_int_equal(f->overs, 0);
    ab_https_resume(f->held);
    assert_true(read_until(f, fd, &out, NULL));
    assert_int_equal(out.len, 2);
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
        SERVED(messages_go_both_ways),
        SERVED(a_websocket_without_a_known_protocol_gets_an_answer),
        SERVED(a_websocket_may_be_accepted_later),
        SERVED(broken_frames_close_the_websocket),
        SERVED(a_flood_of_pings_is_bounded),
        HASTY(a_silent_websocket_is_pinged_and_let_go),
        HASTY(a_websocket_is_not_let_go_unasked),
        HASTY(a_websocket_is_not_silent_because_it_was_paused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
