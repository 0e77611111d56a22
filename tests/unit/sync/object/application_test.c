/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/application.h"

#include "schema/attributes.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HEAD           "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{"
#define DELETED        ",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\""
#define APPROVED(when) ",\"annotations\":{\"" AB_ANN_DELETION_APPROVED "\":\"" when "\"}"
#define ID             "\"name\":\"a\",\"namespace\":\"w1\""

/* Text that must pass through byte for byte. */
#define ODD                                                                                        \
    "{\"big\":9007199254740993,\"nul\":\"\\u0000\",\"exp\":1.50e3,\"list\":[3,1,2],"               \
    "\"unknown\":{\"z\":null,\"a\":true}}"

static void assert_text(ab_buf *out, ab_err e, const char *expected)
{
    assert_int_equal(e, AB_ERR_OK);
    assert_string_equal(out->ptr, expected);
    ab_buf_fini(out);
}

static void assert_desired(const char *hub, const char *expected)
{
    ab_buf out;
    ab_object *o = sample_object(hub);
    ab_buf_init(&out, 65536);
    assert_text(&out, ab_app_desired(o, &out), expected);
    ab_object_unref(o);
}

static void a_desired_leaves_out_status_operation_and_server_metadata(void **state)
{
    (void)state;
    assert_desired(HEAD ID ",\"uid\":\"u\",\"resourceVersion\":\"7\",\"generation\":3,"
                           "\"managedFields\":[],\"selfLink\":\"/x\",\"labels\":{\"l\":\"1\"},"
                           "\"finalizers\":[\"f\"]},\"spec\":" ODD
                           ",\"status\":{\"x\":1},\"operation\":{\"sync\":{}},\"extra\":[1]}",
                   "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"spec\":" ODD
                   ",\"extra\":[1],\"metadata\":{" ID ",\"uid\":\"u\",\"labels\":{\"l\":\"1\"},"
                   "\"finalizers\":[\"f\"]}}");
}

/* Argo CD at the agent would prune it with an Application there that is called as the hub's. */
static void a_desired_is_no_part_of_an_application_of_the_agent(void **state)
{
    (void)state;
    assert_desired(HEAD ID ",\"labels\":{\"a\":\"1\",\"app.kubernetes.io/instance\":\"apps\"},"
                           "\"annotations\":{\"argocd.argoproj.io/tracking-id\":\"apps:argoproj.io/"
                           "Application:argocd/a\",\"k\":\"2\"}}}",
                   "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\","
                   "\"metadata\":{" ID ",\"labels\":{\"a\":\"1\"},\"annotations\":{\"k\":\"2\"}}}");
}

#define BARE_WISH                                                                                  \
    "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{" ID "}}"

static void bookkeeping_annotations_do_not_change_a_desired(void **state)
{
    (void)state;
    assert_desired(HEAD ID "}}", BARE_WISH);
    assert_desired(HEAD ID ",\"annotations\":{}}}", BARE_WISH);
    assert_desired(HEAD ID ",\"annotations\":{\"" AB_ANN_REFRESH
                           "\":\"hard\",\"" AB_ANN_LAST_APPLIED "\":\"{}\",\"" AB_ANN_LAST_UPDATED
                           "\":\"t\",\"argobus.io/anything\":\"1\"}}}",
                   BARE_WISH);
    assert_desired(HEAD ID ",\"annotations\":{\"" AB_ANN_SOURCE_UID
                           "\":\"u\",\"" AB_ANN_PRINCIPAL_UID "\":\"p\",\"" AB_ANN_REMAPPED
                           "\":\"true\"}}}",
                   BARE_WISH);
}

static void the_users_annotations_are_part_of_the_desired(void **state)
{
    (void)state;
    assert_desired(
        HEAD ID ",\"annotations\":{\"mine\":\"1\",\"" AB_ANN_REFRESH "\":\"normal\"}}}",
        "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{" ID
        ",\"annotations\":{\"mine\":\"1\"}}}");
}

static void a_desired_keeps_the_deletion_time_stamp(void **state)
{
    (void)state;
    assert_desired(
        HEAD ID ",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"}}",
        "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{" ID
        ",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"}}");
}

