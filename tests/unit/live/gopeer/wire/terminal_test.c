/* SPDX-License-Identifier: Apache-2.0 */
#include "live/gopeer/wire/side.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static ab_err put(const char *target, ab_buf *out)
{
    ab_resource_map map;
    ab_error err = {0};
    ab_err e = ab_resource_map_read(AB_STR("GET"), ab_str_of(target), &map, &err);
    assert_int_equal(e, AB_ERR_OK);
    return ab_gopeer_wire_put_terminal("u", &map, out, &err);
}

static void a_request_has_every_word_of_the_command(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 4096);
    assert_int_equal(put("/api/v1/namespaces/web/pods/a/exec?container=main&command=sh&command=-c&"
                         "command=echo+%22a%26b%22&tty=true&stdin=1&stdout=true",
                         &out),
                     AB_ERR_OK);
    assert_string_equal(
        out.ptr, "{\"uuid\":\"u\",\"namespace\":\"web\",\"podName\":\"a\","
                 "\"containerName\":\"main\",\"command\":[\"sh\",\"-c\",\"echo \\\"a&b\\\"\"],"
                 "\"tty\":true,\"stdin\":true,\"stdout\":true,\"stderr\":false}");
    ab_buf_clear(&out);
    assert_int_equal(put("/api/v1/namespaces/web/pods/a/exec?tty=perhaps", &out), AB_ERR_INVALID);
    ab_buf_fini(&out);
}

static void assert_read(const char *data, ab_err expected, const char *target, bool with_tty)
{
    ab_error err = {0};
    bool tty = false;
    ab_buf out;
    ab_buf_init(&out, 4096);
    ab_err e = ab_gopeer_wire_read_terminal(ab_str_of(data), &out, &tty, &err);
    assert_int_equal(e, expected);
    if (expected == AB_ERR_OK)
        assert_string_equal(out.ptr, target);
    assert_int_equal(tty, with_tty);
    ab_buf_fini(&out);
}

static void a_request_of_go_becomes_a_target(void **state)
{
    (void)state;
    assert_read("{\"namespace\":\"web\",\"podName\":\"a\",\"containerName\":\"main\","
                "\"command\":[\"sh\",\"-c\",\"a&b\"],\"tty\":true,\"stdin\":true,\"stdout\":true,"
                "\"stderr\":false}",
                AB_ERR_OK,
                "/api/v1/namespaces/web/pods/a/exec?tty=true&stdin=true&stdout=true&stderr=false"
                "&container=main&command=sh&command=-c&command=a%26b",
                true);
    assert_read("{\"podName\":\"a\"}", AB_ERR_INVALID, NULL, false);
    assert_read("{\"namespace\":\"web\",\"podName\":\"a\",\"command\":[1]}", AB_ERR_INVALID, NULL,
                false);
}

static void assert_size(const char *text, ab_err expected, uint32_t cols, uint32_t rows)
{
    uint32_t got_cols = 0, got_rows = 0;
    assert_int_equal(ab_gopeer_wire_read_size(ab_str_of(text), &got_cols, &got_rows), expected);
    if (expected == AB_ERR_OK) {
        assert_int_equal(got_cols, cols);
        assert_int_equal(got_rows, rows);
    }
}

static void a_size_is_read_in_both_forms(void **state)
{
    (void)state;
    assert_size("{\"Width\":80,\"Height\":24}", AB_ERR_OK, 80, 24);
    assert_size("{\"operation\":\"resize\",\"cols\":1,\"rows\":65535}", AB_ERR_OK, 1, 65535);
    assert_size("{\"Width\":80}", AB_ERR_INVALID, 0, 0);
    assert_size("{\"Width\":65536,\"Height\":1}", AB_ERR_INVALID, 0, 0);
    assert_size("no JSON", AB_ERR_PARSE, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_has_every_word_of_the_command),
        cmocka_unit_test(a_request_of_go_becomes_a_target),
        cmocka_unit_test(a_size_is_read_in_both_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
