/* SPDX-License-Identifier: Apache-2.0
 *
 * Agents send more on the live lane than a principal that is busy takes from librdkafka: its queue
 * is full, fetching stops, and goes on when there is room.
 */
#include "tests/conformance/transport/kafka_fixture.h"

#include "schema/attributes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EVENT_BYTES (128 * 1024)
#define EACH        220 /* of three agents: 82 MiB, which the queue holds less than half of */

static const char *const AGENTS[] = {"w1", "w2", "w3"};

/* Meanwhile the principal's loop stands still. */
static void write_all(ab_ends *ends, const char *agent)
{
    char rest[32], source[64], key[32], topic[AB_KAFKA_TOPIC_MAX];
    char *value = calloc(1, EVENT_BYTES);
    assert_non_null(value);
    snprintf(rest, sizeof(rest), "up.%s.live", agent);
    snprintf(source, sizeof(source), "ce_source=%s%s", AB_SOURCE_AGENT, agent);
    const ab_broker_record record = {
        .key = key,
        .value = value,
        .value_len = EVENT_BYTES,
        .headers = {"ce_specversion=1.0", "ce_id=1", source, "ce_type=GET"}};
    for (int i = 0; i < EACH; i++) {
        snprintf(key, sizeof(key), "%s/%d", agent, i);
        ab_broker_write(ab_kafka_admin(ends), ab_kafka_topic_name(ends, rest, topic), &record);
    }
    free(value);
}

static size_t count_of(const ab_end *principal, const char *agent)
{
    size_t count = 0;
    for (size_t i = 0; i < principal->receipt_count; i++)
        count += strcmp(principal->receipts[i].agent, agent) == 0;
    return count;
}

static void live_events_that_overfill_the_queue_come_in_order_and_once(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = ab_end_principal(ends, "w1,w2,w3");
    for (int i = 0; i < 3; i++)
        AB_UNTIL(ends, ab_end_peer_of(principal, AGENTS[i])->ready == 1);
    for (int i = 0; i < 3; i++)
        write_all(ends, AGENTS[i]);
    for (int i = 0; i < 3; i++)
        AB_UNTIL(ends, count_of(principal, AGENTS[i]) == EACH);
    int next[3] = {0};
    for (size_t i = 0; i < principal->receipt_count; i++) {
        const ab_receipt *r = &principal->receipts[i];
        char id[32];
        int from = r->agent[1] - '1';
        snprintf(id, sizeof(id), "%s/%d", r->agent, next[from]++);
        assert_string_equal(r->key, id);
    }
}

#define CASE(f) cmocka_unit_test_prestate_setup_teardown(f, ab_ends_setup, ab_ends_teardown, &kafka)

int main(void)
{
    ab_kafka_fixture kafka;
    ab_kafka_fixture_init(&kafka);
    const struct CMUnitTest tests[] = {
        CASE(live_events_that_overfill_the_queue_come_in_order_and_once),
    };
    return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
