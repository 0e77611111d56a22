/* SPDX-License-Identifier: Apache-2.0
 *
 * Two principals of one store: the one that was stopped, or is late, does not write over what the
 * other has written since. Another principal, or another store, of one agent: nothing is deleted
 * there for what they lack, and what they send takes effect.
 */
#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "sync/stamp.h"
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* --- a managed agent --- */

static void a_tombstone_older_than_the_status_does_not_drop_finalizers(void **state)
{
    (void)state;
    placed(FINALIZER);
    world_crash_agent(&w);
    say_status(1, 10);
    world_settle(&w);
    assert_int_equal(status_of(hub()), 1);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    assert_true(ab_object_deleting(hub()));
    say_up(LOCAL, AB_TYPE_DELETE, NULL, 5);
    world_settle(&w);
    assert_non_null(hub());
    assert_int_equal(fake_log_open(w.up), 0);
    say_up(LOCAL, AB_TYPE_DELETE, NULL, 11);
    world_settle(&w);
    assert_null(hub());
}

/* Another principal has taken over, and written this. */
static void write_as_another(int n, uint64_t version)
{
    char stamp[40], status[20];
    snprintf(stamp, sizeof(stamp), "100.%d/w1", (int)version);
    snprintf(status, sizeof(status), "{\"n\":%d}", n);
    set_field(w.hub, HUB, "status", status);
    set_in(w.hub, HUB, "annotations", AB_ANN_STATUS_VERSION, stamp);
}

static void assert_written_by_another(int n, uint64_t version)
{
    ab_stamp stamp;
    world_settle(&w);
    world_run(&w, 10);
    assert_int_equal(status_of(hub()), n);
    assert_true(ab_stamp_parse(ab_object_annotation(hub(), AB_ANN_STATUS_VERSION), &stamp));
    assert_int_equal(stamp.version.version, version);
    assert_int_equal(fake_log_open(w.up), 0);
}

static void a_status_that_was_decided_before_a_pause_is_not_written_after_it(void **state)
{
    (void)state;
    placed("");
    world_crash_agent(&w);
    say_status(1, 10);
    deliver_up(); /* the write is asked for, and there the principal is stopped */
    write_as_another(2, 20);
    assert_written_by_another(2, 20);
}

/* The watch has not told this principal what the other one wrote when the report arrives. */
static void a_principal_that_is_late_does_not_write_an_older_status(void **state)
{
    (void)state;
    placed("");
    world_crash_agent(&w);
    write_as_another(2, 20);
    say_status(1, 10);
    deliver_up();
    assert_written_by_another(2, 20);
}

static void a_principal_that_is_late_still_writes_a_newer_status(void **state)
{
    (void)state;
    placed("");
    world_crash_agent(&w);
    write_as_another(2, 20);
    say_status(3, 30);
    deliver_up();
    assert_written_by_another(3, 30);
}

static void a_principal_that_restarts_late_does_not_write_an_older_status(void **state)
{
    (void)state;
    placed("");
    world_crash_agent(&w);
    say_status(1, 10);
    world_crash_principal(&w);
    write_as_another(2, 20);
    world_start_principal(&w);
    assert_written_by_another(2, 20);
}

static void a_status_is_written_to_an_object_that_was_changed_meanwhile(void **state)
{
    (void)state;
    placed("");
    world_crash_agent(&w);
    say_status(1, 10);
    deliver_up();
    set_in(w.hub, HUB, "labels", "l", "1");
    assert_written_by_another(1, 10);
    assert_true(has_in(hub(), "labels", "l", "1"));
}

static void an_error_leaves_the_status_that_was_written_meanwhile(void **state)
{
    (void)state;
    placed("");
    world_crash_agent(&w);
    say_up(AB_KEY_ERROR LOCAL, AB_TYPE_ERROR, "{\"message\":\"why\"}", 10);
    deliver_up();
    fake_store_step(w.hub, 0, false); /* read */
    fake_store_step(w.hub, 0, false); /* answered: the write is asked for */
    write_as_another(2, 20);
    assert_written_by_another(2, 20);
    assert_true(has_error(hub()));
}

static void an_end_that_was_decided_before_a_pause_drops_no_finalizers(void **state)
{
    (void)state;
    placed(FINALIZER);
    world_crash_agent(&w);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    say_up(LOCAL, AB_TYPE_DELETE, NULL, 10);
    deliver_up();
    fake_store_step(w.hub, 0, false);
    fake_store_step(w.hub, 0, false);
    write_as_another(2, 20);
    assert_written_by_another(2, 20);
    assert_true(ab_object_deleting(hub()));
}

/* --- an autonomous agent --- */

static int setup_autonomous(void **state)
{
    (void)setup(state);
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    return 0;
}

#define AUTONOMOUS(f) cmocka_unit_test_setup_teardown(f, setup_autonomous, teardown)

/* The agent's Application a stands at both ends, with spec 1. */
static void mirrored(void)
{
    put_app(w.local, "argocd", "a", 1, "", "");
    world_start(&w);
    assert_int_equal(spec_of(hub()), 1);
}

