/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that users leave at the hub: sync, refresh, terminate; from the hub's object to the
 * agent and back.
 */
#include "schema/attributes.h"
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void an_operation_is_carried_out_and_then_gone(void **state)
{
    (void)state;
    placed("");
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    assert_int_equal(operation_of(local()), 1);
    assert_int_equal(operation_of(hub()), 1);
    consume_operation();
    assert_int_equal(operation_of(hub()), -1);
    assert_true(has_in(hub(), "annotations", AB_ANN_OPERATION_ID, NULL));
    assert_int_equal(operation_of(local()), -1);
    assert_at_rest();
}

static void a_refresh_is_carried_out_and_then_gone(void **state)
{
    (void)state;
    placed("");
    set_in(w.hub, HUB, "annotations", AB_ANN_REFRESH, "hard");
    world_settle(&w);
    assert_true(has_in(local(), "annotations", AB_ANN_REFRESH, "hard"));
    set_in(w.local, LOCAL, "annotations", AB_ANN_REFRESH, NULL);
    world_settle(&w);
    assert_true(has_in(hub(), "annotations", AB_ANN_REFRESH, NULL));
    assert_true(has_in(hub(), "annotations", AB_ANN_REFRESH_ID, NULL));
    assert_at_rest();
}

static void what_is_asked_for_with_a_refresh_goes_and_ends_with_it(void **state)
{
    (void)state;
    static const char *const names[] = {AB_ANN_WITH_REFRESH};
    placed("");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        set_in(w.hub, HUB, "annotations", names[i], "normal");
    world_settle(&w);
    assert_true(has_in(local(), "annotations", AB_ANN_HYDRATE, NULL)); /* nothing is asked yet */
    set_in(w.hub, HUB, "annotations", AB_ANN_REFRESH, "normal");
    world_settle(&w);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_true(has_in(local(), "annotations", names[i], "normal"));
        set_in(w.local, LOCAL, "annotations", names[i], NULL);
    }
    world_settle(&w);
    assert_true(has_in(local(), "annotations", AB_ANN_HYDRATE, NULL)); /* not put back */
    set_in(w.local, LOCAL, "annotations", AB_ANN_REFRESH, NULL);
    world_settle(&w);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_true(has_in(hub(), "annotations", names[i], NULL));
    assert_at_rest();
}

static void a_refresh_leaves_what_another_one_asked_for(void **state)
{
    (void)state;
    placed("");
    set_in(w.local, LOCAL, "annotations", AB_ANN_HYDRATE, "hard");
    set_in(w.hub, HUB, "annotations", AB_ANN_REFRESH, "normal");
    world_settle(&w);
    assert_true(has_in(local(), "annotations", AB_ANN_REFRESH, "normal"));
    assert_true(has_in(local(), "annotations", AB_ANN_HYDRATE, "hard"));
}

static void an_early_status_does_not_erase_a_request(void **state)
{
    (void)state;
    placed("");
    world_connect(&w.principal_link, false);
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    set_in(w.hub, HUB, "annotations", AB_ANN_REFRESH, "normal");
    set_field(w.local, LOCAL, "status", "{\"n\":2}");
    world_settle(&w);
    w.local_refuses = AB_ERR_UNAVAILABLE; /* the report is there, the commands cannot be executed */
    world_connect(&w.principal_link, true);
    world_settle(&w);
    assert_int_equal(status_of(hub()), 2);
    assert_int_equal(operation_of(hub()), 1);
    assert_true(has_in(hub(), "annotations", AB_ANN_REFRESH, "normal"));
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 2);
    assert_int_equal(operation_of(local()), 1);
    assert_true(has_in(local(), "annotations", AB_ANN_REFRESH, "normal"));
}

