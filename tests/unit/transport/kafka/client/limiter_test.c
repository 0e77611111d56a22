/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/limiter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void one_a_minute_passes_and_says_how_many_did_not(void **state)
{
    (void)state;
    ab_limiter l = {0};
    int64_t held = -1;
    assert_true(ab_limiter_pass(&l, "error", "a", 1000, &held));
    assert_int_equal(held, 0);
    for (int64_t now = 1001; now < 1011; now++)
        assert_false(ab_limiter_pass(&l, "error", "a", now, &held));
    assert_false(ab_limiter_pass(&l, "error", "a", 60999, &held));
    assert_true(ab_limiter_pass(&l, "error", "a", 61000, &held));
    assert_int_equal(held, 11);
    assert_false(ab_limiter_pass(&l, "error", "a", 61001, &held));
}

static void different_messages_do_not_hold_each_other_back(void **state)
{
    (void)state;
    ab_limiter l = {0};
    int64_t held = 0;
    assert_true(ab_limiter_pass(&l, "error", "a", 0, &held));
    assert_true(ab_limiter_pass(&l, "error", "b", 0, &held));
    assert_true(ab_limiter_pass(&l, "errora", "", 0, &held));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_a_minute_passes_and_says_how_many_did_not),
        cmocka_unit_test(different_messages_do_not_hold_each_other_back),
    };
    return cmocka_run_group_tests_name("kafka limiter", tests, NULL, NULL);
}
