/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/desired.h"

#include "schema/attributes.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{"
#define ID   "\"name\":\"a\",\"namespace\":\"w1\""

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

static void assert_placed(const char *desired, const char *local, const ab_desired_params *params,
                          const char *expected)
{
    ab_buf out;
    ab_object *w = sample_object(desired);
    ab_object *l = local == NULL ? NULL : sample_object(local);
    ab_buf_init(&out, 65536);
    assert_text(&out, ab_desired_render(w, l, params, &out), expected);
    ab_object_unref(w);
    ab_object_unref(l);
}

static void a_new_object_is_placed_in_the_agents_namespace(void **state)
{
    (void)state;
    const ab_desired_params params = {
        .namespace = AB_STR("argocd"), .source_uid = AB_STR("s-1"), .principal_uid = AB_STR("p-1")};
    assert_placed(
        HEAD ID ",\"uid\":\"s-1\",\"labels\":{\"l\":\"1\"},\"finalizers\":[\"f\"],"
                "\"ownerReferences\":[{\"name\":\"set\"}],\"annotations\":{\"mine\":\"1\","
                "\"" AB_ANN_LAST_APPLIED "\":\"x\"}},\"spec\":{\"project\":\"default\","
                "\"destination\":{\"name\":\"w1\",\"namespace\":\"guestbook\",\"server\":\"x\"},"
                "\"odd\":" ODD "},\"status\":{\"x\":1}}",
        NULL, &params,
        "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{"
        "\"name\":\"a\",\"namespace\":\"argocd\",\"labels\":{\"l\":\"1\"},"
        "\"annotations\":{\"mine\":\"1\",\"" AB_ANN_SOURCE_UID "\":\"s-1\",\"" AB_ANN_PRINCIPAL_UID
        "\":\"p-1\",\"" AB_ANN_NAME "\":\"a\"},\"finalizers\":[\"f\"]},"
        "\"spec\":{\"project\":\"default\",\"destination\":{\"namespace\":\"guestbook\","
        "\"name\":\"in-cluster\",\"server\":\"\"},\"odd\":" ODD "}}");
}

static void an_update_is_merged_into_what_stands_there(void **state)
{
    (void)state;
    ab_span *owned = sample_json("{\"labels\":[\"old\"],\"annotations\":[],\"finalizers\":[]}");
    const ab_desired_params params = {.namespace = AB_STR("argocd"),
                                      .source_uid = AB_STR("s-2"),
                                      .principal_uid = AB_STR("p-1"),
                                      .owned = ab_span_root(owned)};
    assert_placed(
        HEAD ID ",\"labels\":{\"l\":\"2\"}},\"spec\":{\"project\":\"p\"}}",
        HEAD "\"name\":\"a\",\"namespace\":\"argocd\",\"uid\":\"local\",\"resourceVersion\":\"9\","
             "\"ownerReferences\":[],\"labels\":{\"old\":\"1\",\"theirs\":\"1\"},\"annotations\":{"
             "\"" AB_ANN_SOURCE_UID "\":\"s-1\",\"" AB_ANN_REFRESH
             "\":\"hard\",\"argobus.io/last-operation\":\"1.2/x\",\"theirs\":\"1\"},\"finalizers\":"
             "[\"theirs\"]},\"spec\":{\"project\":\"tampered\"},\"operation\":{\"sync\":{}},"
             "\"status\":{\"x\":1}}",
        &params,
        "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{\"name\":"
        "\"a\",\"namespace\":\"argocd\",\"uid\":\"local\",\"resourceVersion\":\"9\","
        "\"ownerReferences\":[],\"labels\":{\"theirs\":\"1\",\"l\":\"2\"},\"annotations\":{"
        "\"" AB_ANN_REFRESH "\":\"hard\",\"argobus.io/last-operation\":\"1.2/x\",\"theirs\":\"1\","
        "\"" AB_ANN_SOURCE_UID "\":\"s-2\",\"" AB_ANN_PRINCIPAL_UID "\":\"p-1\",\"" AB_ANN_NAME
        "\":\"a\"},\"finalizers\":[\"theirs\"]},\"spec\":{\"project\":\"p\"},"
        "\"operation\":{\"sync\":{}}}");
    ab_span_free(owned);
}

