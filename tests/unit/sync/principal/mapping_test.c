/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose an Application is: both mappings, moves between agents, agents that come and go.
 */
#include "schema/attributes.h"
#include "tests/unit/sync/world/edit.h"
#include "tests/unit/sync/world/hub.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define TEAM "Application/team/a"
#define OWN  "Application/" HUB_NAMESPACE "/a"

static hub h;

static int setup(void **state)
{
    (void)state;
    hub_init(&h);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    hub_fini(&h);
    return 0;
}
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void set_destination(const char *key, const char *agent)
{
    char spec[200];
    snprintf(spec, sizeof(spec), "{\"n\":1,\"destination\":{\"name\":\"%s\"}}", agent);
    set_field(h.store, key, "spec", spec);
}

/* Destination mapping with agents a1 and a2; namespaces like "team" are served. */
static void two_agents(void)
{
    h.destination_mapping = true;
    h.namespaces = ab_patterns_new();
    assert_int_equal(ab_patterns_add(h.namespaces, AB_STR("team*"), NULL), AB_ERR_OK);
    hub_add(&h, "a1");
    hub_add(&h, "a2");
}

/* An Application at a1. */
static void placed(void)
{
    two_agents();
    put_app(h.store, "team", "a", 1, "", "");
    set_destination(TEAM, "a1");
    hub_start(&h);
    assert_non_null(hub_sent(&h, "a1", TEAM));
}

static void put_status(const char *agent, int n, uint64_t version)
{
    char data[300];
    snprintf(data, sizeof(data),
             "{\"metadata\":{\"name\":\"a\",\"namespace\":\"team\",\"annotations\":"
             "{\"" AB_ANN_SOURCE_UID "\":\"%.*s\"}},\"status\":{\"n\":%d}}",
             AB_STR_ARG(ab_object_uid(fake_store_find(h.store, TEAM))), n);
    hub_say(&h, &(hub_word){.agent = agent,
                            .key = TEAM,
                            .subject = "team/a",
                            .target = AB_TARGET_APPLICATION,
                            .type = AB_TYPE_STATUS_UPDATE,
                            .data = data,
                            .version = version});
}

static void say_status(const char *agent, int n, uint64_t version)
{
    put_status(agent, n, version);
    hub_settle(&h);
}

static bool is_remapped(const ab_event *event)
{
    return ab_str_is(ab_event_attr(event, AB_CE_REMAPPED), "true");
}

/* --- whose it is --- */

static void the_namespace_names_the_agent(void **state)
{
    (void)state;
    hub_add(&h, "a1");
    put_app(h.store, "a1", "a", 1, "", "");
    put_app(h.store, "a2", "a", 1, "", "");
    hub_start(&h);
    assert_non_null(hub_sent(&h, "a1", "Application/a1/a"));
    assert_int_equal(hub_keys(&h, "a1", ""), 1);
    assert_false(is_remapped(hub_sent(&h, "a1", "Application/a1/a")));
}

static void the_destination_names_the_agent(void **state)
{
    (void)state;
    placed();
    assert_null(hub_sent(&h, "a2", TEAM));
    assert_false(is_remapped(hub_sent(&h, "a1", TEAM)));
    assert_true(ab_str_is(ab_event_attr(hub_sent(&h, "a1", TEAM), AB_CE_SUBJECT), "team/a"));
}

static void what_is_for_the_hub_itself_goes_to_nobody(void **state)
{
    (void)state;
    two_agents();
    hub_add(&h, "in-cluster");
    const char *const destinations[] = {"{\"name\":\"in-cluster\"}", "{\"name\":\"\"}", "{}"};
    for (size_t i = 0; i < 3; i++) {
        char name[8], key[40], spec[80];
        snprintf(name, sizeof(name), "x%zu", i);
        snprintf(key, sizeof(key), "Application/team/%s", name);
        snprintf(spec, sizeof(spec), "{\"destination\":%s}", destinations[i]);
        put_app(h.store, "team", name, 1, "", "");
        set_field(h.store, key, "spec", spec);
    }
    hub_start(&h);
    assert_int_equal(hub_keys(&h, "a1", "") + hub_keys(&h, "a2", ""), 0);
    assert_int_equal(hub_keys(&h, "in-cluster", ""), 0);
}