static void a_request_made_while_the_former_is_cleared_is_not_lost(void **state)
{
    (void)state;
    placed("");
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    world_connect(&w.principal_link, false);
    consume_operation();
    world_connect(&w.principal_link, true);
    while (fake_store_choices(w.hub) == 0)
        world_step(&w, 0); /* until the principal reads the object, to clear the request */
    set_field(w.hub, HUB, "operation", "{\"n\":2}");
    world_settle(&w);
    assert_int_equal(operation_of(local()), 2);
    consume_operation();
    assert_int_equal(operation_of(hub()), -1);
    assert_at_rest();
}

static void a_command_that_comes_again_is_not_executed_again(void **state)
{
    (void)state;
    placed("");
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    set_field(w.local, LOCAL, "operation", NULL);
    fake_log_replay(w.down);
    world_crash_agent(&w);
    world_start_agent(&w);
    world_settle(&w);
    assert_int_equal(operation_of(local()), -1);
    assert_int_equal(operation_of(hub()), -1);
    assert_at_rest();
}

static void a_former_request_that_is_seen_late_is_not_executed_again(void **state)
{
    (void)state;
    placed("");
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    ab_object *late = ab_object_ref(hub());
    consume_operation();
    set_field(w.hub, HUB, "operation", "{\"n\":2}");
    world_settle(&w);
    consume_operation();
    assert_int_equal(operation_of(local()), -1);
    ab_principal_on_updated(w.principal, late);
    world_settle(&w);
    assert_int_equal(operation_of(local()), -1);
    ab_object_unref(late);
}

static void a_request_is_not_sent_again_by_a_restarted_principal(void **state)
{
    (void)state;
    placed("");
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    set_field(w.local, LOCAL, "operation", "{\"n\":77}"); /* would be overwritten */
    restart_principal();
    assert_int_equal(operation_of(local()), 77);
    consume_operation();
    assert_int_equal(operation_of(hub()), -1);
    assert_at_rest();
}

static void a_request_is_sent_behind_the_state_it_follows(void **state)
{
    (void)state;
    placed("");
    world_connect(&w.agent_link, false);
    set_spec(w.hub, HUB, 2);
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    w.local_refuses = AB_ERR_UNAVAILABLE;
    world_connect(&w.agent_link, true);
    world_settle(&w);
    assert_int_equal(operation_of(local()), -1);
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 2);
    assert_int_equal(operation_of(local()), 1);
}

static void a_request_whose_id_could_not_be_written_is_sent_later(void **state)
{
    (void)state;
    placed("");
    w.hub_refuses = AB_ERR_UNAVAILABLE;
    set_in(w.hub, HUB, "annotations", AB_ANN_REFRESH, "hard");
    world_settle(&w);
    assert_true(has_in(local(), "annotations", AB_ANN_REFRESH, NULL));
    w.hub_refuses = AB_ERR_OK;
    world_run(&w, 2);
    assert_true(has_in(local(), "annotations", AB_ANN_REFRESH, "hard"));
}

/* With the mode goes what was asked; that the log has the object as it is is no reason not to look.
 */
static void a_request_is_sent_though_the_mode_was_mistaken_meanwhile(void **state)
{
    (void)state;
    placed("");
    world_connect(&w.principal_link, false);
    restart_principal();
    set_in(w.hub, HUB, "annotations", AB_ANN_REFRESH, "hard");
    world_settle(&w);
    ab_principal_set_mode(w.principal, "w1", AB_AUTONOMOUS);
    ab_principal_set_mode(w.principal, "w1", AB_MANAGED);
    world_connect(&w.principal_link, true);
    world_settle(&w);
    assert_true(has_in(local(), "annotations", AB_ANN_REFRESH, "hard"));
}

static void a_request_for_what_is_not_managed_is_refused(void **state)
{
    (void)state;
    put_app(w.local, "argocd", "a", 7, "", "");
    put_app(w.hub, "w1", "a", 1, "", ",\"operation\":{\"n\":1}");
    world_start(&w);
    assert_int_equal(operation_of(hub()), -1);
    assert_int_equal(operation_of(local()), -1);
    assert_true(has_error(hub()));
    assert_at_rest();
}

