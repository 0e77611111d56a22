/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <uthash.h>

static int one = 1, two = 2, three = 3;

static ab_str number_key(char room[16], int i)
{
    int length = snprintf(room, 16, "key-%d", i);
    return (ab_str){room, (size_t)length};
}

static void what_was_put_is_found_under_its_own_key_only(void **state)
{
    (void)state;
    ab_map *m = ab_map_new();
    char key[] = "a\0b";
    assert_null(ab_map_find(m, AB_STR("a")));
    assert_int_equal(ab_map_put(m, (ab_str){key, 3}, &one, NULL), AB_ERR_OK);
    key[0] = 'x'; /* keys are copied */
    assert_ptr_equal(ab_map_find(m, AB_STR("a\0b")), &one);
    assert_null(ab_map_find(m, AB_STR("a")));
    assert_null(ab_map_find(m, AB_STR("a\0c")));
    assert_int_equal(ab_map_count(m), 1);
    ab_map_free(m, NULL);
}

static void an_empty_key_is_a_key(void **state)
{
    (void)state;
    ab_map *m = ab_map_new();
    assert_int_equal(ab_map_put(m, AB_STR(""), &one, NULL), AB_ERR_OK);
    assert_ptr_equal(ab_map_find(m, AB_STR("")), &one);
    assert_ptr_equal(ab_map_find(m, AB_STR_NONE), &one);
    ab_map_free(m, NULL);
}

static void putting_again_gives_the_earlier_value_back(void **state)
{
    (void)state;
    ab_map *m = ab_map_new();
    void *old = &three;
    assert_int_equal(ab_map_put(m, AB_STR("a"), &one, &old), AB_ERR_OK);
    assert_null(old);
    assert_int_equal(ab_map_put(m, AB_STR("a"), &two, &old), AB_ERR_OK);
    assert_ptr_equal(old, &one);
    assert_ptr_equal(ab_map_find(m, AB_STR("a")), &two);
    assert_int_equal(ab_map_count(m), 1);
    ab_map_free(m, NULL);
}

static void what_the_map_makes_is_zeroed_and_stays_in_its_place(void **state)
{
    (void)state;
    ab_map *m = ab_map_new();
    char room[16];
    int64_t *first = ab_map_make(m, AB_STR("a"), sizeof(*first));
    assert_int_equal(*first, 0);
    *first = 7;
    for (int i = 0; i < 1000; i++)
        assert_non_null(ab_map_make(m, number_key(room, i), 1));
    assert_ptr_equal(ab_map_make(m, AB_STR("a"), sizeof(*first)), first);
    assert_ptr_equal(ab_map_find(m, AB_STR("a")), first);
    assert_int_equal(*first, 7);
    ab_map_drop(m, first);
    assert_null(ab_map_find(m, AB_STR("a")));
    assert_int_equal(ab_map_count(m), 1000);
    assert_true(ab_str_is(ab_map_first(m).key, "key-0"));
    ab_map_free(m, NULL);
}

static void what_was_taken_is_gone(void **state)
{
    (void)state;
    ab_map *m = ab_map_new();
    assert_int_equal(ab_map_put(m, AB_STR("a"), &one, NULL), AB_ERR_OK);
    assert_ptr_equal(ab_map_take(m, AB_STR("a")), &one);
    assert_null(ab_map_take(m, AB_STR("a")));
    assert_null(ab_map_find(m, AB_STR("a")));
    assert_int_equal(ab_map_count(m), 0);
    ab_map_free(m, NULL);
}

static void iteration_is_in_order_of_insertion(void **state)
{
    (void)state;
    ab_map *m = ab_map_new();
    char room[16];
    for (int i = 0; i < 1000; i++)
        assert_int_equal(ab_map_put(m, number_key(room, i * 7 % 1000), &one, NULL), AB_ERR_OK);
    int count = 0;
    for (ab_map_iter i = ab_map_first(m); i.entry != NULL; ab_map_next(&i))
        assert_true(ab_str_eq(i.key, number_key(room, count++ * 7 % 1000)));
    assert_int_equal(count, 1000);
    ab_map_free(m, NULL);
}

