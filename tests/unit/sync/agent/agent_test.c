/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's machine, driven by a principal's machine and by hands at its store.
 */
#include "schema/attributes.h"
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int ends; /* of the Application's key, that went up */

static void hub_app(int n, const char *meta)
{
    put_app(w.hub, "w1", "a", n, meta, "");
}

/* --- create, update, delete --- */

static void an_application_of_the_hub_is_created(void **state)
{
    (void)state;
    placed(",\"labels\":{\"team\":\"x\"}");
    assert_true(has_in(local(), "labels", "team", "x"));
    char uid[40];
    snprintf(uid, sizeof(uid), "%.*s", AB_STR_ARG(ab_object_uid(hub())));
    assert_true(has_in(local(), "annotations", AB_ANN_SOURCE_UID, uid));
    assert_true(has_in(local(), "annotations", AB_ANN_PRINCIPAL_UID, "principal-1"));
    assert_at_rest();
}

static void a_change_at_the_hub_is_written(void **state)
{
    (void)state;
    placed("");
    set_spec(w.hub, HUB, 2);
    set_in(w.hub, HUB, "labels", "team", "y");
    world_settle(&w);
    assert_int_equal(spec_of(local()), 2);
    assert_true(has_in(local(), "labels", "team", "y"));
    set_in(w.hub, HUB, "labels", "team", NULL);
    world_settle(&w);
    assert_true(has_in(local(), "labels", "team", NULL));
    assert_at_rest();
}

/* Of what can happen now, all but what the agent's store has for it. */
static void settle_but_the_store(void)
{
    while (world_choices(&w) > fake_store_choices(w.local))
        world_step(&w, fake_store_choices(w.hub) > 0 ? 0 : fake_store_choices(w.local));
}

static void creates_and_updates_need_no_reading(void **state)
{
    (void)state;
    placed(",\"labels\":{\"team\":\"x\"}");
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    set_in(w.local, LOCAL, "labels", "theirs", "1");
    world_settle(&w);
    world_crash_agent(&w);
    set_spec(w.hub, HUB, 3);
    world_start_agent(&w);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 3);
    assert_true(has_in(local(), "labels", "theirs", "1"));
    assert_int_equal(fake_store_reads(w.local), 0);
    assert_at_rest();
}

static void an_update_of_what_has_changed_meanwhile_keeps_the_change(void **state)
{
    (void)state;
    placed("");
    set_in(w.local, LOCAL, "labels", "theirs", "1"); /* not seen yet */
    set_spec(w.hub, HUB, 2);
    settle_but_the_store();
    world_run(&w, 5);
    assert_int_equal(spec_of(local()), 2);
    assert_true(has_in(local(), "labels", "theirs", "1"));
    assert_at_rest();
}

static void a_label_dropped_at_the_hub_while_the_agent_was_down_is_removed(void **state)
{
    (void)state;
    placed(",\"labels\":{\"team\":\"x\",\"tier\":\"1\"}");
    world_crash_agent(&w);
    set_in(w.hub, HUB, "labels", "team", NULL);
    world_settle(&w);
    set_in(w.hub, HUB, "labels", "tier", NULL);
    world_settle(&w);
    set_in(w.local, LOCAL, "labels", "theirs", "1");
    world_start_agent(&w);
    world_settle(&w);
    assert_true(has_in(local(), "labels", "team", NULL));
    assert_true(has_in(local(), "labels", "tier", NULL));
    assert_true(has_in(local(), "labels", "theirs", "1"));
    assert_at_rest();
}

static void a_delete_at_the_hub_removes_it(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_settle(&w);
    assert_true(has_head(w.up, LOCAL));
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    assert_null(local());
    assert_false(has_head(w.up, LOCAL));
    assert_false(has_head(w.down, HUB));
    assert_at_rest();
}

static void note_end(void *arg, bool down, const ab_event *event)
{
    (void)arg;
    if (down || ab_event_data(event).ptr != NULL ||
        !ab_str_is(ab_event_attr(event, AB_CE_PARTITIONKEY), LOCAL))
        return;
    ends++;
    assert_true(ab_str_is(ab_event_attr(event, AB_CE_TYPE), ab_type_name(AB_TYPE_STATUS_UPDATE)));
}

