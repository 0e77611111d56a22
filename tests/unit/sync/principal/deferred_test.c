/* SPDX-License-Identifier: Apache-2.0
 *
 * An object that an agent has acknowledged and cannot put into effect: the principal knows it until
 * that is over.
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

#define APP     "Application/a1/a"
#define PROJECT "AppProject/argocd/team"

static hub h;
static uint64_t version;

static int setup(void **state)
{
    (void)state;
    version = 0;
    hub_init(&h);
    hub_add(&h, "a1");
    put_app(h.store, "a1", "a", 1, "", "");
    hub_start(&h);
    hub_settle(&h);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    hub_fini(&h);
    return 0;
}

/* NULL: no error any more. */
static void report(const char *data)
{
    hub_say(&h, &(hub_word){.agent = "a1",
                            .key = AB_KEY_ERROR "Application/argocd/a",
                            .subject = "argocd/a",
                            .target = AB_TARGET_APPLICATION,
                            .type = AB_TYPE_ERROR,
                            .data = data,
                            .version = ++version});
    hub_settle(&h);
    assert_true(hub_all_acknowledged(&h));
}

static void key_cannot_be_sent(const char *key)
{
    ab_event *event = sample_event(key, "{}", 1);
    ab_error err = {0};
    (void)ab_fail(&err, AB_ERR_TOOBIG, "too big");
    ab_principal_unsendable(h.principal, "a1", event, &err);
    ab_event_unref(event);
    hub_settle(&h);
}

static void cannot_be_sent(void)
{
    key_cannot_be_sent(APP);
}

static void an_object_is_deferred_while_its_agent_reports_an_error(void **state)
{
    (void)state;
    report("{\"message\":\"why\"}");
    assert_string_equal(h.deferred, APP);
    set_spec(h.store, APP, 2);
    hub_settle(&h);
    assert_string_equal(h.deferred, APP);
    report(NULL);
    assert_string_equal(h.deferred, "");
}

static void an_object_that_is_gone_is_not_deferred(void **state)
{
    (void)state;
    report("{\"message\":\"why\"}");
    fake_store_erase(h.store, APP);
    hub_settle(&h);
    hub_tick(&h, 1000);
    hub_settle(&h);
    assert_string_equal(h.deferred, "");
}

static void an_object_is_not_deferred_for_an_agent_that_was_removed(void **state)
{
    (void)state;
    report("{\"message\":\"why\"}");
    hub_remove(&h, "a1");
    assert_string_equal(h.deferred, "");
}

static void what_cannot_be_sent_is_deferred_until_it_changes(void **state)
{
    (void)state;
    cannot_be_sent();
    assert_string_equal(h.deferred, APP);
    set_spec(h.store, APP, 2);
    hub_settle(&h);
    assert_string_equal(h.deferred, "");
}

static void a_change_ends_only_its_own_reason(void **state)
{
    (void)state;
    report("{\"message\":\"why\"}");
    cannot_be_sent();
    set_spec(h.store, APP, 2);
    hub_settle(&h);
    assert_string_equal(h.deferred, APP);
    report(NULL);
    assert_string_equal(h.deferred, "");
}

static void put_project(const char *description)
{
    char json[300];
    snprintf(
        json, sizeof(json),
        "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":{"
        "\"name\":\"team\",\"namespace\":\"argocd\"},\"spec\":{\"description\":\"%s\","
        "\"sourceNamespaces\":[\"*\"],\"destinations\":[{\"name\":\"*\",\"namespace\":\"*\"}]}}",
        description);
    ab_object *project = sample_object(json);
    fake_store_put(h.store, project);
    ab_object_unref(project);
    hub_settle(&h);
}

static void report_project(const char *data)
{
    hub_say(&h, &(hub_word){.agent = "a1",
                            .key = AB_KEY_ERROR "AppProject/elsewhere/team",
                            .subject = "elsewhere/team",
                            .target = AB_TARGET_APPPROJECT,
                            .type = AB_TYPE_ERROR,
                            .data = data,
                            .version = ++version});
    hub_settle(&h);
}

static void a_shared_object_that_cannot_be_sent_is_deferred_until_it_changes(void **state)
{
    bool ours = false;
    (void)state;
    put_project("one");
    assert_non_null(hub_sent(&h, "a1", PROJECT));
    key_cannot_be_sent(PROJECT);
    assert_string_equal(h.deferred, PROJECT);
    assert_true(ab_str_is(ab_principal_why_deferred(h.principal, "a1", ab_str_of(PROJECT), &ours),
                          "too big"));
    assert_true(ours);
    report_project("{\"message\":\"why\"}");
    put_project("two");
    assert_string_equal(h.deferred, PROJECT); /* the agent's own error stands */
    report_project(NULL);
    assert_string_equal(h.deferred, "");
    key_cannot_be_sent(PROJECT);
    put_project("three");
    assert_string_equal(h.deferred, "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* The keys that are ended then are the log's own. */
static void what_cannot_be_sent_to_an_agent_is_forgotten_when_it_becomes_autonomous(void **state)
{
    (void)state;
    put_project("");
    key_cannot_be_sent(PROJECT);
    assert_string_equal(h.deferred, PROJECT);
    ab_principal_set_mode(h.principal, "a1", AB_AUTONOMOUS);
    hub_settle(&h);
    assert_string_equal(h.deferred, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_object_is_deferred_while_its_agent_reports_an_error),
        TEST(an_object_that_is_gone_is_not_deferred),
        TEST(an_object_is_not_deferred_for_an_agent_that_was_removed),
        TEST(what_cannot_be_sent_is_deferred_until_it_changes),
        TEST(a_change_ends_only_its_own_reason),
        TEST(a_shared_object_that_cannot_be_sent_is_deferred_until_it_changes),
        TEST(what_cannot_be_sent_to_an_agent_is_forgotten_when_it_becomes_autonomous),
    };
    return cmocka_run_group_tests_name("principal_deferred", tests, NULL, NULL);
}
