/* SPDX-License-Identifier: Apache-2.0
 *
 * Faults that a real broker does not show on demand, by librdkafka's mock cluster: every error is
 * lived through, and every event is told its outcome. The mock has no admin requests, so the topics
 * are external.
 */
#include "tests/conformance/transport/kafka_fixture.h"

#include "transport/kafka/kafka.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <librdkafka/rdkafka_mock.h>

#include <cmocka.h>

#define BROKERS 3

/* Numbers of requests in the Kafka protocol. */
enum { PRODUCE = 0, FETCH = 1, LIST_OFFSETS = 2, OFFSET_COMMIT = 8, FIND_COORDINATOR = 10 };

typedef struct {
    rd_kafka_t *host; /* the cluster lives in it */
    rd_kafka_mock_cluster_t *cluster;
} mock;

static void make_topics(const mock *m)
{
    static const char *const names[] = {
        "mock.down.w1.state", "mock.up.w1.state", "mock.down.w1.live", "mock.up.w1.live",
        "mock.down.w2.state", "mock.up.w2.state", "mock.down.w2.live", "mock.up.w2.live"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(rd_kafka_mock_topic_create(m->cluster, names[i], 1, BROKERS),
                         RD_KAFKA_RESP_ERR_NO_ERROR);
}

static void open_cluster(ab_ends *ends)
{
    mock *m = calloc(1, sizeof(*m));
    assert_non_null(m);
    ends->state = m;
    char why[512];
    m->host = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), why, sizeof(why));
    assert_non_null(m->host);
    m->cluster = rd_kafka_mock_cluster_new(m->host, BROKERS);
    assert_non_null(m->cluster);
    make_topics(m);
    ab_ends_set(ends, "kafka.brokers=%s", rd_kafka_mock_cluster_bootstraps(m->cluster));
    ab_ends_set(ends, "kafka.insecure=true");
    ab_ends_set(ends, "kafka.prefix=mock");
    ab_ends_set(ends, "kafka.topics=external");
    ab_ends_set(ends, "kafka.commit-interval=100ms");
    ab_ends_set(ends, "kafka.linger=0ms");
    ab_ends_set(ends, "transport.heartbeat=200ms");
    /* The mock does not check sequences: with several requests under way it takes a later batch for
     * the answer to one that it has lost. */
    ab_ends_set(ends, "kafka.librdkafka.max.in.flight=1");
    ab_ends_set(ends, "kafka.librdkafka.reconnect.backoff.max.ms=200");
    ab_ends_set(ends, "kafka.librdkafka.topic.metadata.refresh.interval.ms=500");
}

static void close_cluster(ab_ends *ends)
{
    mock *m = ends->state;
    rd_kafka_mock_cluster_destroy(m->cluster);
    rd_kafka_destroy(m->host);
    free(m);
}

static const ab_transport_ops *ops(ab_ends *ends)
{
    (void)ends;
    return &ab_kafka_transport;
}

static rd_kafka_mock_cluster_t *cluster_of(const ab_ends *ends)
{
    const mock *m = ends->state;
    return m->cluster;
}

static ab_err send_one(ab_end *end, const char *key, uint64_t version, ab_sending *sending)
{
    const ab_draft draft = {.key = key, .version = version, .data = AB_STR("{\"a\":1}")};
    return ab_end_send(end, "w1", &draft, sending);
}

/* Sends under these keys and waits until the agent has each exactly once. */
static void assert_flows(ab_ends *ends, ab_end *principal, const ab_end *agent, const char *name)
{
    char key[64];
    for (unsigned n = 0; n < 5; n++) {
        snprintf(key, sizeof(key), "%s/%u", name, n);
        ab_end_put(principal, "w1", key, n + 1);
    }
    for (unsigned n = 0; n < 5; n++) {
        snprintf(key, sizeof(key), "%s/%u", name, n);
        AB_UNTIL(ends, ab_end_count(agent, key) == 1);
    }
}

static void events_flow_when_nothing_fails(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    assert_flows(ends, principal, agent, "app");
}

static void passing_produce_errors_are_lived_through(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    rd_kafka_mock_push_request_errors(
        cluster_of(ends), PRODUCE, 4, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
        RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
        RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE);
    assert_flows(ends, principal, agent, "app");
}

