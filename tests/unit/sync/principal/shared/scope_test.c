/* SPDX-License-Identifier: Apache-2.0
 *
 * A project that permits clusters of its own only, and whose clusters those are.
 */
#include "schema/attributes.h"
#include "tests/unit/sync/world/hub.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PROJECT "AppProject/" HUB_NAMESPACE "/team"
#define SECRET  "Secret/" HUB_NAMESPACE "/repo"

static hub h;
static const char *owner; /* agent whose cluster is the project's */

static bool is_scoped(void *scopes, const char *agent, ab_str project)
{
    (void)scopes;
    return ab_str_is(project, "team") && strcmp(agent, owner) == 0;
}

static void put(const char *json)
{
    ab_object *o = sample_object(json);
    fake_store_put(h.store, o);
    ab_object_unref(o);
}

static int setup(void **state)
{
    (void)state;
    hub_init(&h);
    h.sealing = (ab_principal_sealing){.off = true};
    h.is_scoped = is_scoped;
    hub_add(&h, "a1");
    hub_add(&h, "a2");
    put("{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":{\"name\":"
        "\"team\",\"namespace\":\"" HUB_NAMESPACE
        "\"},\"spec\":{\"destinations\":[{\"name\":\"*\"}],"
        "\"permitOnlyProjectScopedClusters\":true,\"sourceNamespaces\":[\"*\"]}}");
    put("{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"repo\",\"namespace\":"
        "\"" HUB_NAMESPACE "\",\"labels\":{\"" AB_LABEL_SECRET_TYPE
        "\":\"repository\"}},\"data\":{\"project\":\"dGVhbQ==\",\"password\":\"aHVudGVyMg==\"}}");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    hub_fini(&h);
    return 0;
}

static void assert_only_at(const char *agent, const char *other)
{
    assert_non_null(hub_sent(&h, agent, PROJECT));
    assert_non_null(hub_sent(&h, agent, SECRET));
    assert_null(hub_sent(&h, other, PROJECT));
    assert_null(hub_sent(&h, other, SECRET));
}

static void the_project_and_its_secrets_go_to_the_agent_whose_cluster_it_owns(void **state)
{
    (void)state;
    owner = "a1";
    hub_start(&h);
    assert_only_at("a1", "a2");
    ab_str data = ab_event_data(hub_sent(&h, "a1", PROJECT));
    assert_null(memmem(data.ptr, data.len, "permitOnly", strlen("permitOnly")));
}

static void they_follow_the_cluster(void **state)
{
    (void)state;
    owner = "a1";
    hub_start(&h);
    owner = "a2";
    ab_principal_scope_changed(h.principal, "a1", AB_STR("team"));
    ab_principal_scope_changed(h.principal, "a2", AB_STR("team"));
    hub_settle(&h);
    assert_only_at("a2", "a1");
}

static void a_change_that_concerns_nothing_here_is_ignored(void **state)
{
    (void)state;
    owner = "a1";
    hub_start(&h);
    ab_principal_scope_changed(h.principal, "a1", AB_STR("unknown"));
    ab_principal_scope_changed(h.principal, "a9", AB_STR("team"));
    hub_settle(&h);
    assert_only_at("a1", "a2");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_project_and_its_secrets_go_to_the_agent_whose_cluster_it_owns),
        TEST(they_follow_the_cluster),
        TEST(a_change_that_concerns_nothing_here_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