static void why_a_request_was_refused_is_shown(void **state)
{
    (void)state;
    placed("");
    w.local_refuses = AB_ERR_INVALID;
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    assert_int_equal(operation_of(hub()), -1);
    assert_true(has_error(hub()));
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 12);
    assert_int_equal(operation_of(local()), -1);
    assert_at_rest();
}

/* The principal takes the request off the object first, and ends the command then. The log is lost
 * after each number of steps. */
static void a_refused_request_ends_also_when_the_log_is_lost_meanwhile(void **state)
{
    size_t left = 1;
    for (size_t steps = 0; left > 0; steps++) {
        w.resyncs = true;
        put_app(w.local, "argocd", "a", 7, "", "");
        world_start(&w);
        put_app(w.hub, "w1", "a", 1, "", ",\"operation\":{\"n\":1}");
        for (size_t i = 0; i < steps && world_choices(&w) > 0; i++)
            world_step(&w, 0);
        left = world_choices(&w);
        world_lose_log(&w, &w.principal_link);
        world_run(&w, 2);
        assert_int_equal(operation_of(hub()), -1);
        assert_at_rest();
        teardown(state);
        setup(state);
    }
}

static void a_refused_request_of_a_deleted_object_leaves_nothing(void **state)
{
    (void)state;
    put_app(w.local, "argocd", "a", 7, "", "");
    put_app(w.hub, "w1", "a", 1, "", ",\"operation\":{\"n\":1}");
    world_start_principal(&w);
    world_settle(&w);
    world_connect(&w.principal_link, false);
    world_start_agent(&w);
    world_settle(&w);
    world_connect(&w.principal_link, true);
    while (fake_store_choices(w.hub) == 0)
        world_step(&w, 0);
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    assert_at_rest();
}

static void a_request_ends_though_its_object_is_deleted_and_made_anew(void **state)
{
    (void)state;
    placed("");
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    fake_store_erase(w.local, LOCAL);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 1);
    assert_int_equal(operation_of(hub()), -1);
    assert_at_rest();
}

static void a_request_waits_for_an_object_that_is_being_deleted_here(void **state)
{
    (void)state;
    placed(FINALIZER);
    world_connect(&w.agent_link, false);
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    world_connect(&w.agent_link, true);
    while (fake_store_choices(w.local) == 0)
        world_step(&w, 0);
    fake_store_erase(w.local, LOCAL);
    fake_store_step(w.local, 0, false); /* the read takes place */
    fake_store_step(w.local, 0, false); /* and is answered before the deletion is seen */
    world_settle(&w);
    assert_int_equal(operation_of(local()), -1);
    drop_finalizers(w.local, LOCAL);
    world_run(&w, 2);
    assert_int_equal(operation_of(local()), 1);
}

/* As the controller of an ApplicationSet, whose template has none of our annotations. */
static void take_off_our_annotations(void)
{
    static const char *const ours[] = {AB_ANN_OPERATION_ID, AB_ANN_REFRESH_ID,
                                       AB_ANN_STATUS_VERSION};
    for (size_t i = 0; hub() != NULL && i < sizeof(ours) / sizeof(ours[0]); i++)
        if (!has_in(hub(), "annotations", ours[i], NULL))
            set_in(w.hub, HUB, "annotations", ours[i], NULL);
}

static void a_request_stays_one_when_its_id_is_taken_off(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_settle(&w);
    world_connect(&w.agent_link, false);
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    set_in(w.hub, HUB, "annotations", AB_ANN_REFRESH, "normal");
    for (int i = 0; i < 3; i++) {
        world_settle(&w);
        take_off_our_annotations();
    }
    world_settle(&w);
    assert_true(has_in(hub(), "annotations", AB_ANN_OPERATION_ID, NULL)); /* no quarrel about it */
    assert_true(has_in(hub(), "annotations", AB_ANN_REFRESH_ID, NULL));
    world_connect(&w.agent_link, true);
    world_settle(&w);
    assert_int_equal(operation_of(local()), 1);
    set_in(w.local, LOCAL, "annotations", AB_ANN_REFRESH, NULL);
    consume_operation();
    assert_int_equal(operation_of(hub()), -1);
    assert_true(has_in(hub(), "annotations", AB_ANN_REFRESH, NULL));
    assert_int_equal(world_count(w.agent_metrics, "argobus_commands_total"), 2);
    assert_at_rest();
}

