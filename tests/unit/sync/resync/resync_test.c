/* SPDX-License-Identifier: Apache-2.0
 *
 * Both ends compare what they hold: what was lost comes again, what is gone goes, and nothing goes
 * that is not proved to be gone.
 */
#include "schema/attributes.h"
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

static void lose_logs(void)
{
    world_lose_log(&w, &w.principal_link);
    world_lose_log(&w, &w.agent_link);
}

static void confirm(void)
{
    assert_int_equal(world_confirm(&w), AB_ERR_OK);
    world_run(&w, 2);
    assert_int_equal(held_deletions(), 0);
}

/* --- what is in step --- */

static void many_objects_in_step_cost_three_events_and_no_write(void **state)
{
    (void)state;
    put_apps(100);
    world_start(&w);
    assert_int_equal(local_count(), 100);
    uint64_t writes = fake_store_changes(w.hub) + fake_store_changes(w.local);
    size_t events = fake_log_appended(w.down) + fake_log_appended(w.up);
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    world_settle(&w);
    assert_int_equal(fake_store_changes(w.hub) + fake_store_changes(w.local), writes);
    assert_int_equal(fake_log_appended(w.down) + fake_log_appended(w.up), events + 3);
    assert_at_rest();
}

static void they_compare_without_a_cause_as_often_as_configured(void **state)
{
    (void)state;
    put_apps(3);
    w.resync_ms = 60000;
    world_start(&w);
    world_run(&w, 60); /* at first there is cause to */
    double before = world_count(w.principal_metrics, "argobus_resyncs_total");
    uint64_t writes = fake_store_changes(w.hub) + fake_store_changes(w.local);
    world_run(&w, 600);
    assert_int_equal(world_count(w.principal_metrics, "argobus_resyncs_total"), before + 10);
    assert_int_equal(fake_store_changes(w.hub) + fake_store_changes(w.local), writes);
}

static void what_was_lost_on_its_way_comes_after_a_gap(void **state)
{
    (void)state;
    placed("");
    world_connect(&w.agent_link, false);
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    fake_log_ack(w.down, fake_log_next(w.down));
    ab_agent_gap(w.agent);
    world_connect(&w.agent_link, true);
    world_run(&w, 60);
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

/* --- what is gone --- */

static void what_the_hub_deleted_while_its_log_was_lost_goes_at_the_agent(void **state)
{
    (void)state;
    placed("");
    world_crash_agent(&w);
    world_crash_principal(&w);
    fake_store_erase(w.hub, HUB);
    lose_logs();
    world_start(&w);
    assert_null(local());
    assert_at_rest();
}

static void it_is_held_when_the_agent_has_forgotten_all(void **state)
{
    (void)state;
    placed("");
    world_crash_agent(&w);
    world_crash_principal(&w);
    fake_store_erase(w.hub, HUB);
    lose_logs();
    world_forget_all_desired(&w);
    world_start_agent(&w);
    world_start_principal(&w);
    world_run(&w, 1);
    assert_int_equal(held_deletions(), 1); /* nothing tells under which version the hub had it */
    confirm();
    assert_null(local());
    assert_at_rest();
}

static void it_goes_also_while_both_run(void **state)
{
    (void)state;
    placed("");
    world_connect(&w.principal_link, false);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    assert_non_null(local());
    ab_outbox_drop(ab_principal_outbox(w.principal, "w1"));
    lose_logs();
    world_connect(&w.principal_link, true);
    world_settle(&w);
    assert_null(local());
    assert_at_rest();
}

/* The store tells of a deletion later than a read shows it. */
static void what_went_before_it_was_said_again_goes_at_the_agent(void **state)
{
    (void)state;
    placed("");
    world_connect(&w.principal_link, false);
    lose_logs();
    fake_store_erase(w.hub, HUB);
    world_connect(&w.principal_link, true);
    while (world_choices(&w) > 1)
        world_step(&w, fake_store_choices(w.hub) == 1 ? 1 : 0);
    assert_int_equal(fake_store_choices(w.hub), 1);
    assert_non_null(local());
    world_run(&w, 2);
    assert_null(local());
    assert_at_rest();
}

static void an_object_of_nobody_stays(void **state)
{
    (void)state;
    put_app(w.local, "argocd", "a", 7, "", "");
    world_start(&w);
    assert_non_null(local());
    assert_at_rest();
}

static void an_object_of_another_principal_stays(void **state)
{
    (void)state;
    put_app(w.local, "argocd", "a", 7,
            ",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"u\",\"" AB_ANN_PRINCIPAL_UID
            "\":\"principal-2\"}",
            "");
    world_start(&w);
    assert_non_null(local());
    assert_at_rest();
}

static void an_object_of_this_principal_that_it_may_never_have_had_is_held(void **state)
{
    (void)state;
    put_app(w.local, "argocd", "a", 7,
            ",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"u\",\"" AB_ANN_PRINCIPAL_UID
            "\":\"principal-1\"}",
            "");
    world_start(&w);
    assert_non_null(local());
    confirm();
    assert_null(local());
    assert_at_rest();
}

static void an_empty_hub_deletes_nothing(void **state)
{
    (void)state;
    w.deletions_max = 2;
    put_apps(5);
    world_start(&w);
    world_crash_agent(&w);
    world_crash_principal(&w);
    for (int i = 0; i < 5; i++) {
        char key[64];
        snprintf(key, sizeof(key), "Application/w1/n%d", i);
        fake_store_erase(w.hub, key);
    }
    lose_logs();
    world_start(&w);
    assert_int_equal(local_count(), 5);
    assert_at_rest();
}

/* --- the guard --- */

static void erase_apps(int count)
{
    char key[64];
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof(key), "Application/w1/n%d", i);
        fake_store_erase(w.hub, key);
    }
    world_settle(&w);
}

