/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/wheel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define WIDTH_MS 100
#define TURN_MS  (WIDTH_MS * AB_WHEEL_SLOTS)

/* How many are due; they are stopped. */
static size_t due_at(ab_wheel *w, int64_t now_ms)
{
    ab_link due;
    size_t count = 0;
    ab_link_init(&due);
    ab_wheel_turn(w, now_ms, &due);
    for (ab_link *l = ab_list_pop(&due); l != NULL; l = ab_list_pop(&due)) {
        assert_true(AB_LINK_OF(l, ab_wheel_timer, at)->due_ms <= now_ms);
        count++;
    }
    return count;
}

static void a_timer_is_due_at_its_time_and_once(void **state)
{
    (void)state;
    ab_wheel w;
    ab_wheel_timer t;
    ab_wheel_init(&w, WIDTH_MS, 1000);
    ab_wheel_timer_init(&t);
    ab_wheel_set(&w, &t, 1250);
    assert_int_equal(due_at(&w, 1249), 0);
    assert_int_equal(due_at(&w, 1250), 1);
    assert_int_equal(due_at(&w, 1251), 0);
    assert_int_equal(due_at(&w, 1250 + TURN_MS), 0);
}

static void the_earlier_of_two_deadlines_counts(void **state)
{
    (void)state;
    ab_wheel w;
    ab_wheel_timer t;
    ab_wheel_init(&w, WIDTH_MS, 0);
    ab_wheel_timer_init(&t);
    ab_wheel_set(&w, &t, 900);
    ab_wheel_set(&w, &t, 300);
    ab_wheel_set(&w, &t, 600);
    assert_int_equal(due_at(&w, 299), 0);
    assert_int_equal(due_at(&w, 300), 1);
}

static void a_deadline_that_has_passed_is_due_at_once(void **state)
{
    (void)state;
    ab_wheel w;
    ab_wheel_timer t;
    ab_wheel_init(&w, WIDTH_MS, 5000);
    ab_wheel_timer_init(&t);
    ab_wheel_set(&w, &t, 0);
    assert_int_equal(due_at(&w, 5000), 1);
}

static void a_deadline_of_another_turn_is_not_due_in_this_one(void **state)
{
    (void)state;
    ab_wheel w;
    ab_wheel_timer t;
    ab_wheel_init(&w, WIDTH_MS, 0);
    ab_wheel_timer_init(&t);
    ab_wheel_set(&w, &t, 3 * TURN_MS + 50);
    for (int64_t now_ms = 0; now_ms < 3 * TURN_MS + 50; now_ms += 70)
        assert_int_equal(due_at(&w, now_ms), 0);
    assert_int_equal(due_at(&w, 3 * TURN_MS + 50), 1);
}

static void after_a_long_pause_all_that_was_due_is(void **state)
{
    (void)state;
    enum { COUNT = 2 * AB_WHEEL_SLOTS };
    ab_wheel w;
    static ab_wheel_timer timers[COUNT];
    ab_wheel_init(&w, WIDTH_MS, 0);
    for (size_t i = 0; i < COUNT; i++) {
        ab_wheel_timer_init(&timers[i]);
        ab_wheel_set(&w, &timers[i], (int64_t)i * WIDTH_MS);
    }
    assert_int_equal(due_at(&w, INT64_C(25) * 3600 * 1000), COUNT);
}

static void a_timer_that_was_stopped_is_never_due(void **state)
{
    (void)state;
    ab_wheel w;
    ab_wheel_timer t;
    ab_wheel_init(&w, WIDTH_MS, 0);
    ab_wheel_timer_init(&t);
    ab_wheel_set(&w, &t, 200);
    ab_wheel_timer_stop(&t);
    assert_int_equal(due_at(&w, 1000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_is_due_at_its_time_and_once),
        cmocka_unit_test(the_earlier_of_two_deadlines_counts),
        cmocka_unit_test(a_deadline_that_has_passed_is_due_at_once),
        cmocka_unit_test(a_deadline_of_another_turn_is_not_due_in_this_one),
        cmocka_unit_test(after_a_long_pause_all_that_was_due_is),
        cmocka_unit_test(a_timer_that_was_stopped_is_never_due),
    };
    return cmocka_run_group_tests_name("wheel", tests, NULL, NULL);
}
