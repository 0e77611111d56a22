/* SPDX-License-Identifier: Apache-2.0
 *
 * Faults that a real broker does not show on demand, by librdkafka's mock cluster: every error is
 * lived through, and every event is told its outcome.
 */
#include "tests/integration/kafka/mock_cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define LARGE (64 * 1024)

/* What the next question for committed positions is answered for its first topic; 0: the truth. */
static atomic_int no_position;

rd_kafka_resp_err_t __real_rd_kafka_committed(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
                                              int timeout_ms);
rd_kafka_resp_err_t __wrap_rd_kafka_committed(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
                                              int timeout_ms);
rd_kafka_resp_err_t __wrap_rd_kafka_committed(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list,
                                              int timeout_ms)
{
    rd_kafka_resp_err_t code = __real_rd_kafka_committed(rk, list, timeout_ms);
    int fault = atomic_exchange(&no_position, 0);
    if (fault != 0) {
        list->elems[0].err = (rd_kafka_resp_err_t)fault;
        list->elems[0].offset = RD_KAFKA_OFFSET_INVALID;
    }
    return code;
}

static void open_cluster(ab_ends *ends)
{
    ab_mock_open(ends, 2, 0);
}

static ab_err send_one(ab_end *end, const char *key, uint64_t version, ab_sending *sending)
{
    const ab_draft draft = {.key = key, .version = version, .data = AB_STR("{\"a\":1}")};
    return ab_end_send(end, "w1", &draft, sending);
}

/* Sends under these keys and waits until the agent has each exactly once. One at a time: the mock
 * does not check sequences, so where a batch has to be sent again it takes a later one first, and
 * librdkafka takes its success for that of the one before. */