static void only_served_namespaces_are_served(void **state)
{
    (void)state;
    placed();
    put_app(h.store, "other", "a", 1, "", "");
    set_destination("Application/other/a", "a1");
    put_app(h.store, HUB_NAMESPACE, "a", 1, "", "");
    set_destination(OWN, "a1");
    hub_settle(&h);
    assert_null(hub_sent(&h, "a1", "Application/other/a"));
    assert_non_null(hub_sent(&h, "a1", OWN));
}

static void without_patterns_only_its_own_namespace_is_served(void **state)
{
    (void)state;
    h.destination_mapping = true;
    hub_add(&h, "a1");
    put_app(h.store, "team", "a", 1, "", "");
    set_destination(TEAM, "a1");
    put_app(h.store, HUB_NAMESPACE, "a", 1, "", "");
    set_destination(OWN, "a1");
    hub_start(&h);
    assert_int_equal(hub_keys(&h, "a1", ""), 1);
    assert_non_null(hub_sent(&h, "a1", OWN));
}

static bool is_create(const ab_event *event)
{
    return ab_str_is(ab_event_attr(event, AB_CE_TYPE), ab_type_name(AB_TYPE_CREATE));
}

/* Only a create may adopt what the agent has under that name. */
static void what_is_made_again_is_a_create_again(void **state)
{
    (void)state;
    placed();
    say_status("a1", 1, 1);
    set_field(h.store, TEAM, "spec", "{\"n\":2,\"destination\":{\"name\":\"a1\"}}");
    hub_settle(&h);
    assert_false(is_create(hub_sent(&h, "a1", TEAM)));
    fake_store_erase(h.store, TEAM);
    put_app(h.store, "team", "a", 1, "", "");
    set_destination(TEAM, "a1");
    hub_settle(&h);
    assert_true(is_create(hub_sent(&h, "a1", TEAM)));
}

/* --- remapped namespaces --- */

static void everything_about_an_application_of_its_own_namespace_is_marked(void **state)
{
    (void)state;
    two_agents();
    put_app(h.store, HUB_NAMESPACE, "a", 1, "", ",\"operation\":{\"n\":1}");
    set_destination(OWN, "a1");
    hub_start(&h);
    assert_true(is_remapped(hub_sent(&h, "a1", OWN)));
    ab_str id = ab_object_annotation(fake_store_find(h.store, OWN), AB_ANN_OPERATION_ID);
    char command[60];
    snprintf(command, sizeof(command), AB_KEY_COMMAND "%.36s", id.ptr);
    assert_non_null(hub_sent(&h, "a1", command));
    assert_true(is_remapped(hub_sent(&h, "a1", command)));
}

static void a_status_of_a_remapped_application_comes_to_its_own_namespace(void **state)
{
    (void)state;
    two_agents();
    put_app(h.store, HUB_NAMESPACE, "a", 1, "", "");
    set_destination(OWN, "a1");
    hub_start(&h);
    char data[200];
    snprintf(data, sizeof(data),
             "{\"metadata\":{\"annotations\":{\"" AB_ANN_SOURCE_UID
             "\":\"%.*s\"}},\"status\":{\"n\":7}}",
             AB_STR_ARG(ab_object_uid(fake_store_find(h.store, OWN))));
    hub_word word = {.agent = "a1",
                     .key = "Application/at-agent/a",
                     .subject = "at-agent/a",
                     .target = AB_TARGET_APPLICATION,
                     .type = AB_TYPE_STATUS_UPDATE,
                     .data = data,
                     .version = 1};
    hub_say(&h, &word);
    hub_settle(&h);
    assert_int_equal(status_of(fake_store_find(h.store, OWN)), -1);
    word.remapped = true;
    word.version = 2;
    hub_say(&h, &word);
    hub_settle(&h);
    assert_int_equal(status_of(fake_store_find(h.store, OWN)), 7);
    assert_true(hub_all_acknowledged(&h));
}

/* --- moves --- */

/* Does what it deployed at a1 stay? */
static bool is_orphaned(void)
{
    bool orphaned = false;
    fake_log *down = h.agents[0].down;
    while (fake_log_has_next(down)) {
        fake_delivery *d = fake_log_next(down);
        orphaned |= ab_str_is(ab_event_attr(fake_delivery_event(d), AB_CE_ORPHAN), "true");
        fake_log_ack(down, d);
    }
    return orphaned;
}

