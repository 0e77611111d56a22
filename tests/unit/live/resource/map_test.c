/* SPDX-License-Identifier: Apache-2.0 */
#include "live/resource/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* method and target; "verb group/version resource/subresource namespace name" with - for nothing */
static const struct {
    const char *method;
    const char *target;
    const char *read;
} OBJECTS[] = {
    {"GET", "/api/v1/pods", "list /v1 pods/- - -"},
    {"GET", "/api/v1/namespaces/a/pods", "list /v1 pods/- a -"},
    {"GET", "/api/v1/namespaces/a/pods?watch=true", "watch /v1 pods/- a -"},
    {"GET", "/api/v1/namespaces/a/pods?w%61tch=1", "watch /v1 pods/- a -"},
    {"GET", "/api/v1/namespaces/a/pods/p", "get /v1 pods/- a p"},
    {"GET", "/api/v1/namespaces/a/pods/p/log?follow=true", "get /v1 pods/log a p"},
    {"GET", "/api/v1/namespaces/a/pods/p/exec?command=sh", "connect /v1 pods/exec a p"},
    {"POST", "/api/v1/namespaces/a/pods/p/attach", "connect /v1 pods/attach a p"},
    {"DELETE", "/api/v1/namespaces/a/services/s/proxy/x/y", "connect /v1 services/proxy a s"},
    {"POST", "/api/v1/namespaces/a/pods/p/eviction", "create /v1 pods/eviction a p"},
    {"GET", "/api/v1/namespaces", "list /v1 namespaces/- - -"},
    {"GET", "/api/v1/namespaces/a", "get /v1 namespaces/- a a"},
    {"PUT", "/api/v1/namespaces/a/finalize", "update /v1 namespaces/finalize a a"},
    {"GET", "/api/v1/namespaces/a/status", "get /v1 namespaces/status a a"},
    {"POST", "/apis/apps/v1/namespaces/a/deployments", "create apps/v1 deployments/- a -"},
    {"PUT", "/apis/apps/v1/namespaces/a/deployments/d", "update apps/v1 deployments/- a d"},
    {"PATCH", "/apis/apps/v1/namespaces/a/deployments/d/scale",
     "patch apps/v1 deployments/scale a d"},
    {"DELETE", "/apis/apps/v1/namespaces/a/deployments/d", "delete apps/v1 deployments/- a d"},
    {"DELETE", "/apis/apps/v1/namespaces/a/deployments",
     "deletecollection apps/v1 deployments/- a -"},
    {"GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
     "get rbac.authorization.k8s.io/v1 clusterroles/- - system:node"},
    {"GET", "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications",
     "list argoproj.io/v1alpha1 applications/- argocd -"},
};

static const char *or_none(ab_str s, char *room)
{
    (void)snprintf(room, 256, "%.*s", AB_STR_ARG(s));
    return s.len == 0 ? "-" : room;
}

static void a_path_of_objects_is_read_as_the_api_server_reads_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(OBJECTS) / sizeof(OBJECTS[0]); i++) {
        ab_resource_map m;
        char read[1024], sub[256], ns[256], name[256];
        ab_err e = ab_resource_map_read(ab_str_of(OBJECTS[i].method), ab_str_of(OBJECTS[i].target),
                                        &m, NULL);
        assert_int_equal(e, AB_ERR_OK);
        assert_int_equal(m.kind, AB_RESOURCE_OBJECTS);
        (void)snprintf(read, sizeof(read), "%s %.*s/%.*s %.*s/%s %s %s",
                       ab_resource_map_verb(m.verb), AB_STR_ARG(m.group), AB_STR_ARG(m.version),
                       AB_STR_ARG(m.resource), or_none(m.subresource, sub), or_none(m.ns, ns),
                       or_none(m.name, name));
        assert_string_equal(read, OBJECTS[i].read);
        assert_int_equal(m.follow, strstr(OBJECTS[i].target, "follow") != NULL);
    }
}