static void assert_flows(ab_ends *ends, ab_end *principal, const ab_end *agent, const char *name)
{
    char key[64];
    for (unsigned n = 0; n < 5; n++) {
        snprintf(key, sizeof(key), "%s/%u", name, n);
        AB_UNTIL(ends, ab_end_try_put(principal, "w1", key, n + 1));
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
        ab_mock_cluster(ends), AB_MOCK_PRODUCE, 4, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
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
 * `expected`. Only one broker does so, and the hellos on the live topic go to another. */
static void assert_outcome(ab_ends *ends, rd_kafka_resp_err_t fault, ab_err expected)
{
    ab_ends_set(ends, "transport.heartbeat=600s");
    ab_mock_lead(ends, "down.w1.state", 1);
    ab_mock_lead(ends, "down.w1.live", 2);
    ab_end *principal = ab_end_principal(ends, "w1");
    ab_end_peer *peer = ab_end_peer_of(principal, "w1");
    AB_UNTIL(ends, peer->ready == 1);
    ab_sending first = {0};
    assert_int_equal(send_one(principal, "app/first", 1, &first), AB_ERR_OK);
    AB_UNTIL(ends, first.finished == 1);
    assert_int_equal(rd_kafka_mock_broker_push_request_error_rtts(ab_mock_cluster(ends), 1,
                                                                  AB_MOCK_PRODUCE, 1, fault, 0),
                     RD_KAFKA_RESP_ERR_NO_ERROR);
    ab_sending second = {0};
    assert_int_equal(send_one(principal, "app/second", 2, &second), AB_ERR_OK);
    AB_UNTIL(ends, second.finished == 1);
    assert_int_equal(second.code, expected);
    ab_sending third = {.accepted = AB_ERR_UNAVAILABLE};
    AB_UNTIL(ends, is_safe(principal, "app/third", 3, &third));
}

static void a_batch_too_large_for_the_topic_is_no_fault_of_its_events(void **state)
{
    assert_outcome(*state, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, AB_ERR_OK);
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

static void all_brokers(const ab_ends *ends, bool up)
{
    for (int32_t broker = 1; broker <= AB_MOCK_BROKERS; broker++)
        if (up)
            rd_kafka_mock_broker_set_up(ab_mock_cluster(ends), broker);
        else
            rd_kafka_mock_broker_set_down(ab_mock_cluster(ends), broker);
}

static void brokers_that_go_and_return_lose_nothing(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    all_brokers(ends, false);
    AB_UNTIL(ends, ab_end_says(principal, "cannot reach any broker"));
    ab_sending sending = {0};
    assert_int_equal(send_one(principal, "app/a", 1, &sending), AB_ERR_UNAVAILABLE);
    AB_UNTIL(ends, !ab_end_peer_of(principal, "w1")->up);
    all_brokers(ends, true);
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
    for (int32_t broker = 1; broker <= AB_MOCK_BROKERS; broker++) {
        char name[16];
        snprintf(name, sizeof(name), "led%d", (int)broker);
        ab_mock_lead(ends, "down.w1.state", broker);
        assert_flows(ends, principal, agent, name);
    }
}

static void slow_brokers_change_no_order(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    for (int32_t broker = 1; broker <= AB_MOCK_BROKERS; broker++)
        rd_kafka_mock_broker_set_rtt(ab_mock_cluster(ends), broker, 300);
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
    rd_kafka_mock_push_request_errors(ab_mock_cluster(ends), AB_MOCK_OFFSET_COMMIT, 3,
                                      RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
                                      RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
                                      RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT);
    assert_flows(ends, principal, agent, "app");
    ab_end_stop(agent);
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->caught_up == 1);
    assert_int_equal(agent->receipt_count, 0);
}

static void assert_goes_on_from_its_position(ab_ends *ends)
{
    ab_end *agent = ab_end_agent(ends, "w1");
    ab_end_peer *peer = ab_end_peer_of(agent, "w1");
    AB_UNTIL(ends, peer->caught_up == 1);
    assert_int_equal(peer->gaps[AB_GAP_FIRST], 0);
    assert_int_equal(agent->receipt_count, 0);
    ab_end_stop(agent);
}

/* It would be read from the beginning of the log, and what it has taken for new. */
static void an_agent_whose_position_cannot_be_read_is_not_new(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    assert_flows(ends, principal, agent, "app");
    ab_end_stop(principal); /* it asks for positions, too */
    ab_end_stop(agent);
    atomic_store(&no_position, RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT);
    assert_goes_on_from_its_position(ends);
    assert_int_equal(atomic_load(&no_position), 0);
    rd_kafka_mock_push_request_errors(ab_mock_cluster(ends), AB_MOCK_OFFSET_FETCH, 1,
                                      RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED);
    assert_goes_on_from_its_position(ends);
}

/* Long before the time is up that a stop has (ab_end_stop). */
static void a_stop_waits_for_no_right_that_is_missing(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_capture_log(ends);
    ab_ends_pair(ends, &principal, &agent);
    for (int32_t broker = 1; broker <= AB_MOCK_BROKERS; broker++)
        ab_mock_fail(ends, broker, AB_MOCK_OFFSET_COMMIT,
                     RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, 0);
    assert_flows(ends, principal, agent, "app");
    AB_UNTIL(ends, ab_ends_logged(ends, "cannot commit positions to group mock.agent.w1") == 1);
    assert_int_equal(ab_ends_logged(ends, "run deploy/kafka/provision agent w1"), 1);
    uint64_t begin_ns = uv_hrtime();
    ab_end_stop(agent);
    assert_true(uv_hrtime() - begin_ns < UINT64_C(4000000000));
}

static void fetch_errors_are_lived_through(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    rd_kafka_mock_push_request_errors(
        ab_mock_cluster(ends), AB_MOCK_FETCH, 4, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
        RD_KAFKA_RESP_ERR_UNKNOWN, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
        RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    assert_flows(ends, principal, agent, "app");
}

static void a_coordinator_that_is_not_ready_is_waited_for(void **state)
{
    ab_ends *ends = *state;
    rd_kafka_mock_push_request_errors(ab_mock_cluster(ends), AB_MOCK_FIND_COORDINATOR, 3,
                                      RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
                                      RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
                                      RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE);
    rd_kafka_mock_push_request_errors(ab_mock_cluster(ends), AB_MOCK_LIST_OFFSETS, 2,
                                      RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
                                      RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    assert_flows(ends, principal, agent, "app");
}

/* The first record of a log says which one it is. */
static void a_log_that_could_not_be_begun_is_begun_again(void **state)
{
    ab_ends *ends = *state;
    ab_mock_lead(ends, "down.w1.state", 1);
    ab_mock_lead(ends, "down.w1.live", 2);
    assert_int_equal(
        rd_kafka_mock_broker_push_request_error_rtts(ab_mock_cluster(ends), 1, AB_MOCK_PRODUCE, 1,
                                                     RD_KAFKA_RESP_ERR_INVALID_RECORD, 0),
        RD_KAFKA_RESP_ERR_NO_ERROR);
    ab_end *principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready == 1);
}

/* A log is known by its first record: who has not read that when the log's leader goes tells the
 * writer that its log was replaced, and that one begins again. */
static void read_first_records(ab_ends *ends, ab_end *principal, ab_end *agent)
{
    ab_end_put(principal, agent->name, "first", 1);
    AB_UNTIL(ends, ab_end_try_put(agent, NULL, "first", 1));
    AB_UNTIL(ends, ab_end_newest(agent, agent->name, "first") != NULL &&
                       ab_end_newest(principal, agent->name, "first") != NULL);
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
    read_first_records(ends, *principal, *w1);
    read_first_records(ends, *principal, *w2);
}

static void an_agent_that_cannot_be_written_to_holds_up_no_other(void **state)
{
    ab_ends *ends = *state;
    ab_ends_set(ends, "kafka.queue=4MiB");
    ab_end *principal = NULL;
    ab_end *w1 = NULL;
    ab_end *w2 = NULL;
    serve_two(ends, &principal, &w1, &w2);
    size_t before = ab_end_count(w1, NULL);
    ab_mock_lead(ends, "down.w1.state", -1);
    unsigned waiting = ab_end_fill(principal, "w1", LARGE, NULL);
    for (uint64_t n = 1; n <= 20; n++) {
        char key[32];
        snprintf(key, sizeof(key), "app/%u", (unsigned)n);
        ab_end_put(principal, "w2", key, n);
        AB_UNTIL(ends, ab_end_count(w2, key) == 1);
    }
    assert_true(ab_end_fill(principal, "w2", LARGE, NULL) > 0);
    AB_UNTIL(ends, ab_end_says(principal, "topic mock.down.w1.state takes no events"));
    assert_int_equal(ab_end_count(w1, NULL), before);
    ab_mock_lead(ends, "down.w1.state", 1);
    AB_UNTIL(ends, ab_end_count(w1, NULL) == before + waiting);
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
    ab_mock_lead(ends, "down.w1.state", -1);
    assert_true(ab_end_fill(principal, "w1", LARGE, NULL) > 1);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->writable > 0);
    /* To see whether it can be written to again. */
    assert_int_equal(ab_end_fill(principal, "w1", LARGE, NULL), 1);
    AB_UNTIL(ends, ab_end_try_put(principal, "w2", "app/a", 1));
    AB_UNTIL(ends, ab_end_count(w2, "app/a") == 1);
}

static ab_err send_large(ab_end *end, const char *agent)
{
    static const char filler[600 * 1024] = {' '};
    const ab_draft large = {.key = "large", .version = 2, .data = {filler, sizeof(filler)}};
    return ab_end_send(end, agent, &large, NULL);
}

/* Neither has another event under way, whose end would tell it. */
static void an_agent_that_waits_for_the_room_of_another_is_told_of_it(void **state)
{
    const ab_draft small = {.key = "small", .version = 1, .data = AB_STR("{}")};
    ab_ends *ends = *state;
    ab_ends_set(ends, "kafka.queue=1MiB");
    ab_ends_set(ends, "kafka.delivery-timeout=1s");
    ab_end *principal = NULL;
    ab_end *w1 = NULL;
    ab_end *w2 = NULL;
    serve_two(ends, &principal, &w1, &w2);
    ab_mock_lead(ends, "down.w1.state", -1);
    ab_mock_lead(ends, "down.w2.state", -1);
    ab_sending lost[2] = {0};
    assert_int_equal(ab_end_send(principal, "w1", &small, &lost[0]), AB_ERR_OK);
    assert_int_equal(ab_end_send(principal, "w2", &small, &lost[1]), AB_ERR_OK);
    AB_UNTIL(ends, lost[0].finished && lost[1].finished);
    assert_int_equal(send_large(principal, "w1"), AB_ERR_OK);
    assert_int_equal(send_large(principal, "w2"), AB_ERR_FULL);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w2")->writable > 0);
}

static void live_events_that_nobody_deals_with_are_refused_in_the_end(void **state)
{
    enum { OPEN_MAX = 1000, MORE = 5 };
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    agent->keep = true;
    for (int n = 0; n < OPEN_MAX + MORE; n++) {
        char id[16];
        snprintf(id, sizeof(id), "live/%d", n);
        AB_UNTIL(ends, ab_end_live(principal, "w1", id, 60000, NULL) == AB_ERR_OK);
    }
    AB_UNTIL(ends, ab_end_refused(agent, "busy") == MORE);
    assert_int_equal(agent->receipt_count, OPEN_MAX);
}

static void a_log_that_cannot_be_read_keeps_no_other_agent_waiting(void **state)
{
    ab_ends *ends = *state;
    ab_ends_capture_log(ends);
    for (int agent = 1; agent <= 2; agent++) {
        char topic[32];
        snprintf(topic, sizeof(topic), "down.w%d.state", agent);
        ab_mock_lead(ends, topic, agent);
        snprintf(topic, sizeof(topic), "up.w%d.state", agent);
        ab_mock_lead(ends, topic, AB_MOCK_BROKERS);
    }
    ab_end *principal = ab_end_principal(ends, "w1,w2");
    AB_UNTIL(ends,
             ab_end_peer_of(principal, "w1")->ready && ab_end_peer_of(principal, "w2")->ready);
    ab_end_stop(principal);
    ab_mock_fail(ends, 1, AB_MOCK_FETCH, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, 0);
    principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, ab_end_says(principal, "our own log is being read"));
    assert_int_equal(ab_transport_add_agent(principal->transport, "w2", NULL), AB_ERR_OK);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w2")->ready);
    assert_int_equal(ab_end_peer_of(principal, "w1")->ready, 0);
    AB_UNTIL(ends, ab_ends_logged(ends, "cannot read topic mock.down.w1.state"));
    ab_mock_lead(ends, "down.w1.state", 2);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready);
}

