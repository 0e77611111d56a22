/* SPDX-License-Identifier: Apache-2.0
 *
 * An autonomous agent and its principal: what stands at the hub follows the agent's store and
 * nothing else.
 */
#include "schema/attributes.h"
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define MIRROR_PROJECT "AppProject/argocd/w1-p"
#define OWN_PROJECT    "AppProject/argocd/p"

static int setup_autonomous(void **state)
{
    (void)setup(state);
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    return 0;
}

#define AUTONOMOUS(f) cmocka_unit_test_setup_teardown(f, setup_autonomous, teardown)

/* The agent's Application a stands at both ends, with spec 1. */
static void mirrored(const char *meta)
{
    put_app(w.local, "argocd", "a", 1, meta, "");
    world_start(&w);
    assert_int_equal(spec_of(hub()), 1);
}

static void edit_local(int n)
{
    set_spec(w.local, LOCAL, n);
    world_settle(&w);
}

static void put(fake_store *s, const char *json)
{
    ab_object *o = NULL;
    assert_int_equal(ab_object_parse(ab_str_of(json), &o, NULL), AB_ERR_OK);
    fake_store_put(s, o);
    ab_object_unref(o);
}

static void put_project(const char *spec)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":{"
             "\"name\":\"p\",\"namespace\":\"argocd\"},\"spec\":%s}",
             spec);
    put(w.local, text);
    world_settle(&w);
}

static double reverts(void)
{
    return world_count(w.principal_metrics, "argobus_reverts_total");
}

/* --- following --- */

static void an_application_is_mirrored(void **state)
{
    (void)state;
    mirrored(",\"labels\":{\"l\":\"1\"}");
    assert_true(ab_str_eq(ab_object_annotation(hub(), AB_ANN_SOURCE_UID), ab_object_uid(local())));
    assert_true(has_in(hub(), "labels", "l", "1"));
    assert_at_rest();
}

/* Its kind is that of the mirror: an agent could make a Secret else. */
static void what_is_published_is_what_its_key_names_and_has_a_uid(void **state)
{
    (void)state;
    mirrored("");
    say_up(LOCAL, AB_TYPE_SPEC_UPDATE,
           "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\","
           "\"namespace\":\"argocd\",\"uid\":\"u\"},\"spec\":{\"n\":2}}",
           1);
    say_up(LOCAL, AB_TYPE_SPEC_UPDATE,
           "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{"
           "\"name\":\"a\",\"namespace\":\"argocd\"},\"spec\":{\"n\":3}}",
           2);
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 1);
    assert_null(fake_store_find(w.hub, "Secret/w1/a"));
    assert_at_rest();
}

static void changes_and_status_follow(void **state)
{
    (void)state;
    mirrored("");
    edit_local(2);
    set_field(w.local, LOCAL, "status", "{\"n\":3}");
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 2);
    assert_int_equal(status_of(hub()), 3);
    set_field(w.local, LOCAL, "status", NULL);
    world_settle(&w);
    assert_int_equal(status_of(hub()), -1);
    assert_at_rest();
}

static void a_deletion_follows(void **state)
{
    (void)state;
    mirrored("");
    fake_store_erase(w.local, LOCAL);
    world_settle(&w);
    assert_null(hub());
    assert_at_rest();
}

/* In the place of the mirror somebody makes another, after each number of steps. */
static void a_deletion_does_not_remove_what_was_made_meanwhile(void **state)
{
    size_t left = 1;
    for (size_t steps = 0; left > 0; steps++) {
        mirrored("");
        fake_store_erase(w.local, LOCAL);
        for (size_t i = 0; i < steps && world_choices(&w) > 0; i++)
            world_step(&w, 0);
        left = world_choices(&w);
        if (hub() != NULL)
            fake_store_erase(w.hub, HUB);
        put_app(w.hub, "w1", "a", 7, "", "");
        world_run(&w, 2);
        assert_int_equal(spec_of(hub()), 7);
        teardown(state);
        setup_autonomous(state);
    }
}

