/* SPDX-License-Identifier: Apache-2.0
 *
 * The texts that writes send. That the server does with them what they are for is shown by
 * tests/conformance/store.
 */
#include "store/kubernetes/patch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define META "\"name\":\"a\",\"namespace\":\"argocd\""
#define NO(path)                                                                                   \
    "{\"op\":\"add\",\"path\":\"" path "\",\"value\":null},{\"op\":\"remove\",\"path\":\"" path    \
    "\"}"

#define NO_ANNOTATIONS NO("/metadata/annotations")
#define NO_FINALIZERS  NO("/metadata/finalizers")
#define NO_OWNERS      NO("/metadata/ownerReferences")
#define NO_OPERATION   NO("/operation")

static const ab_kube_guard unguarded;

static ab_object *object(const char *text)
{
    ab_object *o = NULL;
    ab_error err = {0};
    if (ab_object_parse(ab_str_of(text), &o, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    return o;
}

static void assert_buf(ab_buf *b, const char *expected)
{
    assert_int_equal(ab_buf_status(b), AB_ERR_OK);
    assert_string_equal(b->ptr, expected);
    ab_buf_fini(b);
}

static void assert_patch(const char *text, const ab_kube_guard *guard, const char *expected)
{
    ab_buf out;
    ab_object *o = object(text);
    ab_buf_init(&out, 1 << 16);
    ab_kube_put_patch(ab_kube_resource_of(ab_object_kind(o)), o, guard, &out);
    assert_buf(&out, expected);
    ab_object_unref(o);
}

static void a_new_object_has_no_status_and_nothing_that_the_server_sets(void **state)
{
    (void)state;
    ab_buf out;
    ab_object *o =
        object("{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{" META
               ",\"uid\":\"u\",\"resourceVersion\":\"1\",\"generation\":3,"
               "\"creationTimestamp\":\"x\",\"deletionTimestamp\":\"x\","
               "\"deletionGracePeriodSeconds\":0,\"managedFields\":[],\"selfLink\":\"x\","
               "\"labels\":{\"a\":\"b\"}},\"data\":{\"k\":\"dg==\"},\"status\":{}}");
    ab_buf_init(&out, 1 << 16);
    ab_kube_put_new(o, &out);
    assert_buf(&out, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"k\":\"dg==\"},"
                     "\"metadata\":{" META ",\"labels\":{\"a\":\"b\"}}}");
    ab_object_unref(o);
}

static void a_patch_sets_what_is_there_and_removes_what_is_not(void **state)
{
    (void)state;
    assert_patch(
        "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{" META
        ",\"uid\":\"u\",\"resourceVersion\":\"1\",\"labels\":{\"a\":\"b\"},"
        "\"finalizers\":[]},\"spec\":{\"x\":1},\"status\":{\"y\":1}}",
        &unguarded,
        "[{\"op\":\"add\",\"path\":\"/metadata/labels\",\"value\":{\"a\":\"b\"}}," NO_ANNOTATIONS
        "," NO_FINALIZERS "," NO_OWNERS
        ",{\"op\":\"add\",\"path\":\"/spec\",\"value\":{\"x\":1}}," NO_OPERATION "]");
}

static void conditions_come_first(void **state)
{
    (void)state;
    ab_buf out;
    const ab_kube_guard guard = {.uid = AB_STR("u"), .version = AB_STR("7")};
    ab_buf_init(&out, 1 << 16);
    ab_kube_put_status(AB_STR("{\"x\":1}"), AB_STR_NONE, false, &guard, &out);
    assert_buf(&out, "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"u\"},"
                     "{\"op\":\"add\",\"path\":\"/metadata/resourceVersion\",\"value\":\"7\"},"
                     "{\"op\":\"add\",\"path\":\"/status\",\"value\":{\"x\":1}}]");
    ab_buf_init(&out, 1 << 16);
    ab_kube_put_delete("Foreground", &guard, &out);
    assert_buf(&out, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":"
                     "\"Foreground\",\"preconditions\":{\"uid\":\"u\",\"resourceVersion\":\"7\"}}");
}

static void a_status_is_marked_with_its_version(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 1 << 16);
    ab_kube_put_status(AB_STR("{}"), AB_STR("1.2"), false, &unguarded, &out);
    assert_buf(&out, "[{\"op\":\"add\",\"path\":\"/metadata/annotations/"
                     "argobus.io~1status-version\",\"value\":\"1.2\"},"
                     "{\"op\":\"add\",\"path\":\"/status\",\"value\":{}}]");
    ab_buf_init(&out, 1 << 16);
    ab_kube_put_status(AB_STR("{}"), AB_STR("1.2"), true, &unguarded, &out);
    assert_buf(&out, "[{\"op\":\"test\",\"path\":\"/metadata/annotations\",\"value\":null},"
                     "{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{"
                     "\"argobus.io/status-version\":\"1.2\"}},"
                     "{\"op\":\"add\",\"path\":\"/status\",\"value\":{}}]");
}

static void names_that_would_mean_another_path_are_left_out(void **state)
{
    (void)state;
    assert_patch("{\"apiVersion\":\"v1\",\"kind\":\"AppProject\",\"metadata\":{" META
                 ",\"labels\":{\"a\":\"b\"},\"annotations\":{\"a\":\"b\"},\"finalizers\":[\"a/b\"],"
                 "\"ownerReferences\":[{}]},\"a/b\":1,\"c~d\":1,\"\\u0073tatus\":1,\"\":1}",
                 &unguarded,
                 "[{\"op\":\"add\",\"path\":\"/metadata/labels\",\"value\":{\"a\":\"b\"}},"
                 "{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"a\":\"b\"}},"
                 "{\"op\":\"add\",\"path\":\"/metadata/finalizers\",\"value\":[\"a/b\"]},"
                 "{\"op\":\"add\",\"path\":\"/metadata/ownerReferences\",\"value\":[{}]}]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_object_has_no_status_and_nothing_that_the_server_sets),
        cmocka_unit_test(a_patch_sets_what_is_there_and_removes_what_is_not),
        cmocka_unit_test(conditions_come_first),
        cmocka_unit_test(a_status_is_marked_with_its_version),
        cmocka_unit_test(names_that_would_mean_another_path_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
