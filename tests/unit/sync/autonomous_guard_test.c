/* SPDX-License-Identifier: Apache-2.0
 *
 * The mass-deletion guard of an autonomous agent: deletions that its store observed pass, those
 * that are only inferred are held when they are too many.
 */
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static int setup_autonomous(void **state)
{
    (void)setup(state);
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    return 0;
}

#define AUTONOMOUS(f) cmocka_unit_test_setup_teardown(f, setup_autonomous, teardown)

static void put_local(int count)
{
    char name[16];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        put_app(w.local, "argocd", name, i + 1, "", "");
    }
    world_settle(&w);
}

static void erase_local(int count)
{
    char key[64];
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof(key), "Application/argocd/n%d", i);
        fake_store_erase(w.local, key);
    }
    world_settle(&w);
}

/* A new list of its store does not have them. */
static void lose_local(int count)
{
    char key[64];
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof(key), "Application/argocd/n%d", i);
        fake_store_lose(w.local, key);
    }
    world_settle(&w);
}

static size_t hub_count(void)
{
    return count_objects(w.hub);
}

static void deletions_that_were_observed_are_not_held_however_many(void **state)
{
    (void)state;
    w.policy.guard.max = 0;
    world_start(&w);
    put_local(5);
    erase_local(5);
    assert_int_equal(hub_count(), 0);
    assert_at_rest();
}

/* The principal had nothing yet when it began the resync that is read again. */
static void an_old_resync_ends_nothing_without_the_guard(void **state)
{
    (void)state;
    w.resyncs = true;
    w.policy.guard.max = 2;
    world_start(&w);
    put_local(5);
    assert_int_equal(hub_count(), 5);
    world_crash_agent(&w);
    erase_local(5);
    fake_log_replay(w.down);
    world_start_agent(&w);
    world_run(&w, 200);
    assert_int_equal(hub_count(), 5);
}

static void they_are_held_where_that_is_asked_for(void **state)
{
    (void)state;
    w.policy.guard = (ab_guard_limits){2, 50, 60000, .observed = true};
    world_start(&w);
    put_local(5);
    erase_local(5);
    world_run(&w, 200);
    assert_int_equal(hub_count(), 5);
}

/* Each user said so on the object, which was marked first. */
static void those_that_users_said_on_the_objects_are_never_held(void **state)
{
    char name[16], key[64];
    (void)state;
    w.policy.guard = (ab_guard_limits){2, 50, 60000, .observed = true};
    world_start(&w);
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        put_app(w.local, "argocd", name, 1, FINALIZER, "");
    }
    world_settle(&w);
    erase_local(5);
    for (int i = 0; i < 5; i++) {
        snprintf(key, sizeof(key), "Application/argocd/n%d", i);
        drop_finalizers(w.local, key);
    }
    world_run(&w, 2);
    assert_int_equal(hub_count(), 0);
    assert_at_rest();
}

static void what_a_new_list_lacks_is_held_when_it_is_too_much(void **state)
{
    (void)state;
    w.policy.guard.max = 2;
    world_start(&w);
    put_local(5);
    lose_local(3);
    world_run(&w, 200);
    assert_int_equal(hub_count(), 5);
    put_local(3);
    world_run(&w, 70);
    lose_local(2);
    world_run(&w, 2);
    assert_int_equal(hub_count(), 3);
    assert_at_rest();
}

/* Of what was seen it is known that it is gone. */
static void what_was_seen_and_is_missed_goes_also_while_something_is_unreadable(void **state)
{
    (void)state;
    w.unreadable = true;
    world_start(&w);
    put_local(2);
    lose_local(1);
    world_run(&w, 2);
    assert_int_equal(hub_count(), 1);
    assert_at_rest();
}