/* The same, asked for again as early as can be: after each number of steps. */
static void it_is_another_when_it_is_asked_for_again(void **state)
{
    size_t left = 1;
    for (size_t steps = 0; left > 0; steps++) {
        placed("");
        set_field(w.hub, HUB, "operation", "{\"n\":1}");
        world_settle(&w);
        take_off_our_annotations();
        world_settle(&w);
        set_field(w.local, LOCAL, "operation", NULL);
        for (size_t i = 0; i < steps && world_choices(&w) > 0; i++)
            world_step(&w, 0);
        left = world_choices(&w);
        if (operation_of(hub()) < 0) {
            set_field(w.hub, HUB, "operation", "{\"n\":1}");
            world_settle(&w);
            assert_int_equal(operation_of(local()), 1);
            assert_int_equal(world_count(w.agent_metrics, "argobus_commands_total"), 2);
        }
        teardown(state);
        setup(state);
    }
}

/* As a store that was restored for one object: it was answered, and stands all the same. */
static void a_request_that_comes_back_after_its_answer_ends_with_the_next_resync(void **state)
{
    (void)state;
    w.resyncs = true;
    placed("");
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    ab_object *asked = ab_object_ref(hub());
    consume_operation();
    assert_int_equal(operation_of(hub()), -1);
    fake_store_put(w.hub, asked);
    ab_object_unref(asked);
    world_settle(&w);
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    world_run(&w, 2);
    assert_int_equal(operation_of(hub()), -1);
    assert_int_equal(world_count(w.agent_metrics, "argobus_commands_total"), 1);
    assert_at_rest();
}

static void an_answer_that_was_forgotten_is_given_again(void **state)
{
    (void)state;
    placed("");
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    while (fake_log_appended(w.up) == 1)
        world_step(&w, 0); /* until the agent has answered */
    world_connect(&w.agent_link, false);
    world_settle(&w); /* the principal has ended the command */
    restart_principal();
    fake_log_compact(w.down); /* and sent it again: the end is never heard */
    world_connect(&w.agent_link, true);
    world_settle(&w);
    consume_operation();
    assert_int_equal(operation_of(hub()), -1);
    assert_at_rest();
}

#define RUNNING "{\"n\":1,\"operationState\":{\"phase\":\"Running\",\"startedAt\":\"t1\"}}"
#define ENDING  "{\"n\":1,\"operationState\":{\"phase\":\"Terminating\",\"startedAt\":\"t1\"}}"
#define ENDED   "{\"n\":1,\"operationState\":{\"phase\":\"Failed\",\"startedAt\":\"t1\"}}"

static void a_running_operation_is_terminated(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", RUNNING);
    world_settle(&w);
    set_field(w.hub, HUB, "status", ENDING);
    world_settle(&w);
    assert_true(has_phase(local(), "Terminating"));
    set_field(w.local, LOCAL, "status", ENDED);
    world_settle(&w);
    assert_true(has_phase(hub(), "Failed"));
    assert_at_rest();
}

static void a_finished_operation_is_not_terminated_again(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", RUNNING);
    world_settle(&w);
    set_field(w.hub, HUB, "status", ENDING);
    world_settle(&w);
    set_field(w.local, LOCAL, "status", ENDED);
    fake_log_replay(w.down);
    world_settle(&w);
    assert_true(has_phase(local(), "Failed"));
    assert_at_rest();
}

