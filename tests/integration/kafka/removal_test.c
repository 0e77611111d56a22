/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of the topics of an agent that is gone for good: deleted where the principal makes
 * them, left alone where somebody else does, and made anew when the agent returns.
 */
#include "tests/conformance/transport/kafka_fixture.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* How many topics of an agent are there; whole, it has four. */
static int topics_of(const ab_ends *ends, const char *agent)
{
    char down[AB_KAFKA_TOPIC_MAX];
    char up[AB_KAFKA_TOPIC_MAX];
    int down_len = snprintf(down, sizeof(down), "%s.down.%s.", ab_kafka_prefix(ends), agent);
    int up_len = snprintf(up, sizeof(up), "%s.up.%s.", ab_kafka_prefix(ends), agent);
    const struct rd_kafka_metadata *metadata = NULL;
    assert_int_equal(rd_kafka_metadata(ab_kafka_admin(ends), 1, NULL, &metadata, 60000), 0);
    int found = 0;
    for (int i = 0; i < metadata->topic_cnt; i++) {
        const char *name = metadata->topics[i].topic;
        if (strncmp(name, down, (size_t)down_len) == 0 || strncmp(name, up, (size_t)up_len) == 0)
            found++;
    }
    rd_kafka_metadata_destroy(metadata);
    return found;
}

static void pass(ab_ends *ends, int64_t ms)
{
    int64_t until = ab_clock_mono_ms(&ab_clock_real) + ms;
    AB_UNTIL(ends, ab_clock_mono_ms(&ab_clock_real) >= until);
}

/* Long enough that what is to happen at the next turn would have. */
static void pass_hellos(ab_ends *ends, const char *topic)
{
    char name[AB_KAFKA_TOPIC_MAX];
    ab_kafka_topic_name(ends, topic, name);
    int64_t end = ab_broker_log_end(ab_kafka_admin(ends), name) + 10;
    AB_UNTIL(ends, ab_broker_log_end(ab_kafka_admin(ends), name) >= end);
}

static void an_agent_that_is_gone_leaves_no_topics_and_no_positions(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    assert_int_equal(ab_transport_add_agent(principal->transport, "w10", NULL), AB_ERR_OK);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w10")->ready == 1);
    ab_end_put(principal, "w1", "app/a", 1);
    ab_end_put(agent, NULL, "app/b", 1);
    AB_UNTIL(ends, ab_kafka_committed(ends, "agent.w1", "down.w1.state") > 0 &&
                       ab_kafka_committed(ends, "principal", "up.w1.state") > 0);
    assert_int_equal(topics_of(ends, "w1"), 4);
    ab_transport_remove_agent(principal->transport, "w1");
    AB_UNTIL(ends, topics_of(ends, "w1") == 0);
    assert_int_equal(topics_of(ends, "w10"), 4);
    ab_end_stop(agent);
    AB_UNTIL(ends, ab_kafka_committed(ends, "agent.w1", "down.w1.state") < 0 &&
                       ab_kafka_committed(ends, "principal", "up.w1.state") < 0);
    /* The others do not feel it. */
    ab_end_put(principal, "w10", "app/c", 1);
    ab_end *other = ab_end_agent(ends, "w10");
    AB_UNTIL(ends, ab_end_count(other, "app/c") == 1);
}

static void an_agent_that_was_away_meanwhile_gets_everything_anew(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    for (unsigned n = 1; n <= 20; n++) {
        ab_end_put(principal, "w1", "app/a", n);
        ab_end_put(agent, NULL, "app/b", n);
    }
    AB_UNTIL(ends, ab_kafka_committed(ends, "agent.w1", "down.w1.state") > 20);
    ab_end_stop(agent);
    ab_transport_remove_agent(principal->transport, "w1");
    AB_UNTIL(ends, topics_of(ends, "w1") == 0);
    assert_int_equal(ab_transport_add_agent(principal->transport, "w1", NULL), AB_ERR_OK);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready == 2);
    assert_int_equal(ab_end_peer_of(principal, "w1")->gaps[AB_GAP_FIRST], 2);
    ab_end_put(principal, "w1", "app/a", 30);
    agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    assert_int_equal(ab_end_newest(agent, "w1", "app/a")->version, 30);
    assert_int_equal(ab_end_peer_of(agent, "w1")->gaps[AB_GAP_FIRST] +
                         ab_end_peer_of(agent, "w1")->gaps[AB_GAP_RECREATED],
                     1);
}

/* From before the deletion has begun until after it is over. */
static void an_agent_may_return_at_any_moment(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    uint64_t version = 0;
    for (int64_t after_ms = 0; after_ms <= 200; after_ms += 50) {
        int ready = ab_end_peer_of(principal, "w1")->ready;
        uint64_t epoch = ab_end_peer_of(principal, "w1")->epoch;
        ab_transport_remove_agent(principal->transport, "w1");
        pass(ends, after_ms);
        assert_int_equal(ab_transport_add_agent(principal->transport, "w1", NULL), AB_ERR_OK);
        AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready > ready);
        assert_true(ab_end_peer_of(principal, "w1")->epoch > epoch);
        ab_end_put(principal, "w1", "app/a", ++version);
        AB_UNTIL(ends, ab_end_newest(agent, "w1", "app/a") != NULL &&
                           ab_end_newest(agent, "w1", "app/a")->version == version);
        assert_int_equal(topics_of(ends, "w1"), 4);
    }
}