static void discovery_and_health_are_no_objects(void **state)
{
    (void)state;
    static const char *const DISCOVERY[] = {"/",
                                            "/api",
                                            "/apis",
                                            "/apis/apps",
                                            "/apis/apps/v1",
                                            "/api/v1?timeout=32s",
                                            "/version",
                                            "/openapi/v2",
                                            "/openapi/v3",
                                            "/openapi/v3/apis/apps/v1?hash=1"};
    static const char *const ALIVE[] = {"/healthz", "/livez/ping", "/readyz?verbose"};
    ab_resource_map m;
    for (size_t i = 0; i < sizeof(DISCOVERY) / sizeof(DISCOVERY[0]); i++) {
        assert_int_equal(ab_resource_map_read(AB_STR("GET"), ab_str_of(DISCOVERY[i]), &m, NULL),
                         AB_ERR_OK);
        assert_int_equal(m.kind, AB_RESOURCE_DISCOVERY);
        assert_int_equal(ab_resource_map_read(AB_STR("POST"), ab_str_of(DISCOVERY[i]), &m, NULL),
                         AB_ERR_INVALID);
    }
    for (size_t i = 0; i < sizeof(ALIVE) / sizeof(ALIVE[0]); i++) {
        assert_int_equal(ab_resource_map_read(AB_STR("GET"), ab_str_of(ALIVE[i]), &m, NULL),
                         AB_ERR_OK);
        assert_int_equal(m.kind, AB_RESOURCE_HEALTH);
    }
}

static const struct {
    const char *method;
    const char *target;
    const char *why; /* part of the text */
} REFUSED[] = {
    {"GET", "", "percent-escape"},
    {"GET", "api/v1", "percent-escape"},
    {"GET", "http://x/api/v1", "percent-escape"},
    {"GET", "/api/v1/namespaces/a/pods/../../b/pods", "part 6"},
    {"GET", "/api/v1/namespaces/a/pods/%2e%2e/b", "part 6"},
    {"GET", "/api/v1/namespaces/a/pods/..%2f..", "part 6"},
    {"GET", "/api/v1/namespaces/a%2Fpods", "part 4"},
    {"GET", "/api/v1/namespaces/a/pods/a%252fb", "part 6"},
    {"GET", "/api//v1/pods", "part 2"},
    {"GET", "/api/v1/pods/", "part 4"},
    {"GET", "//api/v1/pods", "part 1"},
    {"GET", "/api/v1/pods/a%00", "part 4"},
    {"GET", "/api/v1/pods/a%0ab", "part 4"},
    {"GET", "/api/v1/pods/a%ff", "part 4"},
    {"GET", "/api/v1/pods/a%4", "part 4"},
    {"GET", "/api/v1/pods/a\\b", "percent-escape"},
    {"GET", "/api/v1/pods/a b", "percent-escape"},
    {"GET", "/api/v1/pods#x", "percent-escape"},
    {"GET", "/api/v1/watch/pods", "?watch=true"},
    {"GET", "/api/v1/proxy/nodes/n", "?watch=true"},
    {"GET", "/api/v1/namespaces/a/pods/p?watch=1", "fieldSelector"},
    {"GET", "/api/v1/pods?watch=false&watch=true", "parameter watch"},
    {"GET", "/api/v1/pods?a=%zz", "percent-escape"},
    {"GET", "/api/v1/namespaces/a/pods/p/log/x", "not one of"},
    {"GET", "/api/v1/namespaces/A_/pods", "namespace"},
    {"GET", "/api/v1/Pods", "resource"},
    {"GET", "/apis/a..b/v1/pods", "API group"},
    {"GET", "/apis/-/v1", "API group"},
    {"GET", "/metrics", "not one of"},
    {"GET", "/logs/kube-apiserver.log", "not one of"},
    {"GET", "/debug/pprof", "not one of"},
    {"OPTIONS", "/api/v1/pods", "method"},
    {"get", "/api/v1/pods", "method"},
    {"CONNECT", "/api/v1/pods", "method"},
    {"PATCH", "/api/v1/namespaces/a/pods", "name of an object"},
    {"DELETE", "/apis/apps/v1", "only GET"},
};

static void what_is_ambiguous_is_refused_with_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++) {
        ab_resource_map m;
        ab_error err = {0};
        ab_err e = ab_resource_map_read(ab_str_of(REFUSED[i].method), ab_str_of(REFUSED[i].target),
                                        &m, &err);
        assert_int_equal(e, AB_ERR_INVALID);
        if (strstr(err.text, REFUSED[i].why) == NULL)
            fail_msg("%s: %s", REFUSED[i].target, err.text);
    }
}