static void what_is_made_anew_at_the_agent_is_updated_in_place(void **state)
{
    (void)state;
    char uid[40];
    mirrored("");
    snprintf(uid, sizeof(uid), "%.*s", AB_STR_ARG(ab_object_uid(hub())));
    world_crash_agent(&w);
    fake_store_erase(w.local, LOCAL);
    put_app(w.local, "argocd", "a", 2, "", "");
    world_start_agent(&w);
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 2);
    assert_true(ab_str_is(ab_object_uid(hub()), uid));
    assert_true(ab_str_eq(ab_object_annotation(hub(), AB_ANN_SOURCE_UID), ab_object_uid(local())));
    assert_at_rest();
}

static void nothing_is_deleted(void *arg, const ab_object *before, const ab_object *after)
{
    (void)arg;
    assert_true(before == NULL || after != NULL);
}

/* Its log is lost when the object is made anew, and read again before the store tells of that. */
static void made_anew_and_told_late(void)
{
    mirrored("");
    w.on_hub_write = nothing_is_deleted;
    world_lose_log(&w, &w.agent_link);
    fake_store_erase(w.local, LOCAL);
    put_app(w.local, "argocd", "a", 2, "", "");
    world_step(&w, world_choices(&w) - 1); /* the log is ready: the object is asked for */
    world_step(&w, 0);                     /* read */
    world_step(&w, 0);                     /* answered */
    assert_true(ab_outbox_has(ab_agent_outbox(w.agent), AB_STR(LOCAL)));
}

static void what_is_told_late_of_a_former_object_ends_nothing(void **state)
{
    (void)state;
    made_anew_and_told_late();
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 2);
    assert_true(ab_str_eq(ab_object_annotation(hub(), AB_ANN_SOURCE_UID), ab_object_uid(local())));
    assert_at_rest();
}

static void what_is_told_late_is_believed_when_the_new_object_is_gone_too(void **state)
{
    (void)state;
    made_anew_and_told_late();
    w.on_hub_write = NULL;
    fake_store_erase(w.local, LOCAL);
    world_settle(&w);
    assert_null(hub());
    assert_at_rest();
}

static void what_changed_while_either_side_was_down_follows(void **state)
{
    (void)state;
    mirrored("");
    put_app(w.local, "argocd", "b", 1, "", "");
    world_settle(&w);
    world_crash_agent(&w);
    set_spec(w.local, LOCAL, 2);
    fake_store_erase(w.local, "Application/argocd/b");
    world_start_agent(&w);
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 2);
    assert_null(fake_store_find(w.hub, "Application/w1/b"));
    world_crash_principal(&w);
    edit_local(3);
    world_start_principal(&w);
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 3);
    assert_at_rest();
}

static void a_restart_with_nothing_changed_writes_nothing_and_sends_no_state(void **state)
{
    (void)state;
    mirrored("");
    uint64_t writes = fake_store_changes(w.hub) + fake_store_changes(w.local);
    size_t events = fake_log_appended(w.down) + fake_log_appended(w.up);
    restart_agent();
    restart_principal();
    world_run(&w, 5);
    assert_int_equal(fake_store_changes(w.hub) + fake_store_changes(w.local), writes);
    /* Only the request for a resync. */
    assert_int_equal(fake_log_appended(w.down) + fake_log_appended(w.up), events + 1);
}

static void what_the_label_excludes_is_not_mirrored(void **state)
{
    (void)state;
    mirrored("");
    set_in(w.local, LOCAL, "labels", AB_LABEL_IGNORE_SYNC, "true");
    world_settle(&w);
    assert_null(hub());
    set_in(w.local, LOCAL, "labels", AB_LABEL_IGNORE_SYNC, NULL);
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 1);
    assert_at_rest();
}

static void a_mass_deletion_at_start_is_held_back(void **state)
{
    (void)state;
    w.policy.guard.max = 0;
    mirrored("");
    world_crash_agent(&w);
    fake_store_erase(w.local, LOCAL);
    world_start_agent(&w);
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 1);
    world_crash_agent(&w);
    w.policy.guard.max = 1;
    world_start_agent(&w);
    world_settle(&w);
    assert_null(hub());
}

static void what_is_excluded_from_synchronisation_counts_as_deleted(void **state)
{
    (void)state;
    w.policy.guard.max = 0;
    mirrored("");
    set_in(w.local, LOCAL, "labels", AB_LABEL_IGNORE_SYNC, "true");
    world_settle(&w);
    assert_null(hub());
    restart_agent();
    assert_null(hub());
    assert_at_rest();
}

