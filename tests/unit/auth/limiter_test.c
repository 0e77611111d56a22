/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/limiter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const ab_auth_allowance allowance = {.burst = 3, .interval_ms = 1000};

static bool is_shut(const ab_auth_limiter *l, const char *key, int64_t now_ms)
{
    return ab_auth_limiter_is_shut(l, ab_str_of(key), allowance, now_ms);
}

static void note(ab_auth_limiter *l, const char *key, int64_t now_ms)
{
    ab_auth_limiter_note(l, ab_str_of(key), allowance, now_ms);
}

static void some_failures_are_allowed_at_once_and_then_one_per_interval(void **state)
{
    (void)state;
    ab_auth_limiter l = {0};
    assert_int_equal(ab_auth_limiter_init(&l), AB_ERR_OK);
    for (int i = 0; i < 3; i++) {
        assert_false(is_shut(&l, "a", 0));
        note(&l, "a", 0);
    }
    assert_true(is_shut(&l, "a", 0));
    assert_true(is_shut(&l, "a", 999));
    assert_false(is_shut(&l, "a", 1000));
    note(&l, "a", 1000);
    assert_true(is_shut(&l, "a", 1999));
    assert_false(is_shut(&l, "a", 2000));
    ab_auth_limiter_fini(&l);
}

/* Whoever has waited for a day has no day's attempts. */
static void what_was_not_used_is_not_saved_up(void **state)
{
    (void)state;
    const int64_t day_ms = INT64_C(24) * 3600 * 1000;
    ab_auth_limiter l = {0};
    assert_int_equal(ab_auth_limiter_init(&l), AB_ERR_OK);
    note(&l, "a", 0);
    for (int i = 0; i < 3; i++) {
        assert_false(is_shut(&l, "a", day_ms));
        note(&l, "a", day_ms);
    }
    assert_true(is_shut(&l, "a", day_ms));
    ab_auth_limiter_fini(&l);
}

static void a_name_is_no_part_of_an_address(void **state)
{
    (void)state;
    uint8_t one[AB_AUTH_HASH_BYTES], other[AB_AUTH_HASH_BYTES];
    ab_auth_limiter_key("192.0.2.1", AB_STR("2west"), one);
    ab_auth_limiter_key("192.0.2.12", AB_STR("west"), other);
    assert_memory_not_equal(one, other, sizeof(one));
}

static void keys_are_counted_apart(void **state)
{
    (void)state;
    ab_auth_limiter l = {0};
    assert_int_equal(ab_auth_limiter_init(&l), AB_ERR_OK);
    for (int i = 0; i < 3; i++)
        note(&l, "a", 0);
    assert_true(is_shut(&l, "a", 0));
    assert_false(is_shut(&l, "b", 0));
    ab_auth_limiter_fini(&l);
}

static void what_did_not_fail_is_taken_back(void **state)
{
    (void)state;
    ab_auth_limiter l = {0};
    assert_int_equal(ab_auth_limiter_init(&l), AB_ERR_OK);
    for (int i = 0; i < 3; i++)
        note(&l, "a", 0);
    ab_auth_limiter_forgive(&l, AB_STR("a"), allowance);
    assert_false(is_shut(&l, "a", 0));
    ab_auth_limiter_forgive(&l, AB_STR("unknown"), allowance);
    ab_auth_limiter_fini(&l);
}

static void the_table_is_bounded_and_forgets_the_first(void **state)
{
    (void)state;
    ab_auth_limiter l = {0};
    char key[16];
    assert_int_equal(ab_auth_limiter_init(&l), AB_ERR_OK);
    for (int i = 0; i < 3; i++)
        note(&l, "first", 0);
    for (int i = 0; i < AB_AUTH_LIMITER_KEYS - 1; i++) {
        (void)snprintf(key, sizeof(key), "%d", i);
        note(&l, key, 0);
    }
    assert_true(is_shut(&l, "first", 0));
    note(&l, "one more", 0);
    assert_false(is_shut(&l, "first", 0));
    assert_int_equal(ab_map_count(l.keys), AB_AUTH_LIMITER_KEYS);
    ab_auth_limiter_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_failures_are_allowed_at_once_and_then_one_per_interval),
        cmocka_unit_test(what_was_not_used_is_not_saved_up),
        cmocka_unit_test(a_name_is_no_part_of_an_address),
        cmocka_unit_test(keys_are_counted_apart),
        cmocka_unit_test(what_did_not_fail_is_taken_back),
        cmocka_unit_test(the_table_is_bounded_and_forgets_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
