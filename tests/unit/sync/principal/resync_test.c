/* SPDX-License-Identifier: Apache-2.0
 *
 * What the principal corrects in a resync with one of several agents. The test speaks for the
 * agents.
 */
#include "base/core/base64.h"
#include "schema/attributes.h"
#include "sync/resync/message.h"
#include "tests/unit/sync/world/edit.h"
#include "tests/unit/sync/world/hub.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define SECRET "Secret/" HUB_NAMESPACE "/repo"
#define APP    "Application/" HUB_NAMESPACE "/a"
/* No watermark covers it. */
#define UNCOVERED ((ab_version){1 << 20, 1})

static struct {
    hub hub;
    char id[AB_RESYNC_ID_MAX];
    uint64_t version;
    ab_version held;  /* of what an agent holds; none: it knows none */
    bool store_waits; /* nothing happens there */
} t;

static void put_secret_of(const char *project)
{
    ab_buf encoded;
    char json[600];
    ab_buf_init(&encoded, 100);
    ab_base64_encode(ab_str_of(project), &encoded);
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"type\":\"Opaque\",\"metadata\":"
             "{\"name\":\"repo\",\"namespace\":\"" HUB_NAMESPACE
             "\",\"labels\":{\"" AB_LABEL_SECRET_TYPE
             "\":\"repository\"}},\"data\":{\"project\":\"%.*s\"}}",
             AB_STR_ARG(ab_buf_str(&encoded)));
    ab_object *o = sample_object(json);
    fake_store_put(t.hub.store, o);
    ab_object_unref(o);
    ab_buf_fini(&encoded);
}

static void settle(void)
{
    while (t.store_waits && hub_choices(&t.hub) > fake_store_choices(t.hub.store))
        hub_step(&t.hub, fake_store_choices(t.hub.store));
    if (!t.store_waits)
        hub_settle(&t.hub);
}

static void set_destination(const char *agent)
{
    char spec[200];
    snprintf(spec, sizeof(spec), "{\"n\":1,\"destination\":{\"name\":\"%s\"}}", agent);
    set_field(t.hub.store, APP, "spec", spec);
    settle();
}

/* An Application at a1, and another agent. */
static int setup(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    hub_init(&t.hub);
    t.hub.destination_mapping = true;
    t.hub.resyncs_max = 8;
    hub_add(&t.hub, "a1");
    hub_add(&t.hub, "a2");
    put_app(t.hub.store, HUB_NAMESPACE, "a", 1, "", "");
    set_field(t.hub.store, APP, "spec", "{\"n\":1,\"destination\":{\"name\":\"a1\"}}");
    hub_start(&t.hub);
    assert_non_null(hub_sent(&t.hub, "a1", APP));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    hub_fini(&t.hub);
    return 0;
}
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* --- in place of an agent --- */

static void listen(const char *agent, ab_resync_step expected)
{
    ab_resync_message *m = NULL;
    const ab_event *event = hub_sent(&t.hub, agent, AB_KEY_RESYNC);
    assert_non_null(event);
    assert_int_equal(ab_resync_message_decode(ab_event_data(event), &m, NULL), AB_ERR_OK);
    snprintf(t.id, sizeof(t.id), "%.*s", AB_STR_ARG(m->id));
    assert_int_equal(m->step, expected);
    ab_resync_message_free(m);
}

/* Delivered with the next step. */
static void tell(const char *agent, const char *key, ab_type type, ab_resync_message *m)
{
    ab_buf data;
    m->id = ab_str_of(t.id);
    ab_buf_init(&data, AB_EVENT_DATA_MAX);
    ab_resync_message_encode(m, &data);
    ab_buf_putc(&data, '\0');
    assert_int_equal(ab_buf_status(&data), AB_ERR_OK);
    hub_say(&t.hub, &(hub_word){.agent = agent,
                                .key = key,
                                .target = AB_TARGET_RESYNC,
                                .type = type,
                                .data = data.ptr,
                                .version = ++t.version});
    ab_buf_fini(&data);
}

static void say(const char *agent, const char *key, ab_type type, ab_resync_message *m)
{
    tell(agent, key, type, m);
    settle();
}

static ab_inventory *inventory_of(const char *key)
{
    ab_inventory *inv = ab_inventory_new();
    assert_non_null(inv);
    ab_inventory_add(inv, &(ab_inventory_entry){.key = ab_str_of(key), .version = t.held});
    assert_int_equal(ab_inventory_divide(inv, 1), AB_ERR_OK);
    return inv;
}

