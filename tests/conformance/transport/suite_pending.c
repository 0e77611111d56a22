/* SPDX-License-Identifier: Apache-2.0
 *
 * What every transport must know of the changes that are not in effect.
 */
#include "tests/conformance/transport/suite_priv.h"

static size_t pending(ab_end *principal, ab_direction direction)
{
    const ab_pending *p = ab_transport_pending(principal->transport, "w1", direction);
    return ab_pending_is_known(p) ? ab_pending_count(p) : SIZE_MAX;
}

static int64_t pending_age_ms(ab_end *principal, ab_direction direction)
{
    return ab_pending_age_ms(ab_transport_pending(principal->transport, "w1", direction));
}

/* One object that changed ten times, one that changed once, and a command. */
static void change_three(ab_end *end, const char *agent)
{
    for (uint64_t version = 2; version <= 11; version++)
        ab_end_put(end, agent, "app/a", version);
    ab_end_put(end, agent, "app/b", 1);
    ab_end_put(end, agent, "cmd/1", 1);
}

static void ack_all(ab_end *end)
{
    end->keep = false;
    for (size_t i = 0; i < end->receipt_count; i++) {
        if (end->receipts[i].delivery != NULL)
            ab_end_ack(end, i, AB_VERDICT_APPLIED);
    }
}

static void what_an_agent_has_not_put_into_effect_is_pending(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    AB_UNTIL(ends, pending(principal, AB_DOWN) == 0);
    agent->keep = true;
    change_three(principal, "w1");
    AB_UNTIL(ends, ab_end_count(agent, "cmd/1") == 1);
    AB_UNTIL(ends, pending(principal, AB_DOWN) == 3); /* the broker's answer to us may come later */
    AB_UNTIL(ends, pending_age_ms(principal, AB_DOWN) >= 100);
    assert_int_equal(pending(principal, AB_DOWN), 3);
    ack_all(agent);
    AB_UNTIL(ends, pending(principal, AB_DOWN) == 0);
    assert_int_equal(pending_age_ms(principal, AB_DOWN), 0);
    assert_int_equal(pending(principal, AB_UP), 0);
}

static void what_changes_while_an_agent_is_away_is_pending(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_put(principal, "w1", "app/a", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    AB_UNTIL(ends, pending(principal, AB_DOWN) == 0);
    ab_end_stop(agent);
    AB_UNTIL(ends, !ab_end_peer_of(principal, "w1")->up);
    change_three(principal, "w1");
    AB_UNTIL(ends, pending(principal, AB_DOWN) == 3);
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, pending(principal, AB_DOWN) == 0);
}

static void a_restarted_principal_knows_what_is_pending(void **state)
{
    ab_ends *ends = *state;
    if (!ab_ends_can(ends, AB_CAP_DURABLE))
        skip();
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_put(principal, "w1", "app/a", 1);
    ab_end_put(principal, "w1", "app/c", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/c") == 1);
    AB_UNTIL(ends, pending(principal, AB_DOWN) == 0);
    ab_end_stop(agent);
    change_three(principal, "w1");
    AB_UNTIL(ends, pending(principal, AB_DOWN) == 3);
    ab_end_stop(principal);
    principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready > 0);
    AB_UNTIL(ends, pending(principal, AB_DOWN) == 3);
}

static void what_the_principal_has_not_put_into_effect_is_pending(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    principal->keep = true;
    change_three(agent, NULL);
    AB_UNTIL(ends, ab_end_count(principal, "cmd/1") == 1);
    assert_int_equal(pending(principal, AB_UP), 3);
    AB_UNTIL(ends, pending_age_ms(principal, AB_UP) >= 100);
    ack_all(principal);
    assert_int_equal(pending(principal, AB_UP), 0);
    assert_int_equal(pending_age_ms(principal, AB_UP), 0);
}

static void an_agent_that_is_not_served_has_nothing_pending(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = ab_end_principal(ends, "w1");
    assert_null(ab_transport_pending(principal->transport, "w2", AB_DOWN));
    ab_transport_remove_agent(principal->transport, "w1");
    assert_null(ab_transport_pending(principal->transport, "w1", AB_DOWN));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, ab_ends_setup, ab_ends_teardown)

int ab_suite_run_group(const ab_ends_fixture *fixture, const char *name, struct CMUnitTest *tests,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        union {
            const ab_ends_fixture *in;
            void *out;
        } initial = {.in = fixture};
        tests[i].initial_state = initial.out;
    }
    return _cmocka_run_group_tests(name, tests, count, NULL, NULL);
}

int ab_suite_pending(const ab_ends_fixture *fixture)
{
    struct CMUnitTest tests[] = {
        CASE(what_an_agent_has_not_put_into_effect_is_pending),
        CASE(what_changes_while_an_agent_is_away_is_pending),
        CASE(a_restarted_principal_knows_what_is_pending),
        CASE(what_the_principal_has_not_put_into_effect_is_pending),
        CASE(an_agent_that_is_not_served_has_nothing_pending),
    };
    return ab_suite_run_group(fixture, "pending", tests, sizeof(tests) / sizeof(tests[0]));
}
