/* SPDX-License-Identifier: Apache-2.0
 *
 * The lag of a consumer group is the number of records that hold changes: while one side is away
 * and nothing changes, the state topics do not grow, however often the other one says that it
 * lives.
 */
#include "tests/conformance/transport/kafka_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static int64_t log_end(const ab_ends *ends, const char *topic)
{
    char name[AB_KAFKA_TOPIC_MAX];
    return ab_broker_log_end(ab_kafka_admin(ends), ab_kafka_topic_name(ends, topic, name));
}

/* As stock tools count it. */
static int64_t lag(const ab_ends *ends, const char *group, const char *topic)
{
    return log_end(ends, topic) - ab_kafka_committed(ends, group, topic);
}

/* Until so many hellos were written to a live topic from now on. */
static void pass_hellos(ab_ends *ends, const char *live_topic, int count)
{
    int64_t end = log_end(ends, live_topic) + count;
    AB_UNTIL(ends, log_end(ends, live_topic) >= end);
}

static void the_lag_of_an_agent_that_is_away_is_what_changed(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_put(principal, "w1", "app/a", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    AB_UNTIL(ends, lag(ends, "agent.w1", "down.w1.state") == 0);
    ab_end_stop(agent);
    pass_hellos(ends, "down.w1.live", 15);
    assert_int_equal(lag(ends, "agent.w1", "down.w1.state"), 0);
    for (uint64_t n = 2; n <= 4; n++)
        ab_end_put(principal, "w1", "app/a", n);
    AB_UNTIL(ends, lag(ends, "agent.w1", "down.w1.state") == 3);
    pass_hellos(ends, "down.w1.live", 15);
    assert_int_equal(lag(ends, "agent.w1", "down.w1.state"), 3);
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, lag(ends, "agent.w1", "down.w1.state") == 0);
}

static void the_lag_of_a_principal_that_is_away_is_what_changed(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_put(agent, NULL, "app/a", 1);
    AB_UNTIL(ends, ab_end_newest(principal, "w1", "app/a") != NULL);
    AB_UNTIL(ends, lag(ends, "principal", "up.w1.state") == 0);
    ab_end_stop(principal);
    pass_hellos(ends, "up.w1.live", 15);
    assert_int_equal(lag(ends, "principal", "up.w1.state"), 0);
    ab_end_put(agent, NULL, "app/a", 2);
    AB_UNTIL(ends, lag(ends, "principal", "up.w1.state") == 1);
    pass_hellos(ends, "up.w1.live", 15);
    assert_int_equal(lag(ends, "principal", "up.w1.state"), 1);
}

static void a_restart_of_the_other_side_is_no_lag(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    AB_UNTIL(ends, lag(ends, "agent.w1", "down.w1.state") == 0);
    ab_end_stop(agent);
    int64_t end = log_end(ends, "down.w1.state");
    for (int n = 0; n < 3; n++) {
        ab_end_stop(principal);
        principal = ab_end_principal(ends, "w1");
        AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready == 1);
        pass_hellos(ends, "down.w1.live", 2);
    }
    assert_int_equal(log_end(ends, "down.w1.state"), end);
    assert_int_equal(lag(ends, "agent.w1", "down.w1.state"), 0);
}

/* --- what is pending, where the lag counts records --- */

static const ab_pending *down_of(ab_end *principal)
{
    return ab_transport_pending(principal->transport, "w1", AB_DOWN);
}

/* Of an unknown number nothing is the count. */
static bool is_pending(ab_end *principal, size_t count)
{
    const ab_pending *p = down_of(principal);
    return ab_pending_is_known(p) && ab_pending_count(p) == count;
}

static void pending_for_an_agent_that_is_away_is_each_object_once(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_put(principal, "w1", "app/a", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    AB_UNTIL(ends, lag(ends, "agent.w1", "down.w1.state") == 0 && is_pending(principal, 0));
    ab_end_stop(agent);
    ab_end_put(principal, "w1", "app/a", 2);
    AB_UNTIL(ends, lag(ends, "agent.w1", "down.w1.state") == 1);
    AB_UNTIL(ends, ab_pending_age_ms(down_of(principal)) >= 1500);
    int64_t later_ms = ab_clock_wall_us(&ab_clock_real) / 1000;
    for (uint64_t n = 3; n <= 11; n++)
        ab_end_put(principal, "w1", "app/a", n);
    ab_end_put(principal, "w1", "app/b", 1);
    ab_end_put(principal, "w1", "cmd/1", 1);
    AB_UNTIL(ends, lag(ends, "agent.w1", "down.w1.state") == 12);
    AB_UNTIL(ends, is_pending(principal, 3)); /* the report follows the record */
    /* That of the first change, not of the last. */
    assert_true(ab_pending_since_ms(down_of(principal)) < later_ms);
    ab_end_stop(principal);
    principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready == 1 && is_pending(principal, 3));
    assert_true(ab_pending_since_ms(down_of(principal)) < later_ms);
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, is_pending(principal, 0));
    assert_int_equal(ab_pending_age_ms(down_of(principal)), 0);
    assert_int_equal(lag(ends, "agent.w1", "down.w1.state"), 0);
}

static void nothing_is_kept_when_nothing_is_pending(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    for (unsigned n = 0; n < 100; n++) {
        char key[32];
        snprintf(key, sizeof(key), "app/%u", n);
        ab_end_put(principal, "w1", key, n + 1);
    }
    AB_UNTIL(ends, ab_end_count(agent, "app/99") == 1);
    AB_UNTIL(ends, is_pending(principal, 0));
    const ab_map *keys =
        down_of(principal)->keys; /* NULL: the agent was faster than every report */
    assert_true(keys == NULL || ab_map_count(keys) == 0);
    assert_false(ab_pending_is_written(down_of(principal)));
}

