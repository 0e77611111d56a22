/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_63 "a23456789012345678901234567890123456789012345678901234567890123"

static void absent_and_empty_differ(void **state)
{
    (void)state;
    assert_true(ab_str_eq(AB_STR_NONE, AB_STR_NONE));
    assert_false(ab_str_eq(AB_STR_NONE, AB_STR("")));
    assert_false(ab_str_is(AB_STR_NONE, ""));
    assert_true(ab_str_is(AB_STR(""), ""));
    assert_null(ab_str_of(NULL).ptr);
    assert_null(ab_str_dup(AB_STR_NONE));
}

static void strings_are_compared_by_all_their_bytes(void **state)
{
    (void)state;
    assert_true(ab_str_eq(AB_STR("a\0b"), AB_STR("a\0b")));
    assert_false(ab_str_eq(AB_STR("a\0b"), AB_STR("a\0c")));
    assert_false(ab_str_is(AB_STR("a\0b"), "a"));
    assert_true(ab_str_starts(AB_STR("abc"), "ab"));
    assert_false(ab_str_starts(AB_STR("a"), "ab"));
    assert_false(ab_str_starts(AB_STR_NONE, ""));
}

static void what_stands_behind_a_prefix_is_found(void **state)
{
    (void)state;
    assert_true(ab_str_is(ab_str_after(AB_STR("abc"), "ab"), "c"));
    assert_true(ab_str_is(ab_str_after(AB_STR("ab"), "ab"), ""));
    assert_null(ab_str_after(AB_STR("a"), "ab").ptr);
    assert_null(ab_str_after(AB_STR_NONE, "").ptr);
    assert_true(ab_str_is(ab_str_skip(AB_STR("abc"), 3), ""));
}

static void parts_are_cut_off_until_none_is_left(void **state)
{
    (void)state;
    ab_str rest = AB_STR("a,,b");
    assert_true(ab_str_is(ab_str_cut(&rest, ','), "a"));
    assert_true(ab_str_is(rest, ",b"));
    assert_true(ab_str_is(ab_str_cut(&rest, ','), ""));
    assert_true(ab_str_is(ab_str_cut(&rest, ','), "b"));
    assert_null(rest.ptr);
    assert_null(ab_str_cut(&rest, ',').ptr);
    rest = AB_STR("a=");
    assert_true(ab_str_is(ab_str_cut(&rest, '='), "a"));
    assert_true(ab_str_is(rest, ""));
    assert_true(ab_str_is(ab_str_cut(&rest, '='), ""));
    assert_null(rest.ptr);
}

static void strings_are_ordered_by_bytes_then_length(void **state)
{
    (void)state;
    assert_true(ab_str_cmp(AB_STR("a"), AB_STR("b")) < 0);
    assert_true(ab_str_cmp(AB_STR("a"), AB_STR("ab")) < 0);
    assert_true(ab_str_cmp(AB_STR("\xC3"), AB_STR("z")) > 0);
    assert_int_equal(ab_str_cmp(AB_STR("ab"), AB_STR("ab")), 0);
    assert_true(ab_str_cmp(AB_STR_NONE, AB_STR("a")) < 0);
}

static void a_copy_is_terminated(void **state)
{
    (void)state;
    char *copy = ab_str_dup((ab_str){"abcdef", 3});
    assert_string_equal(copy, "abc");
    free(copy);
}

static void a_text_is_replaced_by_a_copy_or_by_nothing(void **state)
{
    (void)state;
    char *text = NULL;
    assert_int_equal(ab_str_replace(&text, (ab_str){"abcdef", 3}), AB_ERR_OK);
    assert_string_equal(text, "abc");
    assert_int_equal(ab_str_replace(&text, (ab_str){text + 1, 2}), AB_ERR_OK);
    assert_string_equal(text, "bc");
    assert_int_equal(ab_str_replace(&text, AB_STR("d")), AB_ERR_OK);
    assert_string_equal(text, "d");
    assert_int_equal(ab_str_replace(&text, AB_STR("")), AB_ERR_OK);
    assert_null(text);
    assert_int_equal(ab_str_replace(&text, AB_STR_NONE), AB_ERR_OK);
    assert_null(text);
}

