/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifests of certificates. That an API server takes them is seen in
 * tests/integration/ctl/pki_test.py by reading them as YAML.
 */
#include "services/ctl/pki/manifest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static ab_buf out;
static ab_error err;

static ab_err write_secret(const ab_pki_manifest *m)
{
    ab_buf_init(&out, 4096);
    return ab_pki_manifest_secret(m, &out, &err);
}

static void a_secret_with_a_key_is_of_the_type_for_tls(void **state)
{
    (void)state;
    ab_pki_manifest m = {"a", "argocd", AB_STR("c"), AB_STR("k"), AB_STR("ca")};
    assert_int_equal(write_secret(&m), AB_ERR_OK);
    assert_string_equal(out.ptr, "apiVersion: v1\nkind: Secret\nmetadata:\n  name: \"a\"\n"
                                 "  namespace: \"argocd\"\ntype: kubernetes.io/tls\ndata:\n"
                                 "  tls.crt: Yw==\n  tls.key: aw==\n  ca.crt: Y2E=\n");
    ab_buf_fini(&out);
}

static void a_secret_without_a_key_is_opaque(void **state)
{
    (void)state;
    ab_pki_manifest m = {.name = "a", .namespace_name = "argocd", .ca = AB_STR("ca")};
    assert_int_equal(write_secret(&m), AB_ERR_OK);
    assert_non_null(strstr(out.ptr, "type: Opaque\ndata:\n  ca.crt: Y2E=\n"));
    assert_null(strstr(out.ptr, "tls."));
    ab_buf_fini(&out);
}

static void a_configmap_has_the_text_itself(void **state)
{
    (void)state;
    ab_pki_manifest m = {.name = "a", .namespace_name = "argocd", .ca = AB_STR("x\ny\n")};
    ab_buf_init(&out, 4096);
    assert_int_equal(ab_pki_manifest_configmap(&m, &out, &err), AB_ERR_OK);
    assert_non_null(strstr(out.ptr, "data:\n  ca.crt: |\n    x\n    y\n"));
    ab_buf_fini(&out);
}

static void names_that_kubernetes_refuses_are_refused(void **state)
{
    (void)state;
    ab_pki_manifest m = {.name = "A", .namespace_name = "argocd"};
    assert_int_equal(write_secret(&m), AB_ERR_INVALID);
    m = (ab_pki_manifest){.name = "a\"\nkind: Pod", .namespace_name = "argocd"};
    assert_int_equal(write_secret(&m), AB_ERR_INVALID);
    m = (ab_pki_manifest){.name = "a", .namespace_name = "a.b"};
    assert_int_equal(write_secret(&m), AB_ERR_INVALID);
    assert_string_equal(err.text, "--namespace: \"a.b\" is not a DNS label");
    assert_int_equal(out.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_with_a_key_is_of_the_type_for_tls),
        cmocka_unit_test(a_secret_without_a_key_is_opaque),
        cmocka_unit_test(a_configmap_has_the_text_itself),
        cmocka_unit_test(names_that_kubernetes_refuses_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
