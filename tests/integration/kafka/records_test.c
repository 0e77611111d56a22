/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that no argobus wrote: each is counted under its reason and skipped, and what follows is
 * delivered.
 */
#include "tests/conformance/transport/kafka_fixture.h"

#include "base/core/clock.h"
#include "schema/attributes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GOOD_HEADERS                                                                               \
    "ce_specversion=1.0", "ce_id=1", "ce_source=" AB_SOURCE_AGENT "w1",                            \
        "ce_type=io.argoproj.argocd-agent.event.spec-update", "ce_dataschema=application",         \
        "ce_writerepoch=7", "ce_objversion=7", "content-type=application/json"

/* A principal that is ready for w1, and the topic that w1 would write. */
static ab_end *ready_principal(ab_ends *ends, char topic[AB_KAFKA_TOPIC_MAX])
{
    ab_end *principal = ab_end_principal(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready == 1);
    ab_kafka_topic_name(ends, "up.w1.state", topic);
    return principal;
}

static void write_good(ab_ends *ends, const char *topic, const char *key)
{
    const ab_broker_record good = {
        .key = key, .value = "{}", .value_len = 2, .headers = {GOOD_HEADERS}};
    ab_broker_write(ab_kafka_admin(ends), topic, &good);
}

/* Writes the record and a good one; only the good one must come, and `reason` must count the other.
 */
static void assert_skipped(ab_ends *ends, const ab_broker_record *record, const char *reason)
{
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_end *principal = ready_principal(ends, topic);
    ab_broker_write(ab_kafka_admin(ends), topic, record);
    write_good(ends, topic, "app/good");
    AB_UNTIL(ends, ab_end_count(principal, "app/good") == 1);
    assert_int_equal(principal->receipt_count, 1);
    assert_int_equal((int)ab_end_refused(principal, reason), 1);
}

static void a_record_without_headers_is_skipped(void **state)
{
    const ab_broker_record record = {.key = "app/a", .value = "{}", .value_len = 2};
    assert_skipped(*state, &record, "no_headers");
}

static void a_tombstone_without_headers_is_skipped(void **state)
{
    const ab_broker_record record = {.key = "app/a"};
    assert_skipped(*state, &record, "no_headers");
}

static void a_record_without_a_required_attribute_is_skipped(void **state)
{
    const ab_broker_record record = {
        .key = "app/a",
        .value = "{}",
        .value_len = 2,
        .headers = {"ce_specversion=1.0", "ce_source=" AB_SOURCE_AGENT "w1", "ce_type=x"}};
    assert_skipped(*state, &record, "malformed");
}

static void a_record_with_headers_of_another_kind_is_skipped(void **state)
{
    const ab_broker_record record = {
        .key = "app/a", .value = "{}", .value_len = 2, .headers = {"trace=1", "app=other"}};
    assert_skipped(*state, &record, "malformed");
}

static void a_structured_record_that_is_no_json_is_skipped(void **state)
{
    const ab_broker_record record = {.key = "app/a",
                                     .value = "{\"specversion\":",
                                     .value_len = 15,
                                     .headers = {"content-type=application/cloudevents+json"}};
    assert_skipped(*state, &record, "malformed");
}

static void a_structured_format_that_is_not_known_is_skipped(void **state)
{
    const ab_broker_record record = {.key = "app/a",
                                     .value = "avro",
                                     .value_len = 4,
                                     .headers = {"content-type=application/cloudevents+avro"}};
    assert_skipped(*state, &record, "unsupported");
}

static void a_record_from_another_agent_is_skipped(void **state)
{
    const ab_broker_record record = {.key = "app/a",
                                     .value = "{}",
                                     .value_len = 2,
                                     .headers = {"ce_specversion=1.0", "ce_id=1",
                                                 "ce_source=" AB_SOURCE_AGENT "w2", "ce_type=x"}};
    assert_skipped(*state, &record, "source");
}

static void a_record_that_claims_to_be_the_principals_is_skipped(void **state)
{
    const ab_broker_record record = {.key = "app/a",
                                     .value = "{}",
                                     .value_len = 2,
                                     .headers = {"ce_specversion=1.0", "ce_id=1",
                                                 "ce_source=" AB_SOURCE_PRINCIPAL, "ce_type=x"}};
    assert_skipped(*state, &record, "source");
}

static void a_hello_that_says_nothing_is_skipped(void **state)
{
    ab_ends *ends = *state;
    const ab_broker_record record = {
        .key = AB_KEY_HELLO, .value = "[1]", .value_len = 3, .headers = {GOOD_HEADERS}};
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_end *principal = ready_principal(ends, topic);
    ab_broker_write(ab_kafka_admin(ends), ab_kafka_topic_name(ends, "up.w1.live", topic), &record);
    AB_UNTIL(ends, (int)ab_end_refused(principal, "hello") == 1);
    assert_int_equal(principal->receipt_count, 0);
}

