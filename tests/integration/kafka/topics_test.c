/* SPDX-License-Identifier: Apache-2.0
 *
 * Topics that are not as they must be: the reason is told, nothing is guessed, and work begins once
 * they are right.
 */
#include "tests/conformance/transport/kafka_fixture.h"

#include "schema/attributes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void missing_topics_are_named_and_waited_for(void **state)
{
    ab_ends *ends = *state;
    ab_ends_set(ends, "kafka.topics=verify");
    ab_end *principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, ab_end_says(principal, "does not exist"));
    assert_true(ab_end_says(principal, "deploy/kafka/provision agent w1"));
    assert_int_equal(ab_end_peer_of(principal, "w1")->ready, 0);
    ab_kafka_make_topics(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready == 1);
    assert_false(ab_end_says(principal, ""));
}

static void missing_topics_of_one_agent_do_not_hold_up_another(void **state)
{
    ab_ends *ends = *state;
    ab_ends_set(ends, "kafka.topics=verify");
    ab_kafka_make_topics(ends, "w2");
    ab_end *principal = ab_end_principal(ends, "w1,w2");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w2")->ready == 1);
    AB_UNTIL(ends, ab_end_says(principal, "w1"));
    ab_end_put(principal, "w2", "app/a", 1);
    ab_end *agent = ab_end_agent(ends, "w2");
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
}

static void more_replicas_than_brokers_are_refused_with_the_option_named(void **state)
{
    ab_ends *ends = *state;
    ab_ends_set(ends, "kafka.replication-factor=3");
    ab_end *principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, ab_end_says(principal, "Set kafka.replication-factor to at most"));
    assert_true(ab_end_says(principal, "cannot create topic"));
}

static void a_topic_of_several_partitions_is_refused(void **state)
{
    ab_ends *ends = *state;
    ab_ends_set(ends, "kafka.topics=verify");
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_kafka_make_topics(ends, "w1");
    ab_kafka_topic_name(ends, "up.w1.state", topic);
    ab_broker_topic_delete(ab_kafka_admin(ends), topic);
    ab_broker_topic_create(ab_kafka_admin(ends), topic, 3, "compact");
    ab_end *principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, ab_end_says(principal, "has 3 partitions, must have 1"));
    assert_true(ab_end_says(principal, topic));
}

static void a_state_topic_that_is_not_compacted_is_refused(void **state)
{
    ab_ends *ends = *state;
    ab_ends_set(ends, "kafka.topics=verify");
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_kafka_make_topics(ends, "w1");
    ab_kafka_topic_name(ends, "down.w1.state", topic);
    ab_broker_topic_delete(ab_kafka_admin(ends), topic);
    ab_broker_topic_create(ab_kafka_admin(ends), topic, 1, "delete");
    ab_end *principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, ab_end_says(principal, "cleanup.policy=delete, must be compact"));
    assert_true(ab_end_says(principal, topic));
}

static void external_topics_are_taken_as_they_are(void **state)
{
    ab_ends *ends = *state;
    ab_ends_set(ends, "kafka.topics=external");
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_kafka_make_topics(ends, "w1");
    ab_kafka_topic_name(ends, "down.w1.state", topic);
    ab_broker_topic_delete(ab_kafka_admin(ends), topic);
    ab_broker_topic_create(ab_kafka_admin(ends), topic, 1, "delete");
    ab_end *principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready == 1);
}

static void recreate(ab_ends *ends, const char *rest)
{
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_kafka_topic_name(ends, rest, topic);
    ab_broker_topic_delete(ab_kafka_admin(ends), topic);
    ab_broker_topic_create(ab_kafka_admin(ends), topic, 1, "compact");
}

