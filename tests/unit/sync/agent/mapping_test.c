/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's machine with destination mapping: where Applications stand, and which.
 */
#include "schema/attributes.h"
#include "tests/unit/sync/world/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TEAM           "Application/team-a/a"
#define OWN            "Application/hub/a" /* in the principal's own namespace */
#define HERE           "Application/argocd/a"
#define ERROR_HERE     AB_KEY_ERROR HERE
#define ERROR_REMAPPED AB_KEY_ERROR_REMAPPED HERE
#define UID(u)         ",\"uid\":\"" u "\""
#define SPEC(n)        ",\"spec\":{\"n\":" #n "}"

static ab_patterns *teams;

static int set_up(void **state)
{
    (void)setup(state);
    teams = ab_patterns_new();
    assert_int_equal(ab_patterns_add(teams, AB_STR("team-*"), NULL), AB_ERR_OK);
    w.policy.by_destination = true;
    w.policy.namespaces = teams;
    return 0;
}

static int tear_down(void **state)
{
    (void)teardown(state);
    ab_patterns_free(teams);
    return 0;
}

/* It has something to report. */
static void give_status(const char *key)
{
    set_field(w.local, key, "status", "{\"n\":1}");
    world_settle(&w);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

/* --- where it stands --- */

static void an_application_keeps_its_namespace(void **state)
{
    (void)state;
    begin();
    desired(TEAM, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    assert_int_equal(spec_of(at(TEAM)), 1);
    assert_true(has_in(at(TEAM), "annotations", AB_ANN_REMAPPED, NULL));
    give_status(TEAM);
    assert_true(said_of_target(TEAM, AB_TARGET_APPLICATION, false));
    assert_at_rest();
}

static void one_of_the_hubs_own_namespace_stands_in_the_agents_own(void **state)
{
    (void)state;
    begin();
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    assert_int_equal(spec_of(at(HERE)), 1);
    assert_true(has_in(at(HERE), "annotations", AB_ANN_REMAPPED, "true"));
    give_status(HERE);
    assert_true(said_of_target(HERE, AB_TARGET_APPLICATION, true));
    set_in(w.local, HERE, "annotations", AB_ANN_REMAPPED, NULL);
    world_settle(&w);
    assert_true(has_in(at(HERE), "annotations", AB_ANN_REMAPPED, "true"));
    remapped_end(OWN);
    assert_null(at(HERE));
    assert_null(said(HERE));
    assert_at_rest();
}

static void that_it_is_remapped_is_known_after_a_restart(void **state)
{
    (void)state;
    begin();
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    world_crash_agent(&w);
    set_field(w.local, HERE, "status", "{\"n\":5}");
    set_spec(w.local, HERE, 9);
    begin();
    assert_int_equal(spec_of(at(HERE)), 1);
    assert_true(said_of_target(HERE, AB_TARGET_APPLICATION, true));
    assert_true(said_with(HERE, "{\"n\":5}"));
    assert_at_rest();
}

static void with_namespace_mapping_all_stand_in_the_agents_own(void **state)
{
    (void)state;
    w.policy.by_destination = false;
    begin();
    desired("Application/w1/a", AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    assert_int_equal(spec_of(at(HERE)), 1);
    give_status(HERE);
    assert_true(said_of_target(HERE, AB_TARGET_APPLICATION, false));
    assert_at_rest();
}

static void what_goes_up_about_a_remapped_object_says_so(void **state)
{
    (void)state;
    begin();
    w.local_refuses = AB_ERR_DENIED;
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    assert_true(said_of_target(ERROR_REMAPPED, AB_TARGET_APPLICATION, true));
    assert_null(said(ERROR_HERE));
    w.local_refuses = AB_ERR_OK;
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-1"), SPEC(2));
    assert_null(said(ERROR_REMAPPED));
    assert_at_rest();
}

static void a_bad_payload_of_a_remapped_object_says_so(void **state)
{
    (void)state;
    begin();
    payload(OWN, true, "{");
    assert_true(said_of_target(ERROR_REMAPPED, AB_TARGET_APPLICATION, true));
    assert_int_equal(refused("payload"), 1);
    assert_at_rest();
}

static void commands_reach_what_is_remapped(void **state)
{
    (void)state;
    begin();
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    ask_operation("c-1", OWN, true, 7);
    assert_int_equal(operation_of(at(HERE)), 7);
    assert_true(said_of_target(AB_KEY_ACK "c-1", AB_TARGET_EVENT_PROCESSED, true));
    end_command("c-1", OWN, true);
    assert_null(said(AB_KEY_ACK "c-1"));
    ask_operation("c-2", "Application/hub/nobody", true, 7);
    assert_true(said_of_target(AB_KEY_ACK "c-2", AB_TARGET_EVENT_PROCESSED, true));
    end_command("c-2", "Application/hub/nobody", true);
    assert_at_rest();
}

/* --- where it may stand --- */

static void a_namespace_that_is_not_allowed_is_refused_and_said(void **state)
{
    (void)state;
    begin();
    desired("Application/kube-system/a", AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    assert_null(at("Application/kube-system/a"));
    assert_int_equal(refused("namespace"), 1);
    assert_true(
        said_of_target(AB_KEY_ERROR "Application/kube-system/a", AB_TARGET_APPLICATION, false));
    assert_at_rest();
    restart_agent();
    assert_non_null(said(AB_KEY_ERROR "Application/kube-system/a"));
    end("Application/kube-system/a");
    assert_null(said(AB_KEY_ERROR "Application/kube-system/a"));
    assert_at_rest();
}

static void it_is_placed_once_its_namespace_is_allowed(void **state)
{
    (void)state;
    w.policy.namespaces = NULL;
    begin();
    desired(TEAM, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    assert_null(at(TEAM));
    world_crash_agent(&w);
    w.policy.namespaces = teams;
    begin();
    assert_int_equal(spec_of(at(TEAM)), 1);
    assert_null(said(AB_KEY_ERROR TEAM));
    assert_at_rest();
}

static void the_agents_own_namespace_is_always_allowed(void **state)
{
    (void)state;
    w.policy.namespaces = NULL;
    begin();
    desired(HERE, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    assert_int_equal(spec_of(at(HERE)), 1);
    assert_int_equal(refused("namespace"), 0);
    assert_at_rest();
}

static void what_is_no_longer_allowed_is_left_alone_until_it_ends(void **state)
{
    (void)state;
    begin();
    desired(TEAM, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    world_crash_agent(&w);
    w.policy.namespaces = NULL;
    begin();
    assert_non_null(said(AB_KEY_ERROR TEAM));
    set_spec(w.local, TEAM, 9);
    world_settle(&w);
    assert_int_equal(spec_of(at(TEAM)), 9);
    end(TEAM);
    assert_null(at(TEAM));
    assert_null(said(AB_KEY_ERROR TEAM));
    assert_at_rest();
}

static void a_refused_application_that_is_deleted_at_the_hub_is_confirmed_gone(void **state)
{
    (void)state;
    w.policy.namespaces = NULL;
    begin();
    desired(TEAM, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    size_t before = fake_log_appended(w.up);
    desired(TEAM, AB_TYPE_SPEC_UPDATE, UID("u-1") ",\"deletionTimestamp\":\"x\"", SPEC(1));
    assert_true(fake_log_appended(w.up) > before);
    end(TEAM);
    assert_null(said(AB_KEY_ERROR TEAM));
    assert_at_rest();
}

static void unmanaged_applications_are_not_touched_anywhere(void **state)
{
    (void)state;
    put(TEAM, "", SPEC(7));
    put("Application/other/a", "", SPEC(7));
    uint64_t writes = fake_store_changes(w.local);
    begin();
    set_spec(w.local, TEAM, 8);
    world_settle(&w);
    assert_int_equal(fake_store_changes(w.local), writes + 1);
    assert_at_rest();
}

/* --- two that would stand in one place --- */

/* Of the principal it takes only commands, also where argocd-agents take a state. */
static void an_autonomous_agent_takes_no_desired_state(void **state)
{
    (void)state;
    w.policy.autonomous = true;
    begin();
    desired("Application/w1/a", AB_TYPE_SPEC_UPDATE, ",\"uid\":\"u\"", ",\"spec\":{\"n\":1}");
    assert_null(at(LOCAL));
    assert_int_equal(refused("not_allowed"), 1);
}

static void the_second_of_two_sources_is_refused(void **state)
{
    (void)state;
    begin();
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    desired(HERE, AB_TYPE_CREATE, UID("u-2"), SPEC(2));
    assert_int_equal(spec_of(at(HERE)), 1);
    assert_int_equal(refused("taken"), 1);
    assert_true(said_of_target(ERROR_HERE, AB_TARGET_APPLICATION, false));
    assert_null(said(ERROR_REMAPPED));
    remapped_desired(OWN, AB_TYPE_SPEC_UPDATE, UID("u-1"), SPEC(3));
    assert_int_equal(spec_of(at(HERE)), 3);
    assert_non_null(said(ERROR_HERE));
    assert_at_rest();
    restart_agent();
    fake_log_replay(w.down); /* the refused one is older now than what stands */
    world_settle(&w);
    assert_int_equal(refused("taken"), 0);
    assert_int_equal(spec_of(at(HERE)), 3);
    assert_non_null(said(ERROR_HERE));
    end(HERE);
    assert_int_equal(spec_of(at(HERE)), 3);
    assert_null(said(ERROR_HERE));
    assert_at_rest();
}

static void the_second_is_refused_also_when_it_is_the_remapped_one(void **state)
{
    (void)state;
    begin();
    desired(HERE, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-2"), SPEC(2));
    assert_int_equal(spec_of(at(HERE)), 1);
    assert_true(said_of_target(ERROR_REMAPPED, AB_TARGET_APPLICATION, true));
    remapped_end(OWN);
    assert_int_equal(spec_of(at(HERE)), 1);
    assert_null(said(ERROR_REMAPPED));
    assert_at_rest();
}

static bool asks_for_a_resync(void)
{
    return said_with(AB_KEY_RESYNC, "the conflicting object is gone");
}

#define DELETED ",\"deletionTimestamp\":\"x\""

static void a_second_that_is_being_deleted_is_confirmed_gone(void **state)
{
    (void)state;
    begin();
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    give_status(HERE);
    desired_of(HERE, "u-2", "", SPEC(2));
    assert_non_null(said(ERROR_HERE));
    size_t before = fake_log_appended(w.up);
    desired_of(HERE, "u-2", DELETED, SPEC(2));
    assert_int_equal(fake_log_appended(w.up), before + 1);
    assert_null(said(ERROR_HERE));
    assert_true(said_of_target(HERE, AB_TARGET_APPLICATION, true));
    end(HERE);
    assert_int_equal(spec_of(at(HERE)), 1);
    assert_at_rest();
}

/* Its own state comes under the other one's mark. */
static void the_first_is_not_confirmed_gone_while_it_is_here(void **state)
{
    (void)state;
    begin();
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    desired_of(HERE, "u-1", DELETED, SPEC(2));
    assert_int_equal(spec_of(at(HERE)), 1);
    assert_non_null(said(ERROR_HERE));
    assert_at_rest();
}

/* It had ended, and its name is the other one's by now; then it came again to be deleted. */
static void a_second_that_is_still_here_is_asked_for_when_it_goes(void **state)
{
    (void)state;
    begin();
    desired(HERE, AB_TYPE_CREATE, UID("u-2") FINALIZER, SPEC(2));
    end(HERE);
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    desired_of(HERE, "u-2", DELETED, SPEC(2));
    assert_non_null(said(ERROR_HERE));
    drop_finalizers(w.local, HERE);
    world_run(&w, 2);
    assert_int_equal(spec_of(at(HERE)), 1);
    assert_true(asks_for_a_resync());
    desired_of(HERE, "u-2", DELETED, SPEC(2));
    assert_null(said(ERROR_HERE));
    assert_at_rest();
}

static void the_second_does_not_replace_the_first_while_that_waits(void **state)
{
    (void)state;
    begin();
    hold();
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    remapped_desired(OWN, AB_TYPE_SPEC_UPDATE, UID("u-1"), SPEC(3));
    desired(HERE, AB_TYPE_CREATE, UID("u-2"), SPEC(2));
    end(HERE);
    settle();
    assert_int_equal(spec_of(at(HERE)), 3);
    assert_int_equal(refused("taken"), 2);
    assert_at_rest();
}

static void when_the_first_is_gone_a_change_of_the_second_is_placed(void **state)
{
    (void)state;
    begin();
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    desired(HERE, AB_TYPE_CREATE, UID("u-2"), SPEC(2));
    remapped_end(OWN);
    assert_null(at(HERE));
    desired(HERE, AB_TYPE_CREATE, UID("u-2"), SPEC(3));
    assert_int_equal(spec_of(at(HERE)), 3);
    assert_true(has_in(at(HERE), "annotations", AB_ANN_REMAPPED, NULL));
    assert_null(said(ERROR_HERE));
    give_status(HERE);
    assert_true(said_of_target(HERE, AB_TARGET_APPLICATION, false));
    assert_at_rest();
}

static void when_the_first_is_gone_the_second_is_asked_for(void **state)
{
    (void)state;
    begin();
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    remapped_end(OWN);
    assert_false(asks_for_a_resync());
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    desired(HERE, AB_TYPE_CREATE, UID("u-2"), SPEC(2));
    remapped_desired(OWN, AB_TYPE_SPEC_UPDATE, UID("u-1"), SPEC(3));
    assert_false(asks_for_a_resync());
    remapped_end(OWN);
    assert_null(at(HERE));
    assert_true(asks_for_a_resync());
}

static void a_second_that_is_gone_itself_is_not_asked_for(void **state)
{
    (void)state;
    begin();
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    desired(HERE, AB_TYPE_CREATE, UID("u-2"), SPEC(2));
    end(HERE);
    remapped_end(OWN);
    assert_false(asks_for_a_resync());
}

static void the_second_takes_the_place_of_the_first_when_that_ends_just_before(void **state)
{
    (void)state;
    begin();
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    hold();
    remapped_end(OWN);
    desired(HERE, AB_TYPE_CREATE, UID("u-2"), SPEC(2));
    settle();
    assert_int_equal(spec_of(at(HERE)), 2);
    assert_true(has_in(at(HERE), "annotations", AB_ANN_REMAPPED, NULL));
    give_status(HERE);
    assert_true(said_of_target(HERE, AB_TARGET_APPLICATION, false));
    assert_at_rest();
}

static void the_end_under_a_former_name_of_the_hubs_namespace_ends_nothing(void **state)
{
    (void)state;
    begin();
    remapped_desired("Application/hub-old/a", AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    remapped_desired(OWN, AB_TYPE_SPEC_UPDATE, UID("u-2"), SPEC(2));
    w.local_refuses = AB_ERR_DENIED;
    remapped_desired(OWN, AB_TYPE_SPEC_UPDATE, UID("u-2"), SPEC(3));
    remapped_end("Application/hub-old/a");
    assert_int_equal(spec_of(at(HERE)), 2);
    assert_non_null(said(ERROR_REMAPPED));
    w.local_refuses = AB_ERR_OK;
    remapped_end(OWN);
    assert_null(at(HERE));
    assert_at_rest();
}

/* --- which of two it is, when agent.data is lost --- */

/* The remapped one is here, and the log has the other one before it. */
static void begin_with_refused(void)
{
    begin();
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-1"), SPEC(1));
    desired(HERE, AB_TYPE_CREATE, UID("u-2"), SPEC(2));
    remapped_desired(OWN, AB_TYPE_SPEC_UPDATE, UID("u-1"), SPEC(3));
    fake_log_compact(w.down);
    world_crash_agent(&w);
    world_forget_all_desired(&w);
    fake_log_replay(w.down);
}

static bool is_here(const char *uid)
{
    return at(HERE) != NULL && ab_str_is(ab_object_annotation(at(HERE), AB_ANN_SOURCE_UID), uid);
}

static void the_one_that_is_here_keeps_its_name(void **state)
{
    (void)state;
    begin_with_refused();
    ab_object *before = ab_object_ref(at(HERE));
    world_start_agent(&w);
    world_run(&w, 2);
    assert_ptr_equal(at(HERE), before);
    ab_object_unref(before);
    assert_int_equal(refused("taken"), 1);
    assert_non_null(said(ERROR_HERE));
    remapped_desired(OWN, AB_TYPE_SPEC_UPDATE, UID("u-1"), SPEC(4));
    assert_int_equal(spec_of(at(HERE)), 4);
    assert_at_rest();
}

static void the_other_is_asked_for_when_the_log_ends_the_one_that_is_here(void **state)
{
    (void)state;
    begin_with_refused();
    remapped_end(OWN);
    world_start_agent(&w);
    world_run(&w, 2);
    assert_null(at(HERE));
    assert_non_null(said(AB_KEY_RESYNC));
    desired(HERE, AB_TYPE_SPEC_UPDATE, UID("u-2"), SPEC(4));
    assert_true(is_here("u-2"));
    assert_at_rest();
}

static void the_one_that_is_here_is_not_replaced_when_the_log_lacks_it(void **state)
{
    (void)state;
    begin_with_refused();
    fake_log_lose(w.down);
    desired(HERE, AB_TYPE_SPEC_UPDATE, UID("u-2"), SPEC(4));
    world_start_agent(&w);
    world_run(&w, 2);
    assert_true(is_here("u-1"));
    assert_non_null(said(ERROR_HERE));
    remapped_desired(OWN, AB_TYPE_SPEC_UPDATE, UID("u-1"), SPEC(5));
    assert_int_equal(spec_of(at(HERE)), 5);
    assert_at_rest();
}

static void the_name_is_free_when_what_had_it_is_deleted(void **state)
{
    (void)state;
    begin_with_refused();
    fake_log_lose(w.down);
    desired(HERE, AB_TYPE_SPEC_UPDATE, UID("u-2"), SPEC(4));
    world_start_agent(&w);
    world_run(&w, 2);
    fake_store_erase(w.local, HERE);
    world_settle(&w);
    assert_true(asks_for_a_resync());
    desired(HERE, AB_TYPE_SPEC_UPDATE, UID("u-2"), SPEC(5));
    assert_true(is_here("u-2"));
    assert_at_rest();
}

/* --- and the log, too, before it is read to its end --- */

/* The one that is here came after the one of this uid had ended; that is read, and no more. */
static void begin_with_end_of(const char *uid_member)
{
    ab_received_state kept = {0};
    begin();
    remapped_desired(OWN, AB_TYPE_CREATE, uid_member, SPEC(1));
    remapped_end(OWN);
    remapped_desired(OWN, AB_TYPE_CREATE, UID("u-1"), SPEC(2));
    world_crash_agent(&w);
    world_forget_all_desired(&w);
    fake_log_replay(w.down);
    world_start_agent(&w);
    while (world_recall(&w, AB_STR(HERE), &kept) != AB_ERR_OK || !kept.ended)
        world_step(&w, 0);
    world_lose_log(&w, &w.principal_link);
}

static void assert_keeps_its_name(void)
{
    desired(HERE, AB_TYPE_CREATE, UID("u-2"), SPEC(3));
    world_run(&w, 2);
    assert_true(is_here("u-1"));
    assert_non_null(said(ERROR_HERE));
    remapped_desired(OWN, AB_TYPE_SPEC_UPDATE, UID("u-1"), SPEC(4));
    assert_int_equal(spec_of(at(HERE)), 4);
    assert_at_rest();
}

static void the_end_of_one_that_was_here_before_frees_no_name(void **state)
{
    (void)state;
    begin_with_end_of(UID("u-0"));
    assert_keeps_its_name();
}

static void nor_does_the_end_of_one_that_came_again(void **state)
{
    (void)state;
    begin_with_end_of(UID("u-1"));
    assert_keeps_its_name();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_application_keeps_its_namespace),
        CASE(one_of_the_hubs_own_namespace_stands_in_the_agents_own),
        CASE(that_it_is_remapped_is_known_after_a_restart),
        CASE(with_namespace_mapping_all_stand_in_the_agents_own),
        CASE(what_goes_up_about_a_remapped_object_says_so),
        CASE(a_bad_payload_of_a_remapped_object_says_so),
        CASE(commands_reach_what_is_remapped),
        CASE(a_namespace_that_is_not_allowed_is_refused_and_said),
        CASE(it_is_placed_once_its_namespace_is_allowed),
        CASE(the_agents_own_namespace_is_always_allowed),
        CASE(what_is_no_longer_allowed_is_left_alone_until_it_ends),
        CASE(a_refused_application_that_is_deleted_at_the_hub_is_confirmed_gone),
        CASE(unmanaged_applications_are_not_touched_anywhere),
        CASE(an_autonomous_agent_takes_no_desired_state),
        CASE(the_second_of_two_sources_is_refused),
        CASE(the_second_is_refused_also_when_it_is_the_remapped_one),
        CASE(a_second_that_is_being_deleted_is_confirmed_gone),
        CASE(the_first_is_not_confirmed_gone_while_it_is_here),
        CASE(a_second_that_is_still_here_is_asked_for_when_it_goes),
        CASE(the_second_does_not_replace_the_first_while_that_waits),
        CASE(when_the_first_is_gone_a_change_of_the_second_is_placed),
        CASE(when_the_first_is_gone_the_second_is_asked_for),
        CASE(a_second_that_is_gone_itself_is_not_asked_for),
        CASE(the_second_takes_the_place_of_the_first_when_that_ends_just_before),
        CASE(the_end_under_a_former_name_of_the_hubs_namespace_ends_nothing),
        CASE(the_one_that_is_here_keeps_its_name),
        CASE(the_other_is_asked_for_when_the_log_ends_the_one_that_is_here),
        CASE(the_one_that_is_here_is_not_replaced_when_the_log_lacks_it),
        CASE(the_name_is_free_when_what_had_it_is_deleted),
        CASE(the_end_of_one_that_was_here_before_frees_no_name),
        CASE(nor_does_the_end_of_one_that_came_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
