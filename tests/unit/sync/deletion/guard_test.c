/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/deletion/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define WINDOW_MS 60000

static ab_guard g;

/* More than 4, and more than half. */
static int set_up(void **state)
{
    (void)state;
    ab_guard_init(&g, (ab_guard_limits){.max = 4, .percent = 50, .window_ms = WINDOW_MS});
    return 0;
}

static void few_deletions_are_let_through(void **state)
{
    (void)state;
    assert_true(ab_guard_all(&g, 0, 4, 0, 4));
    assert_int_equal(g.held, 0);
}

static void many_of_more_objects_still_are_let_through(void **state)
{
    (void)state;
    assert_true(ab_guard_all(&g, 0, 50, 0, 100));
    assert_int_equal(g.held, 0);
}

static void what_is_more_than_both_limits_is_held(void **state)
{
    (void)state;
    assert_false(ab_guard_all(&g, 0, 5, 0, 5));
    assert_int_equal(g.held, 5);
}

/* The operator has not seen them: they are held like those that were confirmed. */
static void what_goes_missing_after_a_confirmation_is_one_deletion_with_it(void **state)
{
    (void)state;
    int64_t late = 100 * WINDOW_MS;
    assert_false(ab_guard_all(&g, 0, 5, 0, 8));
    ab_guard_note_confirmed(&g, late, 5, 8);
    assert_false(ab_guard_all(&g, late + WINDOW_MS, 1, 0, 3));
    assert_int_equal(g.held, 1);
}

/* Also where one that nobody had to confirm began the window. */
static void a_confirmation_begins_the_window_again(void **state)
{
    (void)state;
    assert_true(ab_guard_all(&g, 0, 3, 0, 8));
    assert_false(ab_guard_all(&g, 1, 5, 0, 8));
    ab_guard_note_confirmed(&g, WINDOW_MS, 5, 8);
    assert_false(ab_guard_all(&g, 2 * WINDOW_MS, 1, 0, 1));
}

static void a_window_after_a_confirmation_it_is_another_one(void **state)
{
    (void)state;
    assert_false(ab_guard_all(&g, 0, 5, 0, 8));
    ab_guard_note_confirmed(&g, 1, 5, 8);
    assert_true(ab_guard_all(&g, 2, 0, 0, 3));
    assert_true(ab_guard_all(&g, WINDOW_MS + 2, 3, 0, 3));
}

static void deletions_far_apart_are_not_added_up(void **state)
{
    (void)state;
    assert_true(ab_guard_all(&g, 0, 4, 0, 8));
    assert_true(ab_guard_all(&g, WINDOW_MS + 1, 4, 0, 4));
    assert_int_equal(g.held, 0);
}

static void deletions_within_the_window_are_added_up(void **state)
{
    (void)state;
    assert_true(ab_guard_all(&g, 0, 4, 0, 8));
    assert_false(ab_guard_all(&g, WINDOW_MS, 4, 0, 4));
    assert_int_equal(g.held, 4);
}

static void while_something_is_held_nothing_goes_however_late_it_is(void **state)
{
    (void)state;
    assert_false(ab_guard_all(&g, 0, 5, 0, 5));
    assert_false(ab_guard_all(&g, 100 * WINDOW_MS, 6, 0, 1000));
    assert_int_equal(g.held, 6);
}

static void those_that_were_made_before_it_held_count_too(void **state)
{
    (void)state;
    assert_true(ab_guard_all(&g, 0, 4, 0, 6));
    assert_false(ab_guard_all(&g, 1, 2, 0, 2));
    assert_false(ab_guard_all(&g, 2 * WINDOW_MS, 2, 0, 2));
    assert_int_equal(g.held, 2);
}

static void what_is_missing_without_a_proof_counts_too(void **state)
{
    (void)state;
    assert_false(ab_guard_all(&g, 0, 1, 4, 5));
    assert_int_equal(g.held, 1); /* the others are held anyway */
}

static void what_has_no_proof_is_not_counted_as_deleted(void **state)
{
    (void)state;
    assert_true(ab_guard_all(&g, 0, 0, 9, 9));
    assert_true(ab_guard_all(&g, 1, 2, 2, 9));
    assert_int_equal(g.made, 2);
    assert_true(ab_guard_all(&g, 2, 2, 0, 9));
}

static void nothing_is_held_when_the_objects_are_back(void **state)
{
    (void)state;
    assert_false(ab_guard_all(&g, 0, 6, 0, 6));
    assert_true(ab_guard_all(&g, 1, 0, 0, 6));
    assert_int_equal(g.held, 0);
    assert_true(ab_guard_all(&g, 2 * WINDOW_MS, 1, 0, 6));
}

static void it_is_looked_at_again_once_a_window(void **state)
{
    (void)state;
    assert_false(ab_guard_is_due(&g, WINDOW_MS));
    assert_false(ab_guard_all(&g, 0, 6, 0, 6));
    assert_false(ab_guard_is_due(&g, WINDOW_MS - 1));
    assert_true(ab_guard_is_due(&g, WINDOW_MS));
    assert_false(ab_guard_is_due(&g, WINDOW_MS));
    assert_true(ab_guard_is_due(&g, 2 * WINDOW_MS));
}

#define T(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(few_deletions_are_let_through),
        T(many_of_more_objects_still_are_let_through),
        T(what_is_more_than_both_limits_is_held),
        T(what_goes_missing_after_a_confirmation_is_one_deletion_with_it),
        T(a_confirmation_begins_the_window_again),
        T(a_window_after_a_confirmation_it_is_another_one),
        T(deletions_far_apart_are_not_added_up),
        T(deletions_within_the_window_are_added_up),
        T(while_something_is_held_nothing_goes_however_late_it_is),
        T(those_that_were_made_before_it_held_count_too),
        T(what_is_missing_without_a_proof_counts_too),
        T(what_has_no_proof_is_not_counted_as_deleted),
        T(nothing_is_held_when_the_objects_are_back),
        T(it_is_looked_at_again_once_a_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
