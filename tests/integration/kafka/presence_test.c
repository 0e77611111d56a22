/* SPDX-License-Identifier: Apache-2.0
 *
 * Two agents of one name: the newer one displaces the older. Two principals of one agent: it is
 * told. An agent that the control plane refuses. And machines whose clocks differ.
 */
#include "schema/attributes.h"
#include "tests/conformance/transport/kafka_fixture.h"
#include "transport/hello.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static double rivals(ab_end *end)
{
    const ab_label label = {"agent", AB_STR("w1")};
    return ab_metric_value(ab_metric_get(end->metrics, AB_METRIC_GAUGE, "argobus_peer_rivals",
                                         "1 while two processes use the peer's name.", &label, 1));
}

/* --- agents of one name --- */

static void the_newer_of_two_agents_of_one_name_displaces_the_older(void **state)
{
    ab_ends *ends = *state;
    ab_ends_capture_log(ends);
    ab_end *principal = ab_end_principal(ends, "w1");
    const ab_end_peer *seen = ab_end_peer_of(principal, "w1");
    ab_end *first = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, seen->up && ab_end_peer_of(first, "w1")->up);
    ab_end *second = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, first->displaced);
    assert_true(ab_end_says(first, "duplicate agent name"));
    assert_true(ab_ends_logged(ends, "duplicate agent name"));
    AB_UNTIL(ends, seen->peer_epoch == ab_end_peer_of(second, "w1")->epoch);
    ab_end_put(principal, "w1", "app/a", 1);
    AB_UNTIL(ends, ab_end_count(second, "app/a") == 1);
    assert_int_equal(ab_end_count(first, "app/a"), 0);
    assert_false(ab_end_try_put(first, NULL, "app/b", 1));
    assert_false(second->displaced);
    assert_false(ab_end_says(second, ""));
}

static void the_older_of_two_agents_continues_when_the_newer_has_gone(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = ab_end_principal(ends, "w1");
    const ab_end_peer *seen = ab_end_peer_of(principal, "w1");
    ab_end *first = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, seen->up);
    ab_end *second = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, first->displaced);
    ab_end_put(principal, "w1", "app/a", 1);
    AB_UNTIL(ends, ab_end_count(second, "app/a") == 1);
    ab_end_stop(second);
    AB_UNTIL(ends, !first->displaced);
    /* What the other one may have applied came before that. */
    assert_int_equal(ab_end_count(first, "app/a"), 1);
    AB_UNTIL(ends, seen->up && seen->peer_epoch == ab_end_peer_of(first, "w1")->epoch);
    AB_UNTIL(ends, ab_end_try_put(first, NULL, "app/b", 1));
}

/* --- what stock tools show --- */

typedef struct {
    rd_kafka_consumer_group_state_t state;
    size_t members;
    char client[128];
    char instance[64];
} shown;

static shown describe(const ab_ends *ends, const char *group)
{
    char name[AB_KAFKA_TOPIC_MAX];
    const char *names[] = {ab_kafka_topic_name(ends, group, name)};
    rd_kafka_t *admin = ab_kafka_admin(ends);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(admin);
    rd_kafka_DescribeConsumerGroups(admin, names, 1, NULL, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 60000);
    assert_non_null(event);
    size_t count = 0;
    const rd_kafka_ConsumerGroupDescription_t **groups =
        rd_kafka_DescribeConsumerGroups_result_groups(
            rd_kafka_event_DescribeConsumerGroups_result(event), &count);
    assert_int_equal(count, 1);
    shown seen = {.state = rd_kafka_ConsumerGroupDescription_state(groups[0]),
                  .members = rd_kafka_ConsumerGroupDescription_member_count(groups[0])};
    if (seen.members > 0) {
        const rd_kafka_MemberDescription_t *m =
            rd_kafka_ConsumerGroupDescription_member(groups[0], 0);
        const char *instance = rd_kafka_MemberDescription_group_instance_id(m);
        snprintf(seen.client, sizeof(seen.client), "%s", rd_kafka_MemberDescription_client_id(m));
        snprintf(seen.instance, sizeof(seen.instance), "%s", instance == NULL ? "" : instance);
    }
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    return seen;
}