/* A new list of the store does not have them. */
static void lose_apps(int count)
{
    char key[64];
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof(key), "Application/w1/n%d", i);
        fake_store_lose(w.hub, key);
    }
    world_run(&w, 2);
}

static void deletions_that_were_observed_are_not_held_however_many(void **state)
{
    (void)state;
    w.deletions_max = 0;
    put_apps(5);
    world_start(&w);
    erase_apps(5);
    assert_int_equal(local_count(), 0);
    assert_int_equal(ab_principal_held(w.principal, NULL), 0);
    assert_at_rest();
}

/* What the agent tells, asked what it holds, comes when the end of all of it is said. */
static void what_was_ended_since_the_agent_told_is_not_held(void **state)
{
    (void)state;
    w.deletions_max = 0;
    put_apps(5);
    world_start(&w);
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    while (!fake_log_has_next(w.up))
        world_step(&w, 0);
    world_connect(&w.agent_link, false);
    for (int i = 0; i < 5; i++) {
        char key[64];
        snprintf(key, sizeof(key), "Application/w1/n%d", i);
        fake_store_erase(w.hub, key);
    }
    fake_store_settle(w.hub);
    while (world_choices(&w) > 1)
        world_step(&w, 1);
    world_connect(&w.agent_link, true);
    for (; world_choices(&w) > 0; world_step(&w, 0))
        assert_int_equal(ab_principal_held(w.principal, NULL), 0);
    world_run(&w, 2);
    assert_int_equal(local_count(), 0);
    assert_at_rest();
}

static void what_a_new_list_lacks_is_held_when_it_is_too_much(void **state)
{
    (void)state;
    w.deletions_max = 2;
    put_apps(5);
    world_start(&w);
    lose_apps(3);
    world_run(&w, 200);
    assert_int_equal(local_count(), 5);
    assert_int_equal(ab_principal_held(w.principal, NULL), 3);
}

static void what_is_held_stays_while_observed_deletions_pass(void **state)
{
    (void)state;
    w.deletions_max = 2;
    put_apps(5);
    world_start(&w);
    lose_apps(3);
    fake_store_erase(w.hub, "Application/w1/n4");
    world_run(&w, 200);
    assert_int_equal(local_count(), 4);
    assert_null(fake_store_find(w.local, "Application/argocd/n4"));
    assert_int_equal(ab_principal_held(w.principal, NULL), 3);
}

