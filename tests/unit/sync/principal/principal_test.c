/* SPDX-License-Identifier: Apache-2.0
 *
 * The principal's machine: status that comes up, requests that go down, what ends.
 */
#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "sync/stamp.h"
#include "tests/unit/sync/world/pair.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* --- status --- */

static void the_status_of_the_agent_shows_at_the_hub(void **state)
{
    (void)state;
    placed(",\"annotations\":{\"theirs\":\"1\"},\"labels\":{\"l\":\"1\"}");
    set_field(w.local, LOCAL, "status", "{\"n\":5,\"odd\":9007199254740993,\"nul\":\"\\u0000\"}");
    world_settle(&w);
    ab_spanv status = ab_object_field(hub(), "status");
    assert_true(
        ab_str_is(ab_span_raw(status), "{\"n\":5,\"odd\":9007199254740993,\"nul\":\"\\u0000\"}"));
    assert_true(has_in(hub(), "annotations", "theirs", "1"));
    assert_true(has_in(hub(), "labels", "l", "1"));
    assert_int_equal(spec_of(hub()), 1);
    assert_at_rest();
}

/* The change may be seen before the answer to the write, or after it. */
static void a_status_needs_no_reading(void **state)
{
    (void)state;
    placed("");
    uint64_t reads = fake_store_reads(w.hub);
    for (int n = 0; n < 4; n++) {
        char status[32];
        snprintf(status, sizeof(status), "{\"n\":%d}", n);
        set_field(w.local, LOCAL, "status", status);
        while (world_choices(&w) > 0) {
            size_t at_hub = fake_store_choices(w.hub);
            world_step(&w, at_hub > 0 && n % 2 == 1 ? at_hub - 1 : 0);
        }
        assert_int_equal(status_of(hub()), n);
    }
    assert_int_equal(fake_store_reads(w.hub), reads);
    assert_at_rest();
}

static void a_status_that_comes_again_is_not_written_again(void **state)
{
    (void)state;
    placed("");
    for (int n = 1; n < 4; n++) {
        char status[20];
        snprintf(status, sizeof(status), "{\"n\":%d}", n);
        set_field(w.local, LOCAL, "status", status);
        world_settle(&w);
    }
    uint64_t writes = fake_store_changes(w.hub);
    fake_log_replay(w.up);
    world_settle(&w);
    assert_int_equal(fake_store_changes(w.hub), writes);
    restart_principal();
    fake_log_replay(w.up);
    world_settle(&w);
    assert_int_equal(fake_store_changes(w.hub), writes);
    assert_int_equal(status_of(hub()), 3);
}

static void a_status_is_not_written_to_what_was_made_anew_meanwhile(void **state)
{
    (void)state;
    placed("");
    world_crash_agent(&w);
    say_status(7, 1);
    fake_store_erase(w.hub, HUB);
    put_app(w.hub, "w1", "a", 1, "", "");
    deliver_up();
    fake_store_step(w.hub, 0, false); /* the write takes place */
    assert_false(ab_span_present(ab_object_field(hub(), "status")));
    world_settle(&w);
    world_tick(&w, 60000);
    world_settle(&w);
    assert_false(ab_span_present(ab_object_field(hub(), "status")));
    assert_int_equal(fake_log_open(w.up), 0);
}

/* As over a transport that keeps no log. */
static void forget_what_was_said_up(void)
{
    world_crash_agent(&w);
    world_lose_log(&w, &w.agent_link);
    world_start_agent(&w);
    world_settle(&w);
}

static void a_status_that_the_hub_shows_is_not_written_when_it_is_said_again(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_settle(&w);
    uint64_t writes = fake_store_changes(w.hub);
    size_t said = fake_log_appended(w.up);
    forget_what_was_said_up();
    assert_true(fake_log_appended(w.up) > said);
    restart_principal();
    forget_what_was_said_up();
    assert_int_equal(fake_store_changes(w.hub), writes);
    set_field(w.local, LOCAL, "status", "{\"n\":2}");
    world_settle(&w);
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_settle(&w);
    assert_int_equal(status_of(hub()), 1);
    assert_true(fake_store_changes(w.hub) > writes);
    assert_at_rest();
}

