/* SPDX-License-Identifier: Apache-2.0
 *
 * What cannot be brought into effect does not hold back what follows.
 */
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_deletion_that_is_stuck_is_told_and_holds_nothing_back(void **state)
{
    (void)state;
    placed(FINALIZER);
    fake_store_erase(w.local, LOCAL);
    world_settle(&w);
    assert_true(ab_object_deleting(local()));
    set_spec(w.hub, HUB, 2);
    world_run(&w, 5);
    assert_int_equal(fake_log_open(w.down), 1);
    assert_false(has_error(hub()));
    world_run(&w, WORLD_SET_ASIDE_MS / 1000);
    assert_int_equal(fake_log_open(w.down), 0);
    assert_true(has_error(hub()));
    drop_finalizers(w.local, LOCAL);
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 2);
    assert_false(has_error(hub()));
    assert_at_rest();
}

static void a_deletion_that_nobody_sent_and_is_stuck_is_told(void **state)
{
    (void)state;
    placed(FINALIZER);
    fake_store_erase(w.local, LOCAL);
    world_run(&w, 5);
    assert_false(has_error(hub()));
    world_run(&w, WORLD_SET_ASIDE_MS / 1000);
    assert_true(has_error(hub()));
    drop_finalizers(w.local, LOCAL);
    world_run(&w, 2);
    assert_false(ab_object_deleting(local()));
    assert_false(has_error(hub()));
    assert_at_rest();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_deletion_that_is_stuck_is_told_and_holds_nothing_back),
        TEST(a_deletion_that_nobody_sent_and_is_stuck_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