static void a_path_has_a_limit(void **state)
{
    (void)state;
    static char target[AB_RESOURCE_TARGET_MAX + 2];
    ab_resource_map m;
    memset(target, 'a', sizeof(target));
    memcpy(target, "/api/v1/pods?", 13);
    assert_int_equal(
        ab_resource_map_read(AB_STR("GET"), (ab_str){target, AB_RESOURCE_TARGET_MAX}, &m, NULL),
        AB_ERR_OK);
    assert_int_equal(
        ab_resource_map_read(AB_STR("GET"), (ab_str){target, AB_RESOURCE_TARGET_MAX + 1}, &m, NULL),
        AB_ERR_INVALID);
    target[12] = 'a';
    assert_int_equal(
        ab_resource_map_read(AB_STR("GET"), (ab_str){target, AB_RESOURCE_PATH_MAX + 1}, &m, NULL),
        AB_ERR_INVALID);
    assert_int_equal(ab_resource_map_read(AB_STR("GET"),
                                          AB_STR("/openapi/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p"), &m,
                                          NULL),
                     AB_ERR_INVALID);
}

static void the_path_is_put_together_from_what_was_read(void **state)
{
    (void)state;
    static const char *const TARGETS[][2] = {
        {"/api/v1/%6eamespaces/a/p%6Fds/x%3ay?a=%41", "/api/v1/namespaces/a/pods/x:y?a=%41"},
        {"/apis/rbac.authorization.k8s.io/v1/clusterroles/a%20b",
         "/apis/rbac.authorization.k8s.io/v1/clusterroles/a%20b"},
        {"/", "/"},
    };
    for (size_t i = 0; i < sizeof(TARGETS) / sizeof(TARGETS[0]); i++) {
        ab_resource_map m;
        ab_buf out;
        ab_buf_init(&out, 4096);
        assert_int_equal(ab_resource_map_read(AB_STR("GET"), ab_str_of(TARGETS[i][0]), &m, NULL),
                         AB_ERR_OK);
        ab_resource_map_put_path(&m, &out);
        assert_string_equal(out.ptr, TARGETS[i][1]);
        ab_buf_fini(&out);
    }
}

static void an_object_is_named_for_people(void **state)
{
    (void)state;
    static const char *const NAMES[][2] = {
        {"/api/v1/namespaces/a/pods/p/log", "pods/log a/p"},
        {"/apis/apps/v1/namespaces/a/deployments", "deployments.apps a"},
        {"/api/v1/namespaces/a", "namespaces a"},
        {"/api/v1/nodes/n", "nodes n"},
        {"/api/v1/pods", "pods"},
        {"/version", "/version"},
    };
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        ab_resource_map m;
        ab_buf out;
        ab_buf_init(&out, 4096);
        assert_int_equal(ab_resource_map_read(AB_STR("GET"), ab_str_of(NAMES[i][0]), &m, NULL),
                         AB_ERR_OK);
        ab_resource_map_put_object(&m, &out);
        assert_string_equal(out.ptr, NAMES[i][1]);
        ab_buf_fini(&out);
    }
}

static void the_agent_is_split_off(void **state)
{
    (void)state;
    ab_str agent, rest;
    assert_int_equal(
        ab_resource_map_split_agent(AB_STR("/agents/one/api/v1?a=b"), &agent, &rest, NULL),
        AB_ERR_OK);
    assert_true(ab_str_is(agent, "one"));
    assert_true(ab_str_is(rest, "/api/v1?a=b"));
    assert_int_equal(ab_resource_map_split_agent(AB_STR("/agents/one"), &agent, &rest, NULL),
                     AB_ERR_OK);
    assert_true(ab_str_is(rest, "/"));
    assert_int_equal(ab_resource_map_split_agent(AB_STR("/api/v1"), &agent, &rest, NULL),
                     AB_ERR_OK);
    assert_null(agent.ptr);
    assert_true(ab_str_is(rest, "/api/v1"));
    static const char *const BAD[] = {"/agents/", "/agents/../x", "/agents/One/api", "/agents//api",
                                      "/agents/%6fne/api"};
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
        assert_int_equal(ab_resource_map_split_agent(ab_str_of(BAD[i]), &agent, &rest, NULL),
                         AB_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_of_objects_is_read_as_the_api_server_reads_it),
        cmocka_unit_test(discovery_and_health_are_no_objects),
        cmocka_unit_test(what_is_ambiguous_is_refused_with_a_reason),
        cmocka_unit_test(a_path_has_a_limit),
        cmocka_unit_test(the_path_is_put_together_from_what_was_read),
        cmocka_unit_test(an_object_is_named_for_people),
        cmocka_unit_test(the_agent_is_split_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