/* True once it is safe; sends it, and again when it failed in passing. */
static bool is_safe(ab_end *end, const char *key, uint64_t version, ab_sending *sending)
{
    if (sending->accepted == AB_ERR_OK && sending->finished == 0)
        return false;
    if (sending->accepted == AB_ERR_OK && sending->code == AB_ERR_OK)
        return true;
    *sending = (ab_sending){0};
    return send_one(end, key, version, sending) == AB_ERR_OK && sending->finished == 1;
}

/* The producer has one request's outcome forced on it; what it says of the event in it is
 * `expected`. */
static void assert_outcome(ab_ends *ends, rd_kafka_resp_err_t fault, ab_err expected)
{
    ab_ends_set(ends, "transport.heartbeat=600s");
    ab_end *principal = ab_end_principal(ends, "w1");
    ab_end_peer *peer = ab_end_peer_of(principal, "w1");
    AB_UNTIL(ends, peer->ready == 1);
    ab_sending first = {0};
    assert_int_equal(send_one(principal, "app/first", 1, &first), AB_ERR_OK);
    AB_UNTIL(ends, first.finished == 1);
    rd_kafka_mock_push_request_errors(cluster_of(ends), PRODUCE, 1, fault);
    ab_sending second = {0};
    assert_int_equal(send_one(principal, "app/second", 2, &second), AB_ERR_OK);
    AB_UNTIL(ends, second.finished == 1);
    assert_int_equal(second.code, expected);
    ab_sending third = {.accepted = AB_ERR_UNAVAILABLE};
    AB_UNTIL(ends, is_safe(principal, "app/third", 3, &third));
}

static void a_batch_too_large_for_the_topic_is_no_fault_of_its_events(void **state)
{
    assert_outcome(*state, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, AB_ERR_UNAVAILABLE);
}

static void an_event_that_the_broker_finds_invalid_is_told_so(void **state)
{
    assert_outcome(*state, RD_KAFKA_RESP_ERR_INVALID_RECORD, AB_ERR_INVALID);
}

static void an_event_against_a_policy_is_told_so(void **state)
{
    assert_outcome(*state, RD_KAFKA_RESP_ERR_POLICY_VIOLATION, AB_ERR_DENIED);
}

static void a_right_that_was_withdrawn_is_waited_for(void **state)
{
    assert_outcome(*state, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, AB_ERR_UNAVAILABLE);
}

static void a_producer_that_failed_for_good_is_replaced(void **state)
{
    assert_outcome(*state, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, AB_ERR_UNAVAILABLE);
}

static void brokers_that_go_and_return_lose_nothing(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    for (int32_t broker = 1; broker <= BROKERS; broker++)
        rd_kafka_mock_broker_set_down(cluster_of(ends), broker);
    AB_UNTIL(ends, ab_end_says(principal, "cannot reach any broker"));
    ab_sending sending = {0};
    assert_int_equal(send_one(principal, "app/a", 1, &sending), AB_ERR_UNAVAILABLE);
    AB_UNTIL(ends, !ab_end_peer_of(principal, "w1")->up);
    for (int32_t broker = 1; broker <= BROKERS; broker++)
        rd_kafka_mock_broker_set_up(cluster_of(ends), broker);
    AB_UNTIL(ends, send_one(principal, "app/a", 1, &sending) == AB_ERR_OK);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1 && sending.finished == 1);
    assert_int_equal(sending.code, AB_ERR_OK);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->up);
}

static void a_leader_that_moves_is_followed(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    for (int32_t broker = 1; broker <= BROKERS; broker++) {
        char name[16];
        snprintf(name, sizeof(name), "led%d", (int)broker);
        rd_kafka_mock_partition_set_leader(cluster_of(ends), "mock.down.w1.state", 0, broker);
        assert_flows(ends, principal, agent, name);
    }
}