static void an_error_that_is_over_goes_with_a_status_that_is_said_again(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_settle(&w);
    w.local_refuses = AB_ERR_DENIED;
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    assert_true(has_error(hub()));
    world_crash_principal(&w);
    w.local_refuses = AB_ERR_OK;
    forget_what_was_said_up();
    world_start_principal(&w);
    world_settle(&w);
    forget_what_was_said_up();
    assert_false(has_error(hub()));
    assert_int_equal(status_of(hub()), 1);
}

static void the_status_of_a_former_object_is_not_shown(void **state)
{
    (void)state;
    placed("");
    world_connect(&w.principal_link, false);
    set_field(w.local, LOCAL, "status", "{\"n\":5}");
    world_settle(&w);
    world_connect(&w.agent_link, false);
    fake_store_erase(w.hub, HUB);
    put_app(w.hub, "w1", "a", 2, "", "");
    world_settle(&w);
    world_connect(&w.principal_link, true);
    world_settle(&w);
    assert_false(ab_span_present(ab_object_field(hub(), "status")));
    world_connect(&w.agent_link, true);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

static void a_change_that_is_seen_late_does_not_let_an_older_status_in(void **state)
{
    (void)state;
    placed("");
    world_connect(&w.agent_link, false);
    for (int n = 1; n <= 3; n++) {
        say_status(n, (uint64_t)n);
        deliver_up();
        fake_store_step(w.hub, 0, false); /* written */
        fake_store_step(w.hub, 0, false); /* answered, but not seen */
        assert_int_equal(status_of(hub()), n);
    }
    fake_store_step(w.hub, 0, false); /* the first of the three is seen */
    uint64_t writes = fake_store_changes(w.hub);
    fake_log_replay(w.up);
    while (fake_log_has_next(w.up))
        deliver_up();
    world_settle(&w);
    assert_int_equal(fake_store_changes(w.hub), writes);
}

static void an_unreadable_status_is_dropped(void **state)
{
    (void)state;
    placed("");
    say_up(LOCAL, AB_TYPE_STATUS_UPDATE, "{", 1);
    say_status(4, 2);
    world_settle(&w);
    assert_int_equal(status_of(hub()), 4);
    assert_int_equal(fake_log_open(w.up), 0);
}

static void what_an_agent_may_not_say_is_refused(void **state)
{
    (void)state;
    placed("");
    say_up(LOCAL, AB_TYPE_SET_OPERATION, "{}", 1);
    say_up("Application/argocd/a b", AB_TYPE_PING, "{}", 2);
    world_settle(&w);
    assert_int_equal(fake_log_open(w.up), 0);
    assert_at_rest();
}

static double refused(const char *reason)
{
    ab_label label = {"reason", ab_str_of(reason)};
    return ab_metric_value(ab_metric_get(w.principal_metrics, AB_METRIC_COUNTER,
                                         "argobus_events_refused_total", "", &label, 1));
}

/* Which command it answers is the end of its key. */
static void an_answer_under_a_key_of_another_form_is_refused(void **state)
{
    (void)state;
    placed("");
    ab_event *event = NULL;
    ab_event_draft d = {.data = AB_STR("{\"id\":\"x\"}")};
    ab_event_set_text(&d, AB_CE_ID, "x");
    ab_event_set_text(&d, AB_CE_SOURCE, AB_SOURCE_AGENT "w1");
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(AB_TYPE_PROCESSED));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_EVENT_PROCESSED));
    ab_event_set_text(&d, AB_CE_SUBJECT, "argocd/a");
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, "a");
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, 100);
    ab_event_set_u64(&d, AB_CE_OBJVERSION, 1);
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    fake_log_append(w.up, event);
    ab_event_unref(event);
    world_settle(&w);
    assert_int_equal(refused("key"), 1);
    assert_at_rest();
}

/* --- what was said in another mode --- */

