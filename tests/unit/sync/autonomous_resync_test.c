/* SPDX-License-Identifier: Apache-2.0
 *
 * A principal and an autonomous agent compare what they hold: mirrors of what the agent does not
 * have go, but only when it is proved, and what the principal missed comes again.
 */
#include "schema/attributes.h"
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static int begin(void **state)
{
    (void)setup(state);
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    w.resyncs = true;
    return 0;
}

/* The agent's Application a stands at both ends, with spec 1. */
static void mirrored(void)
{
    put_app(w.local, "argocd", "a", 1, "", "");
    world_start(&w);
    assert_int_equal(spec_of(hub()), 1);
}

static void put_local(int count)
{
    char name[16];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        put_app(w.local, "argocd", name, i + 1, "", "");
    }
}

static void erase_local(int count)
{
    char key[64];
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof(key), "Application/argocd/n%d", i);
        fake_store_erase(w.local, key);
    }
}

static size_t hub_count(void)
{
    return count_objects(w.hub);
}

static int held_at_agent(void)
{
    return (int)ab_metric_value(
        ab_metric_get(w.agent_metrics, AB_METRIC_GAUGE, "argobus_deletions_held", "", NULL, 0));
}

static void ask_for_resync(void)
{
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    world_run(&w, 2);
}

/* The principal has gone, and all that the agent has said with it; nobody tells the agent. */
static void lose_all_that_was_said(void)
{
    world_crash_principal(&w);
    fake_log_lose(w.up);
    world_forget_mirrors(&w);
}

/* --- what is in step --- */

static void many_objects_in_step_cost_three_events_and_no_write(void **state)
{
    (void)state;
    put_local(100);
    world_start(&w);
    assert_int_equal(hub_count(), 100);
    uint64_t writes = fake_store_changes(w.hub) + fake_store_changes(w.local);
    size_t events = fake_log_appended(w.down) + fake_log_appended(w.up);
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    world_settle(&w);
    assert_int_equal(fake_store_changes(w.hub) + fake_store_changes(w.local), writes);
    assert_int_equal(fake_log_appended(w.down) + fake_log_appended(w.up), events + 3);
    assert_at_rest();
}

static void they_cost_no_more_after_the_principal_was_restarted(void **state)
{
    (void)state;
    put_local(20);
    world_start(&w);
    restart_principal();
    uint64_t writes = fake_store_changes(w.hub);
    size_t events = fake_log_appended(w.up);
    ask_for_resync();
    assert_int_equal(fake_store_changes(w.hub), writes);
    assert_int_equal(fake_log_appended(w.up), events + 1);
}

/* --- what is gone --- */

static void a_mirror_whose_tombstone_was_lost_goes(void **state)
{
    (void)state;
    mirrored();
    world_crash_principal(&w);
    fake_store_erase(w.local, LOCAL);
    world_settle(&w);
    fake_log_lose(w.up);
    world_start_principal(&w);
    world_settle(&w);
    assert_null(hub());
    assert_at_rest();
}

static void a_mirror_of_which_nothing_is_kept_goes_too(void **state)
{
    (void)state;
    mirrored();
    world_crash_principal(&w);
    fake_store_erase(w.local, LOCAL);
    world_settle(&w);
    lose_all_that_was_said();
    world_start_principal(&w);
    world_settle(&w);
    assert_null(hub());
    assert_at_rest();
}

static void it_goes_also_when_the_agent_has_lost_its_log(void **state)
{
    (void)state;
    mirrored();
    world_crash_agent(&w);
    fake_store_erase(w.local, LOCAL);
    world_lose_log(&w, &w.agent_link);
    world_start_agent(&w);
    world_run(&w, 2);
    assert_null(hub());
    assert_at_rest();
}

static void a_mirrored_project_goes_too(void **state)
{
    ab_object *o = NULL;
    (void)state;
    assert_int_equal(ab_object_parse(AB_STR("{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":"
                                            "\"AppProject\",\"metadata\":{\"name\":\"p\","
                                            "\"namespace\":\"argocd\"},\"spec\":{\"n\":1}}"),
                                     &o, NULL),
                     AB_ERR_OK);
    fake_store_put(w.local, o);
    ab_object_unref(o);
    world_start(&w);
    assert_non_null(fake_store_find(w.hub, "AppProject/argocd/w1-p"));
    fake_store_erase(w.local, "AppProject/argocd/p");
    lose_all_that_was_said();
    fake_log_lose(w.up);
    world_start_principal(&w);
    world_settle(&w);
    assert_null(fake_store_find(w.hub, "AppProject/argocd/w1-p"));
    assert_at_rest();
}

