/* SPDX-License-Identifier: Apache-2.0 */
#include "live/resource/spoke/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const ab_option ROWS[] = {AB_RESOURCE_POLICY_OPTION_ROWS};
static const ab_options TABLE = {ROWS, sizeof(ROWS) / sizeof(ROWS[0])};

/* The body of each request: a patch that sets no value of a Secret. */
#define LABEL "{\"metadata\":{\"labels\":{\"data\":\"x\"}}}"

/* `set`: "key=value" each, ended by NULL */
static ab_err load(const char *const *set, ab_resource_policy *p, ab_error *err)
{
    ab_config *config = NULL;
    ab_config_sources sources = {.set = set};
    while (set[sources.set_count] != NULL)
        sources.set_count++;
    assert_int_equal(ab_config_load(&TABLE, 1, &sources, &config, err), AB_ERR_OK);
    ab_err e = ab_resource_policy_load(config, p, err);
    ab_config_free(config);
    return e;
}

#define OPTIONS_MAX 4
typedef struct {
    const char *set[OPTIONS_MAX];
    const char *method;
    const char *target;
    const char *type;
    ab_resource_decision decision;
    const char *why; /* part of the text; NULL: not refused */
} sample;

static void check(const sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const sample *s = &samples[i];
        ab_resource_policy p;
        ab_resource_map m;
        ab_error why = {0};
        assert_int_equal(load(s->set, &p, NULL), AB_ERR_OK);
        assert_int_equal(ab_resource_map_read(ab_str_of(s->method), ab_str_of(s->target), &m, NULL),
                         AB_ERR_OK);
        if (ab_resource_policy_decide(&p, &m, ab_str_of(s->type), AB_STR(LABEL), &why) !=
            s->decision)
            fail_msg("%s %s: expected %d (%s)", s->method, s->target, s->decision, why.text);
        if (s->why != NULL && strstr(why.text, s->why) == NULL)
            fail_msg("%s %s: %s", s->method, s->target, why.text);
        ab_resource_policy_fini(&p);
    }
}
#define CHECK(samples) check(samples, sizeof(samples) / sizeof((samples)[0]))

#define POD "/api/v1/namespaces/a/pods/p"
#define YES AB_RESOURCE_ALLOWED
#define NO  AB_RESOURCE_REFUSED
#define ASK AB_RESOURCE_IF_MANAGED

static void managed_asks_for_each_object(void **state)
{
    (void)state;
    static const sample SAMPLES[] = {
        {{0}, "GET", POD, NULL, ASK, NULL},
        {{0}, "GET", POD "/log?follow=true", NULL, ASK, NULL},
        {{0}, "PATCH", "/apis/apps/v1/namespaces/a/deployments/d", NULL, ASK, NULL},
        {{0}, "DELETE", POD, NULL, ASK, NULL},
        {{0}, "POST", "/apis/batch/v1/namespaces/a/jobs", NULL, ASK, NULL},
        {{0}, "GET", "/api/v1/namespaces/a/events", NULL, YES, NULL},
        {{0}, "GET", "/apis/events.k8s.io/v1/events?watch=1", NULL, YES, NULL},
        {{0}, "DELETE", "/api/v1/namespaces/a/events/e", NULL, ASK, NULL},
        {{0}, "GET", "/apis/example.com/v1/namespaces/a/events", NULL, NO, "policy: all"},
        {{0}, "GET", "/apis/apps/v1", NULL, YES, NULL},
        {{0}, "GET", "/version", NULL, YES, NULL},
        {{0}, "GET", "/healthz", NULL, YES, NULL},
        {{0}, "GET", "/api/v1/pods", NULL, NO, "policy: all"},
        {{0}, "GET", "/api/v1/pods?watch=true", NULL, NO, "policy: all"},
        {{"live.kubernetes.verbs=deletecollection"},
         "DELETE",
         "/api/v1/namespaces/a/pods",
         NULL,
         NO,
         "policy: all"},
    };
    CHECK(SAMPLES);
}

static void all_and_off_mean_what_they_say(void **state)
{
    (void)state;
    static const sample SAMPLES[] = {
        {{"live.kubernetes.policy=all"}, "GET", "/api/v1/pods", NULL, YES, NULL},
        {{"live.kubernetes.policy=all"}, "GET", POD, NULL, YES, NULL},
        {{"live.kubernetes.policy=all"}, "POST", "/api/v1/namespaces/a/pods", NULL, YES, NULL},
        {{"live.kubernetes.policy=off"}, "GET", POD, NULL, NO, "policy is off"},
        {{"live.kubernetes.policy=off"}, "GET", "/api", NULL, NO, "policy is off"},
        {{"live.kubernetes.policy=off", "live.exec=true"},
         "GET",
         POD "/exec",
         NULL,
         NO,
         "policy is off"},
    };
    CHECK(SAMPLES);
}