static void the_end_of_a_report_ends_no_mirror(void **state)
{
    (void)state;
    w.mode = AB_AUTONOMOUS;
    w.policy.autonomous = true;
    put_app(w.local, "argocd", "a", 1, "", "");
    world_start(&w);
    assert_non_null(hub());
    say_up(LOCAL, AB_TYPE_STATUS_UPDATE, NULL, 1);
    world_settle(&w);
    assert_non_null(hub());
    assert_at_rest();
    say_up(LOCAL, AB_TYPE_DELETE, NULL, 2);
    world_settle(&w);
    assert_null(hub());
}

/* The agent gave up its mirror when it became a managed one: that ends no cascade. */
static void what_is_released_drops_no_finalizers(void **state)
{
    (void)state;
    placed(FINALIZER);
    world_crash_agent(&w);
    fake_store_erase(w.hub, HUB);
    say_up(LOCAL, AB_TYPE_RELEASE, NULL, 1);
    world_settle(&w);
    assert_non_null(hub());
}

/* --- what comes while the object is read or written for something else --- */

/* The principal reads the hub's object, in order to send it. */
static void look_in_flight(const char *meta)
{
    put_app(w.hub, "w1", "a", 1, meta, "");
    world_start_principal(&w);
    fake_store_settle(w.hub);
    world_step(&w, 0);
    assert_int_equal(fake_store_choices(w.hub), 1);
}

/* Another principal wrote a newer status, which the watch has not told yet. */
static void an_end_that_is_older_than_what_the_object_shows_drops_no_finalizers(void **state)
{
    (void)state;
    placed(FINALIZER);
    world_crash_agent(&w);
    say_status(1, 1);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    assert_true(ab_object_deleting(hub()));
    set_in(w.hub, HUB, "annotations", AB_ANN_STATUS_VERSION, "100.9/w1");
    say_up(LOCAL, AB_TYPE_DELETE, NULL, 5);
    deliver_up();
    world_settle(&w);
    assert_non_null(hub());
    assert_int_equal(fake_log_open(w.up), 0);
}

static void finalizers_are_not_dropped_by_an_end_that_comes_meanwhile(void **state)
{
    (void)state;
    look_in_flight(FINALIZER);
    say_up(LOCAL, AB_TYPE_DELETE, NULL, 1);
    deliver_up();
    world_settle(&w);
    assert_int_equal(ab_span_count(ab_object_meta(hub(), "finalizers")), 1);
    assert_int_equal(fake_log_open(w.up), 0);
}

static void an_error_that_comes_meanwhile_is_shown(void **state)
{
    (void)state;
    look_in_flight("");
    say_up(AB_KEY_ERROR LOCAL, AB_TYPE_ERROR, "{\"message\":\"why\"}", 1);
    deliver_up();
    world_settle(&w);
    assert_true(has_error(hub()));
}

static void a_status_that_comes_while_an_error_is_written_is_written_too(void **state)
{
    (void)state;
    placed("");
    ab_event *event = sample_event(HUB, "{}", 1);
    ab_error err = {0};
    (void)ab_fail(&err, AB_ERR_TOOBIG, "too big");
    ab_principal_unsendable(w.principal, "w1", event, &err);
    ab_event_unref(event);
    world_step(&w, 0); /* read */
    world_step(&w, 0); /* answered; the write is under way */
    assert_int_equal(fake_store_choices(w.hub), 1);
    say_status(6, 1);
    deliver_up();
    world_settle(&w);
    assert_int_equal(status_of(hub()), 6);
    assert_true(has_error(hub()));
    assert_int_equal(fake_log_open(w.up), 0);
}

static void a_read_that_is_older_than_what_was_seen_meanwhile_is_not_sent(void **state)
{
    (void)state;
    look_in_flight("");
    fake_store_step(w.hub, 0, false); /* the read takes place */
    set_spec(w.hub, HUB, 2);
    fake_store_step(w.hub, 1, false); /* the change is seen */
    world_settle(&w);
    world_start_agent(&w);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 2);
}