static void a_report_carries_identity_state_and_answers(void **state)
{
    (void)state;
    ab_buf out;
    ab_object *o = sample_object(
        HEAD "\"name\":\"a\",\"namespace\":\"argocd\",\"uid\":\"local\",\"labels\":{\"l\":\"1\"},"
             "\"annotations\":{\"mine\":\"1\",\"" AB_ANN_REFRESH "\":\"hard\","
             "\"" AB_ANN_SOURCE_UID "\":\"s\",\"argobus.io/last-operation\":\"1.2/x\"}},"
             "\"spec\":{},\"operation\":{\"n\":1},\"status\":" ODD "}");
    ab_buf_init(&out, 65536);
    assert_text(&out, ab_app_report(o, &out),
                "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{"
                "\"name\":\"a\",\"namespace\":\"argocd\",\"uid\":\"local\",\"annotations\":{"
                "\"" AB_ANN_SOURCE_UID "\":\"s\",\"" AB_ANN_REFRESH
                "\":\"hard\",\"argobus.io/last-operation\":\"1.2/x\"}},"
                "\"operation\":{\"n\":1},\"status\":" ODD "}");
    ab_object_unref(o);
}

static void assert_edited(const char *before, const ab_app_edit *edit, const char *expected)
{
    ab_buf out;
    ab_object *o = sample_object(before);
    ab_buf_init(&out, 65536);
    assert_text(&out, ab_app_edited(o, edit, &out), expected);
    ab_object_unref(o);
}

static void an_edit_changes_what_it_names_and_nothing_else(void **state)
{
    (void)state;
    const ab_app_edit edit = {.annotations = {{"new", AB_STR("1")}, {"old", AB_STR_NONE}},
                              .annotation_count = 2,
                              .operation = AB_STR("{\"n\":2}")};
    assert_edited(HEAD ID ",\"annotations\":{\"old\":\"1\",\"keep\":\"\\u0000\"},"
                          "\"finalizers\":[\"f\"]},\"operation\":{\"n\":1},\"spec\":" ODD "}",
                  &edit,
                  HEAD ID ",\"finalizers\":[\"f\"],\"annotations\":{\"keep\":\"\\u0000\","
                          "\"new\":\"1\"}},\"spec\":" ODD ",\"operation\":{\"n\":2}}");
}

static void no_edit_changes_nothing(void **state)
{
    (void)state;
    const ab_app_edit none = {0};
    assert_edited(HEAD ID "},\"operation\":{\"n\":1},\"spec\":" ODD "}", &none,
                  HEAD ID "},\"operation\":{\"n\":1},\"spec\":" ODD "}");
}

static void operation_and_finalizers_can_be_dropped(void **state)
{
    (void)state;
    const ab_app_edit edit = {.drop_operation = true, .drop_finalizers = true};
    assert_edited(HEAD ID ",\"finalizers\":[\"f\"]},\"operation\":{\"n\":1},\"spec\":{}}", &edit,
                  HEAD ID "},\"spec\":{}}");
}

#define RESOURCES "\"resources-finalizer.argocd.argoproj.io"
static void what_deletes_what_it_deployed_can_be_dropped(void **state)
{
    (void)state;
    const ab_app_edit edit = {.set_cascade = true};
    const char before[] = HEAD ID ",\"finalizers\":[\"f\"," RESOURCES "\"," RESOURCES
                                  "/background\",\"g\"]},\"spec\":{}}";
    ab_object *deletes = sample_object(before);
    ab_object *stays = sample_object(HEAD ID ",\"finalizers\":[\"f\"]}}");
    assert_edited(before, &edit, HEAD ID ",\"finalizers\":[\"f\",\"g\"]},\"spec\":{}}");
    assert_true(ab_app_deletes_resources(deletes));
    assert_false(ab_app_deletes_resources(stays));
    ab_object_unref(deletes);
    ab_object_unref(stays);
}

static void what_deletes_what_it_deployed_can_be_that_of_another(void **state)
{
    (void)state;
    ab_object *other =
        sample_object(HEAD ID ",\"finalizers\":[\"h\"," RESOURCES "/background\"]}}");
    ab_spanv finalizers = ab_object_meta(other, "finalizers");
    const ab_app_edit edit = {.set_cascade = true, .cascade = finalizers};
    const char after[] = HEAD ID ",\"finalizers\":[\"f\"," RESOURCES "/background\"]},\"spec\":{}}";
    assert_edited(HEAD ID ",\"finalizers\":[" RESOURCES "\",\"f\"]},\"spec\":{}}", &edit, after);
    assert_edited(HEAD ID ",\"finalizers\":[\"f\"]},\"spec\":{}}", &edit, after);
    assert_edited(HEAD ID "},\"spec\":{}}", &edit,
                  HEAD ID ",\"finalizers\":[" RESOURCES "/background\"]},\"spec\":{}}");
    assert_true(ab_str_is(ab_app_cascade(finalizers), AB_FINALIZER_RESOURCES "/background"));
    assert_null(ab_app_cascade((ab_spanv){0}).ptr);
    ab_object_unref(other);
}