static void an_operation_can_be_placed_with_a_new_object(void **state)
{
    (void)state;
    const ab_desired_params params = {.namespace = AB_STR("argocd"),
                                      .source_uid = AB_STR("s"),
                                      .operation = AB_STR("{\"sync\":{}}")};
    assert_placed(HEAD ID "}}", NULL, &params,
                  "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{"
                  "\"name\":\"a\",\"namespace\":\"argocd\",\"annotations\":{\"" AB_ANN_SOURCE_UID
                  "\":\"s\",\"" AB_ANN_NAME "\":\"a\"}},\"operation\":{\"sync\":{}}}");
}

static bool same_digest(const char *a, const char *b)
{
    ab_digest da, db;
    ab_object *oa = sample_object(a), *ob = sample_object(b);
    assert_int_equal(ab_desired_digest(oa, &da), AB_ERR_OK);
    assert_int_equal(ab_desired_digest(ob, &db), AB_ERR_OK);
    ab_object_unref(oa);
    ab_object_unref(ob);
    return ab_digest_eq(&da, &db);
}

#define PLAIN HEAD ID ",\"labels\":{\"l\":\"1\"}},\"spec\":{\"a\":1,\"b\":[1,2]}}"

static void the_digest_does_not_see_what_the_source_does_not_govern(void **state)
{
    (void)state;
    static const char *const same[] = {
        HEAD ID ",\"labels\":{\"l\":\"1\"}},\"spec\":{\"a\":1,\"b\":[1,2]},\"status\":{\"x\":1}}",
        HEAD ID ",\"labels\":{\"l\":\"1\"}},\"spec\":{\"a\":1,\"b\":[1,2]},\"operation\":{}}",
        HEAD ID ",\"labels\":{\"l\":\"1\"}},\"spec\":{\"b\":[1,2],\"a\":1}}",
        HEAD ID ",\"labels\":{\"l\":\"1\"},\"finalizers\":[],\"annotations\":{}},"
                "\"spec\":{\"a\":1,\"b\":[1,2]}}",
        HEAD ID ",\"labels\":{\"l\":\"1\"},\"resourceVersion\":\"8\",\"generation\":4,"
                "\"uid\":\"other\"},\"spec\":{\"a\":1,\"b\":[1,2]}}",
        HEAD ID ",\"labels\":{\"l\":\"1\"},\"annotations\":{\"" AB_ANN_REFRESH
                "\":\"hard\",\"argobus.io/last-refresh\":\"1.1/x\"}},"
                "\"spec\":{\"a\":1,\"b\":[1,2]}}",
        NULL};
    for (const char *const *s = same; *s != NULL; s++)
        assert_true(same_digest(PLAIN, *s));
}

static void the_digest_sees_all_that_the_source_governs(void **state)
{
    (void)state;
    static const char *const other[] = {
        HEAD ID ",\"labels\":{\"l\":\"1\"}},\"spec\":{\"a\":2,\"b\":[1,2]}}",
        HEAD ID ",\"labels\":{\"l\":\"1\"}},\"spec\":{\"a\":1,\"b\":[2,1]}}",
        HEAD ID ",\"labels\":{\"l\":\"2\"}},\"spec\":{\"a\":1,\"b\":[1,2]}}",
        HEAD ID "},\"spec\":{\"a\":1,\"b\":[1,2]}}",
        HEAD ID ",\"labels\":{\"l\":\"1\"},\"annotations\":{\"n\":\"\"}},"
                "\"spec\":{\"a\":1,\"b\":[1,2]}}",
        HEAD ID ",\"labels\":{\"l\":\"1\"},\"finalizers\":[\"f\"]},"
                "\"spec\":{\"a\":1,\"b\":[1,2]}}",
        HEAD ID ",\"labels\":{\"l\":\"1\"},\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"x\"}},"
                "\"spec\":{\"a\":1,\"b\":[1,2]}}",
        HEAD ID ",\"labels\":{\"l\":\"1\"}},\"spec\":{\"a\":1,\"b\":[1,2]},\"unknown\":1}",
        NULL};
    for (const char *const *s = other; *s != NULL; s++)
        assert_false(same_digest(PLAIN, *s));
}

static void the_source_uid_is_the_annotation_or_else_the_uid(void **state)
{
    (void)state;
    ab_object *o = sample_object(HEAD ID ",\"uid\":\"u\"}}");
    assert_true(ab_str_is(ab_source_uid(o), "u"));
    ab_object_unref(o);
    o = sample_object(HEAD ID ",\"uid\":\"u\",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"s\"}}}");
    assert_true(ab_str_is(ab_source_uid(o), "s"));
    ab_object_unref(o);
}

/* --- the other kinds --- */