/* Another principal has read a newer event than this one. */
static void a_mirror_that_another_principal_wrote_later_stays(void **state)
{
    (void)state;
    mirrored();
    set_field(w.local, LOCAL, "status", "{\"n\":3}");
    world_settle(&w);
    set_spec(w.hub, HUB, 5); /* the reverting write is asked for */
    set_in(w.hub, HUB, "annotations", AB_ANN_MIRROR, "999.5/w1");
    set_field(w.hub, HUB, "status", "{\"n\":6}");
    world_settle(&w);
    world_run(&w, 10);
    assert_int_equal(spec_of(hub()), 5);
    assert_int_equal(status_of(hub()), 6);
}

static void a_stamp_that_a_user_forged_is_undone(void **state)
{
    (void)state;
    w.resyncs = true;
    mirrored();
    set_in(w.hub, HUB, "annotations", AB_ANN_MIRROR, "999.5/w1");
    set_spec(w.hub, HUB, 5);
    world_settle(&w);
    world_run(&w, 60);
    assert_int_equal(spec_of(hub()), 1);
    assert_false(has_in(hub(), "annotations", AB_ANN_MIRROR, "999.5/w1"));
    set_spec(w.local, LOCAL, 2);
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 2);
}

/* As when a kubeconfig names the wrong cluster. The principal there has an agent of this name, too,
 * and has said more to it. */
static void what_another_principals_store_lacks_stays_at_the_agent(void **state)
{
    (void)state;
    w.resyncs = true;
    placed("");
    world_crash_principal(&w);
    fake_store_lose(w.hub, HUB);
    fake_store_lose(w.hub, MARK);
    put_mark(w.hub);
    w.uid = "principal-2";
    world_start_principal(&w);
    world_run(&w, 2);
    assert_int_equal(held_deletions(), 1);
    world_run(&w, 300);
    assert_non_null(local());
}

/* As with Velero or kubectl: each object is made again, and ConfigMaps come before Applications, as
 * the principal's pod may. */
static void what_is_not_applied_yet_of_a_backup_stays_at_the_agent(void **state)
{
    (void)state;
    w.resyncs = true;
    placed("");
    put_app(w.hub, "w1", "new", 1, "", "");
    world_run(&w, 2);
    world_crash_principal(&w);
    ab_object *mark = ab_object_ref(fake_store_find(w.hub, MARK));
    fake_store_lose(w.hub, MARK);
    fake_store_lose(w.hub, HUB);
    fake_store_lose(w.hub, HUB_NEW);
    fake_store_put(w.hub, mark);
    ab_object_unref(mark);
    world_start_principal(&w);
    world_run(&w, 2);
    assert_non_null(local());
    assert_true(has_new());
    assert_int_equal(held_deletions(), 2);
    restart_principal();
    world_run(&w, 2);
    assert_non_null(local());
    put_app(w.hub, "w1", "a", 1, "", "");
    put_app(w.hub, "w1", "new", 1, "", "");
    world_run(&w, 70);
    assert_int_equal(held_deletions(), 0);
    assert_at_rest();
}

/* Of the second run, so that the epoch of a first one is older. */
static void placed_again(void)
{
    w.resyncs = true;
    placed("");
    restart_principal();
    set_spec(w.hub, HUB, 7);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 7);
}

static void begin_with_another_log(void)
{
    world_crash_principal(&w);
    fake_log_free(w.down);
    w.down = fake_log_new();
    w.principal_link.out = w.agent_link.in = w.down;
}

/* An agent that was moved to another control plane, which had made its epoch before the former one
 * did. */
static void an_older_epoch_of_another_principal_is_raised(void **state)
{
    (void)state;
    placed_again();
    begin_with_another_log();
    w.uid = "principal-2";
    set_spec(w.hub, HUB, 2);
    world_start_principal(&w);
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

static void what_was_made_again_under_an_older_epoch_is_made_at_the_agent(void **state)
{
    (void)state;
    placed_again();
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    assert_null(local());
    begin_with_another_log();
    put_app(w.hub, "w1", "a", 2, "", "");
    world_start_principal(&w);
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_another_principals_store_lacks_stays_at_the_agent),
        TEST(what_is_not_applied_yet_of_a_backup_stays_at_the_agent),
        TEST(an_older_epoch_of_another_principal_is_raised),
        TEST(what_was_made_again_under_an_older_epoch_is_made_at_the_agent),
        TEST(a_tombstone_older_than_the_status_does_not_drop_finalizers),
        TEST(a_status_that_was_decided_before_a_pause_is_not_written_after_it),
        TEST(a_principal_that_is_late_does_not_write_an_older_status),
        TEST(a_principal_that_is_late_still_writes_a_newer_status),
        TEST(a_principal_that_restarts_late_does_not_write_an_older_status),
        TEST(a_status_is_written_to_an_object_that_was_changed_meanwhile),
        TEST(an_error_leaves_the_status_that_was_written_meanwhile),
        TEST(an_end_that_was_decided_before_a_pause_drops_no_finalizers),
        AUTONOMOUS(a_mirror_that_another_principal_wrote_later_stays),
        AUTONOMOUS(a_stamp_that_a_user_forged_is_undone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
