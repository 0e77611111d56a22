/* SPDX-License-Identifier: Apache-2.0
 *
 * What an agent reports of an Application, and what it need not report.
 */
#include "schema/attributes.h"
#include "tests/unit/sync/world/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define UP      LOCAL /* the key of its report */
#define UID     ",\"uid\":\"u-1\""
#define SPEC(n) ",\"spec\":{\"n\":" #n "}"

static void give_status(const char *json)
{
    set_field(w.local, LOCAL, "status", json);
    world_settle(&w);
}

static void what_has_no_status_is_reported_once_it_has_one(void **state)
{
    (void)state;
    begin();
    desired(HUB, AB_TYPE_CREATE, UID, SPEC(1));
    assert_int_equal(spec_of(at(LOCAL)), 1);
    assert_null(said(UP));
    give_status("{\"n\":5}");
    assert_true(said_with(UP, "{\"n\":5}"));
    assert_at_rest();
}

static void a_status_that_goes_is_reported_gone(void **state)
{
    (void)state;
    begin();
    desired(HUB, AB_TYPE_CREATE, UID, SPEC(1));
    give_status("{\"n\":5}");
    give_status(NULL);
    assert_non_null(said(UP));
    assert_false(said_with(UP, "status"));
    assert_at_rest();
}

/* An update says that the principal has had a status of it. */
static void what_comes_as_an_update_is_reported_without_a_status(void **state)
{
    (void)state;
    begin();
    desired(HUB, AB_TYPE_SPEC_UPDATE, UID, SPEC(1));
    assert_non_null(said(UP));
    assert_false(said_with(UP, "status"));
    assert_at_rest();
}

static void an_update_behind_the_creation_is_reported_without_a_status(void **state)
{
    (void)state;
    begin();
    desired(HUB, AB_TYPE_CREATE, UID, SPEC(1));
    assert_null(said(UP));
    desired(HUB, AB_TYPE_SPEC_UPDATE, UID, SPEC(2));
    assert_non_null(said(UP));
    assert_at_rest();
}

static void the_record_of_a_command_is_reported_without_a_status(void **state)
{
    (void)state;
    begin();
    desired(HUB, AB_TYPE_CREATE, UID, SPEC(1));
    set_in(w.local, LOCAL, "annotations", AB_ANN_LAST_OPERATION, "1.1/c1");
    world_settle(&w);
    assert_true(said_with(UP, "1.1/c1"));
    assert_at_rest();
}

/* The hub does not know how things stand. */
static void what_something_was_asked_of_is_reported_without_a_status(void **state)
{
    (void)state;
    begin();
    desired(HUB, AB_TYPE_CREATE, UID, SPEC(1));
    assert_null(said(UP));
    ask_terminate("c1", HUB);
    assert_non_null(said(UP));
    end_command("c1", HUB, false);
    assert_at_rest();
}

/* The hub may show the status of a former agent, or of a mirror that it was. */
static void what_gets_no_status_is_reported_all_the_same(void **state)
{
    (void)state;
    begin();
    desired(HUB, AB_TYPE_CREATE, UID, SPEC(1));
    world_run(&w, 29);
    assert_null(said(UP));
    world_run(&w, 2);
    assert_non_null(said(UP));
    assert_false(said_with(UP, "status"));
    size_t count = fake_log_appended(w.up);
    world_run(&w, 60);
    assert_int_equal(fake_log_appended(w.up), count);
    assert_at_rest();
}

static void each_status_is_reported_at_once(void **state)
{
    (void)state;
    begin();
    desired(HUB, AB_TYPE_CREATE, UID, SPEC(1));
    give_status("{\"n\":5}");
    desired(HUB, AB_TYPE_CREATE, UID, SPEC(2));
    give_status("{\"n\":6}");
    assert_true(said_with(UP, "{\"n\":6}"));
    assert_at_rest();
}

static void an_agent_that_starts_reports_at_once(void **state)
{
    (void)state;
    begin();
    desired(HUB, AB_TYPE_CREATE, UID, SPEC(1));
    assert_null(said(UP));
    world_crash_agent(&w);
    begin();
    assert_non_null(said(UP));
    assert_at_rest();
}

/* What it said is lost, and the principal's log still says `create`. */
static void a_status_that_only_the_hub_shows_goes_when_the_object_is_made_anew(void **state)
{
    (void)state;
    w.resyncs = true;
    placed("");
    give_status("{\"n\":5}");
    assert_int_equal(status_of(hub()), 5);
    world_crash_agent(&w);
    world_lose_log(&w, &w.agent_link);
    fake_store_erase(w.local, LOCAL);
    world_start_agent(&w);
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 1);
    assert_int_equal(status_of(hub()), -1);
    assert_at_rest();
}

/* What was said last, as the sender tells of it. */
static ab_event *what_was_said(void)
{
    ab_event_draft draft = {0};
    ab_event *event = NULL;
    ab_event_set_text(&draft, AB_CE_ID, "x");
    ab_event_set_text(&draft, AB_CE_SOURCE, AB_SOURCE_AGENT "w1");
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(AB_TYPE_STATUS_UPDATE));
    ab_event_set_text(&draft, AB_CE_PARTITIONKEY, UP);
    ab_event_set(&draft, AB_CE_CONTENTHASH, ab_event_attr(said(UP), AB_CE_CONTENTHASH));
    assert_int_equal(ab_event_new(&draft, &event, NULL), AB_ERR_OK);
    return event;
}

static void what_cannot_be_sent_is_an_error_until_something_else_is_said(void **state)
{
    ab_error err = {0};
    (void)state;
    begin();
    desired(HUB, AB_TYPE_CREATE, UID, SPEC(1));
    give_status("{\"n\":5}");
    ab_event *event = what_was_said();
    (void)ab_fail(&err, AB_ERR_TOOBIG, "too big");
    ab_agent_unsendable(w.agent, event, &err);
    world_settle(&w);
    assert_true(said_with(AB_KEY_ERROR LOCAL, "too big"));
    give_status("{\"n\":6}");
    assert_null(said(AB_KEY_ERROR LOCAL));
    ab_agent_unsendable(w.agent, event, &err); /* it was said meanwhile */
    world_settle(&w);
    assert_null(said(AB_KEY_ERROR LOCAL));
    ab_event_unref(event);
    assert_at_rest();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_has_no_status_is_reported_once_it_has_one),
        TEST(a_status_that_goes_is_reported_gone),
        TEST(what_comes_as_an_update_is_reported_without_a_status),
        TEST(an_update_behind_the_creation_is_reported_without_a_status),
        TEST(the_record_of_a_command_is_reported_without_a_status),
        TEST(what_something_was_asked_of_is_reported_without_a_status),
        TEST(what_gets_no_status_is_reported_all_the_same),
        TEST(each_status_is_reported_at_once),
        TEST(an_agent_that_starts_reports_at_once),
        TEST(a_status_that_only_the_hub_shows_goes_when_the_object_is_made_anew),
        TEST(what_cannot_be_sent_is_an_error_until_something_else_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