/* Between the two the agent would delete its object, and make it anew. */
static void a_read_that_is_newer_than_what_was_seen_is_not_sent_before_that(void **state)
{
    (void)state;
    look_in_flight("");
    fake_store_erase(w.hub, HUB);
    put_app(w.hub, "w1", "a", 2, "", "");
    fake_store_step(w.hub, 0, false); /* the read takes place */
    fake_store_step(w.hub, 0, false); /* and is answered */
    while (world_choices(&w) > fake_store_choices(w.hub))
        world_step(&w, fake_store_choices(w.hub));
    assert_false(has_head(w.down, HUB));
    world_settle(&w);
    assert_true(has_head(w.down, HUB));
    world_start_agent(&w);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 2);
}

static void what_was_only_written_in_other_words_is_sent(void **state)
{
    (void)state;
    look_in_flight("");
    ab_object *o =
        sample_object("{\"kind\":\"Application\",\"apiVersion\":\"argoproj.io/v1alpha1\","
                      "\"metadata\":{\"name\":\"a\",\"namespace\":\"w1\"},"
                      "\"spec\":{\"n\":1,\"destination\":{\"server\":\"x\"}}}");
    fake_store_reword(w.hub, o);
    ab_object_unref(o);
    world_settle(&w);
    assert_true(has_head(w.down, HUB));
}

/* --- ends --- */

static void what_was_deleted_while_the_principal_was_down_is_removed(void **state)
{
    (void)state;
    placed("");
    world_crash_principal(&w);
    fake_store_erase(w.hub, HUB);
    world_start_principal(&w);
    world_settle(&w);
    assert_null(local());
    assert_at_rest();
}

static void what_was_changed_while_the_principal_was_down_is_sent(void **state)
{
    (void)state;
    placed("");
    world_crash_principal(&w);
    set_spec(w.hub, HUB, 2);
    world_start_principal(&w);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

static void a_restart_costs_no_event(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", "{\"n\":5}");
    world_settle(&w);
    size_t events = fake_log_appended(w.down);
    uint64_t writes = fake_store_changes(w.hub);
    restart_principal();
    assert_int_equal(fake_log_appended(w.down), events);
    assert_int_equal(fake_store_changes(w.hub), writes);
}

static void put_many(size_t count)
{
    char name[16];
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "m%zu", i);
        put_app(w.hub, "w1", name, 1, "", "");
    }
}

static void erase_many(size_t first, size_t count)
{
    char key[40];
    for (size_t i = first; i < count; i++) {
        snprintf(key, sizeof(key), "Application/w1/m%zu", i);
        fake_store_erase(w.hub, key);
    }
}

static void most_of_the_fleet_is_not_deleted_at_a_start(void **state)
{
    (void)state;
    w.deletions_max = 2;
    put_many(5);
    world_start(&w);
    world_crash_principal(&w);
    erase_many(0, 3);
    world_start_principal(&w);
    world_settle(&w);
    assert_non_null(fake_store_find(w.local, "Application/argocd/m0"));
    world_crash_principal(&w);
    w.deletions_max = 3;
    world_start_principal(&w);
    world_settle(&w);
    assert_null(fake_store_find(w.local, "Application/argocd/m0"));
    assert_non_null(fake_store_find(w.local, "Application/argocd/m4"));
}

static void a_few_deletions_are_made_at_a_start(void **state)
{
    (void)state;
    w.deletions_max = 2;
    put_many(5);
    world_start(&w);
    world_crash_principal(&w);
    erase_many(0, 2);
    world_start_principal(&w);
    world_settle(&w);
    assert_null(fake_store_find(w.local, "Application/argocd/m0"));
    assert_null(fake_store_find(w.local, "Application/argocd/m1"));
    assert_non_null(fake_store_find(w.local, "Application/argocd/m2"));
}