/* Asked through a producer, librdkafka crashes at this answer (issue 5040). */
static void a_position_is_asked_for_again_where_the_coordinator_moves(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    const ab_pending *down = ab_transport_pending(principal->transport, "w1", AB_DOWN);
    AB_UNTIL(ends, ab_pending_is_known(down) && ab_pending_count(down) == 0);
    rd_kafka_mock_push_request_errors(ab_mock_cluster(ends), AB_MOCK_OFFSET_FETCH, 2,
                                      RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
                                      RD_KAFKA_RESP_ERR_NOT_COORDINATOR);
    ab_end_put(principal, "w1", "app/a", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    assert_int_equal(ab_pending_count(down), 1);
    AB_UNTIL(ends, ab_pending_count(down) == 0);
    assert_true(ab_pending_is_known(down));
}

/* A request that librdkafka gives up itself while no coordinator is there aborts the process when
 * it returns (issue 5397). */
static void a_position_is_asked_for_again_where_the_brokers_return(void **state)
{
    ab_ends *ends = *state;
    ab_ends_capture_log(ends);
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    const ab_pending *down = ab_transport_pending(principal->transport, "w1", AB_DOWN);
    AB_UNTIL(ends, ab_pending_is_known(down) && ab_pending_count(down) == 0);
    ab_end_put(principal, "w1", "app/a", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    all_brokers(ends, false);
    AB_UNTIL(ends, ab_ends_logged(ends, "cannot read an agent's position"));
    all_brokers(ends, true);
    AB_UNTIL(ends, ab_pending_is_known(down) && ab_pending_count(down) == 0);
}

/* Nobody asks for its position any more, or that would outlive it. */
static void an_agent_may_be_removed_while_an_event_is_on_its_way(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = ab_end_principal(ends, "w1");
    const ab_pending *down = ab_transport_pending(principal->transport, "w1", AB_DOWN);
    ab_sending first = {.accepted = AB_ERR_UNAVAILABLE};
    AB_UNTIL(ends, ab_end_put_until_safe(principal, "w1", "app/a", 1, &first));
    AB_UNTIL(ends, ab_pending_is_known(down));
    ab_sending last = {0};
    assert_int_equal(send_one(principal, "app/b", 2, &last), AB_ERR_OK);
    ab_transport_remove_agent(principal->transport, "w1");
    AB_UNTIL(ends, last.finished == 1);
    assert_int_equal(ab_transport_add_agent(principal->transport, "w2", NULL), AB_ERR_OK);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w2")->ready);
}

static int64_t same_ms(void *arg)
{
    return ab_clock_real.mono_ms(arg);
}

static int64_t ahead_us(void *arg)
{
    return ab_clock_real.wall_us(arg) + INT64_C(6 * 3600 * 1000000);
}

/* Or the agent would take what it writes for older than what it has. */
static void a_writer_whose_clock_was_set_back_has_a_higher_epoch(void **state)
{
    static const ab_clock ahead = {same_ms, ahead_us, NULL};
    ab_ends *ends = *state;
    ends->clock = &ahead;
    ab_end *principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready);
    uint64_t former = ab_end_peer_of(principal, "w1")->epoch;
    ab_end_stop(principal);
    ends->clock = &ab_clock_real;
    principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready);
    assert_true(ab_end_peer_of(principal, "w1")->epoch > former);
}