static void a_topic_made_anew_while_running_is_a_gap_for_its_writer(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    for (uint64_t version = 1; version <= 5; version++)
        ab_end_put(principal, "w1", "app/a", version);
    AB_UNTIL(ends, ab_end_newest(agent, "w1", "app/a") != NULL &&
                       ab_end_newest(agent, "w1", "app/a")->version == 5);
    recreate(ends, "down.w1.state");
    /* The reader notices, and its hellos tell the writer. */
    ab_end_peer *down = ab_end_peer_of(principal, "w1");
    AB_UNTIL(ends, down->gaps[AB_GAP_RECREATED] >= 1 && down->ready >= 2);
    assert_int_equal(down->head_count, 0);
    ab_end_put(principal, "w1", "app/a", 6);
    AB_UNTIL(ends, ab_end_newest(agent, "w1", "app/a")->version == 6);
    AB_UNTIL(ends, down->up && ab_end_peer_of(agent, "w1")->up);
}

static void a_topic_made_anew_while_running_is_a_gap_for_its_reader(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    for (uint64_t version = 1; version <= 5; version++)
        ab_end_put(principal, "w1", "app/a", version);
    AB_UNTIL(ends, ab_end_newest(agent, "w1", "app/a") != NULL &&
                       ab_end_newest(agent, "w1", "app/a")->version == 5);
    recreate(ends, "down.w1.state");
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->gaps[AB_GAP_RECREATED] +
                           ab_end_peer_of(agent, "w1")->gaps[AB_GAP_FIRST] +
                           ab_end_peer_of(agent, "w1")->gaps[AB_GAP_EXPIRED] >=
                       2);
}

static void
a_topic_made_anew_that_has_grown_past_the_reader_is_read_from_its_beginning(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    for (uint64_t version = 1; version <= 5; version++)
        ab_end_put(principal, "w1", "app/a", version);
    AB_UNTIL(ends, ab_end_newest(agent, "w1", "app/a") != NULL &&
                       ab_end_newest(agent, "w1", "app/a")->version == 5);
    recreate(ends, "down.w1.state");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready == 2);
    for (unsigned n = 1; n <= 100; n++) {
        char key[32];
        snprintf(key, sizeof(key), "new/%u", n);
        ab_end_put(principal, "w1", key, n);
    }
    for (unsigned n = 1; n <= 100; n++) {
        char key[32];
        snprintf(key, sizeof(key), "new/%u", n);
        AB_UNTIL(ends, ab_end_count(agent, key) >= 1);
    }
}

static void a_topic_made_anew_while_its_reader_was_away_is_read_from_its_beginning(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    for (unsigned n = 1; n <= 5; n++) {
        char key[32];
        snprintf(key, sizeof(key), "app/%u", n);
        ab_end_put(principal, "w1", key, n);
    }
    AB_UNTIL(ends, ab_end_count(agent, "app/5") == 1);
    ab_end_stop(agent);
    recreate(ends, "down.w1.state");
    ab_end_put(principal, "w1", "new/0", 1);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready >= 2);
    for (unsigned n = 1; n <= 20; n++) {
        char key[32];
        snprintf(key, sizeof(key), "new/%u", n);
        ab_end_put(principal, "w1", key, n);
    }
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_count(agent, "new/20") == 1 && ab_end_count(agent, "new/1") == 1);
    const ab_end_peer *peer = ab_end_peer_of(agent, "w1");
    assert_int_equal(peer->gaps[AB_GAP_FIRST] + peer->gaps[AB_GAP_RECREATED], 1);
}

/* Nobody writes meanwhile: the reader, once it is back, is who finds out. */
static void a_topic_made_anew_while_its_reader_was_away_is_told_to_its_writer(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_put(principal, "w1", "app/a", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    ab_end_stop(agent);
    recreate(ends, "down.w1.state");
    (void)ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->gaps[AB_GAP_RECREATED] == 1 &&
                       ab_end_peer_of(principal, "w1")->ready == 2);
}

/* Its policy is changed, old records go, and it is set right again. */
static void lose_old_records(ab_ends *ends, const char *rest)
{
    char topic[AB_KAFKA_TOPIC_MAX];
    rd_kafka_t *admin = ab_kafka_admin(ends);
    ab_kafka_topic_name(ends, rest, topic);
    ab_broker_topic_limit(admin, topic, "delete", "1048588");
    ab_broker_log_trim(admin, topic);
    ab_broker_topic_limit(admin, topic, "compact", "1048588");
}

