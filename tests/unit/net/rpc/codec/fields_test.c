/* SPDX-License-Identifier: Apache-2.0 */
#include "net/rpc/codec/fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void timeouts_are_read_in_each_unit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } table[] = {{"1H", 3600000},
                 {"2M", 120000},
                 {"3S", 3000},
                 {"0m", 0},
                 {"4m", 4},
                 {"1u", 1},
                 {"1001u", 2},
                 {"1n", 1},
                 {"1000001n", 2},
                 {"05S", 5000},
                 {"99999999H", 359999996400000}};
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        int64_t ms = -1;
        assert_true(ab_rpc_timeout_parse(ab_str_of(table[i].text), &ms));
        assert_int_equal(ms, table[i].ms);
    }
}

static void other_texts_are_no_timeouts(void **state)
{
    (void)state;
    static const char *const table[] = {"",   "S",    "1",   "-1S", "+1S",        "1s",
                                        "1h", "1.5S", "1 S", "S1",  "100000000S", "1SS"};
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        int64_t ms = 7;
        assert_false(ab_rpc_timeout_parse(ab_str_of(table[i]), &ms));
        assert_int_equal(ms, 7);
    }
    int64_t ms = 0;
    assert_false(ab_rpc_timeout_parse(AB_STR_NONE, &ms));
}

static void timeouts_are_written_in_eight_digits_at_most(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } table[] = {{1, "1m"},
                 {99999999, "99999999m"},
                 {100000000, "100000S"},
                 {INT64_C(100000000000), "1666666M"},
                 {INT64_MAX, "99999999H"}};
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char out[AB_RPC_TIMEOUT_TEXT];
        ab_rpc_timeout_format(table[i].ms, out);
        assert_string_equal(out, table[i].text);
    }
}

static void expect_text(void (*change)(ab_str text, ab_buf *out), const char *in, const char *out)
{
    ab_buf b;
    ab_buf_init(&b, 1000);
    change(ab_str_of(in), &b);
    assert_true(ab_str_is(ab_buf_str(&b), out));
    ab_buf_fini(&b);
}

static void texts_are_escaped_on_the_wire(void **state)
{
    (void)state;
    expect_text(ab_rpc_text_encode, "100% prosím\n", "100%25 pros%C3%ADm%0A");
    expect_text(ab_rpc_text_decode, "100%25 pros%c3%ADm%0A", "100% prosím\n");
    expect_text(ab_rpc_text_decode, "", "");
}

static void broken_escapes_and_bytes_are_kept_readable(void **state)
{
    (void)state;
    expect_text(ab_rpc_text_decode, "%", "%");
    expect_text(ab_rpc_text_decode, "a%2", "a%2");
    expect_text(ab_rpc_text_decode, "a%zzb", "a%zzb");
    expect_text(ab_rpc_text_decode, "~%FFb", "~?b");
}

static void a_status_is_a_number_that_grpc_has(void **state)
{
    (void)state;
    assert_int_equal(ab_rpc_status_parse(AB_STR("0")), AB_RPC_OK);
    assert_int_equal(ab_rpc_status_parse(AB_STR("16")), AB_RPC_UNAUTHENTICATED);
    static const char *const others[] = {"17", "-1", "", "0x1", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(ab_rpc_status_parse(ab_str_of(others[i])), AB_RPC_UNKNOWN);
    assert_int_equal(ab_rpc_status_parse(AB_STR_NONE), AB_RPC_UNKNOWN);
    assert_string_equal(ab_rpc_status_name(AB_RPC_DATA_LOSS), "DATA_LOSS");
    assert_string_equal(ab_rpc_status_name((ab_rpc_status)99), "UNKNOWN");
}

static void statuses_of_http_and_resets_have_meanings(void **state)
{
    (void)state;
    assert_int_equal(ab_rpc_status_of_http(AB_STR("401")), AB_RPC_UNAUTHENTICATED);
    assert_int_equal(ab_rpc_status_of_http(AB_STR("503")), AB_RPC_UNAVAILABLE);
    assert_int_equal(ab_rpc_status_of_http(AB_STR("302")), AB_RPC_UNKNOWN);
    assert_int_equal(ab_rpc_status_of_reset(8), AB_RPC_CANCELLED);
    assert_int_equal(ab_rpc_status_of_reset(7), AB_RPC_UNAVAILABLE);
    assert_int_equal(ab_rpc_status_of_reset(2), AB_RPC_INTERNAL);
}

static void names_of_metadata_are_checked(void **state)
{
    (void)state;
    static const char *const good[] = {"authorization", "x-1.a_b", "key-bin", "az09"};
    static const char *const bad[] = {"",    "Upper", ":path", "grpc-status", "te", "content-type",
                                      "a b", "ä",     "a/",    "a:",          "a`", "a{"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(ab_rpc_name_is_valid(ab_str_of(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(ab_rpc_name_is_valid(ab_str_of(bad[i])));
    assert_true(ab_rpc_name_is_binary(AB_STR("key-bin")));
    assert_false(ab_rpc_name_is_binary(AB_STR("-bin")));
}

static void binary_metadata_has_no_padding_but_may(void **state)
{
    (void)state;
    ab_buf b;
    ab_buf_init(&b, 100);
    ab_buf_puts(&b, "=");
    ab_rpc_binary_encode(AB_STR(""), &b);
    ab_rpc_binary_encode(AB_STR("hell"), &b);
    assert_true(ab_str_is(ab_buf_str(&b), "=aGVsbA"));
    ab_buf_clear(&b);
    assert_true(ab_rpc_binary_decode(AB_STR("aGVsbA"), &b));
    assert_true(ab_rpc_binary_decode(AB_STR("aGVsbA=="), &b));
    assert_true(ab_str_is(ab_buf_str(&b), "hellhell"));
    assert_false(ab_rpc_binary_decode(AB_STR("a"), &b));
    assert_false(ab_rpc_binary_decode(AB_STR("!!!!"), &b));
    ab_buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeouts_are_read_in_each_unit),
        cmocka_unit_test(other_texts_are_no_timeouts),
        cmocka_unit_test(timeouts_are_written_in_eight_digits_at_most),
        cmocka_unit_test(texts_are_escaped_on_the_wire),
        cmocka_unit_test(broken_escapes_and_bytes_are_kept_readable),
        cmocka_unit_test(a_status_is_a_number_that_grpc_has),
        cmocka_unit_test(statuses_of_http_and_resets_have_meanings),
        cmocka_unit_test(names_of_metadata_are_checked),
        cmocka_unit_test(binary_metadata_has_no_padding_but_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
