/* SPDX-License-Identifier: Apache-2.0
 *
 * The token that confirms deletions which are held back: those of which it was told, and no others.
 */
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int begin(void **state)
{
    (void)setup(state);
    w.resyncs = true;
    return 0;
}

static void lose_apps(int count)
{
    char key[64];
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof(key), "Application/w1/n%d", i);
        fake_store_lose(w.hub, key);
    }
    world_run(&w, 2);
}

static ab_err confirm_by(const char *token)
{
    ab_err e = ab_principal_confirm(w.principal, "w1", ab_str_of(token));
    world_run(&w, 2);
    return e;
}

static void a_token_is_never_a_number_in_yaml(void **state)
{
    (void)state;
    char key[32];
    w.deletions_max = 2;
    put_apps(30);
    world_start(&w);
    lose_apps(3);
    for (int i = 3; i < 30; i++) {
        snprintf(key, sizeof(key), "Application/w1/n%d", i);
        fake_store_lose(w.hub, key);
        world_run(&w, 2);
        assert_int_equal(w.held, i + 1);
        assert_in_range(w.held_token[0], 'a', 'f');
    }
}

static void a_token_confirms_what_was_held_when_it_was_told(void **state)
{
    (void)state;
    char first[16];
    w.deletions_max = 2;
    put_apps(5);
    world_start(&w);
    assert_int_equal(confirm_by(""), AB_ERR_NOTFOUND);
    lose_apps(3);
    assert_int_equal(w.held, 3);
    memcpy(first, w.held_token, sizeof(first));
    fake_store_lose(w.hub, "Application/w1/n3");
    world_run(&w, 2);
    assert_int_equal(w.held, 4);
    assert_int_equal(confirm_by(first), AB_ERR_NOTFOUND);
    assert_int_equal(local_count(), 5);
    assert_int_equal(confirm_by(w.held_token), AB_ERR_OK);
    assert_int_equal(local_count(), 1);
    assert_int_equal(w.held, 0);
    assert_string_equal(w.held_token, "");
    world_run(&w, 70);
    assert_at_rest();
}

/* As many as before, but not the same. */
static void a_token_confirms_nothing_that_is_missing_since(void **state)
{
    (void)state;
    char first[16];
    w.deletions_max = 2;
    put_apps(5);
    world_start(&w);
    lose_apps(3);
    memcpy(first, w.held_token, sizeof(first));
    put_apps(1);
    fake_store_lose(w.hub, "Application/w1/n3");
    world_run(&w, 0);
    assert_int_equal(ab_principal_confirm(w.principal, "w1", ab_str_of(first)), AB_ERR_NOTFOUND);
    world_run(&w, 2);
    assert_int_equal(w.held, 3);
    assert_int_equal(confirm_by(first), AB_ERR_NOTFOUND);
    assert_int_equal(local_count(), 5);
    assert_int_equal(confirm_by(w.held_token), AB_ERR_OK);
    assert_int_equal(local_count(), 2);
}

static void a_token_confirms_once(void **state)
{
    (void)state;
    char first[16];
    w.deletions_max = 2;
    put_apps(5);
    world_start(&w);
    lose_apps(5);
    memcpy(first, w.held_token, sizeof(first));
    assert_int_equal(confirm_by(first), AB_ERR_OK);
    put_apps(5);
    world_run(&w, 2);
    lose_apps(5);
    assert_int_equal(confirm_by(first), AB_ERR_NOTFOUND);
    assert_int_equal(local_count(), 5);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_token_is_never_a_number_in_yaml),
        T(a_token_confirms_what_was_held_when_it_was_told),
        T(a_token_confirms_nothing_that_is_missing_since),
        T(a_token_confirms_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