/* It answers the resync that has begun: it holds this Application.
 * @return how many events the answer brought */
static size_t hold(const char *agent, const char *key)
{
    ab_inventory *inv = inventory_of(key);
    listen(agent, AB_RESYNC_BEGIN);
    size_t before = hub_sent_count(&t.hub, agent);
    say(agent, AB_KEY_RESYNC, AB_TYPE_RESYNC,
        &(ab_resync_message){.step = AB_RESYNC_ANSWER, .summary = ab_inventory_sum(inv)});
    listen(agent, AB_RESYNC_WANT);
    say(agent, AB_KEY_INVENTORY "0", AB_TYPE_INVENTORY,
        &(ab_resync_message){.step = AB_RESYNC_PAGE, .inventory = inv});
    listen(agent, AB_RESYNC_END);
    ab_inventory_free(inv);
    return hub_sent_count(&t.hub, agent) - before;
}

static void resync(const char *agent)
{
    assert_int_equal(ab_principal_resync(t.hub.principal, agent, "test"), AB_ERR_OK);
    settle();
}

/* --- the tests --- */

/* The agent reads its log, and ends the object, an Application with what it deployed. */
static void assert_ends_with_resources(fake_log *log, const char *key)
{
    bool ended = false;
    while (fake_log_has_next(log)) {
        fake_delivery *d = fake_log_next(log);
        const ab_event *event = fake_delivery_event(d);
        if (ab_str_is(ab_event_attr(event, AB_CE_PARTITIONKEY), key)) {
            ended = ab_event_data(event).ptr == NULL;
            assert_null(ab_event_attr(event, AB_CE_ORPHAN).ptr);
        }
        fake_log_ack(log, d);
    }
    assert_true(ended);
}

/* The end was in a log that was lost. That it is elsewhere is proof enough. */
static void what_has_moved_is_ended_at_its_former_agent_without_a_watermark(void **state)
{
    (void)state;
    t.held = UNCOVERED;
    set_destination("a2");
    assert_null(hub_sent(&t.hub, "a1", APP));
    hub_lose_log(&t.hub, "a1");
    assert_int_equal(hold("a1", APP), 3); /* steps, and the end */
    assert_ends_with_resources(t.hub.agents[0].down, APP);
    assert_true(hub_gauge(&t.hub, "argobus_deletions_held", "a1") == 0);
}

/* Was the end of an Application sent whose resources stay? */
static bool is_orphaned(fake_log *down)
{
    bool orphaned = false;
    while (fake_log_has_next(down)) {
        fake_delivery *d = fake_log_next(down);
        orphaned |= ab_str_is(ab_event_attr(fake_delivery_event(d), AB_CE_ORPHAN), "true");
        fake_log_ack(down, d);
    }
    return orphaned;
}

/* It was never at this agent: its cluster was made from a backup of the other's, or has another
 * name now. */
static void what_another_has_is_not_ended_for_an_agent_that_was_not_sent_it(void **state)
{
    (void)state;
    assert_int_equal(hold("a2", APP), 2); /* steps, and no end */
    assert_true(hub_gauge(&t.hub, "argobus_deletions_held", "a2") == 1);
    assert_int_equal(hub_confirm(&t.hub, "a2"), AB_ERR_OK);
    settle();
    assert_int_equal(hold("a2", APP), 3);
    assert_true(hub_gauge(&t.hub, "argobus_deletions_held", "a2") == 0);
    assert_true(is_orphaned(t.hub.agents[1].down));
}

/* Its former agent's log was lost, and says nothing of it any more. */
static void what_moves_stays_at_its_former_agent_until_it_has_arrived(void **state)
{
    (void)state;
    t.held = UNCOVERED;
    hub_connect(&t.hub, "a2", false);
    set_destination("a2");
    hub_lose_log(&t.hub, "a1");
    assert_int_equal(hold("a1", APP), 2); /* steps, and no end */
    hub_connect(&t.hub, "a2", true);
    hub_settle(&t.hub);
    assert_non_null(hub_sent(&t.hub, "a2", APP));
    resync("a1");
    assert_int_equal(hold("a1", APP), 3); /* the end, too */
}