static void what_it_says_last_of_an_object_ends_its_report_alone(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_settle(&w);
    ends = 0;
    w.on_sent = note_end;
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    assert_int_equal(ends, 1);
    put_app(w.hub, "w1", "a", 2, FINALIZER, "");
    world_settle(&w);
    assert_int_equal(spec_of(local()), 2);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    drop_finalizers(w.local, LOCAL);
    world_settle(&w);
    assert_null(local());
    assert_null(hub());
    assert_true(ends > 1);
    assert_at_rest();
}

static void a_delete_while_the_agent_was_down_removes_it(void **state)
{
    (void)state;
    placed("");
    world_crash_agent(&w);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    assert_non_null(local());
    world_start_agent(&w);
    world_settle(&w);
    assert_null(local());
    assert_at_rest();
}

static void a_cascade_waits_for_the_workload_to_go(void **state)
{
    (void)state;
    placed(FINALIZER);
    fake_store_erase(w.hub, HUB);
    world_run(&w, 5);
    assert_non_null(hub());
    assert_true(ab_object_deleting(local()));
    drop_finalizers(w.local, LOCAL);
    world_settle(&w);
    assert_null(local());
    assert_null(hub());
    assert_at_rest();
}

static void a_cascade_ends_also_when_the_agent_was_down_meanwhile(void **state)
{
    (void)state;
    placed(FINALIZER);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    world_crash_agent(&w);
    drop_finalizers(w.local, LOCAL);
    assert_null(local());
    world_start_agent(&w);
    world_settle(&w);
    assert_null(hub());
    assert_at_rest();
}

static void a_cascade_of_what_never_came_to_the_agent_ends(void **state)
{
    (void)state;
    world_start(&w);
    world_connect(&w.agent_link, false);
    hub_app(1, FINALIZER);
    world_settle(&w);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    fake_log_compact(w.down);
    world_connect(&w.agent_link, true);
    world_settle(&w);
    assert_null(local());
    assert_null(hub());
    assert_at_rest();
}

static void a_cascade_does_not_delete_what_is_not_managed(void **state)
{
    (void)state;
    put_app(w.local, "argocd", "a", 7, "", "");
    hub_app(1, FINALIZER);
    world_start(&w);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 7);
    assert_false(ab_object_deleting(local()));
    assert_null(hub());
    assert_at_rest();
}

static void a_delete_does_not_touch_what_is_not_managed(void **state)
{
    (void)state;
    put_app(w.local, "argocd", "a", 7, "", "");
    hub_app(1, "");
    world_start(&w);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 7);
    assert_at_rest();
}

/* In the place of the managed one somebody makes another, after each number of steps. */
static void a_delete_does_not_remove_what_was_made_meanwhile(void **state)
{
    size_t left = 1;
    for (size_t steps = 0; left > 0; steps++) {
        placed("");
        fake_store_erase(w.hub, HUB);
        for (size_t i = 0; i < steps && world_choices(&w) > 0; i++)
            world_step(&w, 0);
        left = world_choices(&w);
        if (local() != NULL)
            fake_store_erase(w.local, LOCAL);
        put_app(w.local, "argocd", "a", 7, "", "");
        world_run(&w, 2);
        assert_int_equal(spec_of(local()), 7);
        teardown(state);
        setup(state);
    }
}

static void an_application_that_is_created_anew_after_a_delete_is_placed(void **state)
{
    (void)state;
    placed("");
    world_crash_agent(&w);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    hub_app(2, "");
    world_settle(&w);
    world_start_agent(&w);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 2);
    assert_true(ab_str_eq(ab_object_annotation(local(), AB_ANN_SOURCE_UID), ab_object_uid(hub())));
    assert_true(world_count(w.agent_metrics, "argobus_reverts_total") == 0);
    assert_at_rest();
}

/* --- reverts --- */