static void what_is_no_mirror_of_this_agent_stays(void **state)
{
    (void)state;
    put_app(w.hub, "w1", "b", 7, "", "");
    put_app(w.hub, "w1", "c", 7,
            ",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"u\",\"" AB_ANN_MIRROR "\":\"1.2/w2\"}",
            "");
    mirrored();
    ask_for_resync();
    assert_int_equal(hub_count(), 3);
    assert_at_rest();
}

static void nothing_is_ended_while_something_of_the_store_cannot_be_read(void **state)
{
    (void)state;
    mirrored();
    world_crash_agent(&w);
    fake_store_erase(w.local, LOCAL);
    world_lose_log(&w, &w.agent_link);
    w.unreadable = true;
    world_start_agent(&w);
    world_run(&w, 2);
    assert_int_equal(spec_of(hub()), 1);
    ab_agent_on_synced(w.agent);
    world_settle(&w);
    assert_null(hub());
    assert_at_rest();
}

/* --- the guard --- */

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

static void forget_all_and_start_with_an_empty_store(int count)
{
    world_crash_agent(&w);
    erase_local(count);
    world_lose_log(&w, &w.agent_link);
    world_start_agent(&w);
    world_run(&w, 5);
}

static void an_empty_store_of_the_agent_deletes_nothing(void **state)
{
    (void)state;
    w.policy.guard.max = 2;
    put_local(5);
    world_start(&w);
    forget_all_and_start_with_an_empty_store(5);
    world_run(&w, 200);
    assert_int_equal(hub_count(), 5);
    assert_int_equal(held_at_agent(), 5);
    assert_int_equal(held_deletions(), 5);
    assert_int_equal(ab_principal_held(w.principal, "w1"), 5);
    assert_at_rest();
}

static void the_operator_of_the_principal_confirms_them(void **state)
{
    (void)state;
    w.policy.guard.max = 2;
    put_local(5);
    world_start(&w);
    forget_all_and_start_with_an_empty_store(5);
    assert_int_equal(world_confirm(&w), AB_ERR_OK);
    world_run(&w, 5);
    assert_int_equal(hub_count(), 0);
    assert_int_equal(held_at_agent(), 0);
    assert_int_equal(held_deletions(), 0);
    assert_at_rest();
}

static void they_are_not_confirmed_before_the_agent_knows_of_them(void **state)
{
    (void)state;
    w.policy.guard.max = 2;
    put_local(5);
    world_start(&w);
    world_crash_agent(&w);
    erase_local(5);
    world_lose_log(&w, &w.agent_link);
    assert_int_equal(world_confirm(&w), AB_ERR_NOTFOUND);
    world_start_agent(&w);
    world_run(&w, 40);
    assert_int_equal(hub_count(), 5);
    assert_int_equal(world_confirm(&w), AB_ERR_OK);
    world_run(&w, 5);
    assert_int_equal(hub_count(), 0);
}

static void they_are_confirmed_also_while_a_resync_is_under_way(void **state)
{
    (void)state;
    w.policy.guard.max = 2;
    put_local(5);
    world_start(&w);
    forget_all_and_start_with_an_empty_store(5);
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    world_step(&w, 0);
    assert_int_equal(world_confirm(&w), AB_ERR_OK);
    world_run(&w, 5);
    assert_int_equal(hub_count(), 0);
    assert_at_rest();
}

static void a_confirmation_is_for_once(void **state)
{
    (void)state;
    w.policy.guard.max = 2;
    put_local(5);
    world_start(&w);
    lose_local(5);
    world_run(&w, 5);
    assert_int_equal(world_confirm(&w), AB_ERR_OK);
    world_run(&w, 5);
    assert_int_equal(hub_count(), 0);
    put_local(5);
    world_run(&w, 5);
    lose_local(5);
    world_run(&w, 5);
    assert_int_equal(hub_count(), 5);
}