/* The watermark was not read between the two. */
static void an_observed_deletion_says_nothing_of_the_next_object_of_that_name(void **state)
{
    (void)state;
    w.deletions_max = 0;
    put_apps(1);
    world_start(&w);
    w.hub_refuses_reads = true;
    w.hub_refuses = AB_ERR_UNAVAILABLE;
    erase_apps(1);
    assert_int_equal(local_count(), 1);
    put_apps(1);
    world_settle(&w);
    lose_apps(1);
    w.hub_refuses = AB_ERR_OK;
    world_run(&w, 200);
    assert_int_equal(local_count(), 1);
    assert_int_equal(ab_principal_held(w.principal, NULL), 1);
}

static void observed_deletions_are_held_where_that_is_asked_for(void **state)
{
    (void)state;
    w.deletions_max = 2;
    w.guard_observed = true;
    put_apps(5);
    world_start(&w);
    erase_apps(5);
    world_run(&w, 200);
    assert_int_equal(local_count(), 5);
}

/* What was let through before the guard held is of the same deletion. */
static void a_held_rest_that_is_few_by_itself_is_not_let_go(void **state)
{
    (void)state;
    w.deletions_max = 3;
    put_apps(5);
    world_start(&w);
    world_run(&w, 1); /* the store's watermark follows what was said */
    lose_apps(3);
    assert_int_equal(local_count(), 2);
    fake_store_lose(w.hub, "Application/w1/n3");
    fake_store_lose(w.hub, "Application/w1/n4");
    world_run(&w, 200);
    assert_int_equal(local_count(), 2);
}

static void what_a_resync_held_is_not_held_when_it_is_back(void **state)
{
    (void)state;
    w.deletions_max = 2;
    put_apps(5);
    world_start(&w);
    world_crash_principal(&w);
    erase_apps(5);
    lose_logs();
    world_start_principal(&w);
    world_run(&w, 100);
    assert_int_equal(local_count(), 5);
    put_apps(5);
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    world_run(&w, 70);
    fake_store_erase(w.hub, "Application/w1/n0");
    world_run(&w, 2);
    assert_int_equal(local_count(), 4);
    assert_at_rest();
}

static void drop_all_finalizers(fake_store *s)
{
    for (size_t i = 0; i < 5; i++) {
        ab_object *o = fake_store_at(s, 0);
        if (o != NULL && ab_object_deleting(o))
            drop_finalizers(s, ab_object_key(o));
        world_run(&w, 1);
    }
}

static void deletions_that_users_said_on_the_objects_are_never_held(void **state)
{
    char name[16];
    (void)state;
    w.deletions_max = 2;
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        put_app(w.hub, "w1", name, 1, FINALIZER, "");
    }
    world_start(&w);
    erase_apps(5);
    drop_all_finalizers(w.local);
    assert_int_equal(local_count(), 0);
    assert_int_equal(count_objects(w.hub), 0);
    assert_int_equal(ab_principal_held(w.principal, NULL), 0);
    assert_at_rest();
}

static void the_operator_confirms_them(void **state)
{
    (void)state;
    w.deletions_max = 2;
    put_apps(5);
    world_start(&w);
    lose_apps(5);
    assert_int_equal(ab_principal_confirm(w.principal, "w2", ab_str_of(w.held_token)),
                     AB_ERR_NOTFOUND);
    assert_int_equal(local_count(), 5);
    assert_int_equal(world_confirm(&w), AB_ERR_OK);
    world_run(&w, 2);
    assert_int_equal(local_count(), 0);
    assert_at_rest();
}