static bool is_stable(const ab_ends *ends, const char *group)
{
    shown seen = describe(ends, group);
    return seen.state == RD_KAFKA_CONSUMER_GROUP_STATE_STABLE && seen.members == 1;
}

static void an_agent_is_shown_as_the_member_of_a_stable_group(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    AB_UNTIL(ends, is_stable(ends, "agent.w1.live"));
    shown seen = describe(ends, "agent.w1.live");
    assert_string_equal(seen.client, "argobus-agent-w1");
    assert_string_equal(seen.instance, "w1");
    ab_end_stop(agent);
    AB_UNTIL(ends, describe(ends, "agent.w1.live").members == 0);
}

/* Its predecessor, like one that was killed, has not left the group. */
static void an_agent_that_returns_is_let_in_at_once(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_set(ends, "transport.heartbeat=20s");
    ab_ends_pair(ends, &principal, &agent);
    AB_UNTIL(ends, is_stable(ends, "agent.w1.live"));
    ab_end_stop(agent);
    int64_t begin_ms = ab_clock_mono_ms(&ab_clock_real);
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->up && ab_end_peer_of(principal, "w1")->up);
    /* Well within the session of a minute that the former one still has. */
    assert_true(ab_clock_mono_ms(&ab_clock_real) - begin_ms < 30000);
    assert_false(agent->displaced);
    assert_true(is_stable(ends, "agent.w1.live"));
}

/* --- an agent that the control plane refuses --- */

static double shown_refused(ab_end *end)
{
    const ab_label label = {"agent", AB_STR("w1")};
    return ab_metric_value(
        ab_metric_get(end->metrics, AB_METRIC_GAUGE, "argobus_agent_refused", "", &label, 1));
}

static void refuse(ab_end *principal, const char *why)
{
    assert_int_equal(ab_transport_refuse(principal->transport, "w1", why), AB_ERR_OK);
}

static void assert_goes_on(ab_ends *ends, ab_end *agent)
{
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    AB_UNTIL(ends, ab_end_try_put(agent, NULL, "app/b", 1));
    assert_false(ab_end_says(agent, ""));
    assert_true(shown_refused(agent) < 1);
}

static void a_refused_agent_learns_why_and_exchanges_nothing_until_it_is_accepted(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_capture_log(ends);
    ab_ends_pair(ends, &principal, &agent);
    refuse(principal, "not \"autonomous\"");
    AB_UNTIL(ends, ab_end_says(agent, "refused by the principal: not \"autonomous\""));
    assert_true(ab_ends_logged(ends, "refused by the principal"));
    assert_true(shown_refused(agent) > 0);
    ab_end_put(principal, "w1", "app/a", 1);
    assert_false(ab_end_try_put(agent, NULL, "app/b", 1));
    refuse(principal, "another reason");
    AB_UNTIL(ends, ab_end_says(agent, "another reason"));
    assert_true(ab_end_peer_of(principal, "w1")->up);
    assert_int_equal(ab_end_count(agent, "app/a"), 0);
    refuse(principal, NULL);
    assert_goes_on(ends, agent);
}

static void a_refused_agent_that_reads_its_topics_again_loses_nothing(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    refuse(principal, "not \"autonomous\"");
    AB_UNTIL(ends, ab_end_says(agent, "refused by the principal"));
    ab_end *second = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, agent->displaced);
    ab_end_stop(second);
    AB_UNTIL(ends, !agent->displaced && ab_end_says(agent, "refused by the principal"));
    ab_end_put(principal, "w1", "app/a", 1);
    refuse(principal, NULL); /* heard at the next hello, when the event has been fetched */
    assert_goes_on(ends, agent);
}

/* --- principals --- */

static void two_principals_of_one_agent_are_told(void **state)
{
    ab_ends *ends = *state;
    ab_end *first = ab_end_principal(ends, "w1");
    ab_end *agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->up);
    (void)ab_end_principal(ends, "w1");
    AB_UNTIL(ends, rivals(agent) > 0);
    ab_end_stop(first);
    AB_UNTIL(ends, rivals(agent) < 1);
}

