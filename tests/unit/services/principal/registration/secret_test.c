/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/registration/secret.h"

#include "base/core/base64.h"
#include "schema/attributes.h"
#include "tests/unit/scarce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const ab_registration_form form = {
    .namespace = "argocd", .server = "https://hub:9090", .ca = {"PEM", 3}};

static ab_buf data_with(const char *token)
{
    ab_buf data;
    ab_buf_init(&data, 4096);
    assert_int_equal(ab_registration_data(&form, AB_STR("w1"), token, &data), AB_ERR_OK);
    return data;
}

/* Without `config` Argo CD could not log in to the agent. */
static void what_memory_is_too_short_for_is_not_left_out(void **state)
{
    (void)state;
    ab_buf whole = data_with("tok");
    bool refused = true;
    for (long i = 0; refused; i++) {
        ab_buf data;
        ab_buf_init_secret(&data, 4096);
        scarce_allocations_left = i;
        ab_err e = ab_registration_data(&form, AB_STR("w1"), "tok", &data);
        refused = scarce_allocations_left < 0;
        scarce_allocations_left = -1;
        assert_int_equal(e, refused ? AB_ERR_NOMEM : AB_ERR_OK);
        if (!refused)
            assert_true(ab_str_eq(ab_buf_str(&data), ab_buf_str(&whole)));
        ab_buf_fini(&data);
    }
    ab_buf_fini(&whole);
}

static ab_object *made(bool by_hand)
{
    ab_registration_form f = form;
    ab_object *o = NULL;
    ab_buf data = data_with("tok");
    f.by_hand = by_hand;
    assert_int_equal(ab_registration_make(&f, AB_STR("w1"), "managed",
                                          AB_STR("region=eu,tier=,region=us"), ab_buf_str(&data),
                                          &o),
                     AB_ERR_OK);
    ab_buf_fini(&data);
    return o;
}

static void assert_data(const ab_object *o, const char *name, const char *content)
{
    ab_buf text;
    ab_buf_init(&text, 4096);
    ab_str encoded = ab_span_plain(ab_span_get(ab_object_field(o, "data"), name));
    assert_true(ab_base64_decode(encoded, &text));
    assert_true(ab_str_is(ab_buf_str(&text), content));
    ab_buf_fini(&text);
}

static void a_secret_says_what_argo_cd_and_the_principal_read(void **state)
{
    (void)state;
    ab_object *o = made(false);
    ab_spanv labels = ab_object_meta(o, "labels");
    assert_string_equal(ab_object_key(o), "Secret/argocd/cluster-w1");
    assert_true(ab_span_is(ab_span_get(labels, AB_LABEL_SECRET_TYPE), "cluster"));
    assert_true(ab_span_is(ab_span_get(labels, "region"), "eu"));
    assert_true(ab_span_is(ab_span_get(labels, "tier"), ""));
    assert_int_equal(ab_span_count(labels), 5);
    assert_true(ab_str_is(ab_registration_agent_of(o), "w1"));
    assert_true(ab_str_is(ab_object_annotation(o, AB_ANN_MODE), "managed"));
    assert_true(ab_str_is(ab_object_annotation(o, AB_ANN_SKIP_RECONCILE), "true"));
    assert_data(o, "name", "w1");
    assert_data(o, "server", "https://hub:9090/agents/w1");
    assert_data(o, "config", "{\"bearerToken\":\"tok\",\"tlsClientConfig\":{\"caData\":\"UEVN\"}}");
    assert_false(ab_registration_is_waiting(o));
    ab_object_unref(o);
}

static void one_that_needs_approval_waits(void **state)
{
    (void)state;
    ab_object *o = made(true);
    assert_true(ab_registration_is_waiting(o));
    ab_object_unref(o);
}

static ab_object *with_labels(const char *labels)
{
    char json[500];
    ab_object *o = NULL;
    snprintf(json, sizeof(json),
             "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"x\",\"namespace\":\"argocd\","
             "\"labels\":{%s}}}",
             labels);
    assert_int_equal(ab_object_parse(ab_str_of(json), &o, NULL), AB_ERR_OK);
    return o;
}