static void a_status_can_be_set_to_terminating(void **state)
{
    (void)state;
    ab_buf out;
    ab_object *o = sample_object(HEAD ID "},\"status\":{\"a\":" ODD ",\"operationState\":{"
                                         "\"phase\":\"Running\",\"startedAt\":\"t\"}}}");
    ab_buf_init(&out, 65536);
    assert_text(&out, ab_app_status_terminating(o, AB_STR("now"), &out),
                "{\"a\":" ODD ",\"operationState\":{\"startedAt\":\"t\","
                "\"phase\":\"Terminating\"}}");
    ab_object_unref(o);
}

static void a_refused_operation_has_failed(void **state)
{
    (void)state;
    ab_buf out;
    ab_object *o = sample_object(HEAD ID "},\"operation\":" ODD ",\"status\":{\"a\":1,"
                                         "\"operationState\":{\"phase\":\"Running\"}}}");
    ab_object *compared =
        sample_object(HEAD ID "},\"operation\":" ODD ",\"status\":{\"reconciledAt\":\"then\"}}");
    ab_buf_init(&out, 65536);
    assert_text(&out, ab_app_status_refused(o, AB_STR("w"), AB_STR("now"), &out),
                "{\"a\":1,\"operationState\":{\"operation\":" ODD ",\"phase\":\"Error\","
                "\"message\":\"w\",\"startedAt\":\"now\",\"finishedAt\":\"now\"}}");
    ab_buf_init(&out, 65536);
    assert_text(&out, ab_app_status_refused(compared, AB_STR("w"), AB_STR("now"), &out),
                "{\"reconciledAt\":\"then\",\"operationState\":{\"operation\":" ODD
                ",\"phase\":\"Error\",\"message\":\"w\",\"startedAt\":\"then\","
                "\"finishedAt\":\"then\"}}");
    ab_object_unref(compared);
    ab_object_unref(o);
}

static void an_operation_that_has_not_begun_can_be_set_to_terminating(void **state)
{
    (void)state;
    ab_buf out;
    ab_object *o = sample_object(HEAD ID "},\"operation\":" ODD ",\"status\":{\"a\":1}}");
    ab_buf_init(&out, 65536);
    assert_text(&out, ab_app_status_terminating(o, AB_STR("now"), &out),
                "{\"a\":1,\"operationState\":{\"operation\":" ODD ",\"startedAt\":\"now\","
                "\"phase\":\"Terminating\"}}");
    ab_object_unref(o);
}

static void a_status_can_be_freed_of_its_run(void **state)
{
    (void)state;
    ab_buf out;
    ab_object *o = sample_object(HEAD ID "},\"status\":{\"a\":" ODD ",\"operationState\":{"
                                         "\"phase\":\"Failed\"},\"b\":2}}");
    ab_buf_init(&out, 65536);
    assert_text(&out, ab_app_status_without_run(o, &out), "{\"a\":" ODD ",\"b\":2}");
    ab_object_unref(o);
}

static void without_an_operation_there_is_nothing_to_terminate(void **state)
{
    (void)state;
    ab_buf out;
    ab_object *o = sample_object(HEAD ID "},\"status\":{\"operationState\":null}}");
    ab_buf_init(&out, 65536);
    assert_int_equal(ab_app_status_terminating(o, AB_STR("now"), &out), AB_ERR_NOTFOUND);
    ab_buf_fini(&out);
    ab_object_unref(o);
}

static void assert_error_status(const char *status, const char *message, const char *expected)
{
    ab_buf out;
    ab_span *doc = status == NULL ? NULL : sample_json(status);
    ab_buf_init(&out, 65536);
    ab_spanv root = doc == NULL ? (ab_spanv){0} : ab_span_root(doc);
    assert_text(&out, ab_app_status_with_error(root, ab_str_of(message), AB_STR("now"), &out),
                expected);
    ab_span_free(doc);
}

#define CONDITION "{\"type\":\"AgentError\",\"message\":\"why\",\"lastTransitionTime\":\"now\"}"