static void a_change_of_destination_moves_it(void **state)
{
    (void)state;
    placed();
    set_destination(TEAM, "a2");
    hub_settle(&h);
    assert_null(hub_sent(&h, "a1", TEAM));
    assert_non_null(hub_sent(&h, "a2", TEAM));
    assert_false(is_orphaned());
}

static void it_stays_until_the_new_agent_can_be_told(void **state)
{
    (void)state;
    placed();
    hub_connect(&h, "a2", false);
    set_destination(TEAM, "a2");
    hub_settle(&h);
    assert_non_null(hub_sent(&h, "a1", TEAM));
    hub_connect(&h, "a2", true);
    hub_settle(&h);
    assert_null(hub_sent(&h, "a1", TEAM));
    assert_non_null(hub_sent(&h, "a2", TEAM));
}

/* One that is compared first has nothing for a while, although it can be told. */
static void it_stays_until_the_new_agent_was_told(void **state)
{
    (void)state;
    placed();
    hub_connect(&h, "a2", false);
    set_destination(TEAM, "a2");
    hub_settle(&h);
    ab_principal_compare_first(h.principal);
    hub_connect(&h, "a2", true);
    hub_settle(&h);
    assert_null(hub_sent(&h, "a2", TEAM));
    assert_non_null(hub_sent(&h, "a1", TEAM));
    hub_tick(&h, 20000);
    assert_non_null(hub_sent(&h, "a2", TEAM));
    assert_null(hub_sent(&h, "a1", TEAM));
}

/* Its name may be mistyped. */
static void a_move_to_an_unknown_agent_ends_it_without_what_it_deployed(void **state)
{
    (void)state;
    placed();
    set_destination(TEAM, "a3");
    hub_settle(&h);
    assert_null(hub_sent(&h, "a1", TEAM));
    assert_true(is_orphaned());
    hub_add(&h, "a3");
    hub_settle(&h);
    assert_non_null(hub_sent(&h, "a3", TEAM));
}

/* No watermark has it. */
static void a_deletion_reaches_an_agent_that_is_new(void **state)
{
    (void)state;
    placed();
    hub_add(&h, "new");
    put_app(h.store, "team", "b", 1, "", "");
    set_destination("Application/team/b", "new");
    hub_settle(&h);
    assert_non_null(hub_sent(&h, "new", "Application/team/b"));
    fake_store_erase(h.store, "Application/team/b");
    hub_settle(&h);
    assert_null(hub_sent(&h, "new", "Application/team/b"));
}

static void a_move_to_nobody_ends_it(void **state)
{
    (void)state;
    placed();
    set_destination(TEAM, "in-cluster");
    hub_settle(&h);
    assert_null(hub_sent(&h, "a1", TEAM));
    assert_true(is_orphaned());
}

static void a_move_and_back_leaves_it_where_it_was(void **state)
{
    (void)state;
    placed();
    hub_connect(&h, "a2", false);
    set_destination(TEAM, "a2");
    hub_settle(&h);
    set_destination(TEAM, "a1");
    hub_settle(&h);
    hub_connect(&h, "a2", true);
    hub_settle(&h);
    assert_non_null(hub_sent(&h, "a1", TEAM));
    assert_null(hub_sent(&h, "a2", TEAM));
}

static void a_move_and_a_deletion_end_it_everywhere(void **state)
{
    (void)state;
    placed();
    hub_connect(&h, "a2", false);
    set_destination(TEAM, "a2");
    hub_settle(&h);
    fake_store_erase(h.store, TEAM);
    hub_settle(&h);
    assert_null(hub_sent(&h, "a1", TEAM));
    hub_connect(&h, "a2", true);
    hub_settle(&h);
    assert_null(hub_sent(&h, "a2", TEAM));
}

static void a_move_made_while_it_was_down_is_made_good(void **state)
{
    (void)state;
    h.deletions_max = 0; /* routed elsewhere is not deleted: the guard does not hold it */
    placed();
    hub_crash(&h);
    set_destination(TEAM, "a2");
    hub_start(&h);
    assert_null(hub_sent(&h, "a1", TEAM));
    assert_non_null(hub_sent(&h, "a2", TEAM));
}

