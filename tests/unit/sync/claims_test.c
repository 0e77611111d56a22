/* SPDX-License-Identifier: Apache-2.0
 *
 * One name at the hub that two agents claim: project a-p of autonomous w1 and project p of
 * autonomous w1-a are both w1-a-p there. It is w1-a's, whoever comes first.
 */
#include "schema/attributes.h"
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PLACE    "AppProject/argocd/w1-a-p"
#define PROJECT  "AppProject/argocd/a-p"
#define OTHER    "w1-a"
#define OTHERS_P "AppProject/argocd/p"
#define OTHERS_A "Application/w1-a/a" /* its mirror */
#define OWN      "AppProject/argocd/w1-b"

static void serve(const char *agent)
{
    assert_int_equal(ab_principal_add_agent(w.principal, agent), AB_ERR_OK);
    ab_principal_set_mode(w.principal, agent, AB_AUTONOMOUS);
    ab_principal_ready(w.principal, agent, 1);
    world_settle(&w);
}

static void serve_other(void)
{
    serve(OTHER);
}

static void serve_other_no_more(void)
{
    ab_principal_remove_agent(w.principal, OTHER);
    world_settle(&w);
}

static int setup_one(void **state)
{
    (void)setup(state);
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    world_start(&w);
    return 0;
}

static int setup_destinations(void **state)
{
    (void)setup(state);
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    w.namespaces = ab_patterns_new();
    assert_int_equal(ab_patterns_add(w.namespaces, AB_STR("w*"), NULL), AB_ERR_OK);
    world_start(&w);
    return 0;
}

static int setup_agents(void **state)
{
    (void)setup_one(state);
    serve_other();
    return 0;
}

static int setup_resyncs(void **state)
{
    (void)setup(state);
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    w.resyncs = true;
    world_start(&w);
    serve_other();
    return 0;
}

static void put(fake_store *store, const char *json)
{
    ab_object *o = NULL;
    assert_int_equal(ab_object_parse(ab_str_of(json), &o, NULL), AB_ERR_OK);
    fake_store_put(store, o);
    ab_object_unref(o);
    world_settle(&w);
}

static void put_project_named(const char *name, int n)
{
    char text[256];
    snprintf(text, sizeof(text),
             "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":{"
             "\"name\":\"%s\",\"namespace\":\"argocd\"},\"spec\":{\"n\":%d}}",
             name, n);
    put(w.local, text);
}

static void put_project(int n)
{
    put_project_named("a-p", n);
}

/* @param project  as JSON text has it */
static void put_application(const char *project)
{
    char text[256];
    snprintf(text, sizeof(text),
             "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{"
             "\"name\":\"a\",\"namespace\":\"argocd\"},\"spec\":{\"project\":\"%s\"}}",
             project);
    put(w.local, text);
}

static void put_hubs_own(const char *more)
{
    char text[300];
    snprintf(text, sizeof(text),
             "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":{"
             "\"name\":\"w1-b\",\"namespace\":\"argocd\"%s},\"spec\":{\"n\":9}}",
             more);
    put(w.hub, text);
}

/* Project b of w1, whose place is that of the hub's own, and which says that it was made from that.
 */
static void put_project_of_hubs_own(void)
{
    char text[400];
    const ab_object *own = fake_store_find(w.hub, OWN);
    snprintf(text, sizeof(text),
             "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":{"
             "\"name\":\"b\",\"namespace\":\"argocd\",\"annotations\":{\"" AB_ANN_FORMER_UID
             "\":\"%.*s\"}},\"spec\":{\"n\":1}}",
             AB_STR_ARG(ab_object_uid(own)));
    put(w.local, text);
}

static bool names_project(const char *key, const char *project)
{
    const ab_object *o = fake_store_find(w.hub, key);
    return ab_span_is(ab_span_get(ab_object_field(o, "spec"), "project"), project);
}

static bool is_in_project(const char *name)
{
    return names_project(HUB, name);
}

/* The other agent says so of its object. @param data  absent: it has none any more */
static void other_publishes(const char *key, ab_str data, uint64_t version)
{
    ab_event *event = NULL;
    ab_event_draft d = {.data = data};
    ab_target target = ab_kind_of_key(ab_str_of(key))->target;
    ab_event_set_text(&d, AB_CE_ID, "x");
    ab_event_set_text(&d, AB_CE_SOURCE, AB_SOURCE_AGENT OTHER);
    ab_event_set_text(&d, AB_CE_TYPE,
                      ab_type_name(data.ptr == NULL ? AB_TYPE_DELETE : AB_TYPE_CREATE));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(target));
    ab_event_set_text(&d, AB_CE_SUBJECT, strchr(key, '/') + 1);
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, key);
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, 1);
    ab_event_set_u64(&d, AB_CE_OBJVERSION, version);
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    fake_log_append(w.up, event); /* the world has one log up: the delivery comes from there */
    fake_delivery *delivery = fake_log_next(w.up);
    ab_principal_deliver(w.principal, OTHER, fake_delivery_event(delivery), delivery);
    ab_event_unref(event);
    world_settle(&w);
}