static void records_that_went_before_an_agent_had_read_them_are_a_gap(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_put(principal, "w1", "app/a", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    ab_end_stop(agent);
    ab_sending unread = {.accepted = AB_ERR_UNAVAILABLE};
    AB_UNTIL(ends, ab_end_put_until_safe(principal, "w1", "app/b", 2, &unread));
    lose_old_records(ends, "down.w1.state");
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->gaps[AB_GAP_EXPIRED] == 1 &&
                       ab_end_peer_of(agent, "w1")->caught_up > 0);
    assert_int_equal(ab_end_count(agent, "app/b"), 0);
    ab_end_put(principal, "w1", "app/c", 3);
    AB_UNTIL(ends, ab_end_count(agent, "app/c") == 1);
}

static void records_that_go_before_a_running_agent_has_read_them_are_a_gap(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_set(ends, "transport.inflight=1");
    ab_ends_pair(ends, &principal, &agent);
    agent->keep = true; /* it reads one, and no more before it is acknowledged */
    ab_end_put(principal, "w1", "app/a", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    ab_sending unread = {.accepted = AB_ERR_UNAVAILABLE};
    AB_UNTIL(ends, ab_end_put_until_safe(principal, "w1", "app/b", 2, &unread));
    lose_old_records(ends, "down.w1.state");
    agent->keep = false;
    ab_end_ack(agent, 0, AB_VERDICT_APPLIED);
    AB_UNTIL(ends, ab_end_count(agent, "app/b") == 1 ||
                       ab_end_peer_of(agent, "w1")->gaps[AB_GAP_EXPIRED] == 1);
    ab_end_put(principal, "w1", "app/c", 3);
    AB_UNTIL(ends, ab_end_count(agent, "app/c") == 1);
}

static void a_deleted_topic_is_waited_for(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_set(ends, "kafka.topics=verify");
    ab_kafka_make_topics(ends, "w1");
    ab_ends_pair(ends, &principal, &agent);
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_kafka_topic_name(ends, "up.w1.state", topic);
    ab_broker_topic_delete(ab_kafka_admin(ends), topic);
    ab_end_put(agent, NULL, "app/a", 1);
    AB_UNTIL(ends, ab_end_says(agent, topic) && ab_end_says(principal, topic));
    ab_broker_topic_create(ab_kafka_admin(ends), topic, 1, "compact");
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->ready >= 2 &&
                       ab_end_peer_of(principal, "w1")->ready >= 2);
    ab_end_put(agent, NULL, "app/a", 1);
    AB_UNTIL(ends, ab_end_count(principal, "app/a") == 1);
}

/* Text that lz4 makes little of. */
static ab_str noise(char *room, size_t size)
{
    uint32_t seed = 1;
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        room[i] = (char)('a' + (seed >> 24) % 26);
    }
    return (ab_str){room, size};
}

/* True once that is what becomes of it; sends it until then, as settings take their time. */
static bool comes_to(ab_end *principal, const ab_draft *draft, ab_err wanted, ab_sending *sending)
{
    bool accepted = sending->accepted == AB_ERR_OK;
    if (accepted && sending->finished == 0)
        return false;
    if (accepted && sending->code == wanted)
        return true;
    *sending = (ab_sending){0};
    (void)ab_end_send(principal, "w1", draft, sending); /* says it in `sending` too */
    return false;
}

#define LIMIT "20000"
#define SMALL 1000
#define MANY  60 /* more, all together, than LIMIT */

/* The large one is among the small ones; all but the first go in one request. */
static void send_all(ab_end *principal, const ab_draft *large, ab_sending outcome[MANY])
{
    static char room[SMALL];
    noise(room, sizeof(room));
    for (unsigned n = 0; n < MANY; n++) {
        char key[32];
        snprintf(key, sizeof(key), "small/%u", n);
        const ab_draft small = {.key = key, .version = n + 1, .data = {room, sizeof(room)}};
        outcome[n] = (ab_sending){0};
        (void)ab_end_send(principal, "w1", n == MANY / 3 ? large : &small, &outcome[n]);
        assert_int_equal(outcome[n].accepted, AB_ERR_OK);
    }
}

