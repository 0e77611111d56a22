/* SPDX-License-Identifier: Apache-2.0 */
#include "live/redis/resp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define TEXT_MAX (8u * 1024 * 1024)

/* What a scanner made of some bytes. */
typedef struct {
    ab_buf text; /* all that was handed out; "|" behind each end, "_" before each empty request */
    size_t largest; /* bytes of a piece */
    size_t pieces;
    ab_err e;
    const char *why;
} result;

typedef ab_err (*next_fn)(void *scanner, ab_str bytes, ab_resp_piece *out, const char **why);

static ab_err next_request(void *scanner, ab_str bytes, ab_resp_piece *out, const char **why)
{
    return ab_resp_requests_next(scanner, bytes, out, why);
}

static ab_err next_reply(void *scanner, ab_str bytes, ab_resp_piece *out, const char **why)
{
    return ab_resp_replies_next(scanner, bytes, out, why);
}

/* @return bytes that were handed out */
static size_t scan(next_fn next, void *scanner, ab_str bytes, result *r)
{
    size_t used = 0;
    ab_resp_piece piece;
    do {
        r->e = next(scanner, (ab_str){bytes.ptr + used, bytes.len - used}, &piece, &r->why);
        if (r->e != AB_ERR_OK)
            return used;
        if (piece.kind == AB_RESP_EMPTY)
            ab_buf_putc(&r->text, '_');
        ab_buf_put(&r->text, piece.bytes);
        if (piece.ends)
            ab_buf_putc(&r->text, '|');
        r->pieces += piece.bytes.len > 0;
        if (piece.bytes.len > r->largest)
            r->largest = piece.bytes.len;
        used += piece.bytes.len;
    } while (piece.bytes.len > 0);
    return used;
}

/* In pieces of `step` bytes. */
static result scan_in(next_fn next, ab_str bytes, size_t step)
{
    union {
        ab_resp_requests requests;
        ab_resp_replies replies;
    } scanner = {.requests = {0}};
    memset(&scanner, 0, sizeof(scanner));
    result r = {.e = AB_ERR_OK};
    size_t used = 0;
    ab_buf_init(&r.text, TEXT_MAX);
    for (size_t end = 0; end < bytes.len && r.e == AB_ERR_OK;) {
        end = bytes.len - end < step ? bytes.len : end + step;
        used += scan(next, &scanner, (ab_str){bytes.ptr + used, end - used}, &r);
    }
    return r;
}

static void expect(next_fn next, ab_str bytes, const char *text)
{
    for (size_t step = 1; step <= bytes.len; step++) {
        result r = scan_in(next, bytes, step);
        assert_int_equal(r.e, AB_ERR_OK);
        assert_string_equal(r.text.ptr == NULL ? "" : r.text.ptr, text);
        ab_buf_fini(&r.text);
    }
}

static void refuse(next_fn next, ab_str bytes, const char *why)
{
    for (size_t step = 1; step <= bytes.len; step += 1 + bytes.len / 64) {
        result r = scan_in(next, bytes, step);
        assert_int_not_equal(r.e, AB_ERR_OK);
        assert_string_equal(r.why, why);
        assert_int_equal(r.text.len, 0);
        ab_buf_fini(&r.text);
    }
}

static void tells_pipelined_commands_apart(void **state)
{
    (void)state;
    expect(next_request, AB_STR("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nPING\r\n"),
           "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n|*1\r\n$4\r\nPING\r\n|");
    expect(next_request, AB_STR("*2\r\n$0\r\n\r\n$2\r\n\r\n\r\n"),
           "*2\r\n$0\r\n\r\n$2\r\n\r\n\r\n|");
}

static void tells_lines_of_words_from_arrays(void **state)
{
    (void)state;
    expect(next_request, AB_STR("PING\r\nGET k\n*1\r\n$1\r\nx\r\n"),
           "PING\r\n|GET k\n|*1\r\n$1\r\nx\r\n|");
}