/* Another process of its name may have done what this one knows nothing of. */
static void an_agent_that_was_paused_is_compared(void **state)
{
    (void)state;
    put_apps(1);
    world_start(&w);
    world_run(&w, 2);
    double before = world_count(w.principal_metrics, "argobus_resyncs_total");
    ab_agent_pause(w.agent, true);
    world_run(&w, 2);
    assert_true(world_count(w.principal_metrics, "argobus_resyncs_total") == before);
    ab_agent_pause(w.agent, false);
    world_run(&w, 2);
    assert_true(world_count(w.principal_metrics, "argobus_resyncs_total") == before + 1);
}

/* The agent has been another principal's before. */
static void what_another_principal_sent_is_none_of_ours(void **state)
{
    (void)state;
    put_app(w.local, "argocd", "b", 1,
            ",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"x\",\"" AB_ANN_PRINCIPAL_UID
            "\":\"another\"}",
            "");
    put_apps(1);
    world_start(&w);
    world_run(&w, 2);
    assert_int_equal(w.held, 0);
    assert_int_equal(world_confirm(&w), AB_ERR_NOTFOUND);
    world_run(&w, 2);
    assert_non_null(fake_store_find(w.local, "Application/argocd/b"));
}

static void what_comes_back_is_told(void **state)
{
    (void)state;
    w.deletions_max = 2;
    put_apps(5);
    world_start(&w);
    lose_apps(5);
    assert_int_equal(w.held, 5);
    put_apps(5);
    world_run(&w, 70);
    assert_int_equal(w.held, 0);
    assert_int_equal(local_count(), 5);
}

static void a_confirmation_is_for_once(void **state)
{
    (void)state;
    w.deletions_max = 2;
    put_apps(5);
    world_start(&w);
    lose_apps(5);
    confirm();
    put_apps(5);
    world_run(&w, 2);
    lose_apps(5);
    assert_int_equal(local_count(), 5);
}

static void it_is_for_what_was_held_also_while_the_agent_is_away(void **state)
{
    (void)state;
    w.deletions_max = 2;
    put_apps(5);
    world_start(&w);
    world_crash_agent(&w);
    lose_apps(3);
    confirm();
    put_apps(5);
    world_run(&w, 2);
    lose_apps(5);
    world_start_agent(&w);
    world_run(&w, 100);
    assert_int_equal(local_count(), 5);
}

static void few_deletions_over_a_long_time_are_not_held(void **state)
{
    (void)state;
    char key[64];
    w.deletions_max = 2;
    w.guard_observed = true;
    put_apps(5);
    world_start(&w);
    for (int i = 0; i < 5; i++) {
        snprintf(key, sizeof(key), "Application/w1/n%d", i);
        fake_store_erase(w.hub, key);
        world_run(&w, 61);
    }
    assert_int_equal(local_count(), 0);
    assert_at_rest();
}

static void what_comes_back_is_not_held_any_more(void **state)
{
    (void)state;
    w.deletions_max = 2;
    put_apps(5);
    world_start(&w);
    lose_apps(5);
    put_apps(5);
    world_run(&w, 70);
    fake_store_erase(w.hub, "Application/w1/n0");
    world_run(&w, 2);
    assert_int_equal(local_count(), 4);
    assert_at_rest();
}

/* --- what is otherwise --- */

static void a_restored_backup_of_the_agent_is_brought_up_to_date(void **state)
{
    (void)state;
    placed("");
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    world_crash_agent(&w);
    world_forget_all_desired(&w);
    set_spec(w.local, LOCAL, 1);
    world_start_agent(&w);
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

/* The principal begins anew with a log of its own, under an epoch that was long over. */
static void begin_under_an_older_epoch(void)
{
    world_crash_principal(&w);
    fake_log_free(w.down);
    w.down = fake_log_new();
    w.principal_link.out = w.agent_link.in = w.down;
    w.ms -= 900; /* its clock was set back, too */
}

static void an_older_epoch_of_the_principal_is_raised(void **state)
{
    (void)state;
    placed("");
    begin_under_an_older_epoch();
    set_spec(w.hub, HUB, 2);
    world_start_principal(&w);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 2);
    set_spec(w.hub, HUB, 3);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 3);
    assert_at_rest();
}