static bool are_over(const ab_sending outcome[MANY])
{
    for (unsigned n = 0; n < MANY; n++) {
        if (outcome[n].finished == 0)
            return false;
    }
    return true;
}

/* From the receipt `first` on, `agent` has the small ones, each once: only events of one key keep
 * their order, and where several requests were refused, another was taken meanwhile. */
static void assert_all_came(const ab_end *agent, size_t first)
{
    assert_int_equal(agent->receipt_count - first, MANY - 1);
    for (unsigned n = 0; n < MANY; n++) {
        char key[32];
        size_t times = 0;
        snprintf(key, sizeof(key), "small/%u", n);
        for (size_t i = first; i < agent->receipt_count; i++)
            times += strcmp(agent->receipts[i].key, key) == 0;
        assert_int_equal(times, n == MANY / 3 ? 0 : 1);
    }
}

static double failures(const ab_end *end)
{
    const ab_label label = {"reason", ab_str_of(ab_err_text(AB_ERR_TOOBIG))};
    return ab_metric_value(ab_metric_get(end->metrics, AB_METRIC_COUNTER,
                                         "argobus_send_failures_total",
                                         "Events that could not be sent.", &label, 1));
}

static void assert_too_small_topic_holds_up_nothing_else(ab_ends *ends)
{
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_capture_log(ends);
    ab_ends_pair(ends, &principal, &agent);
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_kafka_topic_name(ends, "down.w1.state", topic);
    ab_broker_topic_limit(ab_kafka_admin(ends), topic, "compact", LIMIT);
    static char room[30000];
    const ab_draft large = {.key = "large", .version = 1, .data = noise(room, sizeof(room))};
    ab_sending once = {.accepted = AB_ERR_UNAVAILABLE};
    AB_UNTIL(ends, comes_to(principal, &large, AB_ERR_TOOBIG, &once));
    size_t before = agent->receipt_count;
    double failed = failures(principal);
    static ab_sending outcome[MANY]; /* outlives a test that fails */
    send_all(principal, &large, outcome);
    AB_UNTIL(ends, are_over(outcome));
    for (unsigned n = 0; n < MANY; n++)
        assert_int_equal(outcome[n].code, n == MANY / 3 ? AB_ERR_TOOBIG : AB_ERR_OK);
    assert_true(failures(principal) == failed + 1);
    AB_UNTIL(ends, agent->receipt_count - before >= MANY - 1);
    assert_all_came(agent, before);
    assert_false(ab_end_says(principal, ""));
    assert_true(ab_ends_logged(ends, "topic takes less than kafka.message-max") >= 1);
    ab_broker_topic_limit(ab_kafka_admin(ends), topic, "compact", "1048588");
    AB_UNTIL(ends, comes_to(principal, &large, AB_ERR_OK, &once));
    AB_UNTIL(ends, ab_end_count(agent, "large") > 0);
}

static void what_its_topic_is_too_small_for_holds_up_nothing_else(void **state)
{
    assert_too_small_topic_holds_up_nothing_else(*state);
}

static void nor_where_librdkafka_puts_events_together(void **state)
{
    ab_ends_set(*state, "kafka.linger=50ms");
    assert_too_small_topic_holds_up_nothing_else(*state);
}

