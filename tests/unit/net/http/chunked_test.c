/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/chunked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Read `text` in portions of `step` bytes; what is not read of one stays for the next.
 * @return whether the body ended; `rest` is set to the bytes after it */
static ab_err read_all(ab_str text, size_t step, ab_buf *body, bool *ended, size_t *rest)
{
    ab_http_chunked c = {0};
    size_t at = 0;
    size_t end = 0;
    *ended = false;
    while (!*ended && end < text.len) {
        end = end + step < text.len ? end + step : text.len;
        ab_str in = {text.ptr + at, end - at};
        ab_str piece = AB_STR("");
        while (piece.ptr != NULL && !*ended) {
            ab_err e = ab_http_chunked_next(&c, &in, &piece, ended);
            if (e != AB_ERR_OK)
                return e;
            ab_buf_put(body, piece);
        }
        at = end - in.len;
    }
    *rest = text.len - at;
    return AB_ERR_OK;
}

static void chunks_are_read_however_they_are_cut(void **state)
{
    (void)state;
    ab_str text = AB_STR("5\r\nhello\r\nA;x=\"y\"\r\n0123456789\r\n000\r\nTrailer: a\r\n\r\nGET /");
    for (size_t step = 1; step <= text.len; step++) {
        ab_buf body;
        bool ended;
        size_t rest;
        ab_buf_init(&body, 4096);
        assert_int_equal(read_all(text, step, &body, &ended, &rest), AB_ERR_OK);
        assert_true(ended);
        assert_true(ab_str_is(ab_buf_str(&body), "hello0123456789"));
        assert_true(rest <= 5);
        ab_buf_fini(&body);
    }
}

static void what_is_not_a_chunk_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\r\n",
        "x\r\n",
        "-1\r\n",
        "5 \r\nhello\r\n",
        "5\nhello\n",
        "5\r\nhelloX\r\n",
        "5\r\nhello0\r\n",
        "0x5\r\nhello\r\n",
        "1000000000000000\r\n",
        "5;a\rb\r\nhello\r\n",
        "0\r\nA: b\n\r\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ab_buf body;
        bool ended;
        size_t rest;
        ab_buf_init(&body, 4096);
        assert_int_equal(read_all(ab_str_of(bad[i]), 100, &body, &ended, &rest), AB_ERR_PARSE);
        ab_buf_fini(&body);
    }
}

static void endless_extensions_and_trailers_are_refused(void **state)
{
    (void)state;
    char line[300];
    ab_http_chunked c = {0};
    ab_str piece;
    bool ended;
    memset(line, 'a', sizeof(line));
    memcpy(line, "5;", 2);
    ab_str in = {line, sizeof(line)};
    assert_int_equal(ab_http_chunked_next(&c, &in, &piece, &ended), AB_ERR_PARSE);
    c = (ab_http_chunked){0};
    ab_err e = AB_ERR_OK;
    in = AB_STR("0\r\n");
    assert_int_equal(ab_http_chunked_next(&c, &in, &piece, &ended), AB_ERR_OK);
    for (int i = 0; i < 1000 && e == AB_ERR_OK; i++) {
        in = AB_STR("a: bcdefghijklmnopqrstuvwxyz\r\n");
        e = ab_http_chunked_next(&c, &in, &piece, &ended);
    }
    assert_int_equal(e, AB_ERR_PARSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_read_however_they_are_cut),
        cmocka_unit_test(what_is_not_a_chunk_is_refused),
        cmocka_unit_test(endless_extensions_and_trailers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