static void verbs_are_those_that_are_named(void **state)
{
    (void)state;
    static const sample SAMPLES[] = {
        {{"live.kubernetes.policy=all"}, "DELETE", "/api/v1/namespaces/a/pods", NULL, NO, "verbs"},
        {{"live.kubernetes.policy=all", "live.kubernetes.verbs=deletecollection"},
         "DELETE",
         "/api/v1/namespaces/a/pods",
         NULL,
         YES,
         NULL},
        {{"live.kubernetes.verbs=get,list"}, "PATCH", POD, NULL, NO, "live.kubernetes.verbs"},
        {{"live.kubernetes.verbs=list"}, "GET", POD "/log", NULL, NO, "live.kubernetes.verbs"},
        {{"live.kubernetes.verbs=list"}, "GET", "/api", NULL, YES, NULL},
    };
    CHECK(SAMPLES);
}

static void namespaces_hold_for_every_way(void **state)
{
    (void)state;
    static const sample SAMPLES[] = {
        {{"live.kubernetes.namespaces=team-*"}, "GET", POD, NULL, NO, "live.kubernetes.namespaces"},
        {{"live.kubernetes.namespaces=team-*"}, "GET", POD "/log", NULL, NO, "namespaces"},
        {{"live.kubernetes.namespaces=team-*", "live.exec=true"},
         "GET",
         POD "/exec",
         NULL,
         NO,
         "namespaces"},
        {{"live.kubernetes.namespaces=team-*"},
         "GET",
         "/api/v1/namespaces/team-a/pods/p",
         NULL,
         ASK,
         NULL},
        {{"live.kubernetes.namespaces=team-*"},
         "GET",
         "/api/v1/namespaces/team-a",
         NULL,
         ASK,
         NULL},
        {{"live.kubernetes.namespaces=team-*"}, "GET", "/api/v1/nodes/n", NULL, NO, "namespaces"},
        {{"live.kubernetes.namespaces=team-*", "live.kubernetes.policy=all"},
         "GET",
         "/api/v1/pods",
         NULL,
         NO,
         "namespaces"},
        {{"live.kubernetes.namespaces=team-*"}, "GET", "/api/v1/events", NULL, NO, "namespaces"},
        {{0}, "GET", "/api/v1/nodes/n", NULL, ASK, NULL},
    };
    CHECK(SAMPLES);
}

#define SECRET "/api/v1/namespaces/a/secrets/s"
#define TOKEN  "/api/v1/namespaces/a/serviceaccounts/s/token"
#define MERGE  "application/merge-patch+json"

static void secrets_stay_what_they_are(void **state)
{
    (void)state;
    static const sample SAMPLES[] = {
        {{0}, "GET", SECRET, NULL, ASK, NULL},
        {{0}, "PATCH", SECRET, MERGE, ASK, NULL},
        {{0}, "PATCH", SECRET, MERGE "; charset=utf-8", ASK, NULL},
        {{0}, "PATCH", SECRET, "application/strategic-merge-patch+json", ASK, NULL},
        {{0}, "PATCH", SECRET, "application/apply-patch+yaml", NO, "secrets: clear"},
        {{0}, "PATCH", SECRET, "application/json-patch+json", NO, "secrets: clear"},
        {{0}, "PATCH", SECRET, "application/json-patch+json;a=b", NO, "secrets: clear"},
        {{0}, "PATCH", SECRET, "", NO, "secrets: clear"},
        {{0}, "PATCH", SECRET, NULL, NO, "secrets: clear"},
        {{0}, "PATCH", SECRET, " application/json-patch+json", NO, "secrets: clear"},
        {{0}, "PUT", SECRET, "application/json", NO, "secrets: clear"},
        {{0}, "POST", TOKEN, NULL, NO, "secrets: clear"},
        {{"live.kubernetes.secrets=refused"}, "GET", SECRET, NULL, NO, "secrets is refused"},
        {{"live.kubernetes.secrets=refused"}, "POST", TOKEN, NULL, NO, "secrets is refused"},
        {{"live.kubernetes.secrets=refused", "live.kubernetes.policy=all"},
         "GET",
         "/api/v1/secrets",
         NULL,
         NO,
         "secrets is refused"},
        {{"live.kubernetes.secrets=clear"}, "PUT", SECRET, NULL, ASK, NULL},
        {{"live.kubernetes.secrets=clear"}, "POST", TOKEN, NULL, ASK, NULL},
        {{"live.kubernetes.secrets=refused"},
         "GET",
         "/apis/x.io/v1/namespaces/a/secrets/s",
         NULL,
         ASK,
         NULL},
    };
    CHECK(SAMPLES);
}

static ab_resource_decision decide_patch(const char *secrets, const char *type, const char *body,
                                         ab_error *why)
{
    ab_resource_policy p;
    ab_resource_map m;
    assert_int_equal(load((const char *const[]){secrets, NULL}, &p, NULL), AB_ERR_OK);
    assert_int_equal(ab_resource_map_read(AB_STR("PATCH"), AB_STR(SECRET), &m, NULL), AB_ERR_OK);
    ab_resource_decision d =
        ab_resource_policy_decide(&p, &m, ab_str_of(type), ab_str_of(body), why);
    ab_resource_policy_fini(&p);
    return d;
}