static void random_bytes_are_skipped(void **state)
{
    ab_ends *ends = *state;
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_end *principal = ready_principal(ends, topic);
    uint32_t random = 12345;
    for (size_t n = 0; n < 50; n++) {
        char value[256];
        char key[16];
        char header[2][32] = {"content-type=application/json", "ce_id="};
        for (size_t i = 0; i < sizeof(value); i++) {
            random = random * 1664525u + 1013904223u;
            value[i] = (char)(random >> 24);
        }
        memcpy(key, value, sizeof(key));
        key[sizeof(key) - 1] = '\0';
        memcpy(header[1] + 6, value + 16, 20);
        header[1][26] = '\0';
        const ab_broker_record record = {.key = key,
                                         .value = value,
                                         .value_len = sizeof(value),
                                         .headers = {header[n % 2], header[(n + 1) % 2]}};
        ab_broker_write(ab_kafka_admin(ends), topic, &record);
    }
    write_good(ends, topic, "app/good");
    AB_UNTIL(ends, ab_end_count(principal, "app/good") == 1);
    assert_int_equal(principal->receipt_count, 1);
    assert_int_equal((int)ab_end_refused(principal, "malformed"), 50);
}

static void a_record_over_our_limit_does_not_stop_what_follows(void **state)
{
    ab_ends *ends = *state;
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_kafka_topic_name(ends, "up.w1.state", topic);
    ab_kafka_make_topics(ends, "w1");
    ab_end *principal = ready_principal(ends, topic);
    size_t size = ends->fixture->event_max * 2;
    char *value = calloc(1, size);
    assert_non_null(value);
    const ab_broker_record record = {
        .key = "app/big", .value = value, .value_len = size, .headers = {GOOD_HEADERS}};
    ab_broker_write(ab_kafka_admin(ends), topic, &record);
    free(value);
    write_good(ends, topic, "app/good");
    AB_UNTIL(ends, ab_end_count(principal, "app/good") == 1);
}

static void an_unknown_type_is_left_to_the_receiver(void **state)
{
    ab_ends *ends = *state;
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_end *principal = ready_principal(ends, topic);
    const ab_broker_record record = {.key = "app/a",
                                     .value = "{}",
                                     .value_len = 2,
                                     .headers = {"ce_specversion=1.0", "ce_id=1",
                                                 "ce_source=" AB_SOURCE_AGENT "w1",
                                                 "ce_type=from.the.future", "ce_newattribute=x"}};
    ab_broker_write(ab_kafka_admin(ends), topic, &record);
    AB_UNTIL(ends, ab_end_count(principal, "app/a") == 1);
    assert_string_equal(principal->receipts[0].type, "from.the.future");
}

static void a_structured_json_record_is_an_event(void **state)
{
    ab_ends *ends = *state;
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_end *principal = ready_principal(ends, topic);
    static const char value[] =
        "{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"" AB_SOURCE_AGENT
        "w1\",\"type\":\"x\",\"objversion\":\"3\",\"data\":{\"a\":1}}";
    const ab_broker_record record = {
        .key = "app/a",
        .value = value,
        .value_len = sizeof(value) - 1,
        .headers = {"content-type=application/cloudevents+json; charset=utf-8"}};
    ab_broker_write(ab_kafka_admin(ends), topic, &record);
    AB_UNTIL(ends, ab_end_count(principal, "app/a") == 1);
    assert_int_equal(principal->receipts[0].version, 3);
    assert_true(ab_str_is(ab_event_data(principal->receipts[0].event), "{\"a\":1}"));
}

static void bad_records_in_our_own_log_do_not_stop_the_start(void **state)
{
    ab_ends *ends = *state;
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_kafka_make_topics(ends, "w1");
    ab_kafka_topic_name(ends, "up.w1.state", topic);
    const ab_broker_record foreign = {.key = "app/a", .value = "x", .value_len = 1};
    const ab_broker_record broken = {
        .key = "app/b", .value = "x", .value_len = 1, .headers = {"ce_id=1"}};
    ab_broker_write(ab_kafka_admin(ends), topic, &foreign);
    write_good(ends, topic, "app/c");
    ab_broker_write(ab_kafka_admin(ends), topic, &broken);
    ab_end *agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->ready == 1);
    const ab_end_peer *peer = ab_end_peer_of(agent, "w1");
    assert_int_equal(peer->head_count, 1);
    assert_string_equal(peer->heads[0].key, "app/c");
    assert_true(peer->epoch > 7);
}

/* Whoever wrote it had the agent's credentials. Nobody could read its hello any more. */
static void an_epoch_that_cannot_be_in_our_own_log_is_not_exceeded(void **state)
{
    ab_ends *ends = *state;
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_kafka_make_topics(ends, "w1");
    ab_kafka_topic_name(ends, "up.w1.state", topic);
    const ab_broker_record absurd = {
        .key = "app/a",
        .value = "{}",
        .value_len = 2,
        .headers = {"ce_specversion=1.0", "ce_id=1", "ce_source=" AB_SOURCE_AGENT "w1",
                    "ce_type=io.argoproj.argocd-agent.event.spec-update",
                    "ce_dataschema=application", "ce_writerepoch=18446744073709551615",
                    "ce_objversion=7", "content-type=application/json"}};
    ab_broker_write(ab_kafka_admin(ends), topic, &absurd);
    ab_end *principal = ab_end_principal(ends, "w1");
    ab_end *agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->ready == 1);
    assert_in_range(ab_end_peer_of(agent, "w1")->epoch, 1, UINT64_C(1) << 53);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->up);
}