static void slow_brokers_change_no_order(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    for (int32_t broker = 1; broker <= BROKERS; broker++)
        rd_kafka_mock_broker_set_rtt(cluster_of(ends), broker, 300);
    for (unsigned n = 1; n <= 20; n++) {
        char key[32];
        snprintf(key, sizeof(key), "cmd/%u", n);
        ab_end_put(principal, "w1", key, n);
    }
    AB_UNTIL(ends, ab_end_count(agent, NULL) == 20);
    for (unsigned n = 1; n <= 20; n++)
        assert_int_equal(agent->receipts[n - 1].version, n);
}

static void a_commit_that_failed_is_made_again(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    rd_kafka_mock_push_request_errors(
        cluster_of(ends), OFFSET_COMMIT, 3, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
        RD_KAFKA_RESP_ERR_NOT_COORDINATOR, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT);
    assert_flows(ends, principal, agent, "app");
    ab_end_stop(agent);
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->caught_up == 1);
    assert_int_equal(agent->receipt_count, 0);
}

static void fetch_errors_are_lived_through(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    rd_kafka_mock_push_request_errors(
        cluster_of(ends), FETCH, 4, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
        RD_KAFKA_RESP_ERR_UNKNOWN, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
        RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    assert_flows(ends, principal, agent, "app");
}

static void a_coordinator_that_is_not_ready_is_waited_for(void **state)
{
    ab_ends *ends = *state;
    rd_kafka_mock_push_request_errors(cluster_of(ends), FIND_COORDINATOR, 3,
                                      RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
                                      RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
                                      RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE);
    rd_kafka_mock_push_request_errors(cluster_of(ends), LIST_OFFSETS, 2,
                                      RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
                                      RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    assert_flows(ends, principal, agent, "app");
}

/* Sends large events under keys of their own until FULL; tells how many were accepted. */
static unsigned fill(ab_end *end, const char *agent)
{
    static const char filler[64 * 1024] = {' '};
    for (unsigned n = 1; n < 1000; n++) {
        char key[64];
        snprintf(key, sizeof(key), "fill/%u", n);
        const ab_draft draft = {.key = key, .version = n, .data = {filler, sizeof(filler)}};
        ab_err e = ab_end_send(end, agent, &draft, NULL);
        if (e == AB_ERR_FULL)
            return n - 1;
        assert_int_equal(e, AB_ERR_OK);
    }
    fail_msg("never FULL");
    return 0;
}

/* The principal serves both; w1 cannot be written to while no broker leads its partition. */
static void serve_two(ab_ends *ends, ab_end **principal, ab_end **w1, ab_end **w2)
{
    *principal = ab_end_principal(ends, "w1,w2");
    *w1 = ab_end_agent(ends, "w1");
    *w2 = ab_end_agent(ends, "w2");
    const ab_end_peer *first = ab_end_peer_of(*principal, "w1");
    const ab_end_peer *second = ab_end_peer_of(*principal, "w2");
    AB_UNTIL(ends, first->ready && first->up && second->ready && second->up);
}

static void an_agent_that_cannot_be_written_to_holds_up_no_other(void **state)
{
    ab_ends *ends = *state;
    ab_ends_set(ends, "kafka.queue=4MiB");
    ab_end *principal = NULL;
    ab_end *w1 = NULL;
    ab_end *w2 = NULL;
    serve_two(ends, &principal, &w1, &w2);
    rd_kafka_mock_partition_set_leader(cluster_of(ends), "mock.down.w1.state", 0, -1);
    unsigned waiting = fill(principal, "w1");
    for (uint64_t n = 1; n <= 20; n++) {
        char key[32];
        snprintf(key, sizeof(key), "app/%u", (unsigned)n);
        ab_end_put(principal, "w2", key, n);
        AB_UNTIL(ends, ab_end_count(w2, key) == 1);
    }
    assert_true(fill(principal, "w2") > 0);
    assert_int_equal(ab_end_count(w1, NULL), 0);
    rd_kafka_mock_partition_set_leader(cluster_of(ends), "mock.down.w1.state", 0, 1);
    AB_UNTIL(ends, ab_end_count(w1, NULL) == waiting);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->writable > 0);
    assert_flows(ends, principal, w1, "after");
}

/* Events of w1 that time out, again and again, never take what the other needs. */
static void an_agent_whose_events_time_out_holds_up_no_other(void **state)
{
    ab_ends *ends = *state;
    ab_ends_set(ends, "kafka.queue=4MiB");
    ab_ends_set(ends, "kafka.delivery-timeout=1s");
    ab_end *principal = NULL;
    ab_end *w1 = NULL;
    ab_end *w2 = NULL;
    serve_two(ends, &principal, &w1, &w2);
    rd_kafka_mock_partition_set_leader(cluster_of(ends), "mock.down.w1.state", 0, -1);
    assert_true(fill(principal, "w1") > 1);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->writable > 0);
    assert_int_equal(fill(principal, "w1"), 1); /* to see whether it can be written to again */
    AB_UNTIL(ends, ab_end_try_put(principal, "w2", "app/a", 1));
    AB_UNTIL(ends, ab_end_count(w2, "app/a") == 1);
}