static void a_move_that_was_half_done_is_done_after_a_restart(void **state)
{
    (void)state;
    placed();
    hub_connect(&h, "a2", false);
    set_destination(TEAM, "a2");
    hub_settle(&h);
    hub_restart(&h);
    assert_non_null(hub_sent(&h, "a1", TEAM));
    hub_connect(&h, "a2", true);
    hub_settle(&h);
    assert_null(hub_sent(&h, "a1", TEAM));
    assert_non_null(hub_sent(&h, "a2", TEAM));
}

static void the_guard_holds_what_is_gone_but_not_what_moved(void **state)
{
    (void)state;
    h.deletions_max = 0;
    placed();
    put_app(h.store, "team", "b", 1, "", "");
    set_destination("Application/team/b", "a1");
    hub_settle(&h);
    hub_crash(&h);
    set_destination(TEAM, "a2");
    fake_store_erase(h.store, "Application/team/b");
    hub_start(&h);
    assert_null(hub_sent(&h, "a1", TEAM));
    assert_non_null(hub_sent(&h, "a1", "Application/team/b"));
    assert_true(hub_gauge(&h, "argobus_deletions_held", "a1") == 1);
}

static void a_request_moves_with_it(void **state)
{
    (void)state;
    placed();
    set_field(h.store, TEAM, "operation", "{\"n\":1}");
    hub_settle(&h);
    assert_int_equal(hub_keys(&h, "a1", AB_KEY_COMMAND), 1);
    set_destination(TEAM, "a2");
    hub_settle(&h);
    assert_int_equal(hub_keys(&h, "a1", AB_KEY_COMMAND), 0);
    assert_int_equal(hub_keys(&h, "a2", AB_KEY_COMMAND), 1);
}

/* --- what agents say of an Application that is not theirs --- */

static void only_its_agent_is_listened_to(void **state)
{
    (void)state;
    placed();
    say_status("a2", 5, 50);
    assert_int_equal(status_of(fake_store_find(h.store, TEAM)), -1);
    assert_true(hub_counter(&h, "argobus_events_stale_total") == 1);
    say_status("a1", 3, 3);
    assert_int_equal(status_of(fake_store_find(h.store, TEAM)), 3);
    assert_true(hub_all_acknowledged(&h));
}

static void a_status_of_the_new_agent_counts_whatever_its_version(void **state)
{
    (void)state;
    placed();
    say_status("a1", 1, 1000);
    assert_int_equal(status_of(fake_store_find(h.store, TEAM)), 1);
    set_destination(TEAM, "a2");
    hub_settle(&h);
    say_status("a2", 2, 5);
    assert_int_equal(status_of(fake_store_find(h.store, TEAM)), 2);
    hub_restart(&h);
    say_status("a2", 3, 4);
    assert_int_equal(status_of(fake_store_find(h.store, TEAM)), 2);
    say_status("a2", 4, 6);
    assert_int_equal(status_of(fake_store_find(h.store, TEAM)), 4);
}

static void a_stamp_without_an_agent_counts_in_namespace_mapping(void **state)
{
    (void)state;
    hub_add(&h, "team");
    put_app(h.store, "team", "a", 1, ",\"annotations\":{\"" AB_ANN_STATUS_VERSION "\":\"100.50\"}",
            "");
    hub_start(&h);
    say_status("team", 1, 50);
    assert_int_equal(status_of(fake_store_find(h.store, TEAM)), -1);
    say_status("team", 2, 51);
    assert_int_equal(status_of(fake_store_find(h.store, TEAM)), 2);
}

static void say_error(const char *agent)
{
    hub_say(&h, &(hub_word){.agent = agent,
                            .key = AB_KEY_ERROR TEAM,
                            .subject = "team/a",
                            .target = AB_TARGET_APPLICATION,
                            .type = AB_TYPE_ERROR,
                            .data = "{\"message\":\"refused\"}",
                            .version = 1});
}

static size_t condition_count(void)
{
    ab_spanv status = ab_object_field(fake_store_find(h.store, TEAM), "status");
    return ab_span_count(ab_span_get(status, "conditions"));
}