static void what_a_new_list_lacks_is_held_told_and_confirmed(void **state)
{
    (void)state;
    w.policy.guard.max = 2;
    put_local(5);
    world_start(&w);
    lose_local(5);
    world_run(&w, 5);
    assert_int_equal(hub_count(), 5);
    assert_int_equal(held_deletions(), 5);
    assert_int_equal(world_confirm(&w), AB_ERR_OK);
    world_run(&w, 5);
    assert_int_equal(hub_count(), 0);
    assert_int_equal(held_deletions(), 0);
    assert_at_rest();
}

static void what_the_principal_has_not_either_is_held_no_more(void **state)
{
    (void)state;
    w.policy.guard.max = 2;
    put_local(5);
    world_start(&w);
    lose_local(5);
    world_run(&w, 2);
    lose_all_that_was_said();
    while (fake_store_at(w.hub, 0) != NULL)
        fake_store_erase(w.hub, ab_object_key(fake_store_at(w.hub, 0)));
    world_start_principal(&w);
    world_run(&w, 70);
    assert_int_equal(held_at_agent(), 0);
    assert_int_equal(held_deletions(), 0);
    assert_at_rest();
}

/* A resync that is under way takes what is being ended for what the principal has. */
static void what_goes_while_it_is_compared_is_not_held_for_ever(void **state)
{
    (void)state;
    w.policy.guard.max = 2;
    put_local(5);
    world_start(&w);
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    lose_local(5);
    world_run(&w, 10);
    assert_int_equal(hub_count(), 5);
    assert_int_equal(held_at_agent(), 5);
    assert_int_equal(held_deletions(), 5);
    assert_at_rest();
}

/* What comes of the agent's store and of its log, and not what it sends. */
static void receive_all(void)
{
    while (fake_log_has_next(w.down) || fake_store_choices(w.local) > 0)
        world_step(&w, 0);
}

/* The pages for its first answer are there before its second one is sent, which is never heard. */
static void what_is_held_is_told_also_by_an_agent_that_starts_during_a_resync(void **state)
{
    (void)state;
    w.policy.guard.max = 2;
    put_local(5);
    world_start(&w);
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    set_spec(w.local, "Application/argocd/n0", 9); /* so that it wants a page */
    while (!has_head(w.down, AB_KEY_INVENTORY "0"))
        world_step(&w, 0);
    world_crash_agent(&w);
    erase_local(5);
    fake_log_compact(w.down);
    fake_log_replay(w.down);
    world_start_agent(&w);
    receive_all();
    assert_int_equal(held_at_agent(), 5);
    world_run(&w, 20);
    assert_int_equal(hub_count(), 5);
    assert_int_equal(held_deletions(), 5);
    assert_at_rest();
}

static void deletions_that_users_said_on_the_objects_are_never_held(void **state)
{
    char name[16], key[64];
    (void)state;
    w.policy.guard.max = 2;
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        put_app(w.local, "argocd", name, 1, FINALIZER, "");
    }
    world_start(&w);
    assert_int_equal(hub_count(), 5);
    erase_local(5);
    world_settle(&w);
    for (int i = 0; i < 5; i++) {
        snprintf(key, sizeof(key), "Application/argocd/n%d", i);
        drop_finalizers(w.local, key);
    }
    world_settle(&w);
    assert_int_equal(hub_count(), 0);
    assert_int_equal(held_at_agent(), 0);
    assert_at_rest();
}

static void what_comes_back_is_not_held_any_more_at_either_end(void **state)
{
    (void)state;
    w.policy.guard.max = 2;
    put_local(5);
    world_start(&w);
    forget_all_and_start_with_an_empty_store(5);
    put_local(5);
    world_run(&w, 70);
    assert_int_equal(held_at_agent(), 0);
    assert_int_equal(held_deletions(), 0);
    fake_store_erase(w.local, "Application/argocd/n0");
    world_run(&w, 2);
    assert_int_equal(hub_count(), 4);
    assert_at_rest();
}

static void the_guard_of_a_managed_agent_is_not_confirmed_by_the_principal(void **state)
{
    (void)state;
    w.policy.autonomous = false;
    w.mode = AB_MANAGED;
    w.policy.guard.max = 0;
    placed("");
    assert_int_equal(world_confirm(&w), AB_ERR_NOTFOUND);
    world_run(&w, 5);
    assert_int_equal(spec_of(local()), 1);
    assert_int_equal(spec_of(hub()), 1);
    assert_at_rest();
}

/* --- what is otherwise --- */