static uint64_t zero(void *arg)
{
    (void)arg;
    return 0;
}

/* Of what cannot be written nobody has changed anything, and nothing is tried all the time. */
static void what_was_refused_is_tried_rarely_and_reverted_once_it_is_written(void **state)
{
    (void)state;
    placed("");
    w.local_refuses = AB_ERR_DENIED;
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    double writes = world_count(w.agent_metrics, "argobus_store_writes_total");
    world_run(&w, 290);
    assert_true(world_count(w.agent_metrics, "argobus_store_writes_total") == writes);
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 20);
    assert_int_equal(spec_of(local()), 2);
    set_spec(w.local, LOCAL, 3);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 2);
    assert_true(world_count(w.agent_metrics, "argobus_reverts_total") == 1);
}

/* Until the agent's cache has been asked for something and has answered. */
static void step_cache(void)
{
    while (w.cache.keeping == NULL)
        world_step(&w, 0);
    world_step(&w, fake_store_choices(w.hub) + fake_store_choices(w.local));
}

static void a_change_that_cannot_be_saved_is_not_lost(void **state)
{
    (void)state;
    placed("");
    set_spec(w.hub, HUB, 2);
    step_cache(); /* the former state is read */
    w.random = zero;
    w.faults_permille = 1000;
    step_cache();
    w.random = NULL;
    assert_int_equal(fake_log_open(w.down), 1);
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

static void local_edits_are_reverted(void **state)
{
    (void)state;
    placed(",\"labels\":{\"team\":\"x\"}");
    set_spec(w.local, LOCAL, 9);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 1);
    set_in(w.local, LOCAL, "labels", "team", NULL);
    world_settle(&w);
    assert_true(has_in(local(), "labels", "team", "x"));
    assert_true(world_count(w.agent_metrics, "argobus_reverts_total") == 2);
    assert_at_rest();
}

static void local_additions_of_others_are_kept(void **state)
{
    (void)state;
    placed(",\"labels\":{\"team\":\"x\"}");
    set_in(w.local, LOCAL, "labels", "theirs", "1");
    set_in(w.local, LOCAL, "annotations", "theirs", "1");
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 2);
    assert_true(has_in(local(), "labels", "theirs", "1"));
    assert_true(has_in(local(), "annotations", "theirs", "1"));
    assert_at_rest();
}

static void local_edits_are_reverted_while_disconnected(void **state)
{
    (void)state;
    placed("");
    world_connect(&w.agent_link, false);
    set_spec(w.local, LOCAL, 9);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 1);
}

static void edits_made_while_the_agent_was_down_are_reverted(void **state)
{
    (void)state;
    placed("");
    world_crash_agent(&w);
    world_crash_principal(&w);
    set_spec(w.local, LOCAL, 9);
    world_connect(&w.agent_link, false);
    world_start_agent(&w);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 1);
}

static void a_local_deletion_is_reverted_and_counted(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", "{\"operationState\":{}}");
    world_settle(&w);
    fake_store_erase(w.local, LOCAL);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 1);
    assert_true(has_in(local(), "annotations", AB_ANN_SOURCE_UID, "uid-1"));
    assert_false(ab_span_present(ab_object_field(local(), "operation")));
    assert_true(world_count(w.agent_metrics, "argobus_reverts_total") == 1);
    assert_at_rest();
}

static bool has_run(ab_object *o)
{
    return ab_span_present(ab_span_get(ab_object_field(o, "status"), "operationState"));
}

static void delete_one_that_ran(ab_recreate_policy policy)
{
    w.policy.recreate = policy;
    placed("");
    set_field(w.local, LOCAL, "status", "{\"operationState\":{\"phase\":\"Succeeded\"}}");
    world_settle(&w);
    fake_store_erase(w.local, LOCAL);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 1);
}

static void what_is_brought_back_has_its_last_status(void **state)
{
    (void)state;
    delete_one_that_ran(AB_RECREATE_IGNORE);
    assert_true(has_run(local()));
    assert_true(has_run(hub()));
    assert_false(ab_span_present(ab_object_field(local(), "operation")));
    assert_at_rest();
}

