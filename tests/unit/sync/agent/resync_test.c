/* SPDX-License-Identifier: Apache-2.0
 *
 * When the agent answers in a resync, and what it asks for in one.
 */
#include "schema/attributes.h"
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int begin(void **state)
{
    (void)setup(state);
    w.resyncs = true;
    placed("");
    return 0;
}

#define TEST_BEGUN(f) cmocka_unit_test_setup_teardown(f, begin, teardown)

/* Nothing but what travels between the two. */
static void exchange(void)
{
    size_t others;
    for (;;) {
        others = fake_store_choices(w.hub) + fake_store_choices(w.local) +
                 (w.cache.keeping != NULL) + (w.hub_cache.keeping != NULL);
        if (world_choices(&w) == others)
            return;
        world_step(&w, others);
    }
}

/* It would tell that it lacks what it is about to have. */
static void it_answers_when_all_that_came_is_saved(void **state)
{
    (void)state;
    set_spec(w.hub, HUB, 2);
    while (w.cache.keeping == NULL)
        world_step(&w, 0);
    size_t up = fake_log_appended(w.up), down = fake_log_appended(w.down);
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    exchange();
    assert_int_equal(fake_log_appended(w.down), down + 1);
    assert_int_equal(fake_log_appended(w.up), up);
    world_settle(&w);
    assert_int_equal(fake_log_appended(w.up), up + 1);
    assert_int_equal(fake_log_appended(w.down), down + 2); /* the beginning and the end */
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

static void so_is_what_came_behind_a_command_that_is_tried_again(void **state)
{
    (void)state;
    w.local_refuses = AB_ERR_UNAVAILABLE;
    set_in(w.hub, HUB, "annotations", AB_ANN_REFRESH, "hard");
    world_settle(&w);
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    size_t up = fake_log_appended(w.up);
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    world_settle(&w);
    assert_int_equal(fake_log_appended(w.up), up);
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 2);
    assert_true(fake_log_appended(w.up) > up);
    assert_int_equal(spec_of(local()), 2);
}

/* The hub has a status, and will have no report of it: in each resync they differ. */
static void they_compare_no_more_often_where_they_go_on_to_differ(void **state)
{
    (void)state;
    w.read_at_once = true;
    put_app(w.local, "argocd", "b", 7, "", "");
    put_app(w.hub, WORLD_HUB_NAMESPACE, "b", 8, "", ",\"status\":{\"n\":1}");
    world_run(&w, 5);
    assert_true(has_error(fake_store_find(w.hub, "Application/" WORLD_HUB_NAMESPACE "/b")));
    double before = world_count(w.principal_metrics, "argobus_resyncs_total");
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    world_run(&w, 60);
    assert_int_equal(world_count(w.principal_metrics, "argobus_resyncs_total"), before + 1);
    assert_at_rest();
}

/* The object cannot be written, as the hub was told, when the agent ends. */
static void fail_and_end(void)
{
    w.local_refuses = AB_ERR_DENIED;
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    assert_true(has_error(hub()));
    world_crash_agent(&w);
}

/* The agent starts, and the resync is over before it has tried anything. */
static void start_and_compare(void)
{
    world_start_agent(&w);
    fake_store_settle(w.local);
    assert_non_null(w.cache.keeping);
    exchange();
    fake_store_settle(w.hub);
    exchange();
}

static void an_error_of_an_earlier_run_is_said_again_if_it_stands(void **state)
{
    (void)state;
    fail_and_end();
    world_crash_principal(&w);
    set_field(w.hub, HUB, "status", NULL);
    world_start_principal(&w);
    world_settle(&w);
    start_and_compare();
    assert_false(has_error(hub()));
    world_settle(&w);
    assert_true(has_error(hub()));
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 301);
    assert_false(has_error(hub()));
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

static void an_error_of_an_earlier_run_that_no_log_has_is_ended(void **state)
{
    (void)state;
    fail_and_end();
    world_lose_log(&w, &w.agent_link);
    world_settle(&w);
    start_and_compare();
    w.local_refuses = AB_ERR_OK;
    world_settle(&w);
    assert_int_equal(spec_of(local()), 2);
    assert_false(has_error(hub()));
    assert_at_rest();
}

/* --- agent.data from a backup: its log is read on from where it was --- */

/* The hub has made another object in its place since. */
static void make_another(void)
{
    assert_null(local());
    put_app(w.hub, "w1", "a", 2, FINALIZER, "");
    world_run(&w, 1);
    assert_int_equal(spec_of(local()), 2);
}

static void restore_agent_data(ab_map *backup)
{
    world_crash_agent(&w);
    world_restore_desired(&w, backup);
    world_backup_free(backup);
}