static void a_change_that_was_lost_comes_again(void **state)
{
    (void)state;
    mirrored();
    world_crash_principal(&w);
    set_spec(w.local, LOCAL, 2);
    put_app(w.local, "argocd", "b", 1, "", "");
    world_settle(&w);
    fake_log_lose(w.up);
    world_start_principal(&w);
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 2);
    assert_int_equal(spec_of(fake_store_find(w.hub, "Application/w1/b")), 1);
    assert_at_rest();
}

/* The agent was taken for a managed one, and is none by the time that its mirror is released. */
static void what_is_being_released_is_not_held(void **state)
{
    (void)state;
    mirrored();
    ab_principal_set_mode(w.principal, "w1", AB_MANAGED);
    while (w.hub_cache.keeping == NULL)
        world_step(&w, 0);
    ab_principal_set_mode(w.principal, "w1", AB_AUTONOMOUS);
    set_spec(w.hub, HUB, -7);
    world_run(&w, 5);
    assert_int_equal(spec_of(hub()), 1);
    assert_at_rest();
}

static void what_the_principal_forgot_is_learnt_anew_and_nothing_is_written(void **state)
{
    (void)state;
    mirrored();
    uint64_t writes = fake_store_changes(w.hub);
    lose_all_that_was_said();
    world_start_principal(&w);
    world_settle(&w);
    assert_int_equal(fake_store_changes(w.hub), writes);
    set_spec(w.hub, HUB, 9);
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 1);
    assert_at_rest();
}

static void what_it_forgot_and_somebody_changed_meanwhile_is_undone(void **state)
{
    (void)state;
    mirrored();
    lose_all_that_was_said();
    set_spec(w.hub, HUB, 9);
    world_start_principal(&w);
    world_run(&w, 2);
    assert_int_equal(spec_of(hub()), 1);
    assert_at_rest();
}

/* As after a part of the log was lost. */
static void a_mirror_that_is_newer_than_what_is_said_of_it_is_brought_back(void **state)
{
    (void)state;
    mirrored();
    world_crash_principal(&w);
    world_forget_mirrors(&w);
    fake_log_replay(w.up);
    set_spec(w.hub, HUB, 9);
    set_in(w.hub, HUB, "annotations", AB_ANN_MIRROR, "99.5/w1");
    world_start_principal(&w);
    world_run(&w, 2);
    assert_int_equal(spec_of(hub()), 1);
    set_spec(w.local, LOCAL, 2);
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 2);
    assert_at_rest();
}

static void an_older_epoch_of_the_agent_is_raised(void **state)
{
    (void)state;
    mirrored();
    restart_agent();
    restart_agent();
    set_spec(w.local, LOCAL, 2);
    world_settle(&w);
    world_crash_agent(&w);
    world_crash_principal(&w);
    fake_log_free(w.up);
    w.up = fake_log_new();
    w.agent_link.out = w.principal_link.in = w.up;
    set_spec(w.local, LOCAL, 3);
    w.ms -= 900; /* its clock was set back, too */
    world_start(&w);
    assert_int_equal(spec_of(hub()), 3);
    fake_store_erase(w.local, LOCAL);
    world_settle(&w);
    assert_null(hub());
    assert_at_rest();
}

static void what_was_made_again_under_an_older_epoch_is_mirrored(void **state)
{
    (void)state;
    mirrored();
    restart_agent();
    restart_agent();
    fake_store_erase(w.local, LOCAL);
    world_settle(&w);
    assert_null(hub());
    world_crash_agent(&w);
    world_crash_principal(&w);
    fake_log_free(w.up);
    w.up = fake_log_new();
    w.agent_link.out = w.principal_link.in = w.up;
    put_app(w.local, "argocd", "a", 3, "", "");
    w.ms -= 900;
    world_start(&w);
    world_run(&w, 2);
    assert_int_equal(spec_of(hub()), 3);
    assert_at_rest();
}

static void a_sync_under_an_older_epoch_of_the_principal_runs_all_the_same(void **state)
{
    (void)state;
    mirrored();
    restart_principal();
    restart_principal();
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    consume_operation();
    world_crash_principal(&w);
    fake_log_free(w.down);
    w.down = fake_log_new();
    w.principal_link.out = w.agent_link.in = w.down;
    w.ms -= 900; /* its clock was set back, too */
    set_field(w.hub, HUB, "operation", "{\"n\":2}");
    world_start_principal(&w);
    world_run(&w, 60);
    assert_int_equal(operation_of(local()), 2);
    consume_operation();
    assert_int_equal(operation_of(hub()), -1);
    assert_int_equal(world_count(w.agent_metrics, "argobus_commands_total"), 2);
    assert_at_rest();
}

