/* SPDX-License-Identifier: Apache-2.0
 *
 * Which error a refusal is, and what is left out of what an API server says. That it says so is
 * shown by tests/conformance/store and tests/integration/kubernetes.
 */
#include "store/kubernetes/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A Status with this message, as part of JSON, as its text. */
static void explain(const char *message, ab_error *err)
{
    ab_kube_why why;
    ab_buf body;
    ab_buf_init(&body, 256 * 1024);
    ab_buf_printf(&body, "{\"kind\":\"Status\",\"message\":\"%s\",\"details\":{\"causes\":[{}]}}",
                  message);
    assert_int_equal(ab_kube_status_explain(422, ab_buf_str(&body), "PATCH s", &why, err),
                     AB_ERR_INVALID);
    ab_buf_fini(&body);
}

static void of_an_object_that_a_patch_makes_invalid_only_the_reason_is_told(void **state)
{
    (void)state;
    ab_error err = {0};
    explain(
        " \\\"\\\" is invalid: patch: Invalid value: "
        "\\\"{\\\\\\\"data\\\\\\\":{\\\\\\\"a\\\\\\\":\\\\\\\"aHVudGVy}\\\\\\\": \\\\\\\"}}\\\": "
        "illegal base64 data at input byte 4",
        &err);
    assert_string_equal(err.text, "PATCH s: 422  \"\" is invalid: patch: Invalid value: "
                                  "illegal base64 data at input byte 4");
    explain("patch: Invalid value: \\\"map[data:aHVudGVy", &err);
    assert_string_equal(err.text, "PATCH s: 422 patch: Invalid value: the server does not say why");
}

static void all_else_is_told_as_it_is(void **state)
{
    (void)state;
    ab_error err = {0};
    explain("spec.a: Invalid value: \\\"{}\\\": must be b", &err);
    assert_string_equal(err.text, "PATCH s: 422 spec.a: Invalid value: \"{}\": must be b");
}

static void a_crd_that_is_being_deleted_is_no_refusal(void **state)
{
    (void)state;
    const ab_str body =
        AB_STR("{\"kind\":\"Status\",\"message\":\"applications.argoproj.io \\\"a\\\" is "
               "forbidden: create not "
               "allowed while custom resource definition is terminating\",\"reason\":\"Forbidden\","
               "\"details\":{\"name\":\"a\",\"group\":\"argoproj.io\",\"kind\":\"applications\"}}");
    ab_kube_why why;
    ab_error err = {0};
    assert_int_equal(ab_kube_status_explain(403, body, "POST a", &why, &err), AB_ERR_UNAVAILABLE);
    assert_int_equal(ab_kube_status_explain(405, body, "POST a", &why, &err), AB_ERR_UNAVAILABLE);
}

#define NAMED "\"details\":{\"name\":\"a\"}"

static void refusals_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        int http;
        const char *members; /* of the Status, behind its kind */
        ab_err code;
        ab_kube_why why;
    } refusals[] = {
        {401, NAMED, AB_ERR_UNAVAILABLE, AB_KUBE_WHY_OTHER},
        {403, NAMED, AB_ERR_DENIED, AB_KUBE_WHY_OTHER},
        {403, "\"message\":\"exceeded quota: q\"", AB_ERR_NOSPACE, AB_KUBE_WHY_OTHER},
        {403, "\"details\":{\"causes\":[{\"reason\":\"NamespaceTerminating\"}]}",
         AB_ERR_UNAVAILABLE, AB_KUBE_WHY_OTHER},
        {400, "\"message\":\"admission webhook \\\"w\\\" denied the request\"", AB_ERR_INVALID,
         AB_KUBE_WHY_OTHER},
        {403, "\"message\":\"admission webhook \\\"w\\\" denied the request\"", AB_ERR_INVALID,
         AB_KUBE_WHY_OTHER},
        {404, NAMED, AB_ERR_NOTFOUND, AB_KUBE_WHY_OTHER},
        {404, "\"details\":{}", AB_ERR_UNAVAILABLE, AB_KUBE_WHY_OTHER},
        {404, "\"details\":{\"name\":\"n\",\"kind\":\"namespaces\"}", AB_ERR_NOTFOUND,
         AB_KUBE_WHY_NAMESPACE},
        {409, "\"reason\":\"AlreadyExists\"", AB_ERR_EXISTS, AB_KUBE_WHY_OTHER},
        {409, "\"reason\":\"Conflict\"", AB_ERR_CONFLICT, AB_KUBE_WHY_OTHER},
        {410, "\"reason\":\"Expired\"", AB_ERR_UNAVAILABLE, AB_KUBE_WHY_EXPIRED},
        {422, "\"details\":{}", AB_ERR_CONFLICT, AB_KUBE_WHY_PATCH},
        {422, NAMED, AB_ERR_INVALID, AB_KUBE_WHY_OTHER},
        {429, NAMED, AB_ERR_UNAVAILABLE, AB_KUBE_WHY_OTHER},
        {500, "\"message\":\"etcdserver: request is too large\"", AB_ERR_TOOBIG, AB_KUBE_WHY_OTHER},
        {500, "\"message\":\"etcdserver: mvcc: database space exceeded\"", AB_ERR_NOSPACE,
         AB_KUBE_WHY_OTHER},
        {500, NAMED, AB_ERR_UNAVAILABLE, AB_KUBE_WHY_OTHER},
        {504, NAMED, AB_ERR_TIMEOUT, AB_KUBE_WHY_OTHER},
    };
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        ab_kube_why why;
        ab_error err = {0};
        ab_buf body;
        ab_buf_init(&body, 4096);
        ab_buf_printf(&body, "{\"kind\":\"Status\",%s}", refusals[i].members);
        assert_int_equal(
            ab_kube_status_explain(refusals[i].http, ab_buf_str(&body), "GET a", &why, &err),
            refusals[i].code);
        assert_int_equal(why, refusals[i].why);
        assert_int_equal(err.foreign, refusals[i].http);
        ab_buf_fini(&body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_an_object_that_a_patch_makes_invalid_only_the_reason_is_told),
        cmocka_unit_test(all_else_is_told_as_it_is),
        cmocka_unit_test(a_crd_that_is_being_deleted_is_no_refusal),
        cmocka_unit_test(refusals_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
