/* SPDX-License-Identifier: Apache-2.0
 *
 * How many Applications of an agent are in which state, as the hub's store shows them.
 */
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define BAD  "{\"sync\":{\"status\":\"OutOfSync\"},\"health\":{\"status\":\"Degraded\"}}"
#define GOOD "{\"sync\":{\"status\":\"Synced\"},\"health\":{\"status\":\"Healthy\"}}"

static int setup_autonomous(void **state)
{
    (void)setup(state);
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    return 0;
}

#define AUTONOMOUS(f) cmocka_unit_test_setup_teardown(f, setup_autonomous, teardown)

static ab_app_counts counts(void)
{
    ab_app_counts out;
    ab_principal_app_counts(w.principal, "w1", &out);
    return out;
}

static void say(const char *status)
{
    set_field(w.local, LOCAL, "status", status);
    world_settle(&w);
}

static void assert_one(ab_app_sync sync, ab_app_health health)
{
    ab_app_counts c = counts();
    assert_int_equal(c.all, 1);
    assert_int_equal(c.sync[sync], 1);
    assert_int_equal(c.health[health], 1);
}

/* What holds for both modes, once "a" stands at both ends. */
static void follows_the_agent(void)
{
    assert_one(AB_APP_SYNC_UNKNOWN, AB_APP_HEALTH_UNKNOWN);
    say(BAD);
    assert_one(AB_APP_OUT_OF_SYNC, AB_APP_DEGRADED);
    say(GOOD);
    assert_one(AB_APP_SYNCED, AB_APP_HEALTHY);
    restart_principal();
    assert_one(AB_APP_SYNCED, AB_APP_HEALTHY);
}

static void those_of_a_managed_agent_follow_its_reports(void **state)
{
    (void)state;
    placed("");
    follows_the_agent();
    fake_store_erase(w.hub, HUB);
    world_settle(&w);
    assert_int_equal(counts().all, 0);
}

static void mirrors_follow_their_agent(void **state)
{
    (void)state;
    put_app(w.local, "argocd", "a", 1, "", "");
    world_start(&w);
    follows_the_agent();
    fake_store_erase(w.local, LOCAL);
    world_settle(&w);
    assert_int_equal(counts().all, 0);
}

static void an_unknown_agent_has_none(void **state)
{
    ab_app_counts out;
    (void)state;
    placed("");
    ab_principal_app_counts(w.principal, "nobody", &out);
    assert_int_equal(out.all, 0);
}

/* Whether it is served or not. */
static void an_agent_that_goes_and_comes_keeps_its_counts(void **state)
{
    (void)state;
    placed("");
    say(BAD);
    ab_principal_remove_agent(w.principal, "w1");
    assert_one(AB_APP_OUT_OF_SYNC, AB_APP_DEGRADED);
    restart_principal();
    assert_one(AB_APP_OUT_OF_SYNC, AB_APP_DEGRADED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(those_of_a_managed_agent_follow_its_reports),
        AUTONOMOUS(mirrors_follow_their_agent),
        TEST(an_unknown_agent_has_none),
        TEST(an_agent_that_goes_and_comes_keeps_its_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