/* --- one of a name after another --- */

#define FORMER_EPOCH UINT64_C(4000000000000000) /* higher than the clock's microseconds */

/* One hello of a process that is no more, under the agent's name. @return false: not yet */
static bool say_former_hello(ab_end *agent)
{
    char source[96];
    ab_event *event = NULL;
    ab_hello hello = {.mode = "managed",
                      .version = "1",
                      .instance = "former",
                      .epoch = FORMER_EPOCH,
                      .time_ms = ab_clock_wall_us(&ab_clock_real) / 1000,
                      .certificate = ""};
    ab_event_draft draft = {0};
    ab_buf data;
    ab_buf_init(&data, AB_HELLO_MAX);
    cJSON *doc = cJSON_CreateObject();
    bool complete = ab_hello_write(&hello, doc) && ab_doc_add_i64(doc, "interval_ms", 1000) &&
                    ab_doc_add_bool(doc, "whole", true) &&
                    ab_doc_add_str(doc, "handshake", AB_STR("former/0"));
    assert_int_equal(ab_doc_finish(doc, complete, &data), AB_ERR_OK);
    draft.data = ab_buf_str(&data);
    ab_event_set_u64(&draft, AB_CE_WRITEREPOCH, 1);
    ab_event_set_u64(&draft, AB_CE_OBJVERSION, 1);
    assert_int_equal(ab_hello_event(&hello, ab_end_source(agent, source), &draft, &event),
                     AB_ERR_OK);
    ab_err e = ab_end_send_event(agent, NULL, AB_LANE_LIVE, event, 1000, NULL);
    ab_event_unref(event);
    ab_buf_fini(&data);
    return e == AB_ERR_OK;
}

/* As after a crash in which its log was lost, and with it what epoch the former one had. */
static void a_former_process_that_says_nothing_more_is_no_rival(void **state)
{
    ab_ends *ends = *state;
    ab_ends_capture_log(ends);
    ab_end *principal = ab_end_principal(ends, "w1");
    const ab_end_peer *seen = ab_end_peer_of(principal, "w1");
    ab_end *agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, seen->up);
    AB_UNTIL(ends, say_former_hello(agent));
    AB_UNTIL(ends, seen->peer_epoch == FORMER_EPOCH);
    AB_UNTIL(ends, seen->up && seen->peer_epoch == ab_end_peer_of(agent, "w1")->epoch);
    assert_false(agent->displaced);
}

/* --- clocks --- */

#define HOURS_US INT64_C(6 * 3600 * 1000000)

static int64_t same_ms(void *arg)
{
    return ab_clock_real.mono_ms(arg);
}

static int64_t ahead_us(void *arg)
{
    return ab_clock_real.wall_us(arg) + HOURS_US;
}

static int64_t behind_us(void *arg)
{
    return ab_clock_real.wall_us(arg) - HOURS_US;
}

static void assert_they_talk(ab_ends *ends, ab_end *principal, const char *name)
{
    ab_end *agent = ab_end_agent(ends, name);
    AB_UNTIL(ends, ab_end_peer_of(principal, name)->up);
    AB_UNTIL(ends, ab_end_peer_of(agent, name)->up);
    AB_UNTIL(ends, ab_end_try_put(principal, name, "app/a", 1));
    AB_UNTIL(ends, ab_end_try_put(agent, NULL, "app/b", 1));
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    AB_UNTIL(ends, ab_end_newest(principal, name, "app/b") != NULL);
    ab_end_stop(agent);
    AB_UNTIL(ends, !ab_end_peer_of(principal, name)->up);
}

static void clocks_may_be_hours_apart(void **state)
{
    static const ab_clock ahead = {same_ms, ahead_us, NULL};
    static const ab_clock behind = {same_ms, behind_us, NULL};
    ab_ends *ends = *state;
    ab_end *principal = ab_end_principal(ends, "w1,w2");
    ends->clock = &ahead;
    assert_they_talk(ends, principal, "w1");
    ends->clock = &behind;
    assert_they_talk(ends, principal, "w2");
}