static void what_is_to_be_ignored_is_removed_at_the_agent(void **state)
{
    (void)state;
    placed("");
    set_in(w.hub, HUB, "labels", AB_LABEL_IGNORE_SYNC, "true");
    world_settle(&w);
    assert_null(local());
    assert_non_null(hub());
    set_in(w.hub, HUB, "labels", AB_LABEL_IGNORE_SYNC, "false");
    world_settle(&w);
    assert_int_equal(spec_of(local()), 1);
    assert_at_rest();
}

static void a_loss_of_the_log_is_made_good(void **state)
{
    (void)state;
    placed("");
    size_t events = fake_log_appended(w.down);
    ab_principal_log_lost(w.principal, "w1");
    w.principal_link.ready = false;
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 2);
    assert_int_equal(fake_log_appended(w.down), events + 1);
}

/* --- failures --- */

static void what_is_sent_before_the_mode_is_known_counts_as_said(void **state)
{
    (void)state;
    placed("");
    world_connect(&w.principal_link, false);
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    world_lose_log(&w, &w.principal_link);
    ab_principal_unset_mode(w.principal, "w1");
    world_connect(&w.principal_link, true);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 2);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    assert_non_null(local());
    ab_principal_set_mode(w.principal, "w1", AB_MANAGED);
    world_run(&w, 2);
    assert_null(local());
    assert_at_rest();
}

static void what_is_refused_is_set_aside_and_shown(void **state)
{
    (void)state;
    placed("");
    w.local_refuses = AB_ERR_DENIED;
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    assert_int_equal(fake_log_open(w.down), 0);
    assert_true(has_error(hub()));
    assert_true(world_count(w.agent_metrics, "argobus_set_aside_total") == 1);
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 310);
    assert_int_equal(spec_of(local()), 2);
    assert_false(has_error(hub()));
    world_run(&w, 30); /* what has no status yet is reported then */
    assert_at_rest();
}

static void what_is_put_right_after_a_refusal_is_written_at_once(void **state)
{
    (void)state;
    placed("");
    w.local_refuses = AB_ERR_DENIED;
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    w.local_refuses = AB_ERR_OK;
    set_spec(w.hub, HUB, 3);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 3);
}

static void what_fails_for_long_is_set_aside_and_tried_on(void **state)
{
    (void)state;
    placed("");
    w.local_refuses = AB_ERR_UNAVAILABLE;
    set_spec(w.hub, HUB, 2);
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_run(&w, 30);
    assert_int_equal(fake_log_open(w.down), 2);
    world_run(&w, 300);
    assert_int_equal(fake_log_open(w.down), 0);
    assert_int_equal(operation_of(hub()), -1);
    assert_true(has_error(hub()));
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 70);
    assert_int_equal(spec_of(local()), 2);
    assert_int_equal(operation_of(local()), -1);
}

static void a_write_that_always_conflicts_is_set_aside_and_tried_on(void **state)
{
    (void)state;
    placed("");
    w.local_refuses = AB_ERR_CONFLICT;
    set_spec(w.hub, HUB, 2);
    world_run(&w, 30);
    assert_int_equal(fake_log_open(w.down), 1);
    assert_false(has_error(hub()));
    world_run(&w, 300);
    assert_int_equal(fake_log_open(w.down), 0);
    assert_true(has_error(hub()));
    assert_true(world_count(w.agent_metrics, "argobus_set_aside_total") == 1);
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 70);
    assert_int_equal(spec_of(local()), 2);
    assert_false(has_error(hub()));
    world_run(&w, 30); /* what has no status yet is reported then */
    assert_at_rest();
}

static void a_status_whose_write_always_conflicts_is_set_aside_and_tried_on(void **state)
{
    (void)state;
    placed("");
    w.hub_refuses = AB_ERR_CONFLICT;
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_run(&w, 30);
    assert_int_equal(fake_log_open(w.up), 1);
    world_run(&w, 300);
    assert_int_equal(fake_log_open(w.up), 0);
    assert_true(world_count(w.principal_metrics, "argobus_set_aside_total") == 1);
    w.hub_refuses = AB_ERR_OK;
    world_run(&w, 70);
    assert_int_equal(status_of(hub()), 1);
    assert_at_rest();
}