/* The other agent has project p with this spec; -1: it has none any more. */
static void other_says(int n, uint64_t version)
{
    char data[256];
    snprintf(data, sizeof(data),
             "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":{"
             "\"name\":\"p\",\"namespace\":\"argocd\",\"uid\":\"other\"},\"spec\":{\"n\":%d}}",
             n);
    other_publishes(OTHERS_P, n < 0 ? AB_STR_NONE : ab_str_of(data), version);
}

static void other_has_application(uint64_t version)
{
    other_publishes(
        LOCAL,
        AB_STR("{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{"
               "\"name\":\"a\",\"namespace\":\"argocd\",\"uid\":\"app\"},\"spec\":{"
               "\"project\":\"p\"}}"),
        version);
}

static int at_hub(void)
{
    return spec_of(fake_store_find(w.hub, PLACE));
}

static double refused(void)
{
    ab_label label = {"reason", AB_STR("taken")};
    return ab_metric_value(ab_metric_get(w.principal_metrics, AB_METRIC_COUNTER,
                                         "argobus_events_refused_total", "", &label, 1));
}

static double conflicts(void)
{
    ab_label label = {"agent", AB_STR("w1")};
    return ab_metric_value(ab_metric_get(w.principal_metrics, AB_METRIC_GAUGE,
                                         "argobus_mirror_conflicts", "", &label, 1));
}

static void a_name_is_the_longer_agents_when_the_other_comes_first(void **state)
{
    (void)state;
    put_project(1);
    assert_int_equal(at_hub(), -1);
    assert_int_equal((int)refused(), 1);
    other_says(7, 1);
    assert_int_equal(at_hub(), 7);
    put_project(2);
    assert_int_equal(at_hub(), 7);
    assert_int_equal((int)refused(), 2);
    assert_at_rest();
}

static void a_name_is_the_longer_agents_when_it_comes_first(void **state)
{
    (void)state;
    other_says(7, 1);
    put_project(1);
    assert_int_equal(at_hub(), 7);
    assert_int_equal((int)refused(), 1);
    fake_store_erase(w.local, PROJECT);
    world_settle(&w);
    assert_int_equal(at_hub(), 7);
    other_says(-1, 2);
    assert_int_equal(at_hub(), -1);
    assert_at_rest();
}

/* Other agents have it, too: it is not its to change. */
static void a_project_of_the_hub_is_not_claimed_by_who_knows_its_uid(void **state)
{
    (void)state;
    put_hubs_own("");
    put_project_of_hubs_own();
    assert_int_equal(spec_of(fake_store_find(w.hub, OWN)), 9);
    assert_int_equal((int)conflicts(), 1);
    fake_store_erase(w.local, "AppProject/argocd/b");
    world_settle(&w);
    assert_int_equal(spec_of(fake_store_find(w.hub, OWN)), 9);
    assert_at_rest();
}

static void a_mirror_goes_when_an_agent_comes_whose_name_it_has(void **state)
{
    (void)state;
    put_project(1);
    assert_int_equal(at_hub(), 1);
    serve_other();
    assert_int_equal(at_hub(), -1);
    put_project(2);
    assert_int_equal(at_hub(), -1);
    assert_int_equal((int)refused(), 1);
    other_says(7, 1);
    assert_int_equal(at_hub(), 7);
    assert_at_rest();
}

static void a_mirror_comes_back_when_that_agent_has_gone(void **state)
{
    (void)state;
    put_project(1);
    serve_other();
    assert_int_equal(at_hub(), -1);
    serve_other_no_more();
    assert_int_equal(at_hub(), 1);
    put_project(2);
    assert_int_equal(at_hub(), 2);
    assert_at_rest();
}

static void serve_no_more(void)
{
    ab_principal_remove_agent(w.principal, "w1");
    world_settle(&w);
}

static void a_mirror_goes_when_that_agent_came_while_its_own_was_not_served(void **state)
{
    (void)state;
    put_project(1);
    serve_no_more();
    serve_other();
    serve("w1");
    assert_int_equal(at_hub(), -1);
}

/* Its agent says it only once. */
static void a_project_that_was_refused_is_asked_for_when_its_name_is_free(void **state)
{
    (void)state;
    put_project(1);
    assert_int_equal(at_hub(), -1);
    serve_other_no_more();
    world_run(&w, 2);
    assert_int_equal(at_hub(), 1);
    assert_at_rest();
}

static void a_project_takes_the_place_of_what_was_left_behind_and_is_deleted(void **state)
{
    (void)state;
    other_says(7, 1);
    put_project(1);
    serve_other_no_more();
    world_run(&w, 2);
    assert_int_equal(at_hub(), 7);
    fake_store_erase(w.hub, PLACE);
    world_run(&w, 2);
    assert_int_equal(at_hub(), 1);
    serve_other();
    assert_int_equal(at_hub(), -1);
    other_says(8, 1);
    assert_int_equal(at_hub(), 8);
}

/* What a former principal mirrored under a name that is another agent's now. */
static void restart_with_other(void)
{
    world_start_principal(&w);
    assert_int_equal(ab_principal_add_agent(w.principal, OTHER), AB_ERR_OK);
    ab_principal_set_mode(w.principal, OTHER, AB_AUTONOMOUS);
    ab_principal_ready(w.principal, OTHER, 2);
    world_settle(&w);
}

static void a_mirror_goes_when_that_agent_came_while_no_principal_ran(void **state)
{
    (void)state;
    put_project(1);
    world_crash_principal(&w);
    restart_with_other();
    assert_int_equal(at_hub(), -1);
    other_says(7, 1);
    assert_int_equal(at_hub(), 7);
    world_crash_principal(&w);
    restart_with_other();
    put_project(2);
    assert_int_equal(at_hub(), 7);
}

static void a_mirror_of_which_nothing_is_kept_goes_as_well(void **state)
{
    (void)state;
    put_project(1);
    world_crash_principal(&w);
    world_forget_mirrors(&w);
    restart_with_other();
    assert_int_equal(at_hub(), -1);
    other_says(7, 1);
    assert_int_equal(at_hub(), 7);
}

/* From a backup of the time before that agent. */
static void what_comes_back_under_a_name_that_is_anothers_now_is_replaced(void **state)
{
    (void)state;
    other_says(7, 1);
    world_crash_principal(&w);
    fake_store_erase(w.hub, PLACE);
    put(w.hub,
        "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":{"
        "\"name\":\"w1-a-p\",\"namespace\":\"argocd\",\"annotations\":{"
        "\"" AB_ANN_SOURCE_UID "\":\"x\",\"" AB_ANN_MIRROR "\":\"1.1/w1\"}},\"spec\":{\"n\":1}}");
    restart_with_other();
    assert_int_equal(at_hub(), 7);
}

static void the_end_of_what_has_no_name_deletes_nothing(void **state)
{
    (void)state;
    other_says(7, 1);
    put_project(1);
    fake_store_erase(w.local, PROJECT);
    world_settle(&w);
    assert_int_equal(at_hub(), 7);
    assert_at_rest();
}

static void an_application_is_never_of_another_agents_project(void **state)
{
    (void)state;
    put_application("a-p");
    assert_true(is_in_project("w1_a-p"));
    assert_true(has_error(hub()));
    put_application("a\\u002dp");
    assert_true(is_in_project("w1_a-p"));
    other_says(7, 1);
    assert_true(is_in_project("w1_a-p"));
    put_application("q");
    assert_true(is_in_project("w1-q"));
    assert_false(has_error(hub()));
    assert_at_rest();
}

static void a_project_may_be_of_the_agent_with_the_longest_name(void **state)
{
    char longest[64], project[80], refused[80];
    (void)state;
    snprintf(longest, sizeof(longest), "w1-%060d", 0);
    snprintf(project, sizeof(project), "%060d-p", 0);
    snprintf(refused, sizeof(refused), "w1_%060d-p", 0);
    serve(longest);
    put_application(project);
    assert_true(is_in_project(refused));
    ab_principal_remove_agent(w.principal, longest);
}

static void an_application_leaves_a_project_that_becomes_another_agents(void **state)
{
    (void)state;
    put_project(1);
    put_application("a-p");
    assert_true(is_in_project("w1-a-p"));
    serve_other();
    assert_true(is_in_project("w1_a-p"));
    assert_true(has_error(hub()));
    other_says(7, 1);
    serve_other_no_more(); /* its mirror stays */
    assert_int_equal(at_hub(), 7);
    assert_true(is_in_project("w1_a-p"));
    fake_store_erase(w.hub, PLACE);
    world_settle(&w);
    assert_true(is_in_project("w1-a-p"));
    assert_false(has_error(hub()));
}

/* What an agent that is served no more has left in its place becomes the agent's, in place. */
static void an_application_enters_a_project_that_becomes_its_agents(void **state)
{
    (void)state;
    put_project(1);
    serve_no_more();
    serve_other();
    other_has_application(1);
    assert_true(names_project(OTHERS_A, "w1-a_p"));
    other_says(7, 2);
    assert_int_equal(at_hub(), 7);
    assert_true(names_project(OTHERS_A, "w1-a-p"));
    assert_false(has_error(fake_store_find(w.hub, OTHERS_A)));
}

/* Somebody deletes what an agent has left behind, and brings it back from a copy. */
static void an_application_leaves_a_project_that_comes_back_as_another_agents(void **state)
{
    (void)state;
    put_project(1);
    serve_no_more();
    ab_object *copy = ab_object_ref(fake_store_find(w.hub, PLACE));
    fake_store_erase(w.hub, PLACE);
    serve_other();
    other_has_application(1);
    assert_true(names_project(OTHERS_A, "w1-a-p"));
    fake_store_put(w.hub, copy);
    ab_object_unref(copy);
    world_settle(&w);
    assert_int_equal(at_hub(), 1);
    assert_true(names_project(OTHERS_A, "w1-a_p"));
}

static void an_application_is_never_of_the_hubs_own_project(void **state)
{
    (void)state;
    static const char *const more[] = {"", ",\"labels\":{\"" AB_LABEL_IGNORE_SYNC "\":\"true\"}"};
    for (size_t i = 0; i < 2; i++) {
        put_hubs_own(more[i]);
        put_application("b");
        assert_true(is_in_project("w1_b"));
        assert_true(has_error(hub()));
        fake_store_erase(w.hub, "AppProject/argocd/w1-b");
        world_settle(&w);
        assert_true(is_in_project("w1-b"));
        assert_false(has_error(hub()));
    }
    put_hubs_own("");
    assert_true(is_in_project("w1_b"));
    assert_int_equal((int)world_count(w.principal_metrics, "argobus_reverts_total"), 0);
    assert_at_rest();
}

static void nor_is_it_after_that_came_while_its_agent_was_not_served(void **state)
{
    (void)state;
    put_application("b");
    assert_true(is_in_project("w1-b"));
    serve_no_more();
    put_hubs_own("");
    serve("w1");
    assert_true(is_in_project("w1_b"));
    assert_true(has_error(hub()));
    serve_no_more();
    fake_store_erase(w.hub, OWN);
    world_settle(&w);
    serve("w1");
    assert_true(is_in_project("w1-b"));
}

/* Nor of one that another program keeps there, under a name that is the agent's. */
static void an_application_is_never_of_a_project_that_could_not_be_mirrored(void **state)
{
    (void)state;
    put_hubs_own(",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"foreign\"}");
    put_project_named("b", 1);
    assert_int_equal(spec_of(fake_store_find(w.hub, "AppProject/argocd/w1-b")), 9);
    put_application("b");
    assert_true(is_in_project("w1_b"));
    assert_true(has_error(hub()));
    fake_store_erase(w.hub, "AppProject/argocd/w1-b");
    world_settle(&w);
    assert_int_equal(spec_of(fake_store_find(w.hub, "AppProject/argocd/w1-b")), 1);
    assert_true(is_in_project("w1-b"));
    assert_false(has_error(hub()));
}

/* An agent says which object of the control plane its own was made from: whose mirror that is now
 * it cannot say. */
static void a_mirror_is_taken_over_by_no_agents_word(void **state)
{
    char text[400];
    (void)state;
    put_hubs_own(",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"foreign\"}");
    const ab_object *theirs = fake_store_find(w.hub, "AppProject/argocd/w1-b");
    snprintf(text, sizeof(text),
             "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":{"
             "\"name\":\"b\",\"namespace\":\"argocd\",\"annotations\":{"
             "\"" AB_ANN_FORMER_UID "\":\"%.*s\"}},\"spec\":{\"n\":1}}",
             AB_STR_ARG(ab_object_uid(theirs)));
    put(w.local, text);
    assert_int_equal(spec_of(fake_store_find(w.hub, "AppProject/argocd/w1-b")), 9);
}

/* It may have been the agent's before, which knows its uid from that time. */
static void nor_is_an_application_of_another_agent(void **state)
{
    static const char *const agents[] = {"w2", "w1"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char spec[64], meta[128];
        put_app(w.hub, "w1", "a", 9, "", "");
        snprintf(spec, sizeof(spec), "{\"n\":9,\"destination\":{\"name\":\"%s\"}}", agents[i]);
        set_field(w.hub, HUB, "spec", spec);
        snprintf(meta, sizeof(meta), ",\"annotations\":{\"" AB_ANN_FORMER_UID "\":\"%.*s\"}",
                 AB_STR_ARG(ab_object_uid(hub())));
        put_app(w.local, "argocd", "a", 1, meta, "");
        world_settle(&w);
        assert_int_equal(spec_of(hub()), i == 0 ? 9 : 1);
    }
}

int main(void)
{
#define ONE(f)          cmocka_unit_test_setup_teardown(f, setup_one, teardown)
#define AGENTS(f)       cmocka_unit_test_setup_teardown(f, setup_agents, teardown)
#define DESTINATIONS(f) cmocka_unit_test_setup_teardown(f, setup_destinations, teardown)
#define RESYNCS(f)      cmocka_unit_test_setup_teardown(f, setup_resyncs, teardown)
    const struct CMUnitTest tests[] = {
        AGENTS(a_name_is_the_longer_agents_when_the_other_comes_first),
        AGENTS(a_name_is_the_longer_agents_when_it_comes_first),
        ONE(a_project_of_the_hub_is_not_claimed_by_who_knows_its_uid),
        ONE(a_mirror_goes_when_an_agent_comes_whose_name_it_has),
        ONE(a_mirror_comes_back_when_that_agent_has_gone),
        ONE(a_mirror_goes_when_that_agent_came_while_its_own_was_not_served),
        RESYNCS(a_project_takes_the_place_of_what_was_left_behind_and_is_deleted),
        RESYNCS(a_project_that_was_refused_is_asked_for_when_its_name_is_free),
        ONE(a_mirror_goes_when_that_agent_came_while_no_principal_ran),
        ONE(a_mirror_of_which_nothing_is_kept_goes_as_well),
        AGENTS(what_comes_back_under_a_name_that_is_anothers_now_is_replaced),
        AGENTS(the_end_of_what_has_no_name_deletes_nothing),
        AGENTS(an_application_is_never_of_another_agents_project),
        ONE(a_project_may_be_of_the_agent_with_the_longest_name),
        ONE(an_application_leaves_a_project_that_becomes_another_agents),
        ONE(an_application_enters_a_project_that_becomes_its_agents),
        ONE(an_application_leaves_a_project_that_comes_back_as_another_agents),
        ONE(an_application_is_never_of_the_hubs_own_project),
        ONE(nor_is_it_after_that_came_while_its_agent_was_not_served),
        ONE(an_application_is_never_of_a_project_that_could_not_be_mirrored),
        ONE(a_mirror_is_taken_over_by_no_agents_word),
        DESTINATIONS(nor_is_an_application_of_another_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
