/* SPDX-License-Identifier: Apache-2.0 */
#include "live/resource/messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static int set_up(void **state)
{
    static ab_resource_messages m;
    ab_resource_messages_init(&m);
    *state = &m;
    return 0;
}

static int tear_down(void **state)
{
    ab_resource_messages_fini(*state);
    return 0;
}

static void assert_next(ab_resource_messages *m, const char *expected)
{
    ab_str message;
    assert_int_equal(ab_resource_messages_next(m, &message), AB_ERR_OK);
    assert_int_equal(message.ptr == NULL, expected == NULL);
    if (expected == NULL)
        return;
    assert_true(ab_str_is(message, expected));
    ab_resource_messages_drop(m, message);
}

static void a_message_comes_out_when_it_is_whole(void **state)
{
    ab_buf bytes;
    ab_buf_init(&bytes, 4096);
    ab_resource_messages_put(&bytes, AB_STR("hello"));
    ab_resource_messages_put(&bytes, AB_STR(""));
    ab_resource_messages_put(&bytes, AB_STR("x"));
    for (size_t i = 0; i < bytes.len; i++) {
        assert_int_equal(ab_resource_messages_feed(*state, (ab_str){bytes.ptr + i, 1}), AB_ERR_OK);
        assert_next(*state, i == 8 ? "hello" : i == 12 ? "" : i == 17 ? "x" : NULL);
    }
    ab_buf_fini(&bytes);
}

static void many_messages_come_out_in_order(void **state)
{
    ab_buf bytes;
    char text[16];
    ab_buf_init(&bytes, 1024 * 1024);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(text, sizeof(text), "message %d", i);
        ab_resource_messages_put(&bytes, ab_str_of(text));
    }
    assert_int_equal(ab_resource_messages_feed(*state, ab_buf_str(&bytes)), AB_ERR_OK);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(text, sizeof(text), "message %d", i);
        assert_next(*state, text);
    }
    assert_next(*state, NULL);
    ab_buf_fini(&bytes);
}

static void a_length_past_the_limit_is_refused(void **state)
{
    ab_str message;
    assert_int_equal(ab_resource_messages_feed(*state, AB_STR("\x00\x10\x00\x01")), AB_ERR_OK);
    assert_int_equal(ab_resource_messages_next(*state, &message), AB_ERR_TOOBIG);
    assert_null(message.ptr);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_message_comes_out_when_it_is_whole),
        TEST(many_messages_come_out_in_order),
        TEST(a_length_past_the_limit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