static void a_terminate_of_what_is_over_shows_how_it_ended(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", ENDED);
    world_settle(&w);
    set_field(w.hub, HUB, "status", ENDING);
    world_settle(&w);
    assert_true(has_phase(local(), "Failed"));
    assert_true(has_phase(hub(), "Failed"));
    assert_at_rest();
}

/* Argo CD would count its resources and retries as the new one's. */
static void a_new_operation_begins_without_the_former_run(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", ENDED);
    world_settle(&w);
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    assert_int_equal(operation_of(local()), 1);
    assert_false(has_phase(local(), "Failed"));
    assert_int_equal(status_of(local()), 1);
    assert_false(has_phase(hub(), "Failed"));
    assert_at_rest();
}

static void an_operation_beside_one_that_runs_leaves_its_run(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", RUNNING);
    world_settle(&w);
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    assert_int_equal(operation_of(local()), 1);
    assert_true(has_phase(local(), "Running"));
}

/* As of Argo CD's automated sync. */
static void an_operation_is_refused_while_another_one_runs(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "operation", "{\"n\":2}");
    set_field(w.local, LOCAL, "status", RUNNING);
    world_settle(&w);
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    while (operation_of(hub()) != -1)
        world_step(&w, 0);
    assert_true(has_phase(hub(), "Error"));
    world_settle(&w);
    assert_int_equal(operation_of(local()), 2);
    assert_true(has_error(hub()));
    set_field(w.local, LOCAL, "status", ENDED);
    consume_operation();
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    assert_int_equal(operation_of(local()), 1);
    assert_at_rest();
}

/* Whoever waits for it has time to see that it was refused. */
static void a_refused_operation_is_shown_for_a_while_only(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "operation", "{\"n\":2}");
    set_field(w.local, LOCAL, "status", RUNNING);
    world_settle(&w);
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_run(&w, 8);
    assert_true(has_phase(hub(), "Error"));
    world_run(&w, 4);
    assert_true(has_phase(hub(), "Running"));
    assert_true(has_error(hub()));
    assert_at_rest();
}

/* Between the two writes, too. */
static void an_operation_is_begun_by_an_agent_that_crashes_on_the_way(void **state)
{
    size_t left = 1;
    for (size_t steps = 0; left > 0; steps++) {
        placed("");
        set_field(w.local, LOCAL, "status", ENDED);
        world_settle(&w);
        set_field(w.hub, HUB, "operation", "{\"n\":1}");
        for (size_t i = 0; i < steps && world_choices(&w) > 0; i++)
            world_step(&w, 0);
        left = world_choices(&w);
        world_crash_agent(&w);
        world_start_agent(&w);
        world_settle(&w);
        assert_int_equal(operation_of(local()), 1);
        assert_false(has_phase(local(), "Failed"));
        consume_operation();
        assert_int_equal(operation_of(local()), -1);
        assert_int_equal(operation_of(hub()), -1);
        teardown(state);
        setup(state);
    }
}

/* Of an operation that the agent has not heard of the hub shows no run: the user, and Argo CD's
 * API, terminate what it shows. */
static void an_operation_that_was_terminated_on_its_way_does_not_run(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", ENDED);
    world_settle(&w);
    world_connect(&w.agent_link, false);
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    set_field(w.hub, HUB, "status", ENDING);
    world_settle(&w);
    world_connect(&w.agent_link, true);
    world_settle(&w);
    assert_int_equal(operation_of(local()), 1);
    assert_true(has_phase(local(), "Terminating"));
    set_field(w.local, LOCAL, "status", ENDED);
    consume_operation();
    assert_int_equal(operation_of(hub()), -1);
    assert_true(has_phase(hub(), "Failed"));
    assert_false(has_error(hub()));
    assert_at_rest();
}