/* What is here is newer than that. */
static void assert_harmless(ab_map *backup)
{
    ab_object *before = ab_object_ref(local());
    restore_agent_data(backup);
    world_connect(&w.agent_link, false);
    world_start_agent(&w);
    world_run(&w, 2);
    assert_ptr_equal(local(), before);
    world_connect(&w.agent_link, true);
    world_run(&w, 2);
    assert_ptr_equal(local(), before);
    ab_object_unref(before);
    set_spec(w.hub, HUB, 3);
    world_run(&w, 1);
    assert_int_equal(spec_of(local()), 3);
    assert_at_rest();
}

static void a_former_object_does_not_replace_a_newer_one(void **state)
{
    (void)state;
    ab_map *backup = world_back_up_desired(&w);
    fake_store_erase(w.hub, HUB);
    world_run(&w, 1);
    make_another();
    assert_harmless(backup);
}

static void the_end_of_a_former_object_does_not_end_a_newer_one(void **state)
{
    (void)state;
    fake_store_erase(w.hub, HUB);
    world_run(&w, 1);
    ab_map *backup = world_back_up_desired(&w);
    make_another();
    assert_harmless(backup);
}

static void the_deletion_of_a_former_object_does_not_delete_a_newer_one(void **state)
{
    (void)state;
    fake_store_erase(w.hub, HUB);
    put_app(w.hub, "w1", "a", 1, FINALIZER, "");
    world_run(&w, 1);
    fake_store_erase(w.hub, HUB);
    world_run(&w, 1);
    assert_true(ab_object_deleting(local()));
    ab_map *backup = world_back_up_desired(&w);
    drop_finalizers(w.local, LOCAL);
    world_run(&w, 1);
    make_another();
    assert_harmless(backup);
}

/* The agent's position in it went back, too. */
static void what_the_log_says_of_a_former_object_waits_for_its_end(void **state)
{
    (void)state;
    ab_map *backup = world_back_up_desired(&w);
    set_spec(w.hub, HUB, 7);
    world_run(&w, 1);
    fake_store_erase(w.hub, HUB);
    world_run(&w, 1);
    make_another();
    char uid[64];
    snprintf(uid, sizeof(uid), "%.*s", AB_STR_ARG(ab_object_uid(local())));
    set_spec(w.hub, HUB, 4);
    world_run(&w, 1);
    restore_agent_data(backup);
    fake_log_replay(w.down);
    world_start_agent(&w);
    world_settle(&w);
    assert_true(ab_str_is(ab_object_uid(local()), uid));
    assert_int_equal(spec_of(local()), 4);
    set_spec(w.hub, HUB, 5);
    world_run(&w, 1);
    assert_true(ab_str_is(ab_object_uid(local()), uid));
    assert_int_equal(spec_of(local()), 5);
    assert_at_rest();
}

/* Both were restored: what is known of the former one proves nothing about what is here. */
static void a_newer_one_that_the_hub_has_lost_stays(void **state)
{
    (void)state;
    ab_map *backup = world_back_up_desired(&w);
    fake_store_erase(w.hub, HUB);
    world_run(&w, 1);
    ab_map *of_hub = fake_store_back_up(w.hub);
    make_another();
    world_crash_principal(&w);
    fake_store_restore(w.hub, of_hub);
    fake_backup_free(of_hub);
    restore_agent_data(backup);
    world_lose_log(&w, &w.principal_link);
    world_start_agent(&w);
    world_start_principal(&w);
    world_run(&w, 2);
    assert_non_null(local());
    assert_int_equal(held_deletions(), 1);
}

/* It is still there: the agent was stopped before it could remove it. */
static void what_was_to_be_ended_before_a_restart_is_ended_after_it(void **state)
{
    (void)state;
    w.local_refuses = AB_ERR_DENIED;
    fake_store_erase(w.hub, HUB);
    world_run(&w, 1);
    assert_int_equal(fake_log_open(w.down), 0);
    world_crash_agent(&w);
    w.local_refuses = AB_ERR_OK;
    world_connect(&w.agent_link, false);
    world_start_agent(&w);
    world_settle(&w);
    assert_null(local());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_BEGUN(it_answers_when_all_that_came_is_saved),
        TEST_BEGUN(so_is_what_came_behind_a_command_that_is_tried_again),
        TEST_BEGUN(they_compare_no_more_often_where_they_go_on_to_differ),
        TEST_BEGUN(an_error_of_an_earlier_run_is_said_again_if_it_stands),
        TEST_BEGUN(an_error_of_an_earlier_run_that_no_log_has_is_ended),
        TEST_BEGUN(a_former_object_does_not_replace_a_newer_one),
        TEST_BEGUN(the_end_of_a_former_object_does_not_end_a_newer_one),
        TEST_BEGUN(what_the_log_says_of_a_former_object_waits_for_its_end),
        TEST_BEGUN(a_newer_one_that_the_hub_has_lost_stays),
        TEST_BEGUN(the_deletion_of_a_former_object_does_not_delete_a_newer_one),
        TEST_BEGUN(what_was_to_be_ended_before_a_restart_is_ended_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
