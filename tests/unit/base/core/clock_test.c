/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_monotonic_clock_does_not_go_back(void **state)
{
    (void)state;
    int64_t before = ab_clock_mono_ms(&ab_clock_real);
    for (int i = 0; i < 1000; i++) {
        int64_t now = ab_clock_mono_ms(&ab_clock_real);
        assert_true(now >= before);
        before = now;
    }
}

static void the_wall_clock_is_in_microseconds(void **state)
{
    (void)state;
    assert_true(ab_clock_wall_us(&ab_clock_real) > INT64_C(1700000000000000)); /* 2023 */
    assert_true(ab_clock_wall_us(&ab_clock_real) < INT64_C(7000000000000000)); /* 2191 */
}

static int64_t stepped(void *arg)
{
    return *(int64_t *)arg;
}

static void a_test_can_step_the_clock(void **state)
{
    (void)state;
    int64_t now = 5;
    ab_clock c = {.mono_ms = stepped, .wall_us = stepped, .arg = &now};
    assert_int_equal(ab_clock_mono_ms(&c), 5);
    now = 6;
    assert_int_equal(ab_clock_wall_us(&c), 6);
}

static void times_are_written_in_utc(void **state)
{
    (void)state;
    char text[AB_TIME_TEXT];
    ab_time_format(INT64_C(1767323045678901), text);
    assert_string_equal(text, "2026-01-02T03:04:05.678901Z");
    ab_time_format_ms(INT64_C(1767323045678901), text);
    assert_string_equal(text, "2026-01-02T03:04:05.678Z");
    ab_time_format_seconds(INT64_C(1767323045678901), text);
    assert_string_equal(text, "2026-01-02T03:04:05Z");
    ab_time_format(0, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000000Z");
}

static void times_outside_of_rfc_3339_are_clamped(void **state)
{
    (void)state;
    char text[AB_TIME_TEXT];
    ab_time_format(INT64_MAX, text);
    assert_string_equal(text, "9999-12-31T23:59:59.999999Z");
    ab_time_format(-1, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000000Z");
}

static void delays_double_up_to_the_longest(void **state)
{
    (void)state;
    ab_backoff b;
    ab_backoff_init(&b, 100, 1000);
    static const int64_t upper[] = {100, 200, 400, 800, 1000, 1000, 1000};
    for (size_t i = 0; i < sizeof(upper) / sizeof(upper[0]); i++) {
        int64_t delay = ab_backoff_next(&b);
        assert_true(delay >= upper[i] / 2 && delay <= upper[i]);
    }
    ab_backoff_reset(&b);
    assert_true(ab_backoff_next(&b) <= 100);
}

static void delays_of_peers_differ(void **state)
{
    (void)state;
    ab_backoff b;
    ab_backoff_init(&b, 1000000, 1000000);
    int64_t first = ab_backoff_next(&b);
    int same = 0;
    for (int i = 0; i < 100; i++)
        same += ab_backoff_next(&b) == first;
    assert_true(same < 10);
}

static void the_longest_delay_does_not_overflow(void **state)
{
    (void)state;
    ab_backoff b;
    ab_backoff_init(&b, 1, INT64_MAX);
    for (int i = 0; i < 200; i++)
        assert_true(ab_backoff_next(&b) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_monotonic_clock_does_not_go_back),
        cmocka_unit_test(the_wall_clock_is_in_microseconds),
        cmocka_unit_test(a_test_can_step_the_clock),
        cmocka_unit_test(times_are_written_in_utc),
        cmocka_unit_test(times_outside_of_rfc_3339_are_clamped),
        cmocka_unit_test(delays_double_up_to_the_longest),
        cmocka_unit_test(delays_of_peers_differ),
        cmocka_unit_test(the_longest_delay_does_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