#define SECRET  "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{" ID
#define PLACED  "\"name\":\"a\",\"namespace\":\"argocd\""
#define STAMPED ",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"s\",\"" AB_ANN_NAME "\":\"a\"}}"

static const ab_desired_params plain = {.namespace = {"argocd", 6}, .source_uid = {"s", 1}};

static void all_of_another_kind_but_metadata_and_status_is_as_desired(void **state)
{
    (void)state;
    assert_placed(
        "{\"kind\":\"AppProject\",\"metadata\":{" ID
        ",\"ownerReferences\":[{\"name\":\"x\"}]},\"spec\":{\"destination\":1,\"odd\":" ODD
        "},\"operation\":7,\"status\":{\"x\":1}}",
        NULL, &plain,
        "{\"kind\":\"AppProject\",\"spec\":{\"destination\":1,\"odd\":" ODD
        "},\"operation\":7,\"metadata\":{" PLACED STAMPED "}");
    assert_placed("{\"kind\":\"ConfigMap\",\"metadata\":{" ID "},\"data\":{\"k\":\"v\"},"
                  "\"binaryData\":{}}",
                  "{\"kind\":\"ConfigMap\",\"metadata\":{" PLACED
                  "},\"data\":{\"tampered\":\"1\"},\"immutable\":true}",
                  &plain,
                  "{\"kind\":\"ConfigMap\",\"data\":{\"k\":\"v\"},\"binaryData\":{},"
                  "\"metadata\":{" PLACED STAMPED "}");
}

static void what_was_sealed_takes_the_place_of_the_seal(void **state)
{
    (void)state;
    ab_desired_params params = plain;
    params.opened = AB_STR(" {\"data\":{\"password\":\"cA==\"}}\n");
    assert_placed(
        SECRET "},\"type\":\"Opaque\",\"sealed\":\"MII=\"}", NULL, &params,
        "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"type\":\"Opaque\",\"metadata\":{" PLACED
            STAMPED ",\"data\":{\"password\":\"cA==\"}}");
    params.opened = AB_STR("{}");
    assert_placed(SECRET "},\"sealed\":\"MII=\"}", NULL, &params,
                  "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{" PLACED STAMPED "}");
}

static void what_was_sealed_must_be_an_object(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "{", "}", "[]", "\"data\"", NULL};
    for (const char *const *text = bad; *text != NULL; text++) {
        ab_buf out;
        ab_object *desired = sample_object(SECRET "},\"sealed\":\"MII=\"}");
        ab_desired_params params = plain;
        params.opened = ab_str_of(*text);
        ab_buf_init(&out, 65536);
        assert_int_equal(ab_desired_render(desired, NULL, &params, &out), AB_ERR_INVALID);
        ab_buf_fini(&out);
        ab_object_unref(desired);
    }
}

static void a_remapped_object_says_so(void **state)
{
    (void)state;
    ab_desired_params params = plain;
    params.remapped = true;
    assert_placed(
        HEAD ID "}}", NULL, &params,
        "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{" PLACED
        ",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"s\",\"" AB_ANN_NAME
        "\":\"a\",\"" AB_ANN_REMAPPED "\":\"true\"}}}");
}

static void the_annotation_of_a_remapped_object_goes_when_it_is_none_any_more(void **state)
{
    (void)state;
    assert_placed(
        HEAD ID ",\"annotations\":{\"" AB_ANN_REMAPPED "\":\"true\"}}}",
        HEAD PLACED ",\"annotations\":{\"" AB_ANN_REMAPPED "\":\"true\"}}}", &plain,
        "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{" PLACED
            STAMPED "}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_object_is_placed_in_the_agents_namespace),
        cmocka_unit_test(an_update_is_merged_into_what_stands_there),
        cmocka_unit_test(an_operation_can_be_placed_with_a_new_object),
        cmocka_unit_test(the_digest_does_not_see_what_the_source_does_not_govern),
        cmocka_unit_test(the_digest_sees_all_that_the_source_governs),
        cmocka_unit_test(the_source_uid_is_the_annotation_or_else_the_uid),
        cmocka_unit_test(all_of_another_kind_but_metadata_and_status_is_as_desired),
        cmocka_unit_test(what_was_sealed_takes_the_place_of_the_seal),
        cmocka_unit_test(what_was_sealed_must_be_an_object),
        cmocka_unit_test(a_remapped_object_says_so),
        cmocka_unit_test(the_annotation_of_a_remapped_object_goes_when_it_is_none_any_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
