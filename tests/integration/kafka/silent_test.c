/* SPDX-License-Identifier: Apache-2.0
 *
 * One broker of three is silent, or fails, in what a principal with 250 agents asks it when it
 * begins to serve them: only the agents whose topics it leads wait for it.
 */
#include "tests/integration/kafka/mock_cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define AGENTS 250
#define BAD    3 /* the broker; 1 leads what it does not */

static void open_cluster(ab_ends *ends)
{
    ab_mock_open(ends, AGENTS, 1);
    /* So many would only keep the loop busy. */
    ab_ends_set(ends, "transport.heartbeat=5s");
    /* Nor does it help that librdkafka gives up: a test does not run for so long. */
    ab_ends_set(ends, "kafka.librdkafka.socket.timeout.ms=300000");
}

/* Let this broker lead the logs that the principal writes to w1 to w<count>. */
static void lead_first(const ab_ends *ends, int count, int32_t broker)
{
    for (int i = 1; i <= count; i++) {
        char topic[32];
        snprintf(topic, sizeof(topic), "down.w%d.state", i);
        ab_mock_lead(ends, topic, broker);
    }
}

static void add_agents(ab_end *principal, int first, int last)
{
    for (int i = first; i <= last; i++) {
        char agent[16];
        snprintf(agent, sizeof(agent), "w%d", i);
        assert_int_equal(ab_transport_add_agent(principal->transport, agent, NULL), AB_ERR_OK);
    }
}

static ab_end *start_principal(ab_ends *ends)
{
    char all[AGENTS * 5 + 1] = "";
    size_t len = 0;
    for (int i = 1; i <= AGENTS; i++)
        len += (size_t)snprintf(all + len, sizeof(all) - len, "%sw%d", i == 1 ? "" : ",", i);
    return ab_end_principal(ends, all);
}

/* How many of w<first> to w<last> can be sent events. */
static int count_ready(ab_end *principal, int first, int last)
{
    int count = 0;
    for (int i = first; i <= last; i++) {
        char agent[16];
        snprintf(agent, sizeof(agent), "w%d", i);
        count += ab_end_peer_of(principal, agent)->ready > 0 ? 1 : 0;
    }
    return count;
}

static void assert_no_trouble(const ab_ends *ends, int i)
{
    char text[64];
    snprintf(text, sizeof(text), "mock.down.w%d.state", i);
    assert_false(ab_ends_logged(ends, text));
}

static void assert_takes_events(ab_ends *ends, ab_end *principal, const char *agent)
{
    ab_sending sending = {.accepted = AB_ERR_UNAVAILABLE};
    AB_UNTIL(ends, ab_end_put_until_safe(principal, agent, "app/a", 1, &sending));
}

/* As many as are read at the same time. */
static void logs_that_cannot_be_read_keep_no_other_of_250_waiting(void **state)
{
    enum { HELD = 200 };
    ab_ends *ends = *state;
    ab_ends_capture_log(ends);
    lead_first(ends, HELD, BAD);
    ab_end *principal = start_principal(ends);
    AB_UNTIL(ends, count_ready(principal, 1, AGENTS) == AGENTS);
    ab_end_stop(principal);
    ab_mock_fail(ends, BAD, AB_MOCK_FETCH, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, 0);
    principal = start_principal(ends);
    AB_UNTIL(ends, count_ready(principal, HELD + 1, AGENTS) == AGENTS - HELD);
    /* Not only because they were given up. */
    assert_false(ab_ends_logged(ends, "cannot read topic mock.down.w"));
    assert_int_equal(count_ready(principal, 1, HELD), 0);
    assert_takes_events(ends, principal, "w201");
    assert_takes_events(ends, principal, "w250");
    lead_first(ends, HELD, 1);
    AB_UNTIL(ends, count_ready(principal, 1, HELD) == HELD);
}

static void a_broker_that_is_silent_at_the_start_holds_up_only_what_it_leads(void **state)
{
    enum { HELD = 50 };
    ab_ends *ends = *state;
    ab_ends_capture_log(ends);
    lead_first(ends, HELD, BAD);
    ab_mock_fail(ends, BAD, AB_MOCK_LIST_OFFSETS, RD_KAFKA_RESP_ERR_NO_ERROR, 600000);
    ab_end *principal = start_principal(ends);
    AB_UNTIL(ends, count_ready(principal, HELD + 1, AGENTS) == AGENTS - HELD);
    assert_int_equal(count_ready(principal, 1, HELD), 0);
    AB_UNTIL(ends, ab_end_says(principal, "broker 3, which leads topic mock.down.w"));
    /* Not even those that are asked about together with these. */
    for (int i = HELD + 1; i <= 2 * HELD; i++)
        assert_no_trouble(ends, i);
    assert_takes_events(ends, principal, "w250");
    lead_first(ends, HELD, 1);
    AB_UNTIL(ends, count_ready(principal, 1, HELD) == HELD);
    /* A request for metadata never waits behind the one that is not answered. */
    assert_false(ab_ends_logged(ends, "no broker returned topic metadata"));
}

static void a_broker_that_falls_silent_holds_up_no_agent_that_is_added(void **state)
{
    ab_ends *ends = *state;
    ab_mock_coordinate(ends, "principal", 1);
    lead_first(ends, 1, BAD);
    ab_end *principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, count_ready(principal, 1, 1) == 1);
    ab_mock_silence(ends, BAD);
    add_agents(principal, 2, AGENTS);
    AB_UNTIL(ends, count_ready(principal, 2, AGENTS) == AGENTS - 1);
    assert_takes_events(ends, principal, "w250");
}

#define CASE(f)                                                                                    \
    cmocka_unit_test_prestate_setup_teardown(f, ab_ends_setup, ab_ends_teardown, &fixture)

int main(int argc, char **argv)
{
    ab_mock_fixture fixture;
    ab_mock_fixture_init(&fixture, "kafka-silent", open_cluster);
    const struct CMUnitTest tests[] = {
        CASE(logs_that_cannot_be_read_keep_no_other_of_250_waiting),
        CASE(a_broker_that_is_silent_at_the_start_holds_up_only_what_it_leads),
        CASE(a_broker_that_falls_silent_holds_up_no_agent_that_is_added),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("silent", tests, NULL, NULL);
}
