/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/epoch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NOW_US INT64_C(1800000000000000)

static void the_clock_in_either_unit_is_an_epoch(void **state)
{
    (void)state;
    assert_true(ab_epoch_is_credible(0, NOW_US));
    assert_true(ab_epoch_is_credible(NOW_US / 1000000, NOW_US));
    assert_true(ab_epoch_is_credible(NOW_US, NOW_US));
    /* of a writer whose clock is right, where ours begins in 1970, or before */
    assert_true(ab_epoch_is_credible(NOW_US, 0));
    assert_true(ab_epoch_is_credible(NOW_US, -1));
}

static void near_the_end_of_the_numbers_is_none(void **state)
{
    (void)state;
    assert_false(ab_epoch_is_credible(UINT64_MAX, NOW_US));
    assert_false(ab_epoch_is_credible(INT64_MAX, NOW_US));
    assert_false(ab_epoch_is_credible((UINT64_C(1) << 53) - 1, NOW_US));
    assert_false(ab_epoch_is_credible(UINT64_MAX, INT64_MAX / 1000));
}

static void what_follows_the_highest_is_one(void **state)
{
    (void)state;
    uint64_t highest = NOW_US + AB_EPOCH_AHEAD;
    assert_true(ab_epoch_is_credible(highest, NOW_US));
    assert_false(ab_epoch_is_credible(highest + 1, NOW_US));
    assert_true(ab_epoch_is_credible(highest + 1, NOW_US + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_in_either_unit_is_an_epoch),
        cmocka_unit_test(near_the_end_of_the_numbers_is_none),
        cmocka_unit_test(what_follows_the_highest_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