static void an_error_of_the_former_agent_is_taken_off(void **state)
{
    (void)state;
    placed();
    say_error("a1");
    hub_settle(&h);
    assert_int_equal(condition_count(), 1);
    set_destination(TEAM, "a2");
    hub_settle(&h);
    assert_int_equal(condition_count(), 0);
}

/* A write of the former agent's status is answered after the move. */
static void it_is_taken_off_also_while_its_status_is_written(void **state)
{
    (void)state;
    placed();
    say_error("a1");
    hub_settle(&h);
    put_status("a1", 1, 2);
    while (fake_store_choices(h.store) == 0)
        hub_step(&h, 0);
    fake_store_step(h.store, 0, false); /* it is written, and not answered */
    set_destination(TEAM, "a2");
    while (fake_store_has_changes(h.store))
        fake_store_step(h.store, fake_store_choices(h.store) - 1, false);
    hub_settle(&h);
    assert_int_equal(condition_count(), 0);
    assert_non_null(hub_sent(&h, "a2", TEAM));
}

static void an_answer_of_the_former_agent_ends_the_command_in_its_log(void **state)
{
    (void)state;
    placed();
    size_t events = hub_sent_count(&h, "a2");
    hub_say(&h, &(hub_word){.agent = "a2",
                            .key = AB_KEY_ACK "11111111-2222-4333-8444-555555555555",
                            .subject = "team/a",
                            .target = AB_TARGET_EVENT_PROCESSED,
                            .type = AB_TYPE_PROCESSED,
                            .data = "{}",
                            .version = 1});
    hub_connect(&h, "a2", false);
    hub_settle(&h);
    assert_false(hub_all_acknowledged(&h));
    hub_connect(&h, "a2", true);
    hub_settle(&h);
    assert_int_equal(hub_sent_count(&h, "a2"), events + 1);
    assert_true(hub_all_acknowledged(&h));
}

/* --- agents that come and go --- */

static void an_agent_that_comes_late_finds_its_applications(void **state)
{
    (void)state;
    hub_add(&h, "a1");
    put_app(h.store, "a2", "a", 1, "", "");
    hub_start(&h);
    hub_add(&h, "a2");
    hub_settle(&h);
    assert_non_null(hub_sent(&h, "a2", "Application/a2/a"));
}

static void an_agent_that_goes_loses_nothing_and_finds_it_again(void **state)
{
    (void)state;
    placed();
    size_t events = hub_sent_count(&h, "a1");
    hub_remove(&h, "a1");
    hub_settle(&h);
    assert_null(ab_principal_outbox(h.principal, "a1"));
    assert_int_equal(hub_sent_count(&h, "a1"), events);
    hub_add(&h, "a1");
    hub_settle(&h);
    assert_int_equal(hub_sent_count(&h, "a1"), events);
    set_field(h.store, TEAM, "spec", "{\"n\":2,\"destination\":{\"name\":\"a1\"}}");
    hub_settle(&h);
    assert_int_equal(hub_sent_count(&h, "a1"), events + 1);
}

static void what_an_agent_said_is_acknowledged_when_it_goes(void **state)
{
    (void)state;
    placed();
    hub_say(&h, &(hub_word){.agent = "a1",
                            .key = AB_KEY_ACK "11111111-2222-4333-8444-555555555555",
                            .subject = "team/a",
                            .target = AB_TARGET_EVENT_PROCESSED,
                            .type = AB_TYPE_PROCESSED,
                            .data = "{}",
                            .version = 1});
    hub_connect(&h, "a1", false);
    say_status("a1", 1, 2);
    assert_false(hub_all_acknowledged(&h));
    hub_remove(&h, "a1");
    assert_true(hub_all_acknowledged(&h));
}

static void a_write_under_way_for_an_agent_that_goes_is_harmless(void **state)
{
    (void)state;
    placed();
    set_field(h.store, TEAM, "operation", "{\"n\":1}");
    for (int i = 0; i < 10 && fake_store_choices(h.store) > 0; i++) {
        fake_store_step(h.store, 0, false);
        hub_remove(&h, "a1");
        hub_add(&h, "a1");
    }
    hub_settle(&h);
    assert_int_equal(hub_keys(&h, "a1", AB_KEY_COMMAND), 1);
}