static void a_foreign_tombstone_ends_a_key_of_our_own_log(void **state)
{
    ab_ends *ends = *state;
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_kafka_make_topics(ends, "w1");
    ab_kafka_topic_name(ends, "up.w1.state", topic);
    write_good(ends, topic, "app/a");
    write_good(ends, topic, "app/b");
    const ab_broker_record tombstone = {.key = "app/a"};
    ab_broker_write(ab_kafka_admin(ends), topic, &tombstone);
    ab_end *agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->ready == 1);
    assert_int_equal(ab_end_peer_of(agent, "w1")->head_count, 1);
    assert_string_equal(ab_end_peer_of(agent, "w1")->heads[0].key, "app/b");
}

static void an_expired_live_record_is_skipped(void **state)
{
    ab_ends *ends = *state;
    char topic[AB_KAFKA_TOPIC_MAX];
    ab_kafka_make_topics(ends, "w1");
    ab_kafka_topic_name(ends, "down.w1.live", topic);
    ab_end *agent = ab_end_agent(ends, "w1");
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->ready == 1);
    const ab_broker_record expired = {.key = "late",
                                      .value = "{}",
                                      .value_len = 2,
                                      .headers = {"ce_specversion=1.0", "ce_id=1",
                                                  "ce_source=" AB_SOURCE_PRINCIPAL, "ce_type=GET",
                                                  "ce_expirytime=2020-01-01T00:00:00Z"}};
    ab_broker_record fresh = expired;
    fresh.key = "fresh";
    fresh.headers[4] = "ce_expirytime=2100-01-01T00:00:00Z";
    ab_broker_write(ab_kafka_admin(ends), topic, &expired);
    ab_broker_write(ab_kafka_admin(ends), topic, &fresh);
    AB_UNTIL(ends, ab_end_count(agent, "fresh") == 1);
    assert_int_equal(agent->receipt_count, 1);
    assert_int_equal((int)ab_end_refused(agent, "expired"), 1);
}

static void an_event_without_a_time_has_that_of_its_record(void **state)
{
    ab_ends *ends = *state;
    char topic[AB_KAFKA_TOPIC_MAX], before[AB_TIME_TEXT], after[AB_TIME_TEXT];
    ab_end *principal = ready_principal(ends, topic);
    ab_time_format_seconds(ab_clock_wall_us(&ab_clock_real), before);
    write_good(ends, topic, "app/good");
    AB_UNTIL(ends, ab_end_count(principal, "app/good") == 1);
    ab_time_format_seconds(ab_clock_wall_us(&ab_clock_real) + 1000000, after);
    ab_str time = ab_event_attr(ab_end_newest(principal, "w1", "app/good")->event, AB_CE_TIME);
    assert_true(time.len > strlen("2026-01-02T03:04:05"));
    assert_true(memcmp(time.ptr, before, strlen("2026-01-02T03:04:05")) >= 0);
    assert_true(memcmp(time.ptr, after, strlen("2026-01-02T03:04:05")) <= 0);
}

#define CASE(f) cmocka_unit_test_prestate_setup_teardown(f, ab_ends_setup, ab_ends_teardown, &kafka)

int main(int argc, char **argv)
{
    ab_kafka_fixture kafka;
    ab_kafka_fixture_init(&kafka);
    const struct CMUnitTest tests[] = {
        CASE(a_record_without_headers_is_skipped),
        CASE(a_tombstone_without_headers_is_skipped),
        CASE(a_record_without_a_required_attribute_is_skipped),
        CASE(a_record_with_headers_of_another_kind_is_skipped),
        CASE(a_structured_record_that_is_no_json_is_skipped),
        CASE(a_structured_format_that_is_not_known_is_skipped),
        CASE(a_record_from_another_agent_is_skipped),
        CASE(a_record_that_claims_to_be_the_principals_is_skipped),
        CASE(a_hello_that_says_nothing_is_skipped),
        CASE(random_bytes_are_skipped),
        CASE(a_record_over_our_limit_does_not_stop_what_follows),
        CASE(an_unknown_type_is_left_to_the_receiver),
        CASE(a_structured_json_record_is_an_event),
        CASE(bad_records_in_our_own_log_do_not_stop_the_start),
        CASE(an_epoch_that_cannot_be_in_our_own_log_is_not_exceeded),
        CASE(a_foreign_tombstone_ends_a_key_of_our_own_log),
        CASE(an_expired_live_record_is_skipped),
        CASE(an_event_without_a_time_has_that_of_its_record),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("records", tests, NULL, NULL);
}
