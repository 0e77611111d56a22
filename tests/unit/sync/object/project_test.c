/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/project.h"

#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static ab_object *project_with(const char *spec)
{
    char json[2048];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":"
             "{\"name\":\"p\",\"namespace\":\"argocd\",\"uid\":\"u\",\"resourceVersion\":\"5\","
             "\"generation\":2,\"finalizers\":[\"f\"],\"ownerReferences\":[{}],"
             "\"labels\":{\"l\":\"1\"},\"annotations\":{\"a\":\"1\",\"argobus.io/x\":\"1\"}},"
             "\"spec\":%s,\"status\":{\"s\":1}}",
             spec);
    return sample_object(json);
}

static bool is_for(const char *spec, const char *agent, bool destination_mapping)
{
    ab_project *project = NULL;
    ab_object *o = project_with(spec);
    assert_int_equal(ab_project_new(o, &project), AB_ERR_OK);
    bool result = ab_project_is_for(project, agent, destination_mapping, false);
    ab_project_free(project);
    ab_object_unref(o);
    return result;
}

static void destinations_decide(void **state)
{
    (void)state;
    static const struct {
        const char *destinations;
        const char *agent;
        bool expected;
    } rows[] = {
        {"[{\"name\":\"a1\"}]", "a1", true},
        {"[{\"name\":\"a1\"}]", "a2", false},
        {"[{\"name\":\"a*\"}]", "a1", true},
        {"[{\"name\":\"a?\"}]", "a12", false},
        {"[{\"name\":\"*\"}]", "anything", true},
        {"[{\"name\":\"a1\"},{\"name\":\"a2\"}]", "a2", true},
        {"[{\"name\":\"*\"},{\"name\":\"!a1\"}]", "a1", false},
        {"[{\"name\":\"!a1\"},{\"name\":\"*\"}]", "a1", false},
        {"[{\"name\":\"!a1\"},{\"name\":\"*\"}]", "a2", true},
        {"[{\"name\":\"!a*\"},{\"name\":\"*\"}]", "a2", false},
        {"[{\"name\":\"!a1\"}]", "a2", false},
        {"[{\"server\":\"*\"}]", "a1", true},
        {"[{\"name\":\"\",\"server\":\"*\"}]", "a1", true},
        {"[{\"name\":\"a2\",\"server\":\"*\"}]", "a1", false},
        {"[{\"server\":\"https://proxy:9090?agentName=a1\"}]", "a1", true},
        {"[{\"server\":\"https://proxy:9090?agentName=a1\"}]", "a2", false},
        {"[{\"server\":\"https://proxy:9090?x=1&agentName=a*#y\"}]", "a2", true},
        {"[{\"server\":\"https://proxy:9090?agentName=%61%2a\"}]", "a2", true},
        {"[{\"server\":\"https://proxy:9090?xagentName=a1\"}]", "a1", false},
        {"[{\"server\":\"https://proxy:9090?agentName=\"}]", "a1", false},
        {"[{\"server\":\"https://proxy:9090\"}]", "a1", false},
        {"[{\"server\":\"https://kubernetes.default.svc\"}]", "a1", false},
        {"[{\"server\":\"*\"},{\"server\":\"!https://p?agentName=a1\",\"namespace\":\"*\"}]", "a1",
         false},
        {"[{\"server\":\"!https://p?agentName=a1\",\"namespace\":\"*\"},{\"server\":\"*\"}]", "a2",
         true},
        {"[{\"name\":\"a*\"},{\"server\":\"!https://p?agentName=a*\",\"namespace\":\"*\"}]", "a1",
         false},
        {"[{\"server\":\"!https://p?agentName=a1\",\"namespace\":\"*\"}]", "a1", false},
        {"[{\"server\":\"!https://p?agentName=a1\",\"namespace\":\"x\"}]", "a1", false},
        {"[{\"name\":\"a1\"},{\"server\":\"!https://p?agentName=a1\",\"namespace\":\"x\"}]", "a1",
         true},
        {"[{\"name\":\"*\"},{\"server\":\"!*\",\"namespace\":\"*\"}]", "a1", false},
        {"[{\"name\":\"*\"},{\"server\":\"!https://own\",\"namespace\":\"*\"}]", "a1", true},
        {"[{\"name\":\"a1\",\"server\":\"!https://p?agentName=a1\"}]", "a1", true},
        {"[{}]", "a1", false},
        {"[7,null,{\"name\":7}]", "a1", false},
        {"[]", "a1", false},
        {"{\"name\":\"a1\"}", "a1", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char spec[400];
        snprintf(spec, sizeof(spec), "{\"destinations\":%s,\"sourceNamespaces\":[\"*\"]}",
                 rows[i].destinations);
        if (is_for(spec, rows[i].agent, false) != rows[i].expected)
            fail_msg("%s for %s", rows[i].destinations, rows[i].agent);
    }
}

/* For a1, beside an allowed destination of every agent. */
static bool is_for_beside(const char *destination)
{
    char spec[400];
    snprintf(spec, sizeof(spec), "{\"destinations\":[{\"name\":\"*\"},{%s}]}", destination);
    return is_for(spec, "a1", true);
}

/* Whatever host the agent's cluster Secret names. */
static void a_denied_server_denies_the_agents_whose_address_it_matches(void **state)
{
    (void)state;
    static const struct {
        const char *server;
        bool expected;
        bool undecided; /* it depends on the host, which is not known */
    } rows[] = {
        {"!https://*", false, false},
        {"!http*", false, false},
        {"!*agentName=*", false, false},
        {"!*agentName=a*", false, true},
        {"!*/a1", false, true},
        {"!*/a2", true, true},
        {"!https://*:9090/*", true, true},
        {"!https://*.example.com", true, true},
        {"!https://kubernetes.default.svc", true, false},
        {"!https://10.0.0.1:6443", true, false},
        {"!https://{a,b", true, true},
        {"!", true, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char spec[256];
        ab_project *project = NULL;
        snprintf(spec, sizeof(spec),
                 "{\"destinations\":[{\"name\":\"*\"},{\"server\":\"%s\",\"namespace\":\"*\"}]}",
                 rows[i].server);
        ab_object *o = project_with(spec);
        assert_int_equal(ab_project_new(o, &project), AB_ERR_OK);
        assert_int_equal(ab_project_is_for(project, "a1", true, false), rows[i].expected);
        assert_int_equal(ab_project_undecided(project) != NULL, rows[i].undecided);
        ab_project_free(project);
        ab_object_unref(o);
    }
}

static void a_denial_that_cannot_be_evaluated_denies_everybody(void **state)
{
    (void)state;
    assert_false(is_for_beside("\"name\":\"!{b,{c,d}}\""));
    assert_false(is_for_beside("\"name\":\"![b\""));
    assert_false(is_for_beside("\"server\":\"!https://p?agentName={b\",\"namespace\":\"*\""));
    assert_true(is_for_beside("\"server\":\"!https://p?agentName={b\",\"namespace\":\"x\""));
    assert_true(is_for_beside("\"server\":\"!https://{own\",\"namespace\":\"*\""));
    assert_true(is_for_beside("\"name\":\"{b,{c,d}}\""));
}

/* As live access and registration have it in cluster Secrets. */
static void the_address_of_live_access_names_an_agent(void **state)
{
    (void)state;
    assert_false(is_for_beside("\"server\":\"!https://p:9090/agents/a1\",\"namespace\":\"*\""));
    assert_false(is_for_beside("\"server\":\"!https://*/agents/a%31/\",\"namespace\":\"*\""));
    assert_false(is_for_beside("\"server\":\"!*/agents/?1#x\",\"namespace\":\"*\""));
    assert_true(is_for_beside("\"server\":\"!https://p:9090/agents/a2\",\"namespace\":\"*\""));
    assert_true(is_for_beside("\"server\":\"!https://p:9090/k/agents/a1\",\"namespace\":\"*\""));
    assert_true(
        is_for_beside("\"server\":\"!https://p/agents/a1?agentName=a2\",\"namespace\":\"*\""));
#define AT_PRINCIPAL(name) "{\"destinations\":[{\"server\":\"https://p:9090/agents/" name "\"}]}"
    assert_true(is_for(AT_PRINCIPAL("a1"), "a1", true));
    assert_true(is_for(AT_PRINCIPAL("a*#"), "a1", true));
    assert_false(is_for(AT_PRINCIPAL("a2"), "a1", true));
    assert_false(is_for(AT_PRINCIPAL("a1?x=y"), "a1", true));
    assert_false(is_for(AT_PRINCIPAL(""), "a1", true));
}

/* Also where it is longer than a glob may be, and than a name could ever be. */
static void a_long_denial_denies_everybody(void **state)
{
    (void)state;
    static char json[6000];
    static const size_t lengths[] = {1024, 1025, 5000};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        snprintf(json, sizeof(json),
                 "{\"apiVersion\":\"v1\",\"kind\":\"AppProject\",\"metadata\":{\"name\":\"p\","
                 "\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"5\"},\"spec\":{"
                 "\"destinations\":["
                 "{\"name\":\"*\"},{\"name\":\"!%0*d\"}]}}",
                 (int)lengths[i], 0);
        ab_project *project = NULL;
        ab_object *o = sample_object(json);
        assert_int_equal(ab_project_new(o, &project), AB_ERR_OK);
        assert_int_equal(ab_project_is_for(project, "a1", true, false), lengths[i] <= 1024);
        assert_int_equal(ab_project_unclear(project) == NULL, lengths[i] <= 1024);
        ab_project_free(project);
        ab_object_unref(o);
    }
}

static void source_namespaces_decide_in_namespace_mapping(void **state)
{
    (void)state;
    static const struct {
        const char *namespaces;
        bool expected;
    } rows[] = {
        {"[\"a1\"]", true},
        {"[\"a*\"]", true},
        {"[\"b\",\"a1\"]", true},
        {"[\"/^a[0-9]$/\"]", true},
        {"[\"/^b/\"]", false},
        {"[\"b\"]", false},
        {"[]", false},
        {"null", false},
        {"[\"/(/\"]", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char spec[400];
        snprintf(spec, sizeof(spec),
                 "{\"destinations\":[{\"name\":\"*\"}],\"sourceNamespaces\":%s}",
                 rows[i].namespaces);
        if (is_for(spec, "a1", false) != rows[i].expected)
            fail_msg("%s", rows[i].namespaces);
        assert_true(is_for(spec, "a1", true));
    }
}

static void a_project_of_own_clusters_is_for_the_agents_that_these_are_of(void **state)
{
    (void)state;
    static const struct {
        const char *permit;
        bool owns_cluster, expected;
    } rows[] = {{"true", true, true},
                {"true", false, false},
                {"false", false, true},
                {"\"true\"", false, true}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char spec[200];
        ab_project *project = NULL;
        snprintf(spec, sizeof(spec),
                 "{\"destinations\":[{\"name\":\"*\"}],\"permitOnlyProjectScopedClusters\":%s}",
                 rows[i].permit);
        ab_object *o = project_with(spec);
        assert_int_equal(ab_project_new(o, &project), AB_ERR_OK);
        assert_int_equal(ab_project_is_for(project, "a1", true, rows[i].owns_cluster),
                         rows[i].expected);
        ab_project_free(project);
        ab_object_unref(o);
    }
}

static void assert_rendered(const char *spec, bool destination_mapping, const char *expected)
{
    ab_buf out;
    ab_object *o = project_with(spec);
    ab_buf_init(&out, 4096);
    assert_int_equal(ab_project_render(o, "a1", destination_mapping, &out), AB_ERR_OK);
    ab_span *doc = sample_json(out.ptr);
    ab_span *wanted = sample_json(expected);
    if (!ab_span_same(ab_span_get(ab_span_root(doc), "spec"), ab_span_root(wanted)))
        fail_msg("%s", out.ptr);
    ab_span_free(doc);
    ab_span_free(wanted);
    ab_object_unref(o);
    ab_buf_fini(&out);
}

#define SPEC                                                                                       \
    "{\"destinations\":[{\"name\":\"a1\",\"namespace\":\"n1\"},{\"name\":\"a2\",\"namespace\":"    \
    "\"n2\"},{\"name\":\"!b\"},{\"server\":\"!https://"                                            \
    "p?agentName=b\"},{\"server\":\"*\",\"namespace\":\"*\"}],"                                    \
    "\"roles\":[{\"name\":\"r\"}],\"sourceNamespaces\":[\"a1\"],\"sourceRepos\":[\"*\"]}"
#define HERE(ns)                                                                                   \
    "{\"name\":\"in-cluster\",\"server\":\"https://kubernetes.default.svc\",\"namespace\":\"" ns   \
    "\"}"

static void an_agent_gets_its_destinations_as_its_own_cluster(void **state)
{
    (void)state;
    assert_rendered(SPEC, false,
                    "{\"destinations\":[" HERE("n1") "," HERE("*") "],\"sourceRepos\":[\"*\"]}");
}

static void what_a_server_denies_in_some_namespaces_is_denied_there(void **state)
{
    (void)state;
    assert_rendered("{\"destinations\":[{\"name\":\"*\",\"namespace\":\"*\"},"
                    "{\"server\":\"!https://p?agentName=a1\",\"namespace\":\"kube-*\"},"
                    "{\"server\":\"!https://p?agentName=a2\",\"namespace\":\"n\"}]}",
                    false,
                    "{\"destinations\":[" HERE(
                        "*") ",{\"server\":"
                             "\"!https://kubernetes.default.svc\",\"namespace\":\"kube-*\"}]}");
}

static void a_denial_that_cannot_be_evaluated_denies_its_namespaces_at_every_agent(void **state)
{
    (void)state;
    assert_rendered("{\"destinations\":[{\"name\":\"*\",\"namespace\":\"*\"},"
                    "{\"server\":\"!https://p?agentName={b,{c,d}}\",\"namespace\":\"kube-*\"}]}",
                    false,
                    "{\"destinations\":[" HERE(
                        "*") ",{\"server\":"
                             "\"!https://kubernetes.default.svc\",\"namespace\":\"kube-*\"}]}");
}

/* Argo CD would refuse each of its Applications. */
static void the_agents_own_cluster_is_not_asked_to_be_scoped_to_the_project(void **state)
{
    (void)state;
    assert_rendered("{\"permitOnlyProjectScopedClusters\":true}", true, "{\"destinations\":[]}");
}

static void source_namespaces_stay_in_destination_mapping(void **state)
{
    (void)state;
    assert_rendered(
        SPEC, true,
        "{\"destinations\":[" HERE("n1") "," HERE("*") "],\"sourceRepos\":[\"*\"],"
                                                       "\"sourceNamespaces\":[\"a1\"]}");
}

/* A window as it is at the hub, and as agent a1 is to have it; "": not at all. */
static void sync_windows_are_for_the_agents_own_cluster(void **state)
{
    (void)state;
    static const char here[] = "\"clusters\":[\"in-cluster\"]";
    static const struct {
        const char *window, *expected;
        bool destination_mapping;
    } rows[] = {
        {"\"clusters\":[\"a1\"]", here, true},
        {"\"clusters\":[\"b\",\"a?\"]", here, true},
        {"\"clusters\":[\"*\"]", here, true},
        {"\"clusters\":[\"https://p:9090/agents/a1\"]", here, true},
        {"\"clusters\":[\"https://p?agentName=a*\"]", here, true},
        {"\"clusters\":[\"https://*\"]", here, true},
        {"\"clusters\":[\"{a,{b,c}}\"]", here, true},
        {"\"clusters\":[\"in-cluster\"]", here, false},
        {"\"clusters\":[\"https://kubernetes.default.svc\"]", here, false},
        {"\"clusters\":[\"in-cluster\"],\"kind\":\"deny\"", "\"kind\":\"deny\"", true},
        {"\"clusters\":[\"b\"],\"applications\":[\"x\"]", "\"applications\":[\"x\"]", true},
        {"\"clusters\":[\"b\"],\"applications\":[\"x\"],\"andOperator\":true", "", true},
        {"\"clusters\":[],\"applications\":[\"x\"],\"andOperator\":true",
         "\"applications\":[\"x\"],\"andOperator\":true", true},
        {"\"namespaces\":[\"n\"]", "\"namespaces\":[\"n\"]", true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char spec[256], expected[256];
        snprintf(spec, sizeof(spec), "{\"syncWindows\":[{%s}]}", rows[i].window);
        snprintf(expected, sizeof(expected), "{\"destinations\":[],\"syncWindows\":[%s%s%s]}",
                 rows[i].expected[0] == '\0' ? "" : "{", rows[i].expected,
                 rows[i].expected[0] == '\0' ? "" : "}");
        assert_rendered(spec, rows[i].destination_mapping, expected);
    }
}

static void service_accounts_are_for_the_agents_own_cluster(void **state)
{
    (void)state;
    static const char here[] = "https://kubernetes.default.svc";
    static const struct {
        const char *server, *expected;
    } rows[] = {
        {"https://p?agentName=a1", here},
        {"https://p?agentName=a*", here},
        {"https://p?agentName=b", "https://p?agentName=b"},
        {"https://p:9090/agents/a1", here},
        {"https://*/agents/a?", here},
        {"https://p:9090/agents/b", "https://p:9090/agents/b"},
        {"a1", here},
        {here, here},
        {"*", "*"},
        {"https://*", "https://*"}, /* it matches there, too */
        {"{a,{b,c}}", "{a,{b,c}}"}, /* unknown: whose account it would be */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char spec[256], expected[256];
#define ACCOUNT                                                                                    \
    "{%s\"destinationServiceAccounts\":[{\"namespace\":\"n\",\"defaultServiceAccount\":\"s\","     \
    "\"server\":\"%s\"}]}"
        snprintf(spec, sizeof(spec), ACCOUNT, "", rows[i].server);
        snprintf(expected, sizeof(expected), ACCOUNT, "\"destinations\":[],", rows[i].expected);
        assert_rendered(spec, i % 2 == 0, expected);
    }
}

static void the_first_service_account_that_matches_is_the_same_one(void **state)
{
    (void)state;
    assert_rendered("{\"destinationServiceAccounts\":[{\"server\":\"https://p?agentName=b\"},"
                    "{\"server\":\"https://p?agentName=a1\"},{\"server\":\"*\"}]}",
                    true,
                    "{\"destinations\":[],\"destinationServiceAccounts\":["
                    "{\"server\":\"https://p?agentName=b\"},"
                    "{\"server\":\"https://kubernetes.default.svc\"},{\"server\":\"*\"}]}");
}

static void only_what_the_user_desired_is_sent(void **state)
{
    (void)state;
    ab_buf out;
    ab_object *o = project_with("{}");
    ab_buf_init(&out, 4096);
    assert_int_equal(ab_project_render(o, "a1", false, &out), AB_ERR_OK);
    assert_string_equal(out.ptr,
                        "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\","
                        "\"metadata\":{\"name\":\"p\",\"namespace\":\"argocd\",\"uid\":\"u\","
                        "\"labels\":{\"l\":\"1\"},\"annotations\":{\"a\":\"1\"}},"
                        "\"spec\":{\"destinations\":[]}}");
    ab_object_unref(o);
    ab_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(destinations_decide),
        cmocka_unit_test(a_denied_server_denies_the_agents_whose_address_it_matches),
        cmocka_unit_test(a_denial_that_cannot_be_evaluated_denies_everybody),
        cmocka_unit_test(the_address_of_live_access_names_an_agent),
        cmocka_unit_test(a_long_denial_denies_everybody),
        cmocka_unit_test(source_namespaces_decide_in_namespace_mapping),
        cmocka_unit_test(an_agent_gets_its_destinations_as_its_own_cluster),
        cmocka_unit_test(what_a_server_denies_in_some_namespaces_is_denied_there),
        cmocka_unit_test(a_denial_that_cannot_be_evaluated_denies_its_namespaces_at_every_agent),
        cmocka_unit_test(a_project_of_own_clusters_is_for_the_agents_that_these_are_of),
        cmocka_unit_test(the_agents_own_cluster_is_not_asked_to_be_scoped_to_the_project),
        cmocka_unit_test(source_namespaces_stay_in_destination_mapping),
        cmocka_unit_test(sync_windows_are_for_the_agents_own_cluster),
        cmocka_unit_test(service_accounts_are_for_the_agents_own_cluster),
        cmocka_unit_test(the_first_service_account_that_matches_is_the_same_one),
        cmocka_unit_test(only_what_the_user_desired_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