/* It was renamed, or has another one's agent.data: with namespace mapping nobody else moves. */
static void what_is_in_another_agents_namespace_is_not_ended(void **state)
{
    (void)state;
    hub_crash(&t.hub);
    t.hub.destination_mapping = false;
    put_app(t.hub.store, "a2", "n", 1, "", "");
    hub_start(&t.hub);
    assert_non_null(hub_sent(&t.hub, "a2", "Application/a2/n"));
    assert_int_equal(hold("a1", "Application/a2/n"), 2); /* steps, and no end */
    assert_int_equal(ab_principal_resync(t.hub.principal, "a1", "test"), AB_ERR_OK);
    settle();
    assert_int_equal(hold("a1", "Application/a2/n"), 2);
}

/* Nothing is known of its project when they are compared. */
static void a_secret_that_is_for_nobody_is_ended_when_that_is_known(void **state)
{
    (void)state;
    t.held = (ab_version){1, 1};
    put_secret_of("gone");
    t.store_waits = true;
    fake_store_step(t.hub.store, 0, false);
    assert_int_equal(hold("a1", SECRET), 2);
    t.store_waits = false;
    settle();
    hub_tick(&t.hub, 1000);
    (void)hold("a1", SECRET);
    assert_ends_with_resources(t.hub.agents[0].down, SECRET);
}

/* It was an object of an autonomous agent that is managed now, and is not the control plane's own
 * yet. */
static void what_is_handed_over_stays(void **state)
{
    (void)state;
    (void)hold("a1", APP);
    put_app(t.hub.store, "a1", "m", 1,
            ",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"u\",\"" AB_ANN_MIRROR "\":\"1.1/a1\"}",
            "");
    t.store_waits = true;
    fake_store_step(t.hub.store, fake_store_choices(t.hub.store) - 1, false);
    assert_int_equal(fake_store_choices(t.hub.store), 1); /* to make it its own */
    assert_int_equal(ab_principal_resync(t.hub.principal, "a1", "test"), AB_ERR_OK);
    settle();
    assert_int_equal(hold("a1", "Application/a1/m"), 2);
}

/* --- what an autonomous agent holds back --- */

static void tell_held(size_t held, const ab_digest *set)
{
    ab_inventory *inv = ab_inventory_new();
    assert_non_null(inv);
    assert_int_equal(ab_inventory_divide(inv, 1), AB_ERR_OK);
    ab_principal_set_mode(t.hub.principal, "a1", AB_AUTONOMOUS);
    settle();
    listen("a1", AB_RESYNC_BEGIN);
    say("a1", AB_KEY_RESYNC, AB_TYPE_RESYNC,
        &(ab_resync_message){.step = AB_RESYNC_ANSWER,
                             .summary = ab_inventory_sum(inv),
                             .held = held,
                             .held_set = *set});
    ab_inventory_free(inv);
    assert_int_equal(ab_principal_held(t.hub.principal, "a1"), held);
}

static void an_agent_is_told_which_of_its_deletions_are_confirmed(void **state)
{
    (void)state;
    ab_resync_message *m = NULL;
    const ab_digest set = {{1, 2, 3}};
    tell_held(3, &set);
    assert_int_equal(hub_confirm(&t.hub, "a1"), AB_ERR_OK);
    settle();
    const ab_event *event = hub_sent(&t.hub, "a1", AB_KEY_RESYNC);
    assert_int_equal(ab_resync_message_decode(ab_event_data(event), &m, NULL), AB_ERR_OK);
    assert_int_equal(m->step, AB_RESYNC_BEGIN);
    assert_true(ab_digest_eq(&m->confirmed, &set));
    assert_false(m->confirm); /* a former version would delete whatever it holds by then */
    ab_resync_message_free(m);
}

static void what_an_agent_of_a_former_version_holds_is_not_confirmed(void **state)
{
    (void)state;
    tell_held(3, &(ab_digest){{0}});
    assert_int_equal(hub_confirm(&t.hub, "a1"), AB_ERR_UNSUPPORTED);
    assert_int_equal(ab_principal_held(t.hub.principal, "a1"), 3);
}

static void what_changes_during_a_resync_is_sent_once(void **state)
{
    (void)state;
    set_field(t.hub.store, APP, "spec", "{\"n\":2,\"destination\":{\"name\":\"a1\"}}");
    set_field(t.hub.store, APP, "operation", "{\"n\":1}");
    settle();
    assert_int_equal(hub_keys(&t.hub, "a1", AB_KEY_COMMAND), 1);
    assert_int_equal(hold("a1", APP), 2);
}

