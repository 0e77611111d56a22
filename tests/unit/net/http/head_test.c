/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

/* What a request with these lines after "Host" is refused with, or 0. */
static int status_of(const char *line, const char *fields)
{
    char text[4096];
    ab_http_head head;
    const char *why = NULL;
    int len = snprintf(text, sizeof(text), "%s\r\nHost: x\r\n%s\r\n", line, fields);
    assert_int_equal(ab_http_head_len((ab_str){text, (size_t)len}, 0), len);
    int status = ab_http_head_read_request(text, (size_t)len, &head, &why);
    assert_true(status == 0 || why != NULL);
    return status;
}

static void a_request_is_read_as_it_was_sent(void **state)
{
    (void)state;
    char text[] = "PATCH /api/a%3Ab?x=1&y=a%26b+c%3D HTTP/1.1\r\nHOST: h\r\n"
                  "X-Two:  a b \t\r\nContent-length: 12\r\nconnection: Keep-Alive, CLOSE\r\n\r\n";
    ab_http_head head;
    const char *why = NULL;
    assert_int_equal(ab_http_head_read_request(text, sizeof(text) - 1, &head, &why), 0);
    assert_true(ab_str_is(head.method, "PATCH"));
    assert_true(ab_str_is(head.path, "/api/a%3Ab"));
    assert_true(ab_str_is(head.query, "x=1&y=a%26b+c%3D"));
    assert_true(ab_str_is(ab_http_head_find(&head, "x-two"), "a b"));
    assert_true(ab_str_is(ab_http_head_find(&head, "host"), "h"));
    assert_null(ab_http_head_find(&head, "x-three").ptr);
    assert_int_equal(head.length_bytes, 12);
    assert_true(head.close);
    assert_false(head.chunked);
}

static void the_end_of_a_head_is_found_where_it_was_cut(void **state)
{
    (void)state;
    ab_str text = AB_STR("GET / HTTP/1.1\r\nHost: x\r\n\r\nrest");
    for (size_t seen = 0; seen < 27; seen++) {
        assert_int_equal(ab_http_head_len((ab_str){text.ptr, seen}, 0), 0);
        assert_int_equal(ab_http_head_len(text, seen), 27);
    }
}

static void what_can_be_read_in_two_ways_is_refused(void **state)
{
    (void)state;
    static const char *const fields[] = {
        "Content-Length: 3\r\nContent-Length: 3\r\n",
        "Content-Length: 3\r\nContent-Length: 4\r\n",
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 3, 3\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: +1\r\n",
        "Content-Length: 0x10\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Content-Length: \r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "A: b\r\n folded\r\n",
        "A : b\r\n",
        ": b\r\n",
        "A\r\n",
        "A: b\nC: d\r\n",
        "A: b\rC: d\r\n",
        "A: \001\r\n",
        "A(: b\r\n",
        "Host: y\r\n",
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        assert_int_equal(status_of("GET / HTTP/1.1", fields[i]), 400);
    assert_int_equal(status_of("GET / HTTP/1.1", "Transfer-Encoding: gzip, chunked\r\n"), 501);
    assert_int_equal(status_of("GET / HTTP/1.1", "Transfer-Encoding: Chunked\r\n"), 0);
    assert_int_equal(status_of("GET / HTTP/1.1", "A: \xc3\xa4\r\n"), 0);
}

static void bad_request_lines_are_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "GET /",           "GET  / HTTP/1.1",    "GET / HTTP/1.1 ",
        "G\"T / HTTP/1.1", "GET / x HTTP/1.1",   "GET /a b HTTP/1.1",
        " / HTTP/1.1",     "GET /?a#b HTTP/1.1", "GET http://x/ HTTP/1.1",
        "GET * HTTP/1.1"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_int_equal(status_of(lines[i], ""), 400);
    assert_int_equal(status_of("GET / HTTP/0.9", ""), 505);
    assert_int_equal(status_of("PRI / HTTP/2.0", ""), 505);
}