static void run_once(int n)
{
    char operation[32];
    snprintf(operation, sizeof(operation), "{\"n\":%d}", n);
    set_field(w.hub, HUB, "operation", operation);
    world_settle(&w);
    assert_int_equal(operation_of(local()), n);
    consume_operation();
    world_settle(&w);
    assert_int_equal(operation_of(hub()), -1);
}

static void a_sync_under_an_older_epoch_runs_all_the_same(void **state)
{
    (void)state;
    placed("");
    restart_principal();
    run_once(1);
    begin_under_an_older_epoch();
    set_field(w.hub, HUB, "operation", "{\"n\":2}");
    world_start_principal(&w);
    world_run(&w, 60);
    assert_int_equal(operation_of(local()), 2);
    consume_operation();
    world_settle(&w);
    assert_int_equal(operation_of(hub()), -1);
    assert_int_equal(world_count(w.agent_metrics, "argobus_commands_total"), 2);
    assert_at_rest();
}

static void it_runs_whenever_it_is_asked_for(void **state)
{
    for (int before = 0; before < 60; before++) {
        placed("");
        restart_principal();
        run_once(1);
        begin_under_an_older_epoch();
        world_start_principal(&w);
        for (int i = 0; i < before && world_choices(&w) > 0; i++)
            world_step(&w, world_choices(&w) - 1);
        set_field(w.hub, HUB, "operation", "{\"n\":2}");
        while (world_choices(&w) > 0)
            world_step(&w, world_choices(&w) - 1);
        world_run(&w, 60);
        assert_int_equal(operation_of(local()), 2);
        assert_int_equal(world_count(w.agent_metrics, "argobus_commands_total"), 2);
        (void)teardown(state);
        (void)begin(state);
    }
}

static void a_sync_that_ran_and_comes_again_under_an_older_epoch_is_only_answered(void **state)
{
    (void)state;
    placed("");
    restart_principal();
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    begin_under_an_older_epoch();
    consume_operation();
    world_start_principal(&w);
    world_run(&w, 60);
    assert_int_equal(operation_of(local()), -1);
    assert_int_equal(operation_of(hub()), -1);
    assert_int_equal(world_count(w.agent_metrics, "argobus_commands_total"), 1);
    assert_at_rest();
}

static void a_status_that_the_hub_lost_comes_again(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_settle(&w);
    world_crash_principal(&w);
    set_field(w.hub, HUB, "status", "{\"n\":0}");
    set_in(w.hub, HUB, "annotations", AB_ANN_STATUS_VERSION, NULL);
    world_start_principal(&w);
    world_settle(&w);
    assert_int_equal(status_of(hub()), 1);
    assert_at_rest();
}

static void a_status_at_the_hub_that_nobody_reported_goes_if_the_agent_has_none(void **state)
{
    (void)state;
    placed("");
    world_crash_principal(&w);
    set_field(w.hub, HUB, "status", "{\"n\":0}");
    world_start_principal(&w);
    world_settle(&w);
    assert_int_equal(status_of(hub()), -1);
    assert_at_rest();
}

static void a_status_that_was_set_aside_comes_again(void **state)
{
    (void)state;
    placed("");
    w.hub_refuses = AB_ERR_DENIED;
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_settle(&w);
    assert_int_equal(status_of(hub()), -1);
    world_crash_principal(&w);
    w.hub_refuses = AB_ERR_OK;
    world_start_principal(&w);
    world_settle(&w);
    assert_int_equal(status_of(hub()), 1);
    assert_at_rest();
}

static void an_error_that_stands_is_said_again_to_a_new_principal(void **state)
{
    (void)state;
    put_app(w.hub, "w1", "a", 1, "", "");
    put_app(w.local, "argocd", "a", 7, "", "");
    world_start(&w);
    assert_true(has_error(hub()));
    world_crash_principal(&w);
    set_field(w.hub, HUB, "status", NULL);
    world_start_principal(&w);
    world_settle(&w);
    assert_true(has_error(hub()));
    assert_at_rest();
}

/* --- what the principal could not read --- */