static void an_error_is_a_condition_beside_those_of_others(void **state)
{
    (void)state;
    assert_error_status("{\"conditions\":[{\"type\":\"Other\"},{\"type\":\"AgentError\"}],\"n\":1}",
                        "why",
                        "{\"n\":1,\"health\":{\"status\":\"Degraded\"},"
                        "\"conditions\":[{\"type\":\"Other\"}," CONDITION "]}");
    assert_error_status("{\"health\":{\"status\":\"Healthy\"}}", "why",
                        "{\"health\":{\"status\":\"Healthy\"},\"conditions\":[" CONDITION "]}");
    assert_error_status(NULL, "why",
                        "{\"health\":{\"status\":\"Degraded\"},\"conditions\":[" CONDITION "]}");
}

/* Go clients write a struct that has no value as an empty object. */
static void an_error_is_degraded_where_health_says_nothing(void **state)
{
    (void)state;
    static const char *const empty[] = {"{\"health\":{}}", "{\"health\":null}",
                                        "{\"health\":{\"status\":\"\"}}"};
    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
        assert_error_status(empty[i], "why",
                            "{\"health\":{\"status\":\"Degraded\"},\"conditions\":[" CONDITION
                            "]}");
    assert_error_status("{\"health\":{}}", NULL, "{\"health\":{}}");
}

static void an_error_that_is_over_leaves_no_condition(void **state)
{
    (void)state;
    assert_error_status("{\"conditions\":[{\"type\":\"Other\"}," CONDITION "],\"n\":1}", NULL,
                        "{\"n\":1,\"conditions\":[{\"type\":\"Other\"}]}");
    assert_error_status("{\"conditions\":[" CONDITION "],\"n\":1}", NULL, "{\"n\":1}");
}

/* As Argo CD compares them. */
static void a_deletion_is_approved_since_it_began(void **state)
{
    (void)state;
    static const struct {
        const char *meta;
        bool approved;
    } cases[] = {
        {DELETED APPROVED("2026-01-02T03:04:05Z"), true},
        {DELETED APPROVED("2026-01-02T03:04:05.123Z"), true},
        {DELETED APPROVED("2026-01-02T05:04:05+02:00"), true},
        {DELETED APPROVED("2026-01-02T03:04:05+02:00"), false},
        {DELETED APPROVED("2026-01-02T03:04:04.999Z"), false},
        {DELETED APPROVED("true"), false},
        {DELETED APPROVED(""), false},
        {DELETED, false},
        {APPROVED("2026-01-02T03:04:05Z"), false},
        {",\"deletionTimestamp\":\"x\"" APPROVED("2026-01-02T03:04:05Z"), false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];
        snprintf(text, sizeof(text), HEAD ID "%s}}", cases[i].meta);
        ab_object *o = sample_object(text);
        assert_int_equal(ab_app_is_deletion_approved(o), cases[i].approved);
        ab_object_unref(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_desired_leaves_out_status_operation_and_server_metadata),
        cmocka_unit_test(a_desired_is_no_part_of_an_application_of_the_agent),
        cmocka_unit_test(bookkeeping_annotations_do_not_change_a_desired),
        cmocka_unit_test(the_users_annotations_are_part_of_the_desired),
        cmocka_unit_test(a_desired_keeps_the_deletion_time_stamp),
        cmocka_unit_test(a_report_carries_identity_state_and_answers),
        cmocka_unit_test(an_edit_changes_what_it_names_and_nothing_else),
        cmocka_unit_test(no_edit_changes_nothing),
        cmocka_unit_test(operation_and_finalizers_can_be_dropped),
        cmocka_unit_test(what_deletes_what_it_deployed_can_be_dropped),
        cmocka_unit_test(what_deletes_what_it_deployed_can_be_that_of_another),
        cmocka_unit_test(a_status_can_be_set_to_terminating),
        cmocka_unit_test(a_refused_operation_has_failed),
        cmocka_unit_test(an_operation_that_has_not_begun_can_be_set_to_terminating),
        cmocka_unit_test(a_status_can_be_freed_of_its_run),
        cmocka_unit_test(without_an_operation_there_is_nothing_to_terminate),
        cmocka_unit_test(an_error_is_a_condition_beside_those_of_others),
        cmocka_unit_test(an_error_is_degraded_where_health_says_nothing),
        cmocka_unit_test(an_error_that_is_over_leaves_no_condition),
        cmocka_unit_test(a_deletion_is_approved_since_it_began),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