static void cannot_be_sent(void)
{
    ab_error err = {0};
    ab_event_draft draft = {0};
    ab_event *event = NULL;
    (void)ab_fail(&err, AB_ERR_TOOBIG, "too big");
    ab_event_set_text(&draft, AB_CE_ID, "x");
    ab_event_set_text(&draft, AB_CE_SOURCE, AB_SOURCE_AGENT "w1");
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(AB_TYPE_SPEC_UPDATE));
    ab_event_set_text(&draft, AB_CE_PARTITIONKEY, LOCAL);
    assert_int_equal(ab_event_new(&draft, &event, NULL), AB_ERR_OK);
    ab_agent_unsendable(w.agent, event, &err);
    ab_event_unref(event);
    world_settle(&w);
    assert_true(has_error(hub()));
}

static void an_error_is_over_when_something_else_is_said(void **state)
{
    (void)state;
    mirrored();
    cannot_be_sent();
    set_spec(w.local, LOCAL, 7);
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 7);
    assert_false(has_error(hub()));
    assert_at_rest();
}

static void an_error_that_stands_is_said_again_to_a_new_principal(void **state)
{
    (void)state;
    mirrored();
    cannot_be_sent();
    world_crash_principal(&w);
    fake_log_lose(w.up);
    set_field(w.hub, HUB, "status", NULL);
    world_start_principal(&w);
    world_run(&w, 2);
    assert_true(has_error(hub()));
    assert_at_rest();
}

/* --- commands --- */

static void an_answer_that_was_lost_is_given_again_and_nothing_runs_twice(void **state)
{
    (void)state;
    mirrored();
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    assert_int_equal(operation_of(local()), 1);
    world_lose_log(&w, &w.agent_link);
    world_lose_log(&w, &w.principal_link);
    world_run(&w, 2);
    consume_operation();
    world_run(&w, 2);
    assert_int_equal(operation_of(hub()), -1);
    assert_int_equal(operation_of(local()), -1);
    assert_int_equal((int)world_count(w.agent_metrics, "argobus_commands_total"), 1);
    assert_at_rest();
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(many_objects_in_step_cost_three_events_and_no_write),
        T(they_cost_no_more_after_the_principal_was_restarted),
        T(a_mirror_whose_tombstone_was_lost_goes),
        T(a_mirror_of_which_nothing_is_kept_goes_too),
        T(it_goes_also_when_the_agent_has_lost_its_log),
        T(a_mirrored_project_goes_too),
        T(what_is_no_mirror_of_this_agent_stays),
        T(nothing_is_ended_while_something_of_the_store_cannot_be_read),
        T(an_empty_store_of_the_agent_deletes_nothing),
        T(the_operator_of_the_principal_confirms_them),
        T(they_are_not_confirmed_before_the_agent_knows_of_them),
        T(they_are_confirmed_also_while_a_resync_is_under_way),
        T(a_confirmation_is_for_once),
        T(what_a_new_list_lacks_is_held_told_and_confirmed),
        T(what_the_principal_has_not_either_is_held_no_more),
        T(what_goes_while_it_is_compared_is_not_held_for_ever),
        T(what_is_held_is_told_also_by_an_agent_that_starts_during_a_resync),
        T(deletions_that_users_said_on_the_objects_are_never_held),
        T(what_comes_back_is_not_held_any_more_at_either_end),
        T(the_guard_of_a_managed_agent_is_not_confirmed_by_the_principal),
        T(a_change_that_was_lost_comes_again),
        T(what_is_being_released_is_not_held),
        T(what_the_principal_forgot_is_learnt_anew_and_nothing_is_written),
        T(what_it_forgot_and_somebody_changed_meanwhile_is_undone),
        T(a_mirror_that_is_newer_than_what_is_said_of_it_is_brought_back),
        T(an_older_epoch_of_the_agent_is_raised),
        T(what_was_made_again_under_an_older_epoch_is_mirrored),
        T(a_sync_under_an_older_epoch_of_the_principal_runs_all_the_same),
        T(an_error_is_over_when_something_else_is_said),
        T(an_error_that_stands_is_said_again_to_a_new_principal),
        T(an_answer_that_was_lost_is_given_again_and_nothing_runs_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
