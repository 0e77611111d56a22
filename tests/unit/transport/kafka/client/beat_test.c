/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/beat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define INTERVAL 10000
#define GROUPS   10

static void all_of_a_group_have_the_same_next_moment(void **state)
{
    (void)state;
    int64_t beat = ab_beat_next(3, INTERVAL, 123456);
    assert_in_range(beat, 123457, 123456 + INTERVAL);
    assert_int_equal(ab_beat_next(3, INTERVAL, beat - INTERVAL), beat);
    assert_int_equal(ab_beat_next(3, INTERVAL, beat - 1), beat);
    assert_int_equal(ab_beat_next(3, INTERVAL, beat), beat + INTERVAL);
}

static void groups_are_spread_over_the_interval(void **state)
{
    (void)state;
    for (unsigned a = 0; a < GROUPS; a++) {
        for (unsigned b = 0; b < a; b++) {
            int64_t apart = ab_beat_next(a, INTERVAL, 0) - ab_beat_next(b, INTERVAL, 0);
            assert_in_range(llabs(apart), INTERVAL / GROUPS / 2, INTERVAL - 1);
        }
    }
}

static void any_number_of_groups_has_moments_within_an_interval(void **state)
{
    (void)state;
    for (unsigned group = 0; group < 10000; group += 7)
        assert_in_range(ab_beat_next(group, 1, 41), 42, 42);
    assert_in_range(ab_beat_next(UINT32_MAX, 3600 * 1000, INT64_C(1) << 45), (INT64_C(1) << 45) + 1,
                    (INT64_C(1) << 45) + 3600 * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_a_group_have_the_same_next_moment),
        cmocka_unit_test(groups_are_spread_over_the_interval),
        cmocka_unit_test(any_number_of_groups_has_moments_within_an_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