/* What this broker answers to a fetch is an error, for longer than a test runs. */
static void fail_fetches(const ab_ends *ends, int32_t broker)
{
    for (int n = 0; n < 1000; n++)
        rd_kafka_mock_broker_push_request_error_rtts(cluster_of(ends), broker, FETCH, 1,
                                                     RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, 0);
}

static void a_log_that_cannot_be_read_keeps_no_other_agent_waiting(void **state)
{
    ab_ends *ends = *state;
    ab_ends_capture_log(ends);
    for (int agent = 1; agent <= 2; agent++) {
        char topic[32];
        snprintf(topic, sizeof(topic), "mock.down.w%d.state", agent);
        rd_kafka_mock_partition_set_leader(cluster_of(ends), topic, 0, agent);
        snprintf(topic, sizeof(topic), "mock.up.w%d.state", agent);
        rd_kafka_mock_partition_set_leader(cluster_of(ends), topic, 0, BROKERS);
    }
    ab_end *principal = ab_end_principal(ends, "w1,w2");
    AB_UNTIL(ends,
             ab_end_peer_of(principal, "w1")->ready && ab_end_peer_of(principal, "w2")->ready);
    ab_end_stop(principal);
    fail_fetches(ends, 1);
    principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, ab_end_says(principal, "our own log is being read"));
    assert_int_equal(ab_transport_add_agent(principal->transport, "w2", NULL), AB_ERR_OK);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w2")->ready);
    assert_int_equal(ab_end_peer_of(principal, "w1")->ready, 0);
    AB_UNTIL(ends, ab_ends_logged(ends, "topic mock.down.w1.state cannot be read"));
    rd_kafka_mock_partition_set_leader(cluster_of(ends), "mock.down.w1.state", 0, 2);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready);
}

#define CASE(f)                                                                                    \
    cmocka_unit_test_prestate_setup_teardown(f, ab_ends_setup, ab_ends_teardown, &fixture)

int main(int argc, char **argv)
{
    const ab_options tables[] = {ab_transport_options, *ab_kafka_transport.options[0]};
    ab_ends_fixture fixture = {
        .name = "kafka-mock",
        .tables = tables,
        .table_count = 2,
        .open = open_cluster,
        .close = close_cluster,
        .ops = ops,
    };
    const struct CMUnitTest tests[] = {
        CASE(events_flow_when_nothing_fails),
        CASE(passing_produce_errors_are_lived_through),
        CASE(a_batch_too_large_for_the_topic_is_no_fault_of_its_events),
        CASE(an_event_that_the_broker_finds_invalid_is_told_so),
        CASE(an_event_against_a_policy_is_told_so),
        CASE(a_right_that_was_withdrawn_is_waited_for),
        CASE(a_producer_that_failed_for_good_is_replaced),
        CASE(brokers_that_go_and_return_lose_nothing),
        CASE(a_leader_that_moves_is_followed),
        CASE(slow_brokers_change_no_order),
        CASE(a_commit_that_failed_is_made_again),
        CASE(fetch_errors_are_lived_through),
        CASE(a_coordinator_that_is_not_ready_is_waited_for),
        CASE(an_agent_that_cannot_be_written_to_holds_up_no_other),
        CASE(an_agent_whose_events_time_out_holds_up_no_other),
        CASE(a_log_that_cannot_be_read_keeps_no_other_agent_waiting),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("mock", tests, NULL, NULL);
}
