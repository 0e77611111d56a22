/* SPDX-License-Identifier: Apache-2.0
 *
 * One place at the hub that two agents claim: project a-p of autonomous w1 and project p of
 * autonomous w1-a are both w1-a-p there. Who has it first keeps it.
 */
#include "pair.h"
#include "schema/attributes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define PLACE    "AppProject/argocd/w1-a-p"
#define PROJECT  "AppProject/argocd/a-p"
#define RIVAL    "w1-a"
#define RIVALS_P "AppProject/argocd/p"

static int setup_agents(void **state)
{
    (void)setup(state);
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    world_start(&w);
    assert_int_equal(ab_principal_add_agent(w.principal, RIVAL), AB_ERR_OK);
    ab_principal_set_mode(w.principal, RIVAL, AB_AUTONOMOUS);
    ab_principal_ready(w.principal, RIVAL, 1);
    return 0;
}

static void put_project(int n)
{
    char text[256];
    ab_object *o = NULL;
    snprintf(text, sizeof(text),
             "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":{"
             "\"name\":\"a-p\",\"namespace\":\"argocd\"},\"spec\":{\"n\":%d}}",
             n);
    assert_int_equal(ab_object_parse(ab_str_of(text), &o, NULL), AB_ERR_OK);
    fake_store_put(w.local, o);
    ab_object_unref(o);
    world_settle(&w);
}

/* The rival has project p with this spec; -1: it has none any more. */
static void rival_says(int n, uint64_t version)
{
    char data[256];
    ab_event *event = NULL;
    ab_event_draft d = {0};
    snprintf(data, sizeof(data),
             "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":{"
             "\"name\":\"p\",\"namespace\":\"argocd\",\"uid\":\"rival\"},\"spec\":{\"n\":%d}}",
             n);
    d.data = n < 0 ? AB_STR_NONE : ab_str_of(data);
    ab_event_set_text(&d, AB_CE_ID, "x");
    ab_event_set_text(&d, AB_CE_SOURCE, AB_SOURCE_AGENT RIVAL);
    ab_event_set_text(&d, AB_CE_TYPE, ab_type_name(n < 0 ? AB_TYPE_DELETE : AB_TYPE_CREATE));
    ab_event_set_text(&d, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_APPPROJECT));
    ab_event_set_text(&d, AB_CE_SUBJECT, "argocd/p");
    ab_event_set_text(&d, AB_CE_PARTITIONKEY, RIVALS_P);
    ab_event_set_u64(&d, AB_CE_WRITEREPOCH, 1);
    ab_event_set_u64(&d, AB_CE_OBJVERSION, version);
    assert_int_equal(ab_event_new(&d, &event, NULL), AB_ERR_OK);
    fake_log_append(w.up, event); /* the world has one log up: the delivery comes from there */
    fake_delivery *delivery = fake_log_next(w.up);
    ab_principal_deliver(w.principal, RIVAL, fake_delivery_event(delivery), delivery);
    ab_event_unref(event);
    world_settle(&w);
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

static void who_has_a_place_first_keeps_it_and_the_other_is_counted(void **state)
{
    (void)state;
    put_project(1);
    assert_int_equal(at_hub(), 1);
    rival_says(7, 1);
    assert_int_equal(at_hub(), 1);
    assert_int_equal((int)refused(), 1);
    put_project(2);
    assert_int_equal(at_hub(), 2);
    assert_at_rest();
}

static void the_end_of_what_has_no_place_deletes_nothing(void **state)
{
    (void)state;
    put_project(1);
    rival_says(7, 1);
    rival_says(-1, 2);
    assert_int_equal(at_hub(), 1);
    assert_at_rest();
}

static void a_place_that_is_free_again_is_anybodys(void **state)
{
    (void)state;
    put_project(1);
    rival_says(7, 1);
    fake_store_erase(w.local, PROJECT);
    world_settle(&w);
    assert_int_equal(at_hub(), -1);
    rival_says(8, 2);
    assert_int_equal(at_hub(), 8);
    put_project(3);
    assert_int_equal(at_hub(), 8);
    assert_int_equal((int)refused(), 2);
    fake_store_erase(w.local, PROJECT);
    world_settle(&w);
    assert_int_equal(at_hub(), 8);
    assert_at_rest();
}

int main(void)
{
#define AGENTS(f) cmocka_unit_test_setup_teardown(f, setup_agents, teardown)
    const struct CMUnitTest tests[] = {
        AGENTS(who_has_a_place_first_keeps_it_and_the_other_is_counted),
        AGENTS(the_end_of_what_has_no_place_deletes_nothing),
        AGENTS(a_place_that_is_free_again_is_anybodys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