#define CLUSTER "\"" AB_LABEL_SECRET_TYPE "\":\"cluster\",\"" AB_LABEL_AGENT_NAME "\":\"w1\""

static void a_manual_secret_is_not_ours_and_never_waits(void **state)
{
    (void)state;
    ab_object *o = with_labels(CLUSTER ",\"" AB_LABEL_APPROVED "\":\"false\"");
    assert_null(ab_registration_agent_of(o).ptr);
    assert_false(ab_registration_is_waiting(o));
    ab_object_unref(o);
}

static void a_secret_whose_label_is_no_agents_name_is_not_ours(void **state)
{
    (void)state;
    ab_object *o = with_labels("\"" AB_LABEL_SECRET_TYPE "\":\"cluster\",\"" AB_LABEL_AGENT_NAME
                               "\":\"W_1\",\"" AB_LABEL_REGISTERED "\":\"true\"");
    assert_null(ab_registration_agent_of(o).ptr);
    ab_object_unref(o);
}

static void only_the_value_true_approves(void **state)
{
    static const struct {
        const char *value;
        bool waits;
    } rows[] = {{"true", false}, {"false", true}, {"True", true}, {"", true}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char labels[300];
        snprintf(labels, sizeof(labels),
                 CLUSTER ",\"" AB_LABEL_REGISTERED "\":\"true\",\"" AB_LABEL_APPROVED "\":\"%s\"",
                 rows[i].value);
        ab_object *o = with_labels(labels);
        assert_int_equal(ab_registration_is_waiting(o), rows[i].waits);
        ab_object_unref(o);
    }
}

static void a_secret_is_current_until_what_it_should_say_changes(void **state)
{
    (void)state;
    ab_object *o = made(false);
    ab_buf same = data_with("tok"), other = data_with("other");
    assert_true(ab_registration_is_current(o, ab_buf_str(&same)));
    assert_false(ab_registration_is_current(o, ab_buf_str(&other)));
    ab_buf_fini(&same);
    ab_buf_fini(&other);
    ab_object_unref(o);
}

static void a_refresh_keeps_what_others_added(void **state)
{
    ab_object *before = NULL, *after = NULL;
    ab_buf data = data_with("new");
    (void)state;
    assert_int_equal(
        ab_object_parse(AB_STR("{\"kind\":\"Secret\",\"metadata\":{\"name\":\"cluster-w1\","
                               "\"namespace\":\"argocd\",\"labels\":{\"env\":\"prod\"},"
                               "\"annotations\":{\"note\":\"mine\"}},\"data\":{\"shard\":\"MQ==\","
                               "\"server\":\"b2xk\"}}"),
                        &before, NULL),
        AB_ERR_OK);
    assert_int_equal(ab_registration_refresh(before, ab_buf_str(&data), &after), AB_ERR_OK);
    assert_true(ab_span_is(ab_span_get(ab_object_meta(after, "labels"), "env"), "prod"));
    assert_true(ab_str_is(ab_object_annotation(after, "note"), "mine"));
    assert_data(after, "shard", "1");
    assert_data(after, "server", "https://hub:9090/agents/w1");
    assert_true(ab_registration_is_current(after, ab_buf_str(&data)));
    ab_buf_fini(&data);
    ab_object_unref(before);
    ab_object_unref(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_says_what_argo_cd_and_the_principal_read),
        cmocka_unit_test(what_memory_is_too_short_for_is_not_left_out),
        cmocka_unit_test(one_that_needs_approval_waits),
        cmocka_unit_test(a_manual_secret_is_not_ours_and_never_waits),
        cmocka_unit_test(a_secret_whose_label_is_no_agents_name_is_not_ours),
        cmocka_unit_test(only_the_value_true_approves),
        cmocka_unit_test(a_secret_is_current_until_what_it_should_say_changes),
        cmocka_unit_test(a_refresh_keeps_what_others_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
