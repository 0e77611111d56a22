/* SPDX-License-Identifier: Apache-2.0
 *
 * An agent that has lost what it remembered reads the log: what it has acknowledged is in effect.
 */
#include "schema/attributes.h"
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { MANY = 40 }; /* more than the log has under way at a time */

/* The agent reads the whole log again, in which the Application has another spec than here. */
static void begin_reading(void)
{
    world_crash_agent(&w);
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    world_forget_all_desired(&w);
    fake_log_replay(w.down);
    world_start_agent(&w);
}

/* The agent reads all, and its store takes no writes yet. */
static void read_all(void)
{
    w.local_refuses = AB_ERR_UNAVAILABLE;
    world_settle(&w);
    ab_agent_end_replay(w.agent);
    world_settle(&w);
    assert_false(ab_agent_is_replaying(w.agent));
    assert_false(fake_log_has_next(w.down));
}

static void write_all(void)
{
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 5);
}

static void all_that_was_read_is_in_effect_before_it_is_acknowledged(void **state)
{
    (void)state;
    placed("");
    begin_reading();
    read_all();
    assert_int_equal(spec_of(local()), 1);
    assert_int_equal(fake_log_open(w.down), 1);
    write_all();
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

static void a_crash_after_the_reading_loses_nothing(void **state)
{
    (void)state;
    placed("");
    begin_reading();
    read_all();
    world_crash_agent(&w);
    w.replaying = false;
    world_start_agent(&w);
    write_all();
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

static void what_was_read_last_is_in_effect_before_the_first_is_acknowledged(void **state)
{
    char key[64];
    (void)state;
    placed("");
    for (int i = 0; i < MANY; i++) {
        snprintf(key, sizeof(key), "n%d", i);
        put_app(w.hub, "w1", key, 1, "", "");
    }
    world_settle(&w);
    world_crash_agent(&w);
    set_spec(w.hub, "Application/w1/n39", 2);
    world_settle(&w);
    fake_log_compact(w.down);
    begin_reading();
    read_all();
    assert_int_equal(fake_log_open(w.down), 1);
    write_all();
    assert_int_equal(spec_of(fake_store_find(w.local, "Application/argocd/n39")), 2);
    assert_at_rest();
}

static void what_cannot_be_written_does_not_hold_it_for_ever(void **state)
{
    (void)state;
    placed("");
    w.local_refuses = AB_ERR_DENIED;
    begin_reading();
    world_run(&w, 1);
    assert_int_equal(fake_log_open(w.down), 0);
    assert_true(has_error(hub()));
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 301);
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

/* The first is not to be written at all. */
static void the_first_is_deferred_as_any_other(void **state)
{
    (void)state;
    placed("");
    w.local_refuses = AB_ERR_DENIED;
    world_crash_agent(&w);
    fake_store_erase(w.local, LOCAL);
    set_in(w.hub, HUB, "annotations", AB_ANN_REFRESH, "normal");
    begin_reading();
    world_run(&w, 1);
    assert_int_equal(fake_log_open(w.down), 0);
    assert_true(has_error(hub()));
}

static void a_deletion_that_is_stuck_does_not_hold_it_for_ever(void **state)
{
    (void)state;
    placed(",\"finalizers\":[\"a/b\"]");
    fake_store_erase(w.local, LOCAL);
    begin_reading();
    read_all();
    assert_int_equal(fake_log_open(w.down), 1);
    w.local_refuses = AB_ERR_OK;
    world_run(&w, WORLD_SET_ASIDE_MS / 1000 + 2);
    assert_int_equal(fake_log_open(w.down), 0);
    drop_finalizers(w.local, LOCAL);
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

static void a_log_that_is_replaced_meanwhile_is_read_the_same_way(void **state)
{
    (void)state;
    placed("");
    w.local_refuses = AB_ERR_UNAVAILABLE;
    begin_reading();
    world_settle(&w);
    assert_int_equal(fake_log_open(w.down), 1);
    assert_true(ab_agent_is_replaying(w.agent));
    world_lose_log(&w, &w.principal_link);
    read_all();
    assert_int_equal(spec_of(local()), 1);
    assert_int_equal(fake_log_open(w.down), 1);
    write_all();
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

/* It has read of an Application that is long over when the log is replaced. */
static void what_was_read_of_a_log_that_is_gone_replaces_nothing(void **state)
{
    (void)state;
    placed("");
    fake_store_erase(w.hub, HUB);
    world_run(&w, 2);
    put_app(w.hub, "w1", "a", 3, "", "");
    world_run(&w, 2);
    ab_object *before = ab_object_ref(local());
    world_crash_agent(&w);
    world_forget_all_desired(&w);
    fake_log_replay(w.down);
    world_start_agent(&w);
    while (w.cache.keeping == NULL) /* the first record is about to be saved */
        world_step(&w, 0);
    world_crash_principal(&w);
    world_lose_log(&w, &w.principal_link);
    ab_agent_caught_up(w.agent); /* the new one has nothing yet */
    world_run(&w, 2);
    assert_ptr_equal(local(), before);
    world_start_principal(&w);
    world_run(&w, 60);
    assert_ptr_equal(local(), before);
    ab_object_unref(before);
    assert_at_rest();
}

/* It is dropped, as any that may be long over; the begin that was read says nothing of it. */
static void a_command_behind_the_begin_of_a_resync_comes_again(void **state)
{
    (void)state;
    w.resyncs = true;
    placed("");
    world_crash_agent(&w);
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    world_settle(&w);
    set_field(w.hub, HUB, "operation", "{\"n\":7}");
    world_settle(&w);
    begin_reading();
    world_run(&w, 5);
    assert_int_equal(operation_of(local()), 7);
    consume_operation();
    world_run(&w, 2);
    assert_int_equal(operation_of(hub()), -1);
    assert_at_rest();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_that_was_read_is_in_effect_before_it_is_acknowledged),
        TEST(a_crash_after_the_reading_loses_nothing),
        TEST(what_was_read_last_is_in_effect_before_the_first_is_acknowledged),
        TEST(what_cannot_be_written_does_not_hold_it_for_ever),
        TEST(the_first_is_deferred_as_any_other),
        TEST(a_deletion_that_is_stuck_does_not_hold_it_for_ever),
        TEST(a_log_that_is_replaced_meanwhile_is_read_the_same_way),
        TEST(what_was_read_of_a_log_that_is_gone_replaces_nothing),
        TEST(a_command_behind_the_begin_of_a_resync_comes_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
