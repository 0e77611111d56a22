/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#define APP                                                                                        \
    "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{\"name\":"    \
    "\"guest.book\",\"namespace\":\"argocd\",\"uid\":\"u-1\",\"resourceVersion\":\"42\","          \
    "\"annotations\":{\"a/b\":\"c\",\"e\":\"\\n\"},\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"" \
    "},\"spec\":{\"project\":\"default\"}}"

static void assert_invalid(const char *json, const char *reason)
{
    ab_object *o = NULL;
    ab_error err = {0};
    assert_int_equal(ab_object_parse(ab_str_of(json), &o, &err), AB_ERR_INVALID);
    assert_null(o);
    assert_non_null(strstr(err.text, reason));
}

static void an_object_is_known_by_its_metadata(void **state)
{
    (void)state;
    ab_object *o = NULL;
    assert_int_equal(ab_object_parse(AB_STR(APP), &o, NULL), AB_ERR_OK);
    assert_string_equal(ab_object_key(o), "Application/argocd/guest.book");
    assert_true(ab_str_is(ab_object_kind(o), "Application"));
    assert_true(ab_str_is(ab_object_namespace(o), "argocd"));
    assert_true(ab_str_is(ab_object_name(o), "guest.book"));
    assert_true(ab_str_is(ab_object_uid(o), "u-1"));
    assert_true(ab_str_is(ab_object_version(o), "42"));
    assert_true(ab_str_is(ab_object_annotation(o, "a/b"), "c"));
    assert_null(ab_object_annotation(o, "e").ptr);
    assert_null(ab_object_annotation(o, "x").ptr);
    assert_true(ab_span_is(ab_span_get(ab_object_field(o, "spec"), "project"), "default"));
    assert_true(ab_span_is(ab_object_meta(o, "uid"), "u-1"));
    assert_true(ab_str_is(ab_span_raw(ab_object_json(o)), APP));
    assert_true(ab_object_deleting(o));
    ab_object_unref(o);
}

static void what_is_not_there_is_empty(void **state)
{
    (void)state;
    ab_object *o = NULL;
    ab_str json = AB_STR("{\"kind\":\"A\",\"metadata\":{\"name\":\"n\",\"namespace\":\"s\","
                         "\"deletionTimestamp\":null,\"uid\":7}}");
    assert_int_equal(ab_object_parse(json, &o, NULL), AB_ERR_OK);
    assert_true(ab_str_is(ab_object_uid(o), ""));
    assert_true(ab_str_is(ab_object_version(o), ""));
    assert_null(ab_object_annotation(o, "a").ptr);
    assert_false(ab_span_present(ab_object_field(o, "spec")));
    assert_false(ab_object_deleting(o));
    ab_object_unref(o);
}

static void an_object_lives_as_long_as_its_last_reference(void **state)
{
    (void)state;
    ab_object *o = NULL;
    assert_int_equal(ab_object_parse(AB_STR(APP), &o, NULL), AB_ERR_OK);
    assert_ptr_equal(ab_object_ref(o), o);
    ab_object_unref(o);
    assert_string_equal(ab_object_key(o), "Application/argocd/guest.book");
    ab_object_unref(o);
    ab_object_unref(NULL);
}

static void a_parsed_document_is_taken_over_on_success_only(void **state)
{
    (void)state;
    ab_object *o = NULL;
    ab_span *doc = NULL;
    assert_int_equal(ab_span_parse(AB_STR("{}"), &doc, NULL), AB_ERR_OK);
    assert_int_equal(ab_object_from(doc, &o, NULL), AB_ERR_INVALID);
    assert_int_equal(ab_span_count(ab_span_root(doc)), 0);
    ab_span_free(doc);
    assert_int_equal(ab_span_parse(AB_STR(APP), &doc, NULL), AB_ERR_OK);
    assert_int_equal(ab_object_from(doc, &o, NULL), AB_ERR_OK);
    ab_object_unref(o);
}

static void an_object_without_identity_is_refused(void **state)
{
    (void)state;
    assert_invalid("[]", "kind");
    assert_invalid("{\"metadata\":{\"name\":\"n\",\"namespace\":\"s\"}}", "kind");
    assert_invalid("{\"kind\":7,\"metadata\":{\"name\":\"n\",\"namespace\":\"s\"}}", "kind");
    assert_invalid("{\"kind\":\"A\"}", "metadata.namespace");
    assert_invalid("{\"kind\":\"A\",\"metadata\":{\"name\":\"n\"}}", "metadata.namespace");
    assert_invalid("{\"kind\":\"A\",\"metadata\":{\"namespace\":\"s\"}}", "metadata.name ");
    assert_invalid("{\"kind\":\"A\",\"metadata\":[\"name\"]}", "metadata.namespace");
    ab_object *o = NULL;
    assert_int_equal(ab_object_parse(AB_STR("{"), &o, NULL), AB_ERR_PARSE);
}

static void names_that_could_leave_a_folder_are_refused(void **state)
{
    (void)state;
    assert_invalid("{\"kind\":\"../A\",\"metadata\":{\"name\":\"n\",\"namespace\":\"s\"}}", "kind");
    assert_invalid("{\"kind\":\"A\",\"metadata\":{\"name\":\"n\",\"namespace\":\"..\"}}",
                   "namespace");
    assert_invalid("{\"kind\":\"A\",\"metadata\":{\"name\":\"../n\",\"namespace\":\"s\"}}",
                   "metadata.name ");
    assert_invalid("{\"kind\":\"A\",\"metadata\":{\"name\":\"..\",\"namespace\":\"s\"}}",
                   "metadata.name ");
    assert_invalid("{\"kind\":\"A\",\"metadata\":{\"name\":\"n\\u0000\",\"namespace\":\"s\"}}",
                   "metadata.name ");
}

static void a_key_is_split_into_its_parts(void **state)
{
    (void)state;
    ab_str kind;
    ab_str ns;
    ab_str name;
    assert_int_equal(ab_object_key_split(AB_STR("AppProject/argo-cd/a.b"), &kind, &ns, &name),
                     AB_ERR_OK);
    assert_true(ab_str_is(kind, "AppProject"));
    assert_true(ab_str_is(ns, "argo-cd"));
    assert_true(ab_str_is(name, "a.b"));
}

static void what_is_no_key_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",        "A",       "A/b",    "A/b/",    "A//c",
                                      "/b/c",    "A/b/c/d", "A/../c", "A/b/..",  "A/b/.",
                                      "A-B/c/d", "A/B/c",   "A/b/C",  "A/b.c/d", "../../.."};
    ab_str kind = AB_STR_NONE;
    ab_str ns = AB_STR_NONE;
    ab_str name = AB_STR_NONE;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(ab_object_key_split(ab_str_of(bad[i]), &kind, &ns, &name), AB_ERR_INVALID);
    assert_int_equal(ab_object_key_split(AB_STR_NONE, &kind, &ns, &name), AB_ERR_INVALID);
    assert_null(name.ptr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_is_known_by_its_metadata),
        cmocka_unit_test(what_is_not_there_is_empty),
        cmocka_unit_test(an_object_lives_as_long_as_its_last_reference),
        cmocka_unit_test(a_parsed_document_is_taken_over_on_success_only),
        cmocka_unit_test(an_object_without_identity_is_refused),
        cmocka_unit_test(names_that_could_leave_a_folder_are_refused),
        cmocka_unit_test(a_key_is_split_into_its_parts),
        cmocka_unit_test(what_is_no_key_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