static void an_edit_that_its_user_takes_back_ends_a_conflict(void **state)
{
    char spec[256];
    (void)state;
    placed("");
    snprintf(spec, sizeof(spec), "%.*s", AB_STR_ARG(ab_span_raw(ab_object_field(local(), "spec"))));
    for (int i = 0; i < 2; i++) {
        w.local_refuses = AB_ERR_CONFLICT;
        set_spec(w.local, LOCAL, 7);
        world_run(&w, 1);
        assert_false(has_error(hub()));
        set_field(w.local, LOCAL, "spec", spec);
        world_run(&w, 300);
    }
}

static void copy_stamp(void *arg, const ab_event *head)
{
    ab_stamp stamp = {.agent = AB_STR("w1")};
    if (ab_str_is(ab_event_attr(head, AB_CE_TYPE), ab_type_name(AB_TYPE_STATUS_UPDATE)) &&
        ab_version_of(head, &stamp.version, NULL) == AB_ERR_OK)
        ab_stamp_format(&stamp, arg);
}

/* Or the write was made that was said to have failed. */
static void a_status_that_another_principal_has_written_ends_a_conflict(void **state)
{
    char stamp[AB_STAMP_TEXT];
    (void)state;
    placed("");
    for (int i = 1; i <= 2; i++) {
        w.hub_refuses = AB_ERR_CONFLICT;
        set_field(w.local, LOCAL, "status", i == 1 ? "{\"n\":1}" : "{\"n\":2}");
        world_run(&w, 1);
        assert_int_equal(fake_log_open(w.up), 1);
        fake_log_heads(w.up, copy_stamp, stamp);
        set_in(w.hub, HUB, "annotations", AB_ANN_STATUS_VERSION, stamp);
        world_run(&w, 300);
        assert_int_equal(fake_log_open(w.up), 0);
    }
    assert_true(world_count(w.principal_metrics, "argobus_set_aside_total") == 0);
}

static void a_status_that_the_hub_refuses_is_set_aside_and_a_newer_one_written(void **state)
{
    (void)state;
    placed("");
    w.hub_refuses = AB_ERR_INVALID;
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_settle(&w);
    assert_int_equal(fake_log_open(w.up), 0);
    w.hub_refuses = AB_ERR_OK;
    set_field(w.local, LOCAL, "status", "{\"n\":2}");
    world_settle(&w);
    assert_int_equal(status_of(hub()), 2);
}

static void what_waits_for_an_agent_that_goes_holds_no_offset(void **state)
{
    (void)state;
    placed("");
    world_crash_principal(&w);
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_settle(&w);
    w.mode = 0;
    world_start_principal(&w);
    world_settle(&w);
    assert_int_equal(fake_log_open(w.up), 1); /* how the agent works is not known */
    ab_principal_remove_agent(w.principal, "w1");
    assert_int_equal(fake_log_open(w.up), 0);
    world_settle(&w);
}

static void an_error_that_is_over_leaves_the_status_as_reported(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", "{\"n\":1,\"health\":{\"status\":\"Healthy\"}}");
    world_settle(&w);
    w.local_refuses = AB_ERR_DENIED;
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    assert_true(has_error(hub()));
    w.local_refuses = AB_ERR_OK;
    set_spec(w.hub, HUB, 1);
    world_settle(&w);
    assert_false(has_error(hub()));
    assert_true(ab_span_same(ab_object_field(hub(), "status"), ab_object_field(local(), "status")));
    assert_at_rest();
}

/* It has the annotations of a mirror, as after a change of mode that was cut short. */
static void a_mirror_deleted_before_it_is_handed_over_goes_at_the_agent(void **state)
{
    char stamp[AB_STAMP_TEXT];
    const ab_stamp older = {.version = {1, 1}, .agent = AB_STR("w1")};
    (void)state;
    placed("");
    ab_stamp_format(&older, stamp);
    w.hub_refuses = AB_ERR_DENIED;
    set_in(w.hub, HUB, "annotations", AB_ANN_MIRROR, stamp);
    set_in(w.hub, HUB, "annotations", AB_ANN_SOURCE_UID, "u");
    world_run(&w, 1);
    assert_true(has_in(hub(), "annotations", AB_ANN_SOURCE_UID, "u"));
    assert_non_null(local());
    fake_store_erase(w.hub, HUB);
    world_run(&w, 1);
    assert_null(local());
    assert_at_rest();
}