static int64_t stopped_us(void *arg)
{
    (void)arg;
    return 1700000000000000;
}

static void two_that_start_at_one_moment_write_under_different_epochs(void **state)
{
    static const ab_clock stopped = {same_ms, stopped_us, NULL};
    ab_ends *ends = *state;
    ends->clock = &stopped;
    ab_end *first = ab_end_principal(ends, "w1");
    ab_end *second = ab_end_principal(ends, "w1");
    ab_end_peer *a = ab_end_peer_of(first, "w1");
    ab_end_peer *b = ab_end_peer_of(second, "w1");
    AB_UNTIL(ends, a->ready > 0 && b->ready > 0);
    assert_int_not_equal(a->epoch, b->epoch);
}

static void open_live_events_do_not_hold_up_the_state(void **state)
{
    ab_ends *ends = *state;
    ab_ends_set(ends, "transport.inflight=4");
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    agent->keep = true;
    for (int n = 0; n < 8; n++) {
        char id[16];
        snprintf(id, sizeof(id), "live/%d", n);
        ab_ends_pass_live(ends, principal, "w1", agent, id);
    }
    for (unsigned n = 1; n <= 3; n++) {
        char key[16];
        snprintf(key, sizeof(key), "app/%u", n);
        ab_end_put(principal, "w1", key, n);
        AB_UNTIL(ends, ab_end_count(agent, key) == 1);
    }
}

static bool push(ab_end *principal, unsigned *sent, unsigned most)
{
    static const char filler[200 * 1000] = {' '};
    char key[16];
    snprintf(key, sizeof(key), "app/%u", *sent);
    const ab_draft draft = {.key = key, .version = *sent + 1, .data = {filler, sizeof(filler)}};
    if (*sent < most && ab_end_send(principal, "w1", &draft, NULL) == AB_ERR_OK)
        ++*sent;
    return *sent == most;
}

static void an_agent_has_a_bounded_number_of_bytes_open(void **state)
{
    enum { FIT = 160, SOME_MORE = 40, ALL = 300, LIVES = 20 }; /* 32 MiB, and what was fetched */
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    unsigned sent = 0;
    ab_ends_pair(ends, &principal, &agent);
    agent->keep = true;
    AB_UNTIL(ends, push(principal, &sent, ALL));
    AB_UNTIL(ends, agent->receipt_count >= FIT);
    for (int n = 0; n < LIVES; n++) {
        char id[16];
        snprintf(id, sizeof(id), "live/%d", n);
        ab_ends_pass_live(ends, principal, "w1", agent, id);
    }
    size_t open = agent->receipt_count;
    assert_in_range(open, FIT + LIVES, FIT + SOME_MORE + LIVES);
    agent->keep = false;
    for (size_t i = 0; i < open; i++)
        ab_end_ack(agent, i, AB_VERDICT_APPLIED);
    AB_UNTIL(ends, agent->receipt_count >= ALL + LIVES);
}

#define CASE(f) cmocka_unit_test_prestate_setup_teardown(f, ab_ends_setup, ab_ends_teardown, &kafka)

int main(int argc, char **argv)
{
    ab_kafka_fixture kafka;
    ab_kafka_fixture_init(&kafka);
    const struct CMUnitTest tests[] = {
        CASE(the_newer_of_two_agents_of_one_name_displaces_the_older),
        CASE(the_older_of_two_agents_continues_when_the_newer_has_gone),
        CASE(an_agent_is_shown_as_the_member_of_a_stable_group),
        CASE(an_agent_that_returns_is_let_in_at_once),
        CASE(a_refused_agent_learns_why_and_exchanges_nothing_until_it_is_accepted),
        CASE(a_refused_agent_that_reads_its_topics_again_loses_nothing),
        CASE(two_principals_of_one_agent_are_told),
        CASE(a_former_process_that_says_nothing_more_is_no_rival),
        CASE(clocks_may_be_hours_apart),
        CASE(two_that_start_at_one_moment_write_under_different_epochs),
        CASE(open_live_events_do_not_hold_up_the_state),
        CASE(an_agent_has_a_bounded_number_of_bytes_open),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("presence", tests, NULL, NULL);
}
