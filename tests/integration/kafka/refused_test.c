/* SPDX-License-Identifier: Apache-2.0
 *
 * A real broker that takes nothing for one agent, since its topic has too few replicas in sync: the
 * others go on, the one is named, and gets everything when the topic is mended. The broker is this
 * test's own, for it has to know of a second one that does not run.
 */
#include "tests/conformance/transport/kafka_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define AGENTS 6 /* w1 to w6; w1's topic is the one */
#define EVENTS 50

static int start_broker(void **state)
{
    (void)state;
    ab_broker_own("refused");
    ab_broker_run("fresh");
    ab_broker_run("absent");
    return 0;
}

static int kill_broker(void **state)
{
    (void)state;
    ab_broker_run("kill");
    return 0;
}

/* How many replicas w1's topic is to have in sync. It has one. The broker has answered before it
 * is so: what is sent in between is taken. */
static void need(const ab_ends *ends, const char *replicas)
{
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_broker_topic_need(ab_kafka_admin(ends), ab_kafka_topic_name(ends, "down.w1.state", topic),
                         "compact", replicas);
}

static void start_all(ab_ends *ends, ab_end **principal, ab_end *agents[AGENTS])
{
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_broker_topic_create_half(ab_kafka_admin(ends),
                                ab_kafka_topic_name(ends, "down.w1.state", topic), "compact");
    *principal = ab_end_principal(ends, "w1,w2,w3,w4,w5,w6");
    for (int i = 0; i < AGENTS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "w%d", i + 1);
        agents[i] = ab_end_agent(ends, name);
    }
    for (int i = 0; i < AGENTS; i++) {
        const ab_end_peer *peer = ab_end_peer_of(*principal, agents[i]->name);
        AB_UNTIL(ends, peer->ready && peer->up);
    }
}

/* In turns, each as soon as the last one has arrived; larger than what w1's leave of the queue. */
static void assert_others_go_on(ab_ends *ends, ab_end *principal, ab_end *const agents[AGENTS],
                                unsigned first)
{
    static const char filler[100 * 1024] = {' '};
    for (unsigned n = first; n < first + EVENTS; n++) {
        const ab_end *to = agents[1 + n % (AGENTS - 1)];
        char key[32];
        snprintf(key, sizeof(key), "app/%u", n);
        const ab_draft draft = {.key = key, .version = n + 1, .data = {filler, sizeof(filler)}};
        assert_int_equal(ab_end_send(principal, to->name, &draft, NULL), AB_ERR_OK);
        AB_UNTIL(ends, ab_end_count(to, key) == 1);
    }
}

static void an_agent_whose_topic_refuses_events_holds_up_no_other(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agents[AGENTS];
    static ab_sending sending; /* outlives a test that fails */
    ab_ends_set(ends, "kafka.queue=4MiB");
    start_all(ends, &principal, agents);
    need(ends, "2");
    unsigned held = ab_end_fill(principal, "w1", 64 * 1024, &sending);
    assert_others_go_on(ends, principal, agents, 0);
    AB_UNTIL(ends, ab_end_says(principal, "down.w1.state takes no events"));
    int taken = sending.finished;
    assert_true(taken < (int)held);
    assert_others_go_on(ends, principal, agents, EVENTS);
    assert_int_equal(sending.finished, taken);
    AB_UNTIL(ends, ab_end_count(agents[0], NULL) == (unsigned)taken);
    need(ends, "1");
    AB_UNTIL(ends, ab_end_count(agents[0], NULL) == held && sending.finished == (int)held);
    AB_UNTIL(ends, !ab_end_says(principal, ""));
}

#define CASE(f) cmocka_unit_test_prestate_setup_teardown(f, ab_ends_setup, ab_ends_teardown, &kafka)

int main(int argc, char **argv)
{
    ab_kafka_fixture kafka;
    ab_kafka_fixture_init(&kafka);
    const struct CMUnitTest tests[] = {
        CASE(an_agent_whose_topic_refuses_events_holds_up_no_other),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("refused", tests, start_broker, kill_broker);
}