/* Argo CD there began with it before the agent heard that it is to end. */
static void an_operation_that_was_terminated_before_its_run_was_shown_is_ended(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", ENDED);
    world_settle(&w);
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    world_connect(&w.agent_link, false);
    set_field(w.local, LOCAL, "status",
              "{\"n\":2,\"operationState\":{\"phase\":\"Running\",\"startedAt\":\"t2\"}}");
    set_field(w.hub, HUB, "status", ENDING);
    world_settle(&w);
    world_connect(&w.agent_link, true);
    world_settle(&w);
    assert_true(has_phase(local(), "Terminating"));
    assert_false(has_error(hub()));
}

/* What is on its way is another than what runs. */
static void a_terminate_names_no_other_operation(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", ENDED);
    world_settle(&w);
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    world_connect(&w.agent_link, false);
    set_field(w.local, LOCAL, "operation", "{\"n\":2}");
    set_field(w.local, LOCAL, "status",
              "{\"n\":2,\"operationState\":{\"phase\":\"Running\",\"startedAt\":\"t2\"}}");
    set_field(w.hub, HUB, "status", ENDING);
    world_settle(&w);
    world_connect(&w.agent_link, true);
    world_settle(&w);
    assert_true(has_phase(local(), "Running"));
}

static void a_status_that_comes_meanwhile_does_not_erase_a_terminate(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", RUNNING);
    world_settle(&w);
    world_connect(&w.principal_link, false);
    set_field(w.local, LOCAL, "status",
              "{\"n\":2,\"operationState\":{\"phase\":\"Running\",\"startedAt\":\"t1\"}}");
    world_settle(&w);
    world_connect(&w.principal_link, true);
    while (fake_store_choices(w.hub) == 0)
        world_step(&w, 0); /* the report is about to be written */
    set_field(w.hub, HUB, "status", ENDING);
    fake_store_step(w.hub, 1, false); /* the user's change is seen */
    world_settle(&w);
    assert_true(has_phase(local(), "Terminating"));
    assert_true(has_phase(hub(), "Terminating"));
    assert_at_rest();
}

/* The principal may take what the agent says, and has not read its own log yet. */
static void a_status_that_comes_before_the_log_is_read_does_not_erase_a_terminate(void **state)
{
    (void)state;
    placed("");
    set_field(w.local, LOCAL, "status", RUNNING);
    world_settle(&w);
    world_crash_principal(&w);
    set_field(w.hub, HUB, "status", ENDING);
    set_field(w.local, LOCAL, "status",
              "{\"n\":2,\"operationState\":{\"phase\":\"Running\",\"startedAt\":\"t1\"}}");
    world_settle(&w);
    world_start_principal(&w);
    while (world_choices(&w) > 1) /* its log is read last */
        world_step(&w, fake_store_choices(w.hub) > 0 ? 0 : 1);
    world_run(&w, 2);
    assert_true(has_phase(local(), "Terminating"));
    assert_true(has_phase(hub(), "Terminating"));
    assert_at_rest();
}

/* Whoever waits for the end of a request takes the status that stands then for its result: argocd
 * app sync, argocd app get --refresh. */
static void a_request_ends_with_the_status_that_came_of_it(void **state)
{
    (void)state;
    if (w.policy.autonomous)
        put_app(w.local, "argocd", "a", 1, "", "");
    else
        put_app(w.hub, "w1", "a", 1, "", "");
    world_start(&w);
    world_run(&w, 1);
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    set_in(w.hub, HUB, "annotations", AB_ANN_REFRESH, "normal");
    world_settle(&w);
    assert_int_equal(operation_of(local()), 1);
    assert_int_equal(status_of(hub()), 1);
    world_connect(&w.principal_link, false); /* it is shown the end of both only */
    set_in(w.local, LOCAL, "annotations", AB_ANN_REFRESH, NULL);
    set_field(w.local, LOCAL, "status", "{\"n\":2}");
    consume_operation();
    world_connect(&w.principal_link, true);
    while (operation_of(hub()) != -1 || !has_in(hub(), "annotations", AB_ANN_REFRESH, NULL))
        world_step(&w, 0);
    assert_int_equal(status_of(hub()), 2);
    world_settle(&w);
    assert_at_rest();
}