static void restart_principal_hiding(const char *key)
{
    world_crash_principal(&w);
    w.hidden = key;
    world_start_principal(&w);
    world_settle(&w);
}

/* Something else cannot be read still: the store is not synced. */
static void show_hidden(void)
{
    w.hidden = NULL;
    ab_principal_on_updated(w.principal, hub());
    world_run(&w, 2);
}

static void a_status_comes_again_when_its_application_can_be_read(void **state)
{
    (void)state;
    placed("");
    restart_principal_hiding(HUB);
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_settle(&w);
    put_app(w.hub, "w1", "new", 1, "", ""); /* another one is shown first */
    world_run(&w, 2);
    assert_int_equal(status_of(hub()), -1);
    show_hidden();
    assert_int_equal(status_of(hub()), 1);
    assert_at_rest();
}

static void a_confirmed_deletion_comes_again_when_its_application_can_be_read(void **state)
{
    (void)state;
    placed(FINALIZER);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    restart_principal_hiding(HUB);
    drop_finalizers(w.local, LOCAL);
    world_settle(&w);
    assert_null(local());
    show_hidden();
    assert_null(hub());
    assert_at_rest();
}

static void what_is_made_beside_it_is_not_compared(void **state)
{
    (void)state;
    placed("");
    restart_principal_hiding(HUB);
    double before = world_count(w.principal_metrics, "argobus_resyncs_total");
    put_apps(3);
    world_run(&w, 2);
    show_hidden();
    assert_int_equal(world_count(w.principal_metrics, "argobus_resyncs_total"), before);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(many_objects_in_step_cost_three_events_and_no_write),
        T(they_compare_without_a_cause_as_often_as_configured),
        T(what_was_lost_on_its_way_comes_after_a_gap),
        T(what_the_hub_deleted_while_its_log_was_lost_goes_at_the_agent),
        T(it_is_held_when_the_agent_has_forgotten_all),
        T(it_goes_also_while_both_run),
        T(what_went_before_it_was_said_again_goes_at_the_agent),
        T(an_object_of_nobody_stays),
        T(an_object_of_another_principal_stays),
        T(an_object_of_this_principal_that_it_may_never_have_had_is_held),
        T(an_empty_hub_deletes_nothing),
        T(deletions_that_were_observed_are_not_held_however_many),
        T(what_was_ended_since_the_agent_told_is_not_held),
        T(what_a_new_list_lacks_is_held_when_it_is_too_much),
        T(what_is_held_stays_while_observed_deletions_pass),
        T(an_observed_deletion_says_nothing_of_the_next_object_of_that_name),
        T(observed_deletions_are_held_where_that_is_asked_for),
        T(a_held_rest_that_is_few_by_itself_is_not_let_go),
        T(what_a_resync_held_is_not_held_when_it_is_back),
        T(deletions_that_users_said_on_the_objects_are_never_held),
        T(the_operator_confirms_them),
        T(an_agent_that_was_paused_is_compared),
        T(what_another_principal_sent_is_none_of_ours),
        T(what_comes_back_is_told),
        T(a_confirmation_is_for_once),
        T(it_is_for_what_was_held_also_while_the_agent_is_away),
        T(few_deletions_over_a_long_time_are_not_held),
        T(what_comes_back_is_not_held_any_more),
        T(a_restored_backup_of_the_agent_is_brought_up_to_date),
        T(an_older_epoch_of_the_principal_is_raised),
        T(a_sync_under_an_older_epoch_runs_all_the_same),
        T(it_runs_whenever_it_is_asked_for),
        T(a_sync_that_ran_and_comes_again_under_an_older_epoch_is_only_answered),
        T(a_status_that_the_hub_lost_comes_again),
        T(a_status_at_the_hub_that_nobody_reported_goes_if_the_agent_has_none),
        T(a_status_that_was_set_aside_comes_again),
        T(an_error_that_stands_is_said_again_to_a_new_principal),
        T(a_status_comes_again_when_its_application_can_be_read),
        T(a_confirmed_deletion_comes_again_when_its_application_can_be_read),
        T(what_is_made_beside_it_is_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