static void marks_requests_of_no_words(void **state)
{
    (void)state;
    expect(next_request, AB_STR("*0\r\n*-1\r\nPING\r\n"), "_*0\r\n|_*-1\r\n|PING\r\n|");
}

static void hands_out_nothing_of_a_request_that_is_not_whole(void **state)
{
    (void)state;
    expect(next_request, AB_STR("*2\r\n$3\r\nGET\r\n$4\r\nabc"), "");
    expect(next_request, AB_STR("*2\r\n$3\r\nGET\r\n$3\r\nabc\r"), "");
    expect(next_request, AB_STR("*2\r"), "");
    expect(next_request, AB_STR("PING"), "");
}

static void refuses_lengths_before_their_bytes_come(void **state)
{
    (void)state;
    refuse(next_request, AB_STR("*1\r\n$536870912\r\n"), "invalid bulk length");
    refuse(next_request, AB_STR("*1\r\n$268435457\r\n"), "invalid bulk length");
    refuse(next_request, AB_STR("*1\r\n$-1\r\n"), "invalid bulk length");
    refuse(next_request, AB_STR("*1\r\n$99999999999999999999\r\n"), "invalid bulk length");
    refuse(next_request, AB_STR("*1048577\r\n"), "invalid multibulk length");
    expect(next_request, AB_STR("*1\r\n$268435456\r\n"), "");
}

static void refuses_garbage(void **state)
{
    (void)state;
    refuse(next_request, AB_STR("*1\r\n:1\r\n"), "expected '$'");
    refuse(next_request, AB_STR("*01\r\n"), "invalid multibulk length");
    refuse(next_request, AB_STR("*+1\r\n"), "invalid multibulk length");
    refuse(next_request, AB_STR("*\r\n"), "invalid multibulk length");
    refuse(next_request, AB_STR("*1\n$4\r\n"), "invalid multibulk length");
    refuse(next_request, AB_STR("*1\rx"), "invalid multibulk length");
    refuse(next_request, AB_STR("*11111111111111111111111111111111"), "invalid multibulk length");
    refuse(next_request, AB_STR("*1\r\n$1\r\nabc\r\n"), "an argument is longer than its length");
    refuse(next_request, AB_STR("GET a\0b\n"), "invalid inline request");
}

static void refuses_a_line_without_an_end(void **state)
{
    (void)state;
    char *line = malloc(AB_RESP_WHOLE_MAX);
    assert_non_null(line);
    memset(line, 'x', AB_RESP_WHOLE_MAX);
    refuse(next_request, (ab_str){line, AB_RESP_WHOLE_MAX}, "too big inline request");
    expect(next_request, (ab_str){line, 1000}, "");
    free(line);
}

/* SET of 5 MB, then PING. */
static void hands_out_a_long_request_in_pieces(void **state)
{
    (void)state;
    ab_buf text;
    ab_buf value;
    ab_buf_init(&text, TEXT_MAX);
    ab_buf_init(&value, TEXT_MAX);
    memset(ab_buf_extend(&value, 5000000), 'v', 5000000);
    ab_resp_put_command(&text, (ab_str[]){AB_STR("SET"), AB_STR("k"), ab_buf_str(&value)}, 3);
    ab_resp_put_command(&text, (ab_str[]){AB_STR("PING")}, 1);
    result r = scan_in(next_request, ab_buf_str(&text), 70001);
    assert_int_equal(r.e, AB_ERR_OK);
    assert_int_equal(r.text.len, text.len + 2);
    assert_memory_equal(r.text.ptr + text.len - 14, "|*1\r\n$4\r\nPING\r\n|", 16);
    assert_in_range(r.largest, AB_RESP_WHOLE_MAX, 2 * AB_RESP_WHOLE_MAX + 70001);
    assert_in_range(r.pieces, 10, 100);
    ab_buf_fini(&r.text);
    ab_buf_fini(&text);
    ab_buf_fini(&value);
}