static void it_may_be_freed_with_everything_in_flight(void **state)
{
    (void)state;
    placed(FINALIZER);
    for (size_t steps = 0; steps < 40; steps++) {
        set_spec(w.hub, HUB, (int)steps + 2);
        set_field(w.hub, HUB, "operation", "{\"n\":1}");
        set_spec(w.local, LOCAL, -9);
        for (size_t i = 0; i < steps && world_choices(&w) > 0; i++)
            world_step(&w, i % world_choices(&w));
        world_crash_agent(&w);
        world_crash_principal(&w);
        world_start(&w);
        assert_int_equal(spec_of(local()), (int)steps + 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_status_of_the_agent_shows_at_the_hub),
        TEST(a_status_needs_no_reading),
        TEST(a_status_that_comes_again_is_not_written_again),
        TEST(a_status_is_not_written_to_what_was_made_anew_meanwhile),
        TEST(a_status_that_the_hub_shows_is_not_written_when_it_is_said_again),
        TEST(an_error_that_is_over_goes_with_a_status_that_is_said_again),
        TEST(the_status_of_a_former_object_is_not_shown),
        TEST(a_change_that_is_seen_late_does_not_let_an_older_status_in),
        TEST(an_unreadable_status_is_dropped),
        TEST(what_an_agent_may_not_say_is_refused),
        TEST(an_answer_under_a_key_of_another_form_is_refused),
        TEST(the_end_of_a_report_ends_no_mirror),
        TEST(what_is_released_drops_no_finalizers),
        TEST(an_end_that_is_older_than_what_the_object_shows_drops_no_finalizers),
        TEST(finalizers_are_not_dropped_by_an_end_that_comes_meanwhile),
        TEST(an_error_that_comes_meanwhile_is_shown),
        TEST(a_status_that_comes_while_an_error_is_written_is_written_too),
        TEST(a_read_that_is_older_than_what_was_seen_meanwhile_is_not_sent),
        TEST(a_read_that_is_newer_than_what_was_seen_is_not_sent_before_that),
        TEST(what_was_only_written_in_other_words_is_sent),
        TEST(what_was_deleted_while_the_principal_was_down_is_removed),
        TEST(what_was_changed_while_the_principal_was_down_is_sent),
        TEST(a_restart_costs_no_event),
        TEST(most_of_the_fleet_is_not_deleted_at_a_start),
        TEST(a_few_deletions_are_made_at_a_start),
        TEST(what_is_to_be_ignored_is_removed_at_the_agent),
        TEST(a_loss_of_the_log_is_made_good),
        TEST(what_is_sent_before_the_mode_is_known_counts_as_said),
        TEST(what_is_refused_is_set_aside_and_shown),
        TEST(what_is_put_right_after_a_refusal_is_written_at_once),
        TEST(what_fails_for_long_is_set_aside_and_tried_on),
        TEST(a_write_that_always_conflicts_is_set_aside_and_tried_on),
        TEST(a_status_whose_write_always_conflicts_is_set_aside_and_tried_on),
        TEST(an_edit_that_its_user_takes_back_ends_a_conflict),
        TEST(what_waits_for_an_agent_that_goes_holds_no_offset),
        TEST(a_status_that_another_principal_has_written_ends_a_conflict),
        TEST(a_status_that_the_hub_refuses_is_set_aside_and_a_newer_one_written),
        TEST(an_error_that_is_over_leaves_the_status_as_reported),
        TEST(a_mirror_deleted_before_it_is_handed_over_goes_at_the_agent),
        TEST(it_may_be_freed_with_everything_in_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