static void decimal_numbers_are_read_up_to_the_largest(void **state)
{
    (void)state;
    uint64_t n = 0;
    assert_int_equal(ab_str_to_u64(AB_STR("18446744073709551615"), &n), AB_ERR_OK);
    assert_true(n == UINT64_MAX);
    assert_int_equal(ab_str_to_u64(AB_STR("007"), &n), AB_ERR_OK);
    assert_int_equal(n, 7);
}

static void what_is_no_decimal_number_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "0x1",
                                      "1.0",
                                      "1a",
                                      "18446744073709551616",
                                      "99999999999999999999"};
    uint64_t n = 42;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(ab_str_to_u64(ab_str_of(bad[i]), &n), AB_ERR_PARSE);
    assert_int_equal(n, 42);
}

static void dns_labels_are_told(void **state)
{
    (void)state;
    static const char *const good[] = {"a", "0", "a-b", "a--b", LABEL_63};
    static const char *const bad[] = {"",    "-a", "a-", "A",  "a.b",        "a_b",
                                      "a/b", "..", ".",  "a ", LABEL_63 "4", "\xC3\xA9"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(ab_str_is_dns_label(ab_str_of(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(ab_str_is_dns_label(ab_str_of(bad[i])));
    assert_false(ab_str_is_dns_label(AB_STR("a\0")));
}

static void dns_subdomains_are_told(void **state)
{
    (void)state;
    static const char *const good[] = {"a",
                                       "a.b",
                                       "a-b.c-d",
                                       "1.2.3",
                                       LABEL_63 "4.x",
                                       LABEL_63 "." LABEL_63 "." LABEL_63 ".2345678901234567890"
                                                "1234567890123456789012345678901234567890"};
    static const char *const bad[] = {"",
                                      ".",
                                      "..",
                                      "a.",
                                      ".a",
                                      "a..b",
                                      "-a.b",
                                      "a-.b",
                                      "a.-b",
                                      "a.b-",
                                      "A.b",
                                      "a/b",
                                      "../a",
                                      LABEL_63 "." LABEL_63 "." LABEL_63 ".2345678901234567890"
                                               "12345678901234567890123456789012345678901234"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(ab_str_is_dns_subdomain(ab_str_of(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(ab_str_is_dns_subdomain(ab_str_of(bad[i])));
}

static void well_formed_utf8_is_told(void **state)
{
    (void)state;
    static const char *const good[] = {"",
                                       "a",
                                       "\x7F",
                                       "\xC2\x80",
                                       "\xDF\xBF",
                                       "\xE0\xA0\x80",
                                       "\xED\x9F\xBF",
                                       "\xEE\x80\x80",
                                       "\xEF\xBF\xBF",
                                       "\xF0\x90\x80\x80",
                                       "\xF4\x8F\xBF\xBF"};
    static const char *const bad[] = {"\x80",
                                      "\xC0\x80",
                                      "\xC1\xBF",
                                      "\xC3",
                                      "\xE0\x9F\xBF",
                                      "\xED\xA0\x80",
                                      "\xED\xBF\xBF",
                                      "\xE2\x82",
                                      "\xF0\x8F\xBF\xBF",
                                      "\xF4\x90\x80\x80",
                                      "\xF5\x80\x80\x80",
                                      "\xFF",
                                      "\xC3(",
                                      "\xF0\x9F\x98"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(ab_str_is_utf8(ab_str_of(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(ab_str_is_utf8(ab_str_of(bad[i])));
    assert_true(ab_str_is_utf8(AB_STR("a\0b")));
}

/* Longer than what is looked at as one word, and no multiple of it. */
static void a_byte_that_is_not_printable_is_seen_wherever_it_is(void **state)
{
    (void)state;
    static const char odd[] = {'\0', '\x1f', '\x7f', '\x80', '\xff'};
    char text[19];
    ab_str s = {text, sizeof(text)};
    for (size_t at = 0; at < sizeof(text); at++) {
        memset(text, at % 2 == 0 ? ' ' : '~', sizeof(text));
        assert_true(ab_str_is_printable(s));
        for (size_t i = 0; i < sizeof(odd); i++) {
            text[at] = odd[i];
            assert_false(ab_str_is_printable(s));
            assert_int_equal(ab_str_is_utf8(s), (unsigned char)odd[i] < 0x80);
        }
    }
    assert_true(ab_str_is_printable(AB_STR("")));
}

static void a_buffer_grows_and_stays_terminated(void **state)
{
    (void)state;
    ab_buf b;
    ab_buf_init(&b, 100000);
    assert_true(ab_str_is(ab_buf_str(&b), ""));
    for (int i = 0; i < 1000; i++)
        ab_buf_printf(&b, "%d,", i);
    ab_buf_putc(&b, '!');
    ab_buf_puts(&b, "end");
    ab_buf_put(&b, AB_STR_NONE);
    assert_int_equal(ab_buf_status(&b), AB_ERR_OK);
    assert_int_equal(b.len, 3890 + 4);
    assert_int_equal(strlen(b.ptr), b.len);
    assert_string_equal(b.ptr + b.len - 8, "999,!end");
    ab_buf_fini(&b);
}

static void a_buffer_fills_to_its_cap_and_not_past_it(void **state)
{
    (void)state;
    ab_buf b;
    ab_buf_init(&b, 3);
    ab_buf_puts(&b, "abc");
    assert_int_equal(ab_buf_status(&b), AB_ERR_OK);
    ab_buf_putc(&b, 'd');
    assert_int_equal(ab_buf_status(&b), AB_ERR_TOOBIG);
    assert_true(ab_str_is(ab_buf_str(&b), "abc"));
    ab_buf_fini(&b);
}

static void a_failure_sticks_until_the_buffer_is_cleared(void **state)
{
    (void)state;
    ab_buf b;
    ab_buf_init(&b, 3);
    ab_buf_printf(&b, "%d", 12345);
    ab_buf_puts(&b, "a");
    assert_int_equal(b.len, 0);
    assert_null(ab_buf_take(&b));
    ab_buf_printf(&b, "%d", 12345);
    ab_buf_clear(&b);
    ab_buf_puts(&b, "a");
    assert_int_equal(ab_buf_status(&b), AB_ERR_OK);
    assert_true(ab_str_is(ab_buf_str(&b), "a"));
    ab_buf_fini(&b);
}

static void bytes_are_moved_out(void **state)
{
    (void)state;
    ab_buf b;
    ab_buf_init(&b, 10);
    char *empty = ab_buf_take(&b);
    assert_string_equal(empty, "");
    ab_buf_puts(&b, "abc");
    char *bytes = ab_buf_take(&b);
    assert_string_equal(bytes, "abc");
    assert_int_equal(b.len, 0);
    assert_int_equal(b.cap, 10);
    free(empty);
    free(bytes);
}

static void a_wiped_buffer_is_empty_and_usable(void **state)
{
    (void)state;
    ab_buf b;
    ab_buf_init(&b, 10);
    ab_buf_puts(&b, "secret");
    ab_buf_wipe(&b);
    assert_null(b.ptr);
    ab_buf_wipe(&b);
    ab_buf_puts(&b, "x");
    assert_true(ab_str_is(ab_buf_str(&b), "x"));
    ab_buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absent_and_empty_differ),
        cmocka_unit_test(strings_are_compared_by_all_their_bytes),
        cmocka_unit_test(what_stands_behind_a_prefix_is_found),
        cmocka_unit_test(parts_are_cut_off_until_none_is_left),
        cmocka_unit_test(strings_are_ordered_by_bytes_then_length),
        cmocka_unit_test(a_copy_is_terminated),
        cmocka_unit_test(a_text_is_replaced_by_a_copy_or_by_nothing),
        cmocka_unit_test(decimal_numbers_are_read_up_to_the_largest),
        cmocka_unit_test(what_is_no_decimal_number_is_refused),
        cmocka_unit_test(dns_labels_are_told),
        cmocka_unit_test(dns_subdomains_are_told),
        cmocka_unit_test(well_formed_utf8_is_told),
        cmocka_unit_test(a_byte_that_is_not_printable_is_seen_wherever_it_is),
        cmocka_unit_test(a_buffer_grows_and_stays_terminated),
        cmocka_unit_test(a_buffer_fills_to_its_cap_and_not_past_it),
        cmocka_unit_test(a_failure_sticks_until_the_buffer_is_cleared),
        cmocka_unit_test(bytes_are_moved_out),
        cmocka_unit_test(a_wiped_buffer_is_empty_and_usable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