static void what_is_brought_back_has_no_status_when_it_is_to_be_cleared(void **state)
{
    (void)state;
    delete_one_that_ran(AB_RECREATE_CLEAR_STATUS);
    assert_false(has_run(local()));
    assert_false(has_run(hub()));
    assert_false(ab_span_present(ab_object_field(local(), "operation")));
    assert_at_rest();
}

static void one_made_anew_at_the_hub_does_not_get_the_status_of_the_deleted(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", "{\"operationState\":{\"phase\":\"Succeeded\"}}");
    world_settle(&w);
    w.local_refuses = AB_ERR_UNAVAILABLE;
    fake_store_erase(w.local, LOCAL);
    world_settle(&w);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    put_app(w.hub, "w1", "a", 2, "", "");
    world_settle(&w);
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 120);
    assert_int_equal(spec_of(local()), 2);
    assert_false(has_run(local()));
}

static void a_deletion_while_the_agent_was_down_is_reverted(void **state)
{
    (void)state;
    placed("");
    world_crash_agent(&w);
    fake_store_erase(w.local, LOCAL);
    world_start_agent(&w);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 1);
    assert_at_rest();
}

static void what_is_recreated_after_a_local_deletion_may_be_synced(void **state)
{
    (void)state;
    w.policy.recreate = AB_RECREATE_RESYNC;
    placed("");
    assert_false(ab_span_present(ab_object_field(local(), "operation")));
    fake_store_erase(w.local, LOCAL);
    world_settle(&w);
    assert_true(ab_span_present(ab_span_get(ab_object_field(local(), "operation"), "sync")));
}

/* --- whose is it --- */

static void what_is_not_managed_is_not_touched(void **state)
{
    (void)state;
    put_app(w.local, "argocd", "a", 7, "", ",\"status\":{\"n\":3}");
    hub_app(1, "");
    world_start(&w);
    assert_int_equal(spec_of(local()), 7);
    assert_int_equal(status_of(hub()), -1);
    assert_false(has_head(w.up, LOCAL));
    ab_spanv conditions = ab_span_get(ab_object_field(hub(), "status"), "conditions");
    assert_true(ab_span_is(ab_span_get(ab_span_first(conditions), "type"), "AgentError"));
    assert_at_rest();
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        count++;
    return count;
}

static void a_refused_adoption_is_logged_once_at_each_end(void **state)
{
    (void)state;
    char text[65536];
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(ab_log_new(fileno(file), "debug", AB_LOG_JSON, &w.clock, &w.log, NULL),
                     AB_ERR_OK);
    put_app(w.local, "argocd", "a", 7, "", "");
    hub_app(1, ",\"annotations\":{\"x\":\"1\"}");
    set_field(w.hub, HUB, "status", "{\"health\":{},\"sync\":{}}");
    world_start(&w);
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_run(&w, 60);
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    assert_int_equal(count_of(text, "\"adoption refused\""), 1);
    assert_int_equal(count_of(text, "\"agent reported an error\""), 1);
    assert_int_equal(spec_of(local()), 7);
    assert_true(ab_span_is(ab_span_path(ab_object_field(hub(), "status"), "health", "status", NULL),
                           "Degraded"));
    fclose(file);
}

static void a_create_adopts_when_that_is_the_policy(void **state)
{
    (void)state;
    w.policy.adopt = true;
    put_app(w.local, "argocd", "a", 7, ",\"labels\":{\"theirs\":\"1\"}", ",\"status\":{\"n\":3}");
    hub_app(1, "");
    world_start(&w);
    assert_int_equal(spec_of(local()), 1);
    assert_true(has_in(local(), "labels", "theirs", "1"));
    assert_int_equal(status_of(hub()), 3);
    assert_at_rest();
}

static void an_object_may_say_that_it_can_be_adopted(void **state)
{
    (void)state;
    put_app(w.local, "argocd", "a", 7,
            ",\"annotations\":{\"" AB_ANN_ADOPTION_POLICY "\":\"always\"}", "");
    hub_app(1, "");
    world_start(&w);
    assert_int_equal(spec_of(local()), 1);
}

