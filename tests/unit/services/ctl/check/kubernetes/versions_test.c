/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts that name a version. Which of them a cluster has is looked at in
 * tests/integration/ctl/check_test.py.
 */
#include "services/ctl/check/kubernetes/versions_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void kubernetes_is_old_before_1_27(void **state)
{
    (void)state;
    assert_true(ab_version_kubernetes_is_old(AB_STR("v1.26.15")));
    assert_true(ab_version_kubernetes_is_old(AB_STR("v1.9.0-gke.1")));
    assert_false(ab_version_kubernetes_is_old(AB_STR("v1.27.0")));
    assert_false(ab_version_kubernetes_is_old(AB_STR("v1.36.1+k3s1")));
    assert_false(ab_version_kubernetes_is_old(AB_STR("v2.0.0")));
}

static void what_names_no_version_of_kubernetes_is_not_old(void **state)
{
    (void)state;
    assert_false(ab_version_kubernetes_is_old(AB_STR("")));
    assert_false(ab_version_kubernetes_is_old(AB_STR_NONE));
    assert_false(ab_version_kubernetes_is_old(AB_STR("1.26.0")));
    assert_false(ab_version_kubernetes_is_old(AB_STR("vx.y")));
}

static void tag_is(const char *image, const char *expected)
{
    ab_str tag = ab_version_image_tag(ab_str_of(image));
    if (expected == NULL)
        assert_null(tag.ptr);
    else
        assert_true(ab_str_is(tag, expected));
}

static void a_tag_is_told_from_port_and_digest(void **state)
{
    (void)state;
    tag_is("quay.io/argoproj/argocd:v3.5.0", "v3.5.0");
    tag_is("argocd:latest", "latest");
    tag_is("registry:5000/argocd:v3.5.0@sha256:0123", "v3.5.0");
    tag_is("registry:5000/argocd", NULL);
    tag_is("argocd@sha256:0123", NULL);
    tag_is("argocd:", NULL);
    tag_is("", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kubernetes_is_old_before_1_27),
        cmocka_unit_test(what_names_no_version_of_kubernetes_is_not_old),
        cmocka_unit_test(a_tag_is_told_from_port_and_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
