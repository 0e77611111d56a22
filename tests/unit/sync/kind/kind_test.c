/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/kind/kind.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define IGNORE "\"argocd-agent.argoproj-labs.io/ignore-sync\":"
#define SECRET "\"argocd.argoproj.io/secret-type\":"

static bool synchronised(const char *kind, const char *name, const char *labels)
{
    char text[512];
    snprintf(text, sizeof(text),
             "{\"kind\":\"%s\",\"metadata\":{\"namespace\":\"argocd\",\"name\":\"%s\","
             "\"labels\":{%s}}}",
             kind, name, labels);
    ab_object *o = sample_object(text);
    bool yes = ab_kind_is_synchronised(o);
    ab_object_unref(o);
    return yes;
}

static void every_kind_has_its_target(void **state)
{
    (void)state;
    assert_int_equal(ab_kind_of(AB_STR("Application"))->target, AB_TARGET_APPLICATION);
    assert_int_equal(ab_kind_of(AB_STR("AppProject"))->target, AB_TARGET_APPPROJECT);
    assert_int_equal(ab_kind_of(AB_STR("Secret"))->target, AB_TARGET_REPOSITORY);
    assert_int_equal(ab_kind_of(AB_STR("ConfigMap"))->target, AB_TARGET_GPGKEY);
    assert_null(ab_kind_of(AB_STR("ApplicationSet")));
    assert_null(ab_kind_of(AB_STR("secret")));
    assert_null(ab_kind_of(AB_STR_NONE));
}

static void only_secrets_are_sealed_and_only_applications_belong_to_one_agent(void **state)
{
    (void)state;
    assert_true(ab_kind_of(AB_STR("Secret"))->sealed);
    assert_false(ab_kind_of(AB_STR("ConfigMap"))->sealed);
    assert_false(ab_kind_of(AB_STR("Application"))->shared);
    assert_true(ab_kind_of(AB_STR("AppProject"))->shared);
}

static void secrets_of_repositories_and_no_others_are_synchronised(void **state)
{
    (void)state;
    assert_true(synchronised("Secret", "a", SECRET "\"repository\""));
    assert_true(synchronised("Secret", "a", SECRET "\"repo-creds\""));
    assert_false(synchronised("Secret", "a", SECRET "\"cluster\""));
    assert_false(synchronised("Secret", "a", ""));
}

static void the_config_map_of_the_gpg_keys_and_no_other_is_synchronised(void **state)
{
    (void)state;
    assert_true(synchronised("ConfigMap", "argocd-gpg-keys-cm", ""));
    assert_false(synchronised("ConfigMap", "argocd-cm", ""));
}

static void ignore_sync_excludes_only_when_it_is_true(void **state)
{
    (void)state;
    assert_true(synchronised("Application", "a", ""));
    assert_false(synchronised("Application", "a", IGNORE "\"true\""));
    assert_true(synchronised("Application", "a", IGNORE "\"false\""));
    assert_false(synchronised("AppProject", "a", IGNORE "\"true\""));
    assert_false(synchronised("Secret", "a", SECRET "\"repository\"," IGNORE "\"true\""));
    assert_false(synchronised("Job", "a", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_its_target),
        cmocka_unit_test(only_secrets_are_sealed_and_only_applications_belong_to_one_agent),
        cmocka_unit_test(secrets_of_repositories_and_no_others_are_synchronised),
        cmocka_unit_test(the_config_map_of_the_gpg_keys_and_no_other_is_synchronised),
        cmocka_unit_test(ignore_sync_excludes_only_when_it_is_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