static void an_old_request_ends_its_connection_and_has_no_coding(void **state)
{
    (void)state;
    ab_http_head head;
    const char *why = NULL;
    char text[] = "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"; /* nor a Host */
    assert_int_equal(ab_http_head_read_request(text, sizeof(text) - 1, &head, &why), 0);
    assert_true(head.old && head.close);
    assert_int_equal(status_of("GET / HTTP/1.0", ""), 0);
    assert_int_equal(status_of("GET / HTTP/1.0", "Host: y\r\n"), 400);
    assert_int_equal(status_of("GET / HTTP/1.0", "Transfer-Encoding: chunked\r\n"), 400);
}

static void too_many_fields_are_refused(void **state)
{
    ab_buf text;
    (void)state;
    ab_buf_init(&text, 4096);
    for (size_t i = 0; i < AB_HTTP_FIELDS_MAX - 1; i++)
        ab_buf_puts(&text, "A: b\r\n");
    assert_int_equal(status_of("GET / HTTP/1.1", text.ptr), 0);
    ab_buf_puts(&text, "A: b\r\n");
    assert_int_equal(status_of("GET / HTTP/1.1", text.ptr), 431);
    ab_buf_fini(&text);
}

static void paths_are_the_same_to_everybody(void **state)
{
    (void)state;
    static const char *const good[] = {
        "/",   "/api/v1/",          "/a/b.c", "/a..b", "/...", "/a%3Ab", "/%E4", "/a;b=1", "/a%20b",
        "/.a", "/a:b@c!$&'()*+,-_~"};
    static const char *const bad[] = {"",          "a",       "/../a",  "/a/..",  "/a/.",   "/./a",
                                      "/%2e%2E/a", "/.%2e/a", "/a%2fb", "/a%2Fb", "/a%5Cb", "/a\\b",
                                      "/a%00",     "//a",     "/a//b",  "/a%",    "/a%2",   "/a%zz",
                                      "/a b",      "/a\x80",  "/a\"b",  "/a#b"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_null(ab_http_path_refusal(ab_str_of(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_non_null(ab_http_path_refusal(ab_str_of(bad[i])));
}

static void an_answer_is_read(void **state)
{
    (void)state;
    ab_http_head head;
    char good[] = "HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\n";
    char old[] = "HTTP/1.0 200 OK\r\n\r\n";
    char short_[] = "HTTP/1.1 20\r\n\r\n";
    char twice[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n";
    assert_null(ab_http_head_read_answer(good, sizeof(good) - 1, &head));
    assert_int_equal(head.status, 403);
    assert_int_equal(head.length_bytes, 5);
    assert_non_null(ab_http_head_read_answer(old, sizeof(old) - 1, &head));
    assert_non_null(ab_http_head_read_answer(short_, sizeof(short_) - 1, &head));
    assert_non_null(ab_http_head_read_answer(twice, sizeof(twice) - 1, &head));
}

static void words_are_found_in_lists(void **state)
{
    (void)state;
    assert_true(ab_http_list_has(AB_STR("keep-alive, Upgrade"), "upgrade"));
    assert_true(
        ab_http_list_has(AB_STR("v5.channel.k8s.io,v4.channel.k8s.io"), "v4.channel.k8s.io"));
    assert_false(ab_http_list_has(AB_STR("keep-alive, Upgrades"), "upgrade"));
    assert_false(ab_http_list_has(AB_STR_NONE, "upgrade"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_read_as_it_was_sent),
        cmocka_unit_test(the_end_of_a_head_is_found_where_it_was_cut),
        cmocka_unit_test(what_can_be_read_in_two_ways_is_refused),
        cmocka_unit_test(bad_request_lines_are_refused),
        cmocka_unit_test(an_old_request_ends_its_connection_and_has_no_coding),
        cmocka_unit_test(too_many_fields_are_refused),
        cmocka_unit_test(paths_are_the_same_to_everybody),
        cmocka_unit_test(an_answer_is_read),
        cmocka_unit_test(words_are_found_in_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