/* Nothing is sent until then. */
static void deliver_to_principal(void)
{
    while (fake_log_has_next(t.hub.agents[0].up))
        hub_step(&t.hub, hub_choices(&t.hub) - 1);
}

/* Each is in the lane of its Application, and others overtake it. */
static void what_is_asked_for_no_more_ends_behind_its_command(void **state)
{
    (void)state;
    (void)hold("a1", APP);
    set_field(t.hub.store, APP, "spec", "{\"n\":2,\"destination\":{\"name\":\"a1\"}}");
    set_field(t.hub.store, APP, "operation", "{\"n\":1}");
    set_in(t.hub.store, APP, "annotations", AB_ANN_REFRESH, "hard");
    fake_store_settle(t.hub.store);
    set_field(t.hub.store, APP, "operation", NULL);
    set_in(t.hub.store, APP, "annotations", AB_ANN_REFRESH, NULL);
    fake_store_settle(t.hub.store);
    assert_int_equal(ab_principal_resync(t.hub.principal, "a1", "test"), AB_ERR_OK);
    hub_step(&t.hub, 0); /* the state */
    hub_step(&t.hub, 0); /* the first step */
    listen("a1", AB_RESYNC_BEGIN);
    ab_inventory *inv = inventory_of(APP);
    tell("a1", AB_KEY_RESYNC, AB_TYPE_RESYNC,
         &(ab_resync_message){.step = AB_RESYNC_ANSWER, .summary = ab_inventory_sum(inv)});
    tell("a1", AB_KEY_INVENTORY "0", AB_TYPE_INVENTORY,
         &(ab_resync_message){.step = AB_RESYNC_PAGE, .inventory = inv});
    ab_inventory_free(inv);
    deliver_to_principal();
    assert_int_equal(hub_keys(&t.hub, "a1", AB_KEY_COMMAND), 0);
    hub_settle(&t.hub);
    assert_int_equal(hub_keys(&t.hub, "a1", AB_KEY_COMMAND), 0);
}

/* What is not received yet would look as if the agent had not said it. */
static void none_begins_before_all_is_received(void **state)
{
    (void)state;
    (void)hold("a1", APP);
    ab_principal_gap(t.hub.principal, "a1");
    resync("a1");
    listen("a1", AB_RESYNC_END); /* of the last one */
    ab_principal_caught_up(t.hub.principal, "a1");
    settle();
    listen("a1", AB_RESYNC_BEGIN);
}

/* It was restarted, and the principal has corrected by what it said before. */
static void an_agent_that_answers_twice_is_compared_again(void **state)
{
    static const uint16_t pages[] = {0};
    ab_resync_message answer = {.step = AB_RESYNC_ANSWER, .want = {1, pages}};
    (void)state;
    (void)hold("a1", APP);
    resync("a1");
    listen("a1", AB_RESYNC_BEGIN);
    ab_inventory *inv = inventory_of(APP);
    answer.summary = ab_inventory_sum(inv);
    say("a1", AB_KEY_RESYNC, AB_TYPE_RESYNC, &answer);
    say("a1", AB_KEY_RESYNC, AB_TYPE_RESYNC, &answer);
    say("a1", AB_KEY_INVENTORY "0", AB_TYPE_INVENTORY,
        &(ab_resync_message){.step = AB_RESYNC_PAGE, .inventory = inv});
    ab_inventory_free(inv);
    say("a1", AB_KEY_RESYNC, AB_TYPE_RESYNC, &(ab_resync_message){.step = AB_RESYNC_TAKEN});
    hub_tick(&t.hub, 1000);
    settle();
    listen("a1", AB_RESYNC_BEGIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_has_moved_is_ended_at_its_former_agent_without_a_watermark),
        TEST(what_is_in_another_agents_namespace_is_not_ended),
        TEST(what_another_has_is_not_ended_for_an_agent_that_was_not_sent_it),
        TEST(a_secret_that_is_for_nobody_is_ended_when_that_is_known),
        TEST(what_is_handed_over_stays),
        TEST(what_changes_during_a_resync_is_sent_once),
        TEST(an_agent_is_told_which_of_its_deletions_are_confirmed),
        TEST(what_an_agent_of_a_former_version_holds_is_not_confirmed),
        TEST(what_is_asked_for_no_more_ends_behind_its_command),
        TEST(none_begins_before_all_is_received),
        TEST(an_agent_that_answers_twice_is_compared_again),
        TEST(what_moves_stays_at_its_former_agent_until_it_has_arrived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