#define CASE(f)                                                                                    \
    cmocka_unit_test_prestate_setup_teardown(f, ab_ends_setup, ab_ends_teardown, &fixture)

int main(int argc, char **argv)
{
    ab_mock_fixture fixture;
    ab_mock_fixture_init(&fixture, "kafka-mock", open_cluster);
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
        CASE(an_agent_whose_position_cannot_be_read_is_not_new),
        CASE(a_stop_waits_for_no_right_that_is_missing),
        CASE(fetch_errors_are_lived_through),
        CASE(a_coordinator_that_is_not_ready_is_waited_for),
        CASE(a_log_that_could_not_be_begun_is_begun_again),
        CASE(an_agent_that_cannot_be_written_to_holds_up_no_other),
        CASE(an_agent_whose_events_time_out_holds_up_no_other),
        CASE(an_agent_that_waits_for_the_room_of_another_is_told_of_it),
        CASE(live_events_that_nobody_deals_with_are_refused_in_the_end),
        CASE(a_log_that_cannot_be_read_keeps_no_other_agent_waiting),
        CASE(a_position_is_asked_for_again_where_the_coordinator_moves),
        CASE(a_position_is_asked_for_again_where_the_brokers_return),
        CASE(an_agent_may_be_removed_while_an_event_is_on_its_way),
        CASE(a_writer_whose_clock_was_set_back_has_a_higher_epoch),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("mock", tests, NULL, NULL);
}
