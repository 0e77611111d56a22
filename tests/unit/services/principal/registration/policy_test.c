/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/registration/policy.h"

#include "services/principal/registration/registration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static ab_err policy_of(const char *const *set, size_t count, ab_registration_policy *out,
                        ab_error *err)
{
    const ab_config_sources sources = {.set = set, .set_count = count};
    ab_config *config = NULL;
    memset(out, 0, sizeof(*out));
    assert_int_equal(ab_config_load(&ab_registration_options, 1, &sources, &config, NULL),
                     AB_ERR_OK);
    ab_err e = ab_registration_policy_init(config, out, err);
    ab_config_free(config);
    return e;
}

static ab_registration_policy make(const char *const *set, size_t count)
{
    ab_registration_policy p;
    assert_int_equal(policy_of(set, count, &p, NULL), AB_ERR_OK);
    return p;
}

static void all_names_are_allowed_by_default_and_no_mode_can_be_chosen(void **state)
{
    (void)state;
    ab_registration_policy p = make(NULL, 0);
    assert_true(ab_registration_policy_allows(&p, "w1"));
    assert_string_equal(ab_registration_policy_mode(&p, "autonomous"), "managed");
    assert_string_equal(ab_registration_policy_mode(&p, NULL), "managed");
    ab_registration_policy_fini(&p);
}

static void only_names_that_match_a_pattern_are_allowed(void **state)
{
    static const char *const set[] = {"registration.names=edge-*,/^w[0-9]$/"};
    (void)state;
    ab_registration_policy p = make(set, 1);
    assert_true(ab_registration_policy_allows(&p, "edge-7"));
    assert_true(ab_registration_policy_allows(&p, "w7"));
    assert_false(ab_registration_policy_allows(&p, "w77"));
    assert_false(ab_registration_policy_allows(&p, "core"));
    ab_registration_policy_fini(&p);
}

static bool takes(const ab_registration_policy *p, const char *key, const char *value)
{
    return ab_registration_policy_takes(p, ab_str_of(key), ab_str_of(value));
}

static void an_agent_brings_no_label_by_default(void **state)
{
    (void)state;
    ab_registration_policy p = make(NULL, 0);
    assert_false(takes(&p, "region", "eu"));
    ab_registration_policy_fini(&p);
}

static void an_agent_brings_the_labels_that_are_named(void **state)
{
    static const char *const set[] = {"registration.labels=region,example.com/*"};
    (void)state;
    ab_registration_policy p = make(set, 1);
    assert_true(takes(&p, "region", "eu"));
    assert_true(takes(&p, "example.com/tier", ""));
    assert_false(takes(&p, "zone", "eu"));
    assert_false(takes(&p, "region", "no value"));
    assert_false(takes(&p, "", ""));
    assert_false(ab_registration_policy_takes(&p, AB_STR("region"), AB_STR_NONE));
    ab_registration_policy_fini(&p);
}

static void no_pattern_allows_a_label_that_somebody_reads(void **state)
{
    static const char *const set[] = {"registration.labels=*"};
    static const char *const reserved[] = {"argobus.io/approved",
                                           "x.argobus.io/a",
                                           "argocd.argoproj.io/secret-type",
                                           "argocd-agent.argoproj-labs.io/agent-name",
                                           "argocd-agent.argoproj-labs.io/self-registered-cluster",
                                           "app.kubernetes.io/name",
                                           "node.k8s.io/a"};
    (void)state;
    ab_registration_policy p = make(set, 1);
    assert_true(takes(&p, "anything", "at-all"));
    for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
        assert_false(takes(&p, reserved[i], "true"));
    ab_registration_policy_fini(&p);
}

static void what_is_not_a_dns_label_is_never_allowed(void **state)
{
    (void)state;
    ab_registration_policy p = make(NULL, 0);
    assert_false(ab_registration_policy_allows(&p, ""));
    assert_false(ab_registration_policy_allows(&p, "W1"));
    assert_false(ab_registration_policy_allows(&p, "a/b"));
    assert_false(ab_registration_policy_allows(&p, "a.b"));
    ab_registration_policy_fini(&p);
}

static void an_agent_chooses_among_the_modes_that_are_named(void **state)
{
    static const char *const set[] = {"registration.mode=managed", "registration.modes=autonomous"};
    (void)state;
    ab_registration_policy p = make(set, 2);
    assert_string_equal(ab_registration_policy_mode(&p, "autonomous"), "autonomous");
    assert_string_equal(ab_registration_policy_mode(&p, "managed"), "managed");
    assert_string_equal(ab_registration_policy_mode(&p, "root"), "managed");
    ab_registration_policy_fini(&p);
}

static void the_default_mode_counts_where_the_claimed_one_is_not_allowed(void **state)
{
    static const char *const set[] = {"registration.mode=autonomous"};
    (void)state;
    ab_registration_policy p = make(set, 1);
    assert_string_equal(ab_registration_policy_mode(&p, "managed"), "autonomous");
    ab_registration_policy_fini(&p);
}

static void refused(const char *setting, const char *option)
{
    ab_error err = {0};
    ab_registration_policy p;
    assert_int_equal(policy_of(&setting, 1, &p, &err), AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, option));
    ab_registration_policy_fini(&p);
}

static void a_bad_pattern_or_mode_is_refused(void **state)
{
    (void)state;
    refused("registration.names=/(/", "registration.names");
    refused("registration.modes=managed,bold", "\"bold\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_names_are_allowed_by_default_and_no_mode_can_be_chosen),
        cmocka_unit_test(only_names_that_match_a_pattern_are_allowed),
        cmocka_unit_test(an_agent_brings_no_label_by_default),
        cmocka_unit_test(an_agent_brings_the_labels_that_are_named),
        cmocka_unit_test(no_pattern_allows_a_label_that_somebody_reads),
        cmocka_unit_test(what_is_not_a_dns_label_is_never_allowed),
        cmocka_unit_test(an_agent_chooses_among_the_modes_that_are_named),
        cmocka_unit_test(the_default_mode_counts_where_the_claimed_one_is_not_allowed),
        cmocka_unit_test(a_bad_pattern_or_mode_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