static void no_patch_of_a_masked_secret_is_a_guess_at_a_value(void **state)
{
    static const char *const BODIES[] = {"{\"data\":{\"a\":\"Yg==\"}}",
                                         "{\"stringData\":{\"a\":\"b\"}}",
                                         "{\"d\\u0061ta\":{\"a\":\"Yg==\"}}",
                                         "{\"metadata\":{},\"data\":{}}",
                                         "{\"\\ud800\":1}",
                                         "{\"$patch\":\"replace\",\"metadata\":{}}",
                                         "{\"$r\\u0065tainKeys\":[\"metadata\"]}",
                                         "data: {}",
                                         "[{\"data\":{}}]",
                                         "\"data\"",
                                         "",
                                         NULL};
    static const char *const TYPES[] = {MERGE, "application/strategic-merge-patch+json"};
    (void)state;
    for (size_t i = 0; i < sizeof(BODIES) / sizeof(BODIES[0]); i++) {
        for (size_t t = 0; t < 2; t++) {
            ab_error why = {0};
            assert_int_equal(
                decide_patch("live.kubernetes.secrets=masked", TYPES[t], BODIES[i], &why), NO);
            assert_non_null(strstr(why.text, "whether a value was guessed"));
        }
        assert_int_equal(decide_patch("live.kubernetes.secrets=clear", MERGE, BODIES[i], NULL),
                         ASK);
    }
}

static void terminals_need_their_own_option(void **state)
{
    (void)state;
    static const sample SAMPLES[] = {
        {{0}, "GET", POD "/exec?command=sh", NULL, NO, "live.exec is false"},
        {{"live.kubernetes.policy=all"}, "POST", POD "/attach", NULL, NO, "live.exec is false"},
        {{"live.kubernetes.policy=all"},
         "PATCH",
         POD "/ephemeralcontainers",
         NULL,
         NO,
         "live.exec is false"},
        {{0}, "PUT", POD "/ephemeralcontainers", NULL, NO, "live.exec is false"},
        {{"live.exec=true"}, "PATCH", POD "/ephemeralcontainers", NULL, ASK, NULL},
        {{"live.exec=true"}, "GET", POD "/exec?command=sh", NULL, ASK, NULL},
        {{"live.exec=true", "live.kubernetes.policy=all"}, "GET", POD "/exec", NULL, YES, NULL},
        {{"live.exec=true", "live.kubernetes.policy=all"},
         "GET",
         POD "/portforward",
         NULL,
         NO,
         "port forwarding"},
        {{"live.exec=true", "live.kubernetes.policy=all"},
         "GET",
         "/api/v1/nodes/n/proxy/exec/a/p/c",
         NULL,
         NO,
         "proxies"},
        {{"live.exec=true", "live.kubernetes.policy=all"},
         "GET",
         "/apis/x.io/v1/namespaces/a/pods/p/exec",
         NULL,
         NO,
         "proxies"},
    };
    CHECK(SAMPLES);
}

static void only_masked_secrets_are_masked(void **state)
{
    (void)state;
    ab_resource_policy p = {.secrets = AB_RESOURCE_SECRETS_MASKED};
    ab_resource_map m;
    assert_int_equal(ab_resource_map_read(AB_STR("GET"), AB_STR(SECRET), &m, NULL), AB_ERR_OK);
    assert_true(ab_resource_policy_masks(&p, &m));
    p.secrets = AB_RESOURCE_SECRETS_CLEAR;
    assert_false(ab_resource_policy_masks(&p, &m));
    p.secrets = AB_RESOURCE_SECRETS_MASKED;
    assert_int_equal(ab_resource_map_read(AB_STR("GET"), AB_STR(POD), &m, NULL), AB_ERR_OK);
    assert_false(ab_resource_policy_masks(&p, &m));
}

static void a_wrong_option_is_named(void **state)
{
    (void)state;
    ab_resource_policy p;
    ab_error err = {0};
    assert_int_equal(load((const char *const[]){"live.kubernetes.verbs=get,read", NULL}, &p, &err),
                     AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, "live.kubernetes.verbs: \"read\""));
    ab_resource_policy_fini(&p);
    assert_int_equal(load((const char *const[]){"live.kubernetes.verbs=connect", NULL}, &p, &err),
                     AB_ERR_CONFIG);
    ab_resource_policy_fini(&p);
    assert_int_equal(
        load((const char *const[]){"live.kubernetes.namespaces=/\\d/", NULL}, &p, &err),
        AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, "live.kubernetes.namespaces"));
    ab_resource_policy_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(managed_asks_for_each_object),
        cmocka_unit_test(all_and_off_mean_what_they_say),
        cmocka_unit_test(verbs_are_those_that_are_named),
        cmocka_unit_test(namespaces_hold_for_every_way),
        cmocka_unit_test(secrets_stay_what_they_are),
        cmocka_unit_test(no_patch_of_a_masked_secret_is_a_guess_at_a_value),
        cmocka_unit_test(terminals_need_their_own_option),
        cmocka_unit_test(only_masked_secrets_are_masked),
        cmocka_unit_test(a_wrong_option_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