/* Whoever lowered it, or raised kafka.message-max: a restart is not what stops an agent. */
static void an_agent_is_served_whose_topic_takes_less_than_message_max(void **state)
{
    ab_ends *ends = *state;
    ab_ends_set(ends, "kafka.topics=verify");
    ab_ends_capture_log(ends);
    char topic[AB_KAFKA_TOPIC_MAX];
    char said[2 * AB_KAFKA_TOPIC_MAX + 128];
    ab_kafka_make_topics(ends, "w1");
    ab_kafka_topic_name(ends, "down.w1.state", topic);
    ab_broker_topic_limit(ab_kafka_admin(ends), topic, "compact", LIMIT);
    ab_end *principal = ab_end_principal(ends, "w1");
    ab_end *agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->up && ab_end_peer_of(agent, "w1")->ready > 0);
    snprintf(said, sizeof(said),
             "topic %s has max.message.bytes=" LIMIT ", must be 262144: kafka-configs --alter "
             "--topic %s --add-config max.message.bytes=262144",
             topic, topic);
    assert_int_equal(ab_ends_logged(ends, "larger events are refused"), 2); /* by each end */
    assert_int_equal(ab_ends_logged(ends, said), 2);
    static char room[30000];
    const ab_draft large = {.key = "large", .version = 1, .data = noise(room, sizeof(room))};
    ab_sending once = {.accepted = AB_ERR_UNAVAILABLE};
    AB_UNTIL(ends, comes_to(principal, &large, AB_ERR_TOOBIG, &once));
    ab_end_put(principal, "w1", "small", 1);
    AB_UNTIL(ends, ab_end_count(agent, "small") == 1);
}

static void no_broker_is_no_error_but_not_ready(void **state)
{
    ab_ends *ends = *state;
    ab_ends_set(ends, "kafka.brokers=127.0.0.1:1");
    ab_end *agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_says(agent, "cannot reach any broker: 127.0.0.1:1/bootstrap"));
    assert_true(ab_end_says(agent, "Connection refused"));
    const ab_draft draft = {.key = "app/a", .version = 1, .data = AB_STR("1")};
    assert_int_equal(ab_end_send(agent, NULL, &draft, NULL), AB_ERR_UNAVAILABLE);
    assert_int_equal(agent->fatal, 0);
}

static void a_broker_that_is_away_is_not_missed_where_the_next_is_there(void **state)
{
    char address[32];
    ab_ends *ends = *state;
    ab_broker_address("plain", address);
    ab_ends_set(ends, "kafka.brokers=127.0.0.1:1,%s", address);
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_put(principal, "w1", "app/a", 1);
    ab_end_put(agent, NULL, "app/a", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1 && ab_end_count(principal, "app/a") == 1);
    const ab_pending *down = ab_transport_pending(principal->transport, "w1", AB_DOWN);
    AB_UNTIL(ends, ab_pending_is_known(down) && ab_pending_count(down) == 0);
    AB_UNTIL(ends, !ab_end_says(principal, "") && !ab_end_says(agent, ""));
}

#define CASE(f) cmocka_unit_test_prestate_setup_teardown(f, ab_ends_setup, ab_ends_teardown, &kafka)

int main(int argc, char **argv)
{
    ab_kafka_fixture kafka;
    ab_kafka_fixture_init(&kafka);
    const struct CMUnitTest tests[] = {
        CASE(missing_topics_are_named_and_waited_for),
        CASE(missing_topics_of_one_agent_do_not_hold_up_another),
        CASE(more_replicas_than_brokers_are_refused_with_the_option_named),
        CASE(a_topic_of_several_partitions_is_refused),
        CASE(a_state_topic_that_is_not_compacted_is_refused),
        CASE(external_topics_are_taken_as_they_are),
        CASE(a_topic_made_anew_while_running_is_a_gap_for_its_writer),
        CASE(a_topic_made_anew_while_running_is_a_gap_for_its_reader),
        CASE(a_topic_made_anew_that_has_grown_past_the_reader_is_read_from_its_beginning),
        CASE(a_topic_made_anew_while_its_reader_was_away_is_read_from_its_beginning),
        CASE(a_topic_made_anew_while_its_reader_was_away_is_told_to_its_writer),
        CASE(records_that_went_before_an_agent_had_read_them_are_a_gap),
        CASE(records_that_go_before_a_running_agent_has_read_them_are_a_gap),
        CASE(a_deleted_topic_is_waited_for),
        CASE(what_its_topic_is_too_small_for_holds_up_nothing_else),
        CASE(nor_where_librdkafka_puts_events_together),
        CASE(an_agent_is_served_whose_topic_takes_less_than_message_max),
        CASE(no_broker_is_no_error_but_not_ready),
        CASE(a_broker_that_is_away_is_not_missed_where_the_next_is_there),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("topics", tests, NULL, NULL);
}