/* --- undoing --- */

static void changes_at_the_hub_are_undone(void **state)
{
    (void)state;
    mirrored("");
    set_spec(w.hub, HUB, 9);
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 1);
    set_in(w.hub, HUB, "labels", "theirs", "1");
    world_settle(&w);
    assert_true(has_in(hub(), "labels", "theirs", NULL));
    set_field(w.hub, HUB, "status", "{\"n\":9}");
    world_settle(&w);
    assert_int_equal(status_of(hub()), -1);
    set_in(w.hub, HUB, "annotations", AB_ANN_SOURCE_UID, NULL);
    world_settle(&w);
    assert_true(ab_str_eq(ab_object_annotation(hub(), AB_ANN_SOURCE_UID), ab_object_uid(local())));
    assert_int_equal(spec_of(local()), 1);
    assert_true(reverts() >= 3);
    assert_at_rest();
}

static void a_deletion_at_the_hub_is_undone(void **state)
{
    (void)state;
    mirrored("");
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 1);
    assert_non_null(local());
    assert_at_rest();
}

static void a_cascading_deletion_at_the_hub_is_undone(void **state)
{
    (void)state;
    mirrored("");
    set_in(w.hub, HUB, "labels", "x", NULL);
    ab_object *o = NULL;
    assert_int_equal(
        ab_object_parse(AB_STR("{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\","
                               "\"metadata\":{\"name\":\"a\",\"namespace\":\"w1\",\"finalizers\":["
                               "\"resources-finalizer.argocd.argoproj.io\"]}}"),
                        &o, NULL),
        AB_ERR_OK);
    fake_store_put(w.hub, o);
    ab_object_unref(o);
    fake_store_erase(w.hub, HUB);
    assert_true(ab_object_deleting(hub()));
    world_run(&w, 5);
    assert_int_equal(spec_of(hub()), 1);
    assert_false(ab_object_deleting(hub()));
    assert_non_null(local());
    assert_at_rest();
}

static void changes_made_while_the_principal_was_down_are_undone_without_the_agent(void **state)
{
    (void)state;
    mirrored("");
    put_app(w.local, "argocd", "b", 1, "", "");
    world_settle(&w);
    world_crash_principal(&w);
    world_crash_agent(&w);
    set_spec(w.hub, HUB, 9);
    fake_store_erase(w.hub, "Application/w1/b");
    w.mode = 0; /* nobody has said it yet */
    world_start_principal(&w);
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 1);
    assert_int_equal(spec_of(fake_store_find(w.hub, "Application/w1/b")), 1);
}

static void a_lost_cache_is_read_again_and_nothing_is_written(void **state)
{
    (void)state;
    mirrored("");
    edit_local(2);
    world_crash_principal(&w);
    world_forget_mirrors(&w);
    fake_log_replay(w.up);
    uint64_t writes = fake_store_changes(w.hub);
    world_start_principal(&w);
    world_run(&w, 5);
    assert_int_equal(spec_of(hub()), 2);
    assert_int_equal(fake_store_changes(w.hub), writes);
    assert_at_rest();
}

static void an_end_is_heard_also_when_the_cache_was_lost(void **state)
{
    (void)state;
    mirrored("");
    world_crash_principal(&w);
    fake_store_erase(w.local, LOCAL);
    world_settle(&w);
    fake_log_compact(w.up);
    world_forget_mirrors(&w);
    fake_log_replay(w.up);
    world_start_principal(&w);
    world_settle(&w);
    assert_null(hub());
    assert_at_rest();
}

/* --- whose it is --- */

static void what_stands_there_already_is_left_alone(void **state)
{
    (void)state;
    put_app(w.hub, "w1", "a", 7, "", "");
    put_app(w.local, "argocd", "a", 1, "", "");
    world_start(&w);
    world_run(&w, 1);
    assert_int_equal(spec_of(hub()), 7);
    ab_label label = {"agent", AB_STR("w1")};
    assert_int_equal((int)ab_metric_value(ab_metric_get(w.principal_metrics, AB_METRIC_GAUGE,
                                                        "argobus_mirror_conflicts", "", &label, 1)),
                     1);
    fake_store_erase(w.local, LOCAL);
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 7);
    put_app(w.local, "argocd", "a", 2, "", "");
    world_settle(&w);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 2);
    assert_at_rest();
}