static void tells_replies_of_both_protocols_apart(void **state)
{
    (void)state;
    expect(next_reply, AB_STR("+OK\r\n-ERR no\r\n:-1\r\n$-1\r\n*-1\r\n$2\r\nab\r\n*0\r\n"),
           "+OK\r\n|-ERR no\r\n|:-1\r\n|$-1\r\n|*-1\r\n|$2\r\nab\r\n|*0\r\n|");
    expect(next_reply, AB_STR("_\r\n#t\r\n,1.5\r\n(12345678901234567890\r\n=7\r\ntxt:abc\r\n"),
           "_\r\n|#t\r\n|,1.5\r\n|(12345678901234567890\r\n|=7\r\ntxt:abc\r\n|");
    expect(next_reply,
           AB_STR("!5\r\nERR x\r\n~1\r\n:1\r\n%1\r\n+a\r\n*1\r\n_\r\n>2\r\n+m\r\n+x\r\n"),
           "!5\r\nERR x\r\n|~1\r\n:1\r\n|%1\r\n+a\r\n*1\r\n_\r\n|>2\r\n+m\r\n+x\r\n|");
    expect(next_reply, AB_STR("*2\r\n*2\r\n:1\r\n*0\r\n%0\r\n+end\r\n"),
           "*2\r\n*2\r\n:1\r\n*0\r\n%0\r\n|+end\r\n|");
}

static void counts_attributes_as_part_of_what_follows_them(void **state)
{
    (void)state;
    expect(next_reply, AB_STR("|1\r\n+k\r\n:1\r\n+OK\r\n:2\r\n"),
           "|1\r\n+k\r\n:1\r\n+OK\r\n|:2\r\n|");
    expect(next_reply, AB_STR("*2\r\n|1\r\n+k\r\n:1\r\n:1\r\n:2\r\n+OK\r\n"),
           "*2\r\n|1\r\n+k\r\n:1\r\n:1\r\n:2\r\n|+OK\r\n|");
    expect(next_reply, AB_STR("|0\r\n+OK\r\n"), "|0\r\n+OK\r\n|");
}

static void refuses_what_is_not_a_reply(void **state)
{
    (void)state;
    static const char why[] = "not a reply of redis";
    refuse(next_reply, AB_STR("hello\r\n"), why);
    refuse(next_reply, AB_STR("\r\n"), why);
    refuse(next_reply, AB_STR("$?\r\n"), why);
    refuse(next_reply, AB_STR("*?\r\n"), why);
    refuse(next_reply, AB_STR("$536870913\r\n"), why);
    refuse(next_reply, AB_STR("*268435457\r\n"), why);
    refuse(next_reply, AB_STR("*-2\r\n"), why);
    refuse(next_reply, AB_STR("%-1\r\n"), why);
    refuse(next_reply, AB_STR("*1\r\n>1\r\n"), why);
    refuse(next_reply, AB_STR("$1\r\nabc\r\n"), why);
    refuse(next_reply, AB_STR("+O\nK\r\n"), why);
}

static void refuses_replies_that_are_nested_too_deep(void **state)
{
    (void)state;
    ab_buf text;
    ab_buf_init(&text, TEXT_MAX);
    for (unsigned i = 0; i < AB_RESP_REPLY_DEPTH; i++)
        ab_buf_puts(&text, "*1\r\n");
    expect(next_reply, ab_buf_str(&text), "");
    ab_buf_puts(&text, "*1\r\n");
    refuse(next_reply, ab_buf_str(&text), "not a reply of redis");
    ab_buf_fini(&text);
}