/* It was known to have passed all of it, and the principal has kept no key of that. */
static void what_an_agent_reads_again_is_pending(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_put(principal, "w1", "app/a", 1);
    ab_end_put(principal, "w1", "app/b", 2);
    AB_UNTIL(ends, ab_end_count(agent, NULL) == 2);
    AB_UNTIL(ends, lag(ends, "agent.w1", "down.w1.state") == 0 && is_pending(principal, 0));
    ab_end_stop(agent);
    ends->replay = true;
    agent = ab_end_agent(ends, "w1");
    agent->keep = true;
    AB_UNTIL(ends, is_pending(principal, 2));
    assert_int_equal(lag(ends, "agent.w1", "down.w1.state"), 2);
    AB_UNTIL(ends, ab_end_count(agent, NULL) == 2);
    ab_end_put(principal, "w1", "app/a", 3);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 2);
    AB_UNTIL(ends, is_pending(principal, 3));
    for (size_t n = 0; n < agent->receipt_count; n++)
        ab_end_ack(agent, n, AB_VERDICT_APPLIED);
    AB_UNTIL(ends, is_pending(principal, 0));
    assert_int_equal(lag(ends, "agent.w1", "down.w1.state"), 0);
}

/* --- an agent that is away for days --- */

static int64_t days_ms;

static int64_t later_ms(void *arg)
{
    return ab_clock_real.mono_ms(arg) + days_ms;
}

static int64_t same_us(void *arg)
{
    return ab_clock_real.wall_us(arg);
}

static int positions_kept(ab_end *principal)
{
    return (int)ab_metric_value(
        ab_metric_get(principal->metrics, AB_METRIC_COUNTER, "argobus_positions_kept_total",
                      "Positions of absent agents that were committed again.", NULL, 0));
}

static void the_position_of_an_agent_that_is_away_is_kept_alive(void **state)
{
    static const ab_clock clock = {later_ms, same_us, NULL};
    ab_ends *ends = *state;
    ends->clock = &clock;
    days_ms = 0;
    ab_end *principal = ab_end_principal(ends, "w1,w2");
    ab_end *agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->up);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w2")->ready == 1);
    ab_end_put(principal, "w1", "app/a", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    AB_UNTIL(ends, lag(ends, "agent.w1", "down.w1.state") == 0);
    ab_end_stop(agent);
    AB_UNTIL(ends, !ab_end_peer_of(principal, "w1")->up);
    ab_end_put(principal, "w1", "app/a", 2);
    AB_UNTIL(ends, lag(ends, "agent.w1", "down.w1.state") == 1);
    for (int day = 1; day <= 3; day++) {
        days_ms = day * INT64_C(25) * 3600 * 1000;
        AB_UNTIL(ends, positions_kept(principal) == day);
    }
    /* Of w2, which was never there, there is none. */
    assert_int_equal(ab_kafka_committed(ends, "agent.w2", "down.w2.state"),
                     RD_KAFKA_OFFSET_INVALID);
    assert_int_equal(lag(ends, "agent.w1", "down.w1.state"), 1);
}

static void forget_position(const ab_ends *ends, const char *group, const char *topic)
{
    char name[AB_KAFKA_TOPIC_MAX];
    char full[AB_KAFKA_TOPIC_MAX];
    rd_kafka_t *admin = ab_kafka_admin(ends);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, ab_kafka_topic_name(ends, topic, full), 0);
    rd_kafka_DeleteConsumerGroupOffsets_t *request =
        rd_kafka_DeleteConsumerGroupOffsets_new(ab_kafka_topic_name(ends, group, name), list);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(admin);
    rd_kafka_DeleteConsumerGroupOffsets(admin, &request, 1, NULL, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, 120000);
    assert_non_null(event);
    assert_int_equal(rd_kafka_event_error(event), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_DeleteConsumerGroupOffsets_destroy(request);
    rd_kafka_topic_partition_list_destroy(list);
}

static void who_runs_commits_its_position_again_each_day(void **state)
{
    static const ab_clock clock = {later_ms, same_us, NULL};
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ends->clock = &clock;
    days_ms = 0;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_put(principal, "w1", "app/a", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    AB_UNTIL(ends, lag(ends, "agent.w1", "down.w1.state") == 0);
    for (int day = 1; day <= 2; day++) {
        forget_position(ends, "agent.w1", "down.w1.state");
        assert_int_equal(ab_kafka_committed(ends, "agent.w1", "down.w1.state"),
                         RD_KAFKA_OFFSET_INVALID);
        days_ms = day * INT64_C(25) * 3600 * 1000;
        AB_UNTIL(ends, ab_kafka_committed(ends, "agent.w1", "down.w1.state") ==
                           log_end(ends, "down.w1.state"));
    }
}

#define CASE(f) cmocka_unit_test_prestate_setup_teardown(f, ab_ends_setup, ab_ends_teardown, &kafka)

int main(int argc, char **argv)
{
    ab_kafka_fixture kafka;
    ab_kafka_fixture_init(&kafka);
    const struct CMUnitTest tests[] = {
        CASE(the_lag_of_an_agent_that_is_away_is_what_changed),
        CASE(the_lag_of_a_principal_that_is_away_is_what_changed),
        CASE(a_restart_of_the_other_side_is_no_lag),
        CASE(pending_for_an_agent_that_is_away_is_each_object_once),
        CASE(nothing_is_kept_when_nothing_is_pending),
        CASE(what_an_agent_reads_again_is_pending),
        CASE(the_position_of_an_agent_that_is_away_is_kept_alive),
        CASE(who_runs_commits_its_position_again_each_day),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("lag", tests, NULL, NULL);
}
