/* SPDX-License-Identifier: Apache-2.0
 *
 * What cannot be brought into effect does not hold back what follows.
 */
#include "tests/unit/logged.h"
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

static void a_store_that_fails_for_long_is_logged_once_for_each_object_and_cause(void **state)
{
    (void)state;
    FILE *file = logged_open(&w.clock, &w.log);
    placed("");
    w.local_refuses = AB_ERR_UNAVAILABLE;
    set_spec(w.hub, HUB, 2);
    world_run(&w, 3600);
    assert_int_equal(logged_count(file, "write deferred"), 1);
    w.local_refuses = AB_ERR_DENIED;
    world_run(&w, 3600);
    assert_int_equal(logged_count(file, "write deferred"), 2);
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 600);
    assert_int_equal(spec_of(local()), 2);
    w.local_refuses = AB_ERR_DENIED;
    set_spec(w.hub, HUB, 3);
    world_run(&w, 5);
    assert_int_equal(logged_count(file, "write deferred"), 3);
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 600);
    assert_at_rest();
    fclose(file);
}

static void a_revert_that_fails_for_a_while_is_counted_and_logged_once_it_is_made(void **state)
{
    (void)state;
    FILE *file = logged_open(&w.clock, &w.log);
    placed("");
    w.local_refuses = AB_ERR_UNAVAILABLE;
    set_spec(w.local, LOCAL, 9);
    world_run(&w, 20);
    assert_int_equal((int)world_count(w.agent_metrics, "argobus_reverts_total"), 0);
    assert_int_equal(logged_count(file, "local change reverted"), 0);
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 70);
    assert_int_equal(spec_of(local()), 1);
    assert_int_equal((int)world_count(w.agent_metrics, "argobus_reverts_total"), 1);
    assert_int_equal(logged_count(file, "local change reverted"), 1);
    assert_at_rest();
    fclose(file);
}

/* It cannot be reverted before the label has this value. */
static void edit_in_vain(fake_store *then, const char *key, const char *value)
{
    w.local_refuses = AB_ERR_UNAVAILABLE;
    set_in(w.local, LOCAL, "labels", "team", "z");
    world_run(&w, 5);
    set_in(then, key, "labels", "team", value);
    world_run(&w, 5);
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 70);
    assert_true(has_in(local(), "labels", "team", value));
}

static void nothing_is_reverted_that_is_overtaken_by_a_change_or_undone_by_its_user(void **state)
{
    (void)state;
    placed(",\"labels\":{\"team\":\"x\"}");
    edit_in_vain(w.local, LOCAL, "x");
    assert_int_equal((int)world_count(w.agent_metrics, "argobus_reverts_total"), 0);
    edit_in_vain(w.hub, HUB, "y");
    assert_int_equal((int)world_count(w.agent_metrics, "argobus_reverts_total"), 0);
    assert_at_rest();
}

static void a_deleted_mirror_is_counted_and_logged_likewise(void **state)
{
    static const char line[] = "deletion of a mirror at the control plane reverted";
    (void)state;
    FILE *file = logged_open(&w.clock, &w.log);
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    world_start(&w);
    put_app(w.local, "argocd", "a", 1, "", "");
    world_settle(&w);
    w.hub_refuses = AB_ERR_UNAVAILABLE;
    fake_store_erase(w.hub, HUB);
    world_run(&w, 20);
    assert_int_equal(logged_count(file, line), 0);
    w.hub_refuses = AB_ERR_OK;
    world_run(&w, 70);
    assert_int_equal(spec_of(hub()), 1);
    assert_int_equal((int)world_count(w.principal_metrics, "argobus_reverts_total"), 1);
    assert_int_equal(logged_count(file, line), 1);
    assert_at_rest();
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_deletion_that_is_stuck_is_told_and_holds_nothing_back),
        TEST(a_deletion_that_nobody_sent_and_is_stuck_is_told),
        TEST(a_store_that_fails_for_long_is_logged_once_for_each_object_and_cause),
        TEST(a_revert_that_fails_for_a_while_is_counted_and_logged_once_it_is_made),
        TEST(a_deleted_mirror_is_counted_and_logged_likewise),
        TEST(nothing_is_reverted_that_is_overtaken_by_a_change_or_undone_by_its_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