static bool is_of_librdkafka(const char *task)
{
    char path[64];
    char name[32] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", task);
    FILE *f = fopen(path, "r");
    if (f == NULL) /* it has ended meanwhile */
        return false;
    bool is = fgets(name, sizeof(name), f) != NULL && strncmp(name, "rdk:", 4) == 0;
    assert_int_equal(fclose(f), 0);
    return is;
}

static int threads_of_librdkafka(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (const struct dirent *d = readdir(tasks); d != NULL; d = readdir(tasks))
        count += is_of_librdkafka(d->d_name);
    assert_int_equal(closedir(tasks), 0);
    return count;
}

/* Let the handle that read w1's topics hear that they are gone. */
static void hear_of_the_deletion(ab_ends *ends, ab_end *principal)
{
    AB_UNTIL(ends, topics_of(ends, "w1") == 0);
    assert_int_equal(ab_transport_add_agent(principal->transport, "w2", NULL), AB_ERR_OK);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w2")->ready == 1);
    pass_hellos(ends, "down.w2.live");
}

static void the_handles_that_read_removed_agents_end(void **state)
{
    ab_ends *ends = *state;
    ab_ends_set(ends, "kafka.librdkafka.topic.metadata.refresh.interval.ms=100");
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    int before = threads_of_librdkafka();
    ab_ends_pair(ends, &principal, &agent);
    ab_end_put(agent, NULL, "app/a", 1);
    AB_UNTIL(ends, ab_end_count(principal, "app/a") == 1);
    ab_end_stop(agent);
    ab_transport_remove_agent(principal->transport, "w1");
    hear_of_the_deletion(ends, principal);
    ab_end_stop(principal);
    AB_UNTIL(ends, threads_of_librdkafka() <= before);
}

static void the_handles_that_read_topics_deleted_by_others_end(void **state)
{
    static const char *const topics[] = {"down.w1.state", "down.w1.live", "up.w1.state",
                                         "up.w1.live"};
    ab_ends *ends = *state;
    ab_ends_set(ends, "kafka.librdkafka.topic.metadata.refresh.interval.ms=100");
    ab_ends_set(ends, "kafka.topics=verify");
    ab_kafka_make_topics(ends, "w1");
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    int before = threads_of_librdkafka();
    ab_ends_pair(ends, &principal, &agent);
    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
        char name[AB_KAFKA_TOPIC_MAX];
        ab_broker_topic_delete(ab_kafka_admin(ends), ab_kafka_topic_name(ends, topics[i], name));
    }
    AB_UNTIL(ends, ab_end_says(principal, "up.w1") && ab_end_says(agent, "down.w1"));
    ab_end_stop(agent);
    ab_end_stop(principal);
    AB_UNTIL(ends, threads_of_librdkafka() <= before);
}

static void topics_that_somebody_else_makes_stay(void **state)
{
    static const char *const by_others[] = {"verify", "external"};
    ab_ends *ends = *state;
    ab_kafka_make_topics(ends, "w1");
    ab_kafka_make_topics(ends, "w2");
    for (size_t i = 0; i < 2; i++) {
        ab_ends_set(ends, "kafka.topics=%s", by_others[i]);
        ab_end *principal = ab_end_principal(ends, "w1,w2");
        AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready == 1 &&
                           ab_end_peer_of(principal, "w2")->ready == 1);
        ab_transport_remove_agent(principal->transport, "w1");
        pass_hellos(ends, "down.w2.live");
        assert_int_equal(topics_of(ends, "w1"), 4);
        ab_end_stop(principal);
    }
}

static void without_a_broker_what_stays_behind_is_told(void **state)
{
    ab_ends *ends = *state;
    ab_ends_capture_log(ends);
    ab_ends_set(ends, "kafka.brokers=127.0.0.1:1");
    ab_end *principal = ab_end_principal(ends, "w1");
    ab_transport_remove_agent(principal->transport, "w1");
    AB_UNTIL(ends, ab_ends_logged(ends, "cannot delete the topics of a removed agent; retrying"));
    assert_false(ab_ends_logged(ends, "are not deleted"));
    ab_end_stop(principal);
    assert_true(ab_ends_logged(ends, "are not deleted"));
    assert_true(ab_ends_logged(ends, "deploy/kafka/provision remove w1"));
}

#define CASE(f) cmocka_unit_test_prestate_setup_teardown(f, ab_ends_setup, ab_ends_teardown, &kafka)

int main(int argc, char **argv)
{
    ab_kafka_fixture kafka;
    ab_kafka_fixture_init(&kafka);
    const struct CMUnitTest tests[] = {
        CASE(an_agent_that_is_gone_leaves_no_topics_and_no_positions),
        CASE(an_agent_that_was_away_meanwhile_gets_everything_anew),
        CASE(an_agent_may_return_at_any_moment),
        CASE(the_handles_that_read_removed_agents_end),
        CASE(the_handles_that_read_topics_deleted_by_others_end),
        CASE(topics_that_somebody_else_makes_stay),
        CASE(without_a_broker_what_stays_behind_is_told),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("removal", tests, NULL, NULL);
}
