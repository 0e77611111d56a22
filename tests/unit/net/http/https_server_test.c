/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests and answers, and clients that mean harm. WebSockets: https_websocket_test.c.
 */
#include "tests/unit/net/http/https_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

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

static void a_server_of_one_request_ends_each_connection(void **state)
{
    fixture *f = *state;
    expect_end(f, "GET /echo HTTP/1.1\r\n" HOST "\r\nGET /echo HTTP/1.1\r\n" HOST "\r\n",
               "content-length: 22\r\nconnection: close\r\n\r\nGET|/echo||");
    expect_end(f, "GET /stream HTTP/1.1\r\n" HOST "\r\n",
               "transfer-encoding: chunked\r\nconnection: close\r\n\r\n4000\r\n");
    assert_int_equal(f->requests, 2);
}

static void a_server_that_drains_ends_each_connection_with_its_answer(void **state)
{
    fixture *f = *state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    int fd = dial(f);
    int idle = dial(f);
    send_all(f, fd, AB_STR("GET /hold HTTP/1.1\r\n" HOST "\r\n"));
    send_all(f, idle, AB_STR("GET /echo/1 HTTP/1.1\r\n" HOST "\r\n"));
    assert_true(read_until(f, idle, &out, "|/echo/1"));
    WAIT_FOR(f, f->held != NULL);
    assert_int_equal(ab_https_answer(f->held, 200, NULL, 0, -1), AB_ERR_OK);
    ab_https_server_drain(f->server);
    assert_int_equal(ab_https_server_busy(f->server), 1);
    assert_int_equal(ab_https_send(f->held, AB_STR("whole")), AB_ERR_OK);
    ab_https_finish(f->held);
    assert_true(read_until(f, fd, &out, NULL));
    assert_non_null(strstr(out.ptr, "5\r\nwhole\r\n0\r\n\r\n"));
    close(fd);
    WAIT_FOR(f, ab_https_server_busy(f->server) == 0);
    send_all(f, idle, AB_STR("GET /echo/2 HTTP/1.1\r\n" HOST "\r\n"));
    assert_true(read_until(f, idle, &out, NULL));
    assert_non_null(strstr(out.ptr, "connection: close\r\n\r\nGET|/echo/2"));
    close(idle);
    ab_buf_fini(&out);
}

static void it_serves_http_1_0_without_chunks_and_upgrades(void **state)
{
    fixture *f = *state;
    ab_buf out;
    ab_buf_init(&out, 2 * STREAM);
    expect_end(f, "GET /echo HTTP/1.0\r\n\r\n",
               "content-length: 22\r\nconnection: close\r\n\r\nGET|/echo||");
    expect_end(f, "GET /ws HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
               "\r\n\r\nno protocol\n");
    int fd = dial(f);
    send_all(f, fd, AB_STR("GET /stream HTTP/1.0\r\n\r\n"));
    assert_true(read_until(f, fd, &out, NULL));
    static const char head[] = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";
    assert_int_equal(out.len, sizeof(head) - 1 + STREAM);
    assert_memory_equal(out.ptr, head, sizeof(head) - 1);
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
    /* One byte too many, and none. */
    memcpy(big, "GET /echo HTTP/1.1\r\n" HOST "X: ", 32);
    memcpy(big + 4093, "\r\n\r\n", 5);
    expect_end(f, big, "HTTP/1.1 431 ");
    memcpy(big + 4092, "\r\n\r\n", 5);
    expect(f, big, "HTTP/1.1 201 ");
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

/* Each of them has a minute or two before it is let go. */
static void clients_that_send_no_request_hold_up_nobody(void **state)
{
    fixture *f = *state;
    int fds[200];
    ab_buf out;
    ab_buf_init(&out, 65536);
    int64_t since = now_ms();
    for (size_t i = 0; i < 200; i++)
        fds[i] = dial(f);
    int fd = dial(f);
    send_all(f, fd, AB_STR("GET /echo HTTP/1.1\r\n" HOST "\r\n"));
    while (out.len == 0 && now_ms() - since < PATIENCE_MS) {
        char part[4096];
        for (size_t i = 0; i < 200; i += 2)
            (void)send(fds[i], "G", 1, MSG_NOSIGNAL);
        turn(f, fd, POLLIN);
        ssize_t n = recv(fd, part, sizeof(part), 0);
        ab_buf_put(&out, (ab_str){part, n > 0 ? (size_t)n : 0});
    }
    assert_true(now_ms() - since < 10000);
    assert_non_null(strstr(out.ptr, "GET|"));
    assert_true(ab_https_server_connections(f->server) <= patient.connections);
    for (size_t i = 0; i < 200; i++)
        close(fds[i]);
    close(fd);
    ab_buf_fini(&out);
}

static int start_graceless(void **state)
{
    static const ab_https_limits graceless = {.connections = 8, .grace_ms = 1};
    return start_with(state, &graceless, false);
}

/* All have been silent for longer than that, and another client comes before what they now send is
 * read. */
static void a_request_that_has_come_is_read_before_its_connection_makes_room(void **state)
{
    fixture *f = *state;
    int fds[9];
    ab_str request = AB_STR("GET /echo HTTP/1.1\r\n" HOST "\r\n");
    for (size_t i = 1; i < 9; i++)
        fds[i] = dial(f);
    WAIT_FOR(f, ab_https_server_connections(f->server) == 8);
    for (int i = 0; i < 10; i++)
        turn(f, -1, 0);
    fds[0] = dial(f);
    for (size_t i = 0; i < 9; i++)
        assert_int_equal(send(fds[i], request.ptr, request.len, MSG_NOSIGNAL), request.len);
    for (size_t i = 0; i < 9; i++) {
        ab_buf out;
        ab_buf_init(&out, 4096);
        assert_true(read_until(f, fds[i], &out, "GET|"));
        close(fds[i]);
        ab_buf_fini(&out);
    }
}

static int start_gracious(void **state)
{
    static const ab_https_limits gracious = {.connections = 8, .grace_ms = 60000};
    return start_with(state, &gracious, false);
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
    fds[7] = dial(f); /* its request may be under way: it makes no room yet */
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

#define SERVED(name)      cmocka_unit_test_setup_teardown(name, start, stop)
#define ONE_REQUEST(name) cmocka_unit_test_setup_teardown(name, start_one_request, stop)
#define HASTY(name)       cmocka_unit_test_setup_teardown(name, start_hasty, stop)

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
        ONE_REQUEST(a_server_of_one_request_ends_each_connection),
        ONE_REQUEST(it_serves_http_1_0_without_chunks_and_upgrades),
        SERVED(ambiguous_and_bad_requests_are_refused),
        SERVED(heads_are_bounded),
        HASTY(slow_clients_are_let_go),
        HASTY(a_viewer_that_never_reads_is_let_go),
        SERVED(connections_are_bounded_and_idle_ones_make_room),
        SERVED(clients_that_send_no_request_hold_up_nobody),
        cmocka_unit_test_setup_teardown(
            a_request_that_has_come_is_read_before_its_connection_makes_room, start_graceless,
            stop),
        cmocka_unit_test_setup_teardown(who_finds_no_room_waits, start_gracious, stop),
        SERVED(freeing_tells_those_under_way),
        SERVED(a_server_that_drains_ends_each_connection_with_its_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