static void an_object_may_say_that_it_must_not_be_adopted(void **state)
{
    (void)state;
    w.policy.adopt = true;
    put_app(w.local, "argocd", "a", 7,
            ",\"annotations\":{\"" AB_ANN_ADOPTION_POLICY "\":\"never\"}", "");
    hub_app(1, "");
    world_start(&w);
    assert_int_equal(spec_of(local()), 7);
}

static void a_spec_update_does_not_adopt(void **state)
{
    (void)state;
    w.policy.adopt = true;
    hub_app(1, ",\"annotations\":{\"" AB_ANN_STATUS_VERSION "\":\"1.1\"}");
    put_app(w.local, "argocd", "a", 7, "", "");
    world_start(&w);
    assert_int_equal(spec_of(local()), 7);
}

static void what_stood_in_the_way_gone_it_is_created(void **state)
{
    (void)state;
    put_app(w.local, "argocd", "a", 7, "", "");
    hub_app(1, "");
    world_start(&w);
    fake_store_erase(w.local, LOCAL);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 1);
    ab_spanv conditions = ab_span_get(ab_object_field(hub(), "status"), "conditions");
    assert_int_equal(ab_span_count(conditions), 0);
    assert_at_rest();
}

static void another_source_uid_means_delete_and_create(void **state)
{
    (void)state;
    w.policy.recreate = AB_RECREATE_RESYNC; /* for what a local user deleted, not for this */
    placed("");
    ab_str uid = ab_object_uid(local());
    char before[40];
    snprintf(before, sizeof(before), "%.*s", AB_STR_ARG(uid));
    world_connect(&w.agent_link, false);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    hub_app(2, "");
    world_settle(&w);
    fake_log_compact(w.down);
    world_connect(&w.agent_link, true);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 2);
    assert_false(ab_str_is(ab_object_uid(local()), before));
    assert_false(ab_span_present(ab_object_field(local(), "operation")));
    assert_true(world_count(w.agent_metrics, "argobus_reverts_total") == 0);
    assert_at_rest();
}

static void another_source_uid_may_be_updated_in_place(void **state)
{
    (void)state;
    w.policy.upsert = true;
    placed("");
    char before[40];
    snprintf(before, sizeof(before), "%.*s", AB_STR_ARG(ab_object_uid(local())));
    world_connect(&w.agent_link, false);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    hub_app(2, "");
    world_settle(&w);
    fake_log_compact(w.down);
    world_connect(&w.agent_link, true);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 2);
    assert_true(ab_str_is(ab_object_uid(local()), before));
    assert_at_rest();
}

static void what_a_former_object_left_is_removed_by_an_update_in_place(void **state)
{
    (void)state;
    w.policy.upsert = true;
    placed(",\"labels\":{\"team\":\"x\"}");
    w.local_refuses = AB_ERR_UNAVAILABLE;
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    hub_app(2, "");
    world_settle(&w);
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 2);
    assert_true(has_in(local(), "labels", "team", NULL));
    assert_at_rest();
}

static void another_principal_takes_over_in_place(void **state)
{
    (void)state;
    put_app(w.local, "argocd", "a", 7,
            ",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"old\",\"" AB_ANN_PRINCIPAL_UID
            "\":\"principal-0\"}",
            "");
    hub_app(1, "");
    world_start(&w);
    assert_int_equal(spec_of(local()), 1);
    assert_true(ab_str_is(ab_object_uid(local()), "uid-1"));
    assert_true(has_in(local(), "annotations", AB_ANN_PRINCIPAL_UID, "principal-1"));
    assert_at_rest();
}

/* --- what the agent knows and does not know --- */

static void the_status_of_what_stands_as_desired_already_is_reported(void **state)
{
    (void)state;
    placed("");
    world_crash_agent(&w);
    world_crash_principal(&w);
    ab_object *stands = ab_object_ref(local());
    world_fini(&w);
    world_init(&w); /* nothing is kept, nothing was said */
    fake_store_put(w.local, stands);
    ab_object_unref(stands);
    set_field(w.local, LOCAL, "status", "{\"n\":4}");
    placed("");
    assert_int_equal(status_of(hub()), 4);
    assert_at_rest();
}