/* The write that takes the requests off is refused once: the status is there already. */
static void it_ends_also_when_that_cannot_be_written_at_first(void **state)
{
    (void)state;
    placed("");
    set_field(w.hub, HUB, "operation", "{\"n\":1}");
    world_settle(&w);
    set_field(w.local, LOCAL, "operation", NULL);
    set_field(w.local, LOCAL, "status", "{\"n\":2}");
    while (status_of(hub()) != 2)
        world_step(&w, 0);
    assert_int_equal(operation_of(hub()), 1);
    w.hub_refuses = AB_ERR_UNAVAILABLE;
    world_settle(&w);
    assert_int_equal(operation_of(hub()), 1);
    w.hub_refuses = AB_ERR_OK;
    world_run(&w, 2);
    assert_int_equal(operation_of(hub()), -1);
    assert_int_equal(status_of(hub()), 2);
    assert_at_rest();
}

static int setup_autonomous(void **state)
{
    (void)setup(state);
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_operation_is_carried_out_and_then_gone),
        TEST(a_refresh_is_carried_out_and_then_gone),
        TEST(what_is_asked_for_with_a_refresh_goes_and_ends_with_it),
        TEST(a_refresh_leaves_what_another_one_asked_for),
        TEST(an_early_status_does_not_erase_a_request),
        TEST(a_request_made_while_the_former_is_cleared_is_not_lost),
        TEST(a_command_that_comes_again_is_not_executed_again),
        TEST(a_former_request_that_is_seen_late_is_not_executed_again),
        TEST(a_request_is_not_sent_again_by_a_restarted_principal),
        TEST(a_request_is_sent_behind_the_state_it_follows),
        TEST(a_request_whose_id_could_not_be_written_is_sent_later),
        TEST(a_request_is_sent_though_the_mode_was_mistaken_meanwhile),
        TEST(a_request_for_what_is_not_managed_is_refused),
        TEST(why_a_request_was_refused_is_shown),
        TEST(a_refused_request_ends_also_when_the_log_is_lost_meanwhile),
        TEST(a_refused_request_of_a_deleted_object_leaves_nothing),
        TEST(a_request_ends_though_its_object_is_deleted_and_made_anew),
        TEST(a_request_waits_for_an_object_that_is_being_deleted_here),
        TEST(a_request_stays_one_when_its_id_is_taken_off),
        TEST(it_is_another_when_it_is_asked_for_again),
        TEST(a_request_that_comes_back_after_its_answer_ends_with_the_next_resync),
        TEST(an_answer_that_was_forgotten_is_given_again),
        TEST(a_running_operation_is_terminated),
        TEST(a_finished_operation_is_not_terminated_again),
        TEST(a_terminate_of_what_is_over_shows_how_it_ended),
        TEST(a_new_operation_begins_without_the_former_run),
        TEST(an_operation_beside_one_that_runs_leaves_its_run),
        TEST(an_operation_is_refused_while_another_one_runs),
        TEST(a_refused_operation_is_shown_for_a_while_only),
        TEST(an_operation_is_begun_by_an_agent_that_crashes_on_the_way),
        TEST(an_operation_that_was_terminated_on_its_way_does_not_run),
        TEST(an_operation_that_was_terminated_before_its_run_was_shown_is_ended),
        TEST(a_terminate_names_no_other_operation),
        TEST(a_status_that_comes_meanwhile_does_not_erase_a_terminate),
        TEST(a_status_that_comes_before_the_log_is_read_does_not_erase_a_terminate),
        TEST(a_request_ends_with_the_status_that_came_of_it),
        cmocka_unit_test_setup_teardown(a_request_ends_with_the_status_that_came_of_it,
                                        setup_autonomous, teardown),
        TEST(it_ends_also_when_that_cannot_be_written_at_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
