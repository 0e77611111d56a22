/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/deletion/missing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* One key for each letter. */
static ab_missing missing(const char *letters)
{
    ab_missing m = {0};
    for (; *letters != '\0'; letters++)
        ab_missing_add(&m, (ab_str){letters, 1});
    return m;
}

static bool is_same(const char *letters, const char *others)
{
    ab_missing a = missing(letters), b = missing(others);
    return ab_missing_is_same(&a, &b);
}

static void the_same_objects_are_the_same_in_any_order(void **state)
{
    (void)state;
    assert_true(is_same("abc", "cab"));
    assert_true(is_same("", ""));
}

static void others_are_not_the_same(void **state)
{
    (void)state;
    assert_false(is_same("abc", "ab"));
    assert_false(is_same("abc", "abd"));
    assert_false(is_same("", "a"));
}

static void two_parts_are_all_of_both(void **state)
{
    (void)state;
    ab_missing a = missing("ab"), b = missing("c"), all = missing("bca");
    ab_missing joined = ab_missing_join(&a, &b);
    assert_true(ab_missing_is_same(&joined, &all));
}

static void nothing_is_no_set_that_can_be_confirmed(void **state)
{
    (void)state;
    ab_missing none = {0}, some = missing("ab"), unknown = {.count = 2, .unknown = true};
    assert_false(ab_missing_is_set(&none, &none.set));
    assert_false(ab_missing_is_set(&unknown, &unknown.set));
    assert_false(ab_missing_is_set(&some, &none.set));
    assert_true(ab_missing_is_set(&some, &some.set));
}

static void what_a_part_does_not_know_both_do_not(void **state)
{
    (void)state;
    ab_missing known = missing("a"), unknown = {.count = 1, .unknown = true};
    ab_missing joined = ab_missing_join(&known, &unknown);
    assert_false(ab_missing_is_set(&joined, &joined.set));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_objects_are_the_same_in_any_order),
        cmocka_unit_test(others_are_not_the_same),
        cmocka_unit_test(two_parts_are_all_of_both),
        cmocka_unit_test(nothing_is_no_set_that_can_be_confirmed),
        cmocka_unit_test(what_a_part_does_not_know_both_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