static void iteration_begins_at_a_value_that_the_map_made(void **state)
{
    (void)state;
    ab_map *m = ab_map_new();
    (void)ab_map_make(m, AB_STR("a"), sizeof(int));
    void *second = ab_map_make(m, AB_STR("b"), sizeof(int));
    void *third = ab_map_make(m, AB_STR("c"), sizeof(int));
    ab_map_iter i = ab_map_at(second);
    assert_ptr_equal(i.value, second);
    assert_true(ab_str_is(i.key, "b"));
    ab_map_next(&i);
    assert_ptr_equal(i.value, third);
    ab_map_next(&i);
    assert_null(i.entry);
    ab_map_free(m, NULL);
}

static void the_current_entry_may_be_removed_during_iteration(void **state)
{
    (void)state;
    ab_map *m = ab_map_new();
    char room[16];
    for (int i = 0; i < 100; i++)
        assert_int_equal(ab_map_put(m, number_key(room, i), i % 2 == 0 ? &one : &two, NULL),
                         AB_ERR_OK);
    for (ab_map_iter i = ab_map_first(m); i.entry != NULL; ab_map_next(&i)) {
        if (i.value == &one)
            assert_ptr_equal(ab_map_take(m, i.key), &one);
    }
    assert_int_equal(ab_map_count(m), 50);
    assert_null(ab_map_find(m, number_key(room, 0)));
    assert_ptr_equal(ab_map_find(m, number_key(room, 99)), &two);
    ab_map_free(m, NULL);
}

static void count_up(void *value)
{
    ++*(int *)value;
}

static void freeing_gives_each_value_once(void **state)
{
    (void)state;
    int a = 0;
    int b = 0;
    ab_map *m = ab_map_new();
    assert_int_equal(ab_map_put(m, AB_STR("a"), &a, NULL), AB_ERR_OK);
    assert_int_equal(ab_map_put(m, AB_STR("b"), &b, NULL), AB_ERR_OK);
    ab_map_free(m, count_up);
    assert_int_equal(a, 1);
    assert_int_equal(b, 1);
    ab_map_free(NULL, count_up);
}

/* Bits of a hash by which uthash knows its bucket, as long as it has few. */
static bool is_of_the_first_bucket(ab_str key)
{
    unsigned hash = 0;
    HASH_JEN(key.ptr, key.len, hash);
    return hash % 128 == 0;
}

static void names_that_were_chosen_to_meet_cost_no_more_than_others(void **state)
{
    (void)state;
    ab_map *m = ab_map_new();
    char room[16];
    clock_t spent = 0;
    for (int i = 0; ab_map_count(m) < 60000; i++) {
        ab_str key = number_key(room, i);
        if (!is_of_the_first_bucket(key))
            continue;
        clock_t start = clock();
        assert_int_equal(ab_map_put(m, key, &one, NULL), AB_ERR_OK);
        spent += clock() - start;
    }
    /* One chain takes 10 to 100 times as long. */
    assert_true((double)spent / CLOCKS_PER_SEC < 2.0);
    ab_map_free(m, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_found_under_its_own_key_only),
        cmocka_unit_test(an_empty_key_is_a_key),
        cmocka_unit_test(putting_again_gives_the_earlier_value_back),
        cmocka_unit_test(what_the_map_makes_is_zeroed_and_stays_in_its_place),
        cmocka_unit_test(what_was_taken_is_gone),
        cmocka_unit_test(iteration_is_in_order_of_insertion),
        cmocka_unit_test(iteration_begins_at_a_value_that_the_map_made),
        cmocka_unit_test(the_current_entry_may_be_removed_during_iteration),
        cmocka_unit_test(freeing_gives_each_value_once),
        cmocka_unit_test(names_that_were_chosen_to_meet_cost_no_more_than_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