static void nothing_of_the_hub_is_sent_to_an_autonomous_agent(void **state)
{
    (void)state;
    mirrored("");
    put_app(w.hub, "w1", "other", 1, "", "");
    put(w.hub, "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":{"
               "\"name\":\"q\",\"namespace\":\"argocd\"},\"spec\":{\"sourceNamespaces\":[\"*\"],"
               "\"destinations\":[{\"name\":\"w1\",\"server\":\"*\",\"namespace\":\"*\"}]}}");
    put(w.hub, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
               "\"" AB_NAME_GPG_KEYS "\",\"namespace\":\"argocd\"}}");
    world_settle(&w);
    assert_int_equal(fake_log_appended(w.down), 0);
}

/* --- AppProjects --- */

static void a_project_is_mirrored_under_the_agents_name(void **state)
{
    (void)state;
    world_start(&w);
    put_project("{\"n\":1}");
    assert_int_equal(spec_of(fake_store_find(w.hub, MIRROR_PROJECT)), 1);
    set_spec(w.hub, MIRROR_PROJECT, 9);
    world_settle(&w);
    assert_int_equal(spec_of(fake_store_find(w.hub, MIRROR_PROJECT)), 1);
    put_project("{\"n\":2}");
    assert_int_equal(spec_of(fake_store_find(w.hub, MIRROR_PROJECT)), 2);
    restart_principal();
    assert_int_equal(spec_of(fake_store_find(w.hub, MIRROR_PROJECT)), 2);
    fake_store_erase(w.local, OWN_PROJECT);
    world_settle(&w);
    assert_null(fake_store_find(w.hub, MIRROR_PROJECT));
    assert_at_rest();
}

/* --- commands --- */

static void a_sync_asked_for_at_the_hub_runs_once_at_the_agent(void **state)
{
    (void)state;
    mirrored("");
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    assert_int_equal(operation_of(local()), 1);
    assert_int_equal(operation_of(hub()), 1);
    restart_agent();
    restart_principal();
    consume_operation();
    assert_int_equal(operation_of(local()), -1);
    assert_int_equal(operation_of(hub()), -1);
    assert_true(has_in(hub(), "annotations", AB_ANN_OPERATION_ID, NULL));
    assert_int_equal(spec_of(hub()), 1);
    assert_at_rest();
}

static void a_sync_waits_until_the_agents_store_is_listed(void **state)
{
    (void)state;
    mirrored("");
    world_crash_agent(&w);
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    world_start_agent(&w);
    while (world_choices(&w) > 0)
        world_step(&w, world_choices(&w) - 1); /* what comes from the hub first, the stores last */
    assert_int_equal(operation_of(local()), 1);
    consume_operation();
    assert_int_equal(operation_of(hub()), -1);
    assert_false(has_error(hub()));
    assert_at_rest();
}

static void a_sync_that_runs_at_the_agent_is_no_request(void **state)
{
    (void)state;
    mirrored("");
    set_field(w.local, LOCAL, "operation", "{\"n\":1}");
    world_settle(&w);
    assert_int_equal(operation_of(hub()), -1);
    consume_operation();
    assert_int_equal(fake_log_appended(w.down), 0);
    assert_at_rest();
}

static void a_refresh_asked_for_at_the_hub_is_carried_out(void **state)
{
    (void)state;
    mirrored("");
    set_in(w.hub, HUB, "annotations", AB_ANN_REFRESH, "hard");
    world_settle(&w);
    assert_true(has_in(local(), "annotations", AB_ANN_REFRESH, "hard"));
    assert_true(has_in(hub(), "annotations", AB_ANN_REFRESH, "hard"));
    set_in(w.local, LOCAL, "annotations", AB_ANN_REFRESH, NULL);
    world_settle(&w);
    assert_true(has_in(hub(), "annotations", AB_ANN_REFRESH, NULL));
    assert_at_rest();
}

#define RUN(phase)                                                                                 \
    "{\"operationState\":{\"phase\":\"" phase "\",\"startedAt\":\"2026-01-02T03:04:05Z\"}}"

static void a_terminate_asked_for_at_the_hub_ends_the_run(void **state)
{
    (void)state;
    mirrored("");
    set_field(w.local, LOCAL, "status", RUN("Running"));
    world_settle(&w);
    world_connect(&w.principal_link, false);
    set_field(w.hub, HUB, "status", RUN("Terminating"));
    world_run(&w, 5);
    assert_true(has_phase(hub(), "Terminating"));
    world_connect(&w.principal_link, true);
    world_run(&w, 5);
    assert_true(has_phase(local(), "Terminating"));
    assert_true(has_phase(hub(), "Terminating"));
    set_field(w.local, LOCAL, "status", RUN("Failed"));
    world_settle(&w);
    assert_true(has_phase(hub(), "Failed"));
    assert_at_rest();
}

static void a_terminate_at_the_agent_is_no_request(void **state)
{
    (void)state;
    mirrored("");
    set_field(w.local, LOCAL, "status", RUN("Terminating"));
    world_settle(&w);
    assert_true(has_phase(hub(), "Terminating"));
    assert_int_equal(fake_log_appended(w.down), 0);
    restart_principal();
    assert_int_equal(fake_log_appended(w.down), 0);
}

static void a_refused_request_is_taken_off_and_shown(void **state)
{
    (void)state;
    mirrored("");
    set_field(w.local, LOCAL, "status", RUN("Terminating"));
    world_settle(&w);
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_run(&w, 3);
    assert_int_equal(operation_of(hub()), -1);
    assert_true(has_error(hub()));
    assert_int_equal(operation_of(local()), -1);
    world_run(&w, 20);
    assert_true(has_phase(hub(), "Terminating"));
    edit_local(2);
    assert_false(has_error(hub()));
    assert_at_rest();
}

/* --- another mode than before --- */

static void switch_to(ab_mode_set mode)
{
    world_crash_agent(&w);
    w.on_hub_write = w.on_local_write = nothing_is_deleted;
    w.policy.autonomous = mode == AB_AUTONOMOUS;
    w.policy.adopt = true;
    w.mode = mode;
    ab_principal_set_mode(w.principal, "w1", mode);
    world_settle(&w);
    world_start_agent(&w);
    world_run(&w, 5);
}

/* Both objects are those that they were. */
static void keep_uids(char hub_uid[40], char local_uid[40])
{
    snprintf(hub_uid, 40, "%.*s", AB_STR_ARG(ab_object_uid(hub())));
    snprintf(local_uid, 40, "%.*s", AB_STR_ARG(ab_object_uid(local())));
}

static void assert_uids(const char *hub_uid, const char *local_uid)
{
    assert_true(ab_str_is(ab_object_uid(hub()), hub_uid));
    assert_true(ab_str_is(ab_object_uid(local()), local_uid));
}

static void assert_follows_agent(int n)
{
    edit_local(n);
    assert_int_equal(spec_of(hub()), n);
    assert_true(ab_str_eq(ab_object_annotation(hub(), AB_ANN_SOURCE_UID), ab_object_uid(local())));
    assert_int_equal(ab_object_annotation(local(), AB_ANN_SOURCE_UID).len, 0);
    assert_at_rest();
}

static void assert_follows_hub(int n)
{
    set_spec(w.hub, HUB, n);
    world_settle(&w);
    assert_int_equal(spec_of(local()), n);
    assert_true(ab_str_eq(ab_object_annotation(local(), AB_ANN_SOURCE_UID), ab_object_uid(hub())));
    assert_int_equal(ab_object_annotation(hub(), AB_ANN_SOURCE_UID).len, 0);
    assert_at_rest();
}

static void a_managed_agent_becomes_autonomous_and_managed_again(void **state)
{
    char hub_uid[40], local_uid[40];
    (void)state;
    w.policy.autonomous = false;
    w.mode = AB_MANAGED;
    placed("");
    keep_uids(hub_uid, local_uid);
    switch_to(AB_AUTONOMOUS);
    assert_uids(hub_uid, local_uid);
    assert_false(has_head(w.down, HUB)); /* nothing is desired of it any more */
    assert_follows_agent(2);
    switch_to(AB_MANAGED);
    assert_uids(hub_uid, local_uid);
    assert_follows_hub(3);
    switch_to(AB_AUTONOMOUS);
    assert_uids(hub_uid, local_uid);
    assert_follows_agent(4);
}

static void an_autonomous_agent_becomes_managed(void **state)
{
    char hub_uid[40], local_uid[40];
    (void)state;
    mirrored("");
    put_project("{\"n\":1}");
    keep_uids(hub_uid, local_uid);
    switch_to(AB_MANAGED);
    assert_uids(hub_uid, local_uid);
    assert_follows_hub(2);
    const ab_object *project = fake_store_find(w.hub, MIRROR_PROJECT);
    assert_int_equal(ab_object_annotation(project, AB_ANN_SOURCE_UID).len, 0);
    assert_non_null(fake_store_find(w.local, OWN_PROJECT));
    assert_true(!has_head(w.up, OWN_PROJECT));
}

/* Nor does what was published then come back when it is autonomous again. */
static void what_is_deleted_after_the_change_of_mode_stays_deleted(void **state)
{
    (void)state;
    mirrored("");
    switch_to(AB_MANAGED);
    w.on_hub_write = w.on_local_write = NULL;
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    assert_null(local());
    switch_to(AB_AUTONOMOUS);
    assert_null(hub());
}

static void a_principal_that_was_down_takes_part_in_a_change_of_mode(void **state)
{
    char hub_uid[40], local_uid[40];
    (void)state;
    mirrored("");
    keep_uids(hub_uid, local_uid);
    world_crash_principal(&w);
    world_crash_agent(&w);
    w.on_hub_write = w.on_local_write = nothing_is_deleted;
    w.policy.autonomous = false;
    w.policy.adopt = true;
    world_start_agent(&w);
    world_run(&w, 5);
    w.mode = 0;
    world_start_principal(&w);
    world_run(&w, 5);
    assert_true(ab_object_annotation(hub(), AB_ANN_SOURCE_UID).len > 0);
    ab_principal_set_mode(w.principal, "w1", AB_MANAGED);
    world_run(&w, 5);
    assert_uids(hub_uid, local_uid);
    assert_follows_hub(2);
    restart_principal();
    assert_uids(hub_uid, local_uid);
    ab_principal_set_mode(w.principal, "w1", AB_MANAGED);
    assert_follows_hub(3);
}

static void an_object_that_may_not_be_adopted_stays_as_it_is(void **state)
{
    (void)state;
    mirrored(",\"annotations\":{\"" AB_ANN_ADOPTION_POLICY "\":\"never\"}");
    switch_to(AB_MANAGED);
    set_spec(w.hub, HUB, 2);
    world_run(&w, 5);
    assert_int_equal(spec_of(local()), 1);
    assert_true(has_error(hub()));
}

/* --- trouble --- */

static void what_cannot_be_written_holds_nothing_back_for_ever(void **state)
{
    (void)state;
    world_start(&w);
    w.hub_refuses = AB_ERR_DENIED;
    put_app(w.local, "argocd", "a", 1, "", "");
    world_run(&w, 3);
    assert_null(hub());
    assert_int_equal(fake_log_open(w.up), 0);
    assert_int_equal((int)world_count(w.principal_metrics, "argobus_set_aside_total"), 1);
    w.hub_refuses = AB_ERR_OK;
    world_run(&w, 301);
    assert_int_equal(spec_of(hub()), 1);
}

static void holds_nothing_back_when_every_write_fails_with(ab_err code)
{
    world_start(&w);
    w.hub_refuses = code;
    put_app(w.local, "argocd", "a", 1, "", "");
    world_run(&w, 30);
    assert_int_equal(fake_log_open(w.up), 1);
    world_run(&w, 300);
    assert_int_equal(fake_log_open(w.up), 0);
    assert_int_equal((int)world_count(w.principal_metrics, "argobus_set_aside_total"), 1);
    w.hub_refuses = AB_ERR_OK;
    world_run(&w, 70);
    assert_int_equal(spec_of(hub()), 1);
}

static void what_always_conflicts_holds_nothing_back_for_ever(void **state)
{
    (void)state;
    holds_nothing_back_when_every_write_fails_with(AB_ERR_CONFLICT);
}

static void what_is_never_there_and_always_exists_holds_nothing_back_for_ever(void **state)
{
    (void)state;
    holds_nothing_back_when_every_write_fails_with(AB_ERR_EXISTS);
}

static void nothing_is_done_until_the_mode_is_known(void **state)
{
    (void)state;
    w.mode = 0;
    put_app(w.local, "argocd", "a", 1, "", "");
    put_app(w.hub, "w1", "b", 1, "", "");
    world_start(&w);
    assert_null(hub());
    assert_int_equal(fake_log_appended(w.down), 0);
    assert_int_equal(fake_log_open(w.up), 2); /* the object, and the request for a resync */
    ab_principal_set_mode(w.principal, "w1", AB_AUTONOMOUS);
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 1);
    assert_int_equal(fake_log_appended(w.down), 0);
    assert_int_equal(fake_log_open(w.up), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        AUTONOMOUS(an_application_is_mirrored),
        AUTONOMOUS(what_is_published_is_what_its_key_names_and_has_a_uid),
        AUTONOMOUS(changes_and_status_follow),
        AUTONOMOUS(a_deletion_follows),
        AUTONOMOUS(a_deletion_does_not_remove_what_was_made_meanwhile),
        AUTONOMOUS(what_is_made_anew_at_the_agent_is_updated_in_place),
        AUTONOMOUS(what_is_told_late_of_a_former_object_ends_nothing),
        AUTONOMOUS(what_is_told_late_is_believed_when_the_new_object_is_gone_too),
        AUTONOMOUS(what_changed_while_either_side_was_down_follows),
        AUTONOMOUS(a_restart_with_nothing_changed_writes_nothing_and_sends_no_state),
        AUTONOMOUS(what_the_label_excludes_is_not_mirrored),
        AUTONOMOUS(a_mass_deletion_at_start_is_held_back),
        AUTONOMOUS(what_is_excluded_from_synchronisation_counts_as_deleted),
        AUTONOMOUS(changes_at_the_hub_are_undone),
        AUTONOMOUS(a_deletion_at_the_hub_is_undone),
        AUTONOMOUS(a_cascading_deletion_at_the_hub_is_undone),
        AUTONOMOUS(changes_made_while_the_principal_was_down_are_undone_without_the_agent),
        AUTONOMOUS(a_lost_cache_is_read_again_and_nothing_is_written),
        AUTONOMOUS(an_end_is_heard_also_when_the_cache_was_lost),
        AUTONOMOUS(what_stands_there_already_is_left_alone),
        AUTONOMOUS(nothing_of_the_hub_is_sent_to_an_autonomous_agent),
        AUTONOMOUS(a_project_is_mirrored_under_the_agents_name),
        AUTONOMOUS(a_sync_asked_for_at_the_hub_runs_once_at_the_agent),
        AUTONOMOUS(a_sync_waits_until_the_agents_store_is_listed),
        AUTONOMOUS(a_sync_that_runs_at_the_agent_is_no_request),
        AUTONOMOUS(a_refresh_asked_for_at_the_hub_is_carried_out),
        AUTONOMOUS(a_terminate_asked_for_at_the_hub_ends_the_run),
        AUTONOMOUS(a_terminate_at_the_agent_is_no_request),
        AUTONOMOUS(a_refused_request_is_taken_off_and_shown),
        AUTONOMOUS(a_managed_agent_becomes_autonomous_and_managed_again),
        AUTONOMOUS(an_autonomous_agent_becomes_managed),
        AUTONOMOUS(what_is_deleted_after_the_change_of_mode_stays_deleted),
        AUTONOMOUS(a_principal_that_was_down_takes_part_in_a_change_of_mode),
        AUTONOMOUS(an_object_that_may_not_be_adopted_stays_as_it_is),
        AUTONOMOUS(what_cannot_be_written_holds_nothing_back_for_ever),
        AUTONOMOUS(what_always_conflicts_holds_nothing_back_for_ever),
        AUTONOMOUS(what_is_never_there_and_always_exists_holds_nothing_back_for_ever),
        AUTONOMOUS(nothing_is_done_until_the_mode_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