static void takes_elements_one_by_one(void **state)
{
    (void)state;
    ab_str rest = AB_STR("*3\r\n$9\r\nsubscribe\r\n$-1\r\n:12\r\n_\r\n$0\r\n\r\n$5\r\nabc");
    static const struct {
        char type;
        const char *value;
    } elements[] = {{'*', "3"},  {'$', "subscribe"}, {'$', NULL},
                    {':', "12"}, {'_', NULL},        {'$', ""}};
    char type;
    ab_str value;
    for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++) {
        assert_true(ab_resp_take(&rest, &type, &value));
        assert_int_equal(type, elements[i].type);
        assert_true(ab_str_is(value, elements[i].value));
    }
    assert_false(ab_resp_take(&rest, &type, &value));
    assert_true(ab_str_is(rest, "$5\r\nabc"));
}

static void takes_the_length_of_a_value_before_its_bytes(void **state)
{
    (void)state;
    static const char *const others[] = {"$5", "$5\r", "$-1\r\n", "+OK\r\n", "$x\r\n", ""};
    ab_str rest = AB_STR("$70000\r\nabc");
    assert_int_equal(ab_resp_take_length(&rest), 70000);
    assert_true(ab_str_is(rest, "abc"));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        rest = ab_str_of(others[i]);
        assert_int_equal(ab_resp_take_length(&rest), -1);
        assert_true(ab_str_is(rest, others[i]));
    }
}

static void expect_inline(ab_str line, const char *text)
{
    ab_buf out;
    ab_buf_init(&out, 10000);
    assert_int_equal(ab_resp_put_inline(&out, line), AB_ERR_OK);
    assert_string_equal(out.ptr == NULL ? "" : out.ptr, text);
    ab_buf_fini(&out);
}

static void makes_arrays_of_lines(void **state)
{
    (void)state;
    expect_inline(AB_STR("GET  k\r\n"), "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
    expect_inline(AB_STR(" \t\r\n"), "");
    expect_inline(AB_STR("a \"\\x4Ab\\n\\\"\" 'it\\'s' \"\"\n"),
                  "*4\r\n$1\r\na\r\n$4\r\nJb\n\"\r\n$4\r\nit's\r\n$0\r\n\r\n");
}

static void refuses_quotes_that_are_not_balanced(void **state)
{
    (void)state;
    static const char *const lines[] = {"a \"b\r\n", "a 'b\r\n", "a \"b\"c\r\n", "\"b\\\"\r\n"};
    ab_buf out;
    ab_buf_init(&out, 1000);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_int_equal(ab_resp_put_inline(&out, ab_str_of(lines[i])), AB_ERR_PARSE);
    ab_buf_fini(&out);
}

static void writes_errors_in_one_line(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 1000);
    ab_resp_put_error(&out, AB_STR("agent \"w1\"\r\nis \xff"));
    assert_string_equal(out.ptr, "-ERR argobus: agent \"w1\"??is ?\r\n");
    ab_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_pipelined_commands_apart),
        cmocka_unit_test(tells_lines_of_words_from_arrays),
        cmocka_unit_test(marks_requests_of_no_words),
        cmocka_unit_test(hands_out_nothing_of_a_request_that_is_not_whole),
        cmocka_unit_test(refuses_lengths_before_their_bytes_come),
        cmocka_unit_test(refuses_garbage),
        cmocka_unit_test(refuses_a_line_without_an_end),
        cmocka_unit_test(hands_out_a_long_request_in_pieces),
        cmocka_unit_test(tells_replies_of_both_protocols_apart),
        cmocka_unit_test(counts_attributes_as_part_of_what_follows_them),
        cmocka_unit_test(refuses_what_is_not_a_reply),
        cmocka_unit_test(refuses_replies_that_are_nested_too_deep),
        cmocka_unit_test(takes_elements_one_by_one),
        cmocka_unit_test(takes_the_length_of_a_value_before_its_bytes),
        cmocka_unit_test(makes_arrays_of_lines),
        cmocka_unit_test(refuses_quotes_that_are_not_balanced),
        cmocka_unit_test(writes_errors_in_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