static void a_newer_state_lets_go_of_the_one_that_could_not_be_written(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_settle(&w);
    w.local_refuses = AB_ERR_UNAVAILABLE;
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    set_spec(w.hub, HUB, 3);
    world_run(&w, 2);
    assert_int_equal(fake_log_open(w.down), 1);
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 20);
    assert_int_equal(spec_of(local()), 3);
    assert_at_rest();
}

/* --- what arrives again --- */

static void a_replay_changes_nothing(void **state)
{
    (void)state;
    placed("");
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    uint64_t writes = fake_store_changes(w.local);
    fake_log_replay(w.down);
    world_settle(&w);
    assert_int_equal(fake_store_changes(w.local), writes);
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

static void a_restart_costs_no_event_but_the_desired_for_a_resync(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_settle(&w);
    size_t events = fake_log_appended(w.up);
    restart_agent();
    assert_int_equal(fake_log_appended(w.up), events + 1);
    assert_at_rest();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_application_of_the_hub_is_created),
        TEST(a_change_at_the_hub_is_written),
        TEST(creates_and_updates_need_no_reading),
        TEST(an_update_of_what_has_changed_meanwhile_keeps_the_change),
        TEST(a_label_dropped_at_the_hub_while_the_agent_was_down_is_removed),
        TEST(a_delete_at_the_hub_removes_it),
        TEST(what_it_says_last_of_an_object_ends_its_report_alone),
        TEST(a_delete_while_the_agent_was_down_removes_it),
        TEST(a_cascade_waits_for_the_workload_to_go),
        TEST(a_cascade_ends_also_when_the_agent_was_down_meanwhile),
        TEST(a_cascade_of_what_never_came_to_the_agent_ends),
        TEST(a_cascade_does_not_delete_what_is_not_managed),
        TEST(a_delete_does_not_touch_what_is_not_managed),
        TEST(a_delete_does_not_remove_what_was_made_meanwhile),
        TEST(an_application_that_is_created_anew_after_a_delete_is_placed),
        TEST(what_was_refused_is_tried_rarely_and_reverted_once_it_is_written),
        TEST(a_change_that_cannot_be_saved_is_not_lost),
        TEST(local_edits_are_reverted),
        TEST(local_additions_of_others_are_kept),
        TEST(local_edits_are_reverted_while_disconnected),
        TEST(edits_made_while_the_agent_was_down_are_reverted),
        TEST(a_local_deletion_is_reverted_and_counted),
        TEST(a_deletion_while_the_agent_was_down_is_reverted),
        TEST(what_is_brought_back_has_its_last_status),
        TEST(what_is_brought_back_has_no_status_when_it_is_to_be_cleared),
        TEST(one_made_anew_at_the_hub_does_not_get_the_status_of_the_deleted),
        TEST(what_is_recreated_after_a_local_deletion_may_be_synced),
        TEST(what_is_not_managed_is_not_touched),
        TEST(a_refused_adoption_is_logged_once_at_each_end),
        TEST(a_create_adopts_when_that_is_the_policy),
        TEST(an_object_may_say_that_it_can_be_adopted),
        TEST(an_object_may_say_that_it_must_not_be_adopted),
        TEST(a_spec_update_does_not_adopt),
        TEST(what_stood_in_the_way_gone_it_is_created),
        TEST(another_source_uid_means_delete_and_create),
        TEST(another_source_uid_may_be_updated_in_place),
        TEST(what_a_former_object_left_is_removed_by_an_update_in_place),
        TEST(another_principal_takes_over_in_place),
        TEST(the_status_of_what_stands_as_desired_already_is_reported),
        TEST(a_newer_state_lets_go_of_the_one_that_could_not_be_written),
        TEST(a_replay_changes_nothing),
        TEST(a_restart_costs_no_event_but_the_desired_for_a_resync),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