/* Whoever deletes one of those that are left does not mean those that are held. */
static void what_is_held_stays_while_observed_deletions_pass(void **state)
{
    (void)state;
    w.policy.guard.max = 2;
    world_start(&w);
    put_local(5);
    lose_local(3);
    world_run(&w, 2);
    fake_store_erase(w.local, "Application/argocd/n4");
    world_run(&w, 200);
    assert_int_equal(hub_count(), 4);
    assert_null(fake_store_find(w.hub, "Application/w1/n4"));
}

static void an_observed_deletion_says_nothing_of_the_next_object_of_that_name(void **state)
{
    (void)state;
    w.policy.guard.max = 0;
    world_start(&w);
    put_local(1);
    world_connect(&w.agent_link, false);
    erase_local(1);
    put_local(1);
    lose_local(1);
    world_connect(&w.agent_link, true);
    world_run(&w, 200);
    assert_int_equal(hub_count(), 1);
}

static void what_comes_back_is_not_held_any_more(void **state)
{
    (void)state;
    w.policy.guard.max = 2;
    world_start(&w);
    put_local(5);
    lose_local(5);
    world_run(&w, 2);
    put_local(5);
    assert_int_equal(hub_count(), 5);
    world_run(&w, 70);
    erase_local(1);
    assert_int_equal(hub_count(), 4);
    assert_at_rest();
}

static void all_goes_while_the_log_is_not_ready(void (*go)(int count))
{
    w.policy.guard.max = 2;
    world_start(&w);
    put_local(5);
    world_connect(&w.agent_link, false);
    w.agent_link.ready = false;
    ab_agent_log_lost(w.agent);
    go(5);
    world_connect(&w.agent_link, true);
    world_run(&w, 2);
}

static void what_was_observed_while_the_log_was_not_ready_is_not_held(void **state)
{
    (void)state;
    all_goes_while_the_log_is_not_ready(erase_local);
    assert_int_equal(hub_count(), 0);
    assert_at_rest();
}

static void what_was_not_observed_while_the_log_was_not_ready_is_held(void **state)
{
    (void)state;
    all_goes_while_the_log_is_not_ready(lose_local);
    assert_int_equal(hub_count(), 5);
}

/* An agent can name as many as it likes. What is here is known all the same. */
static void the_end_of_what_never_was_is_not_remembered(void **state)
{
    (void)state;
    char key[64];
    put_local(2);
    world_start(&w);
    world_crash_agent(&w);
    size_t rows = ab_map_count(w.hub_cache.rows);
    for (uint64_t i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "Application/argocd/n%d", (int)i);
        say_up_in(UINT32_MAX, key, AB_TYPE_DELETE, NULL, i + 1);
    }
    world_settle(&w);
    assert_int_equal(fake_log_open(w.up), 0);
    assert_int_equal(ab_map_count(w.hub_cache.rows), rows);
    assert_null(fake_store_find(w.hub, "Application/w1/n0"));
    assert_null(fake_store_find(w.hub, "Application/w1/n1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        AUTONOMOUS(deletions_that_were_observed_are_not_held_however_many),
        AUTONOMOUS(an_old_resync_ends_nothing_without_the_guard),
        AUTONOMOUS(they_are_held_where_that_is_asked_for),
        AUTONOMOUS(those_that_users_said_on_the_objects_are_never_held),
        AUTONOMOUS(what_a_new_list_lacks_is_held_when_it_is_too_much),
        AUTONOMOUS(what_was_seen_and_is_missed_goes_also_while_something_is_unreadable),
        AUTONOMOUS(what_is_held_stays_while_observed_deletions_pass),
        AUTONOMOUS(an_observed_deletion_says_nothing_of_the_next_object_of_that_name),
        AUTONOMOUS(what_comes_back_is_not_held_any_more),
        AUTONOMOUS(what_was_observed_while_the_log_was_not_ready_is_not_held),
        AUTONOMOUS(what_was_not_observed_while_the_log_was_not_ready_is_held),
        AUTONOMOUS(the_end_of_what_never_was_is_not_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