static void nothing_is_sent_while_the_mode_is_not_known(void **state)
{
    (void)state;
    put_app(h.store, "a1", "a", 1, "", "");
    hub_add_unknown(&h, "a1");
    hub_start(&h);
    ab_principal_ready(h.principal, "a1", 7);
    hub_settle(&h);
    assert_int_equal(ab_outbox_count(ab_principal_outbox(h.principal, "a1")), 0);
    ab_principal_set_mode(h.principal, "a1", AB_MANAGED);
    hub_settle(&h);
    assert_int_equal(ab_outbox_count(ab_principal_outbox(h.principal, "a1")), 1);
}

static void an_autonomous_agent_is_sent_nothing(void **state)
{
    (void)state;
    put_app(h.store, "a1", "a", 1, "", "");
    hub_add_unknown(&h, "a1");
    hub_start(&h);
    ab_principal_set_mode(h.principal, "a1", AB_AUTONOMOUS);
    ab_principal_ready(h.principal, "a1", 7);
    hub_settle(&h);
    assert_int_equal(ab_outbox_count(ab_principal_outbox(h.principal, "a1")), 0);
}

static void while_something_is_unreadable_all_that_is_known_is_served(void **state)
{
    (void)state;
    placed();
    put_app(h.store, "team", "b", 1, "", "");
    set_destination("Application/team/b", "a1");
    hub_settle(&h);
    hub_crash(&h);
    h.unreadable = true;
    fake_store_erase(h.store, "Application/team/b");
    set_destination(TEAM, "a2");
    put_app(h.store, "team", "c", 1, "", "");
    set_destination("Application/team/c", "a1");
    hub_start(&h);
    assert_non_null(hub_sent(&h, "a1", "Application/team/b")); /* perhaps it is still there */
    assert_non_null(hub_sent(&h, "a1", "Application/team/c"));
    assert_null(hub_sent(&h, "a1", TEAM)); /* it says itself that it moved */
    say_status("a2", 3, 3);
    assert_int_equal(status_of(fake_store_find(h.store, TEAM)), 3);
    ab_principal_on_synced(h.principal);
    hub_settle(&h);
    assert_null(hub_sent(&h, "a1", "Application/team/b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_namespace_names_the_agent),
        TEST(the_destination_names_the_agent),
        TEST(what_is_for_the_hub_itself_goes_to_nobody),
        TEST(only_served_namespaces_are_served),
        TEST(without_patterns_only_its_own_namespace_is_served),
        TEST(what_is_made_again_is_a_create_again),
        TEST(everything_about_an_application_of_its_own_namespace_is_marked),
        TEST(a_status_of_a_remapped_application_comes_to_its_own_namespace),
        TEST(a_change_of_destination_moves_it),
        TEST(it_stays_until_the_new_agent_can_be_told),
        TEST(it_stays_until_the_new_agent_was_told),
        TEST(a_move_to_an_unknown_agent_ends_it_without_what_it_deployed),
        TEST(a_deletion_reaches_an_agent_that_is_new),
        TEST(a_move_to_nobody_ends_it),
        TEST(a_move_and_back_leaves_it_where_it_was),
        TEST(a_move_and_a_deletion_end_it_everywhere),
        TEST(a_move_made_while_it_was_down_is_made_good),
        TEST(a_move_that_was_half_done_is_done_after_a_restart),
        TEST(the_guard_holds_what_is_gone_but_not_what_moved),
        TEST(a_request_moves_with_it),
        TEST(only_its_agent_is_listened_to),
        TEST(a_status_of_the_new_agent_counts_whatever_its_version),
        TEST(a_stamp_without_an_agent_counts_in_namespace_mapping),
        TEST(an_error_of_the_former_agent_is_taken_off),
        TEST(it_is_taken_off_also_while_its_status_is_written),
        TEST(an_answer_of_the_former_agent_ends_the_command_in_its_log),
        TEST(an_agent_that_comes_late_finds_its_applications),
        TEST(an_agent_that_goes_loses_nothing_and_finds_it_again),
        TEST(what_an_agent_said_is_acknowledged_when_it_goes),
        TEST(a_write_under_way_for_an_agent_that_goes_is_harmless),
        TEST(nothing_is_sent_while_the_mode_is_not_known),
        TEST(an_autonomous_agent_is_sent_nothing),
        TEST(while_something_is_unreadable_all_that_is_known_is_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
