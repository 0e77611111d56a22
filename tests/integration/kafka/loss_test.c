/* SPDX-License-Identifier: Apache-2.0
 *
 * A broker that dies under traffic: both sides go on, hold a bounded amount, and nothing is lost.
 * The broker is this test's own.
 */
#include "tests/conformance/transport/kafka_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int start_broker(void **state)
{
    (void)state;
    ab_broker_own("loss");
    ab_broker_run("fresh");
    return 0;
}

static int kill_broker(void **state)
{
    (void)state;
    ab_broker_run("kill");
    return 0;
}

#define EVENTS 300

/* What a sender of ours does: send again what was not safe, until it is. */
typedef struct {
    ab_end *end;
    const char *agent;
    ab_sending sendings[EVENTS];
} outbox;

static void send_numbered(outbox *box, size_t n)
{
    char key[32];
    snprintf(key, sizeof(key), "cmd/%zu", n);
    const ab_draft draft = {.key = key, .version = n + 1, .data = AB_STR("{\"a\":1}")};
    box->sendings[n] = (ab_sending){0};
    (void)ab_end_send(box->end, box->agent, &draft, &box->sendings[n]);
}

static bool is_safe(const ab_sending *sending)
{
    return sending->accepted == AB_ERR_OK && sending->finished == 1 && sending->code == AB_ERR_OK;
}

/* True when all up to `count` are safe; else sends again what failed. */
static bool flush(outbox *box, size_t count)
{
    bool all = true;
    for (size_t n = 0; n < count; n++) {
        const ab_sending *s = &box->sendings[n];
        if (is_safe(s))
            continue;
        all = false;
        if (s->accepted != AB_ERR_OK || s->finished == 1)
            send_numbered(box, n);
    }
    return all;
}

static void quick_to_reconnect(ab_ends *ends)
{
    ab_ends_set(ends, "kafka.librdkafka.reconnect.backoff.max.ms=500");
}

static void assert_all_came(const ab_end *end)
{
    for (size_t n = 0; n < EVENTS; n++) {
        char key[32];
        snprintf(key, sizeof(key), "cmd/%zu", n);
        if (ab_end_count(end, key) == 0)
            fail_msg("%s was lost", key);
    }
}

static void a_broker_killed_under_traffic_loses_nothing(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    quick_to_reconnect(ends);
    ab_ends_pair(ends, &principal, &agent);
    outbox down = {.end = principal, .agent = "w1"};
    outbox up = {.end = agent};
    for (size_t n = 0; n < EVENTS; n++) {
        send_numbered(&down, n);
        send_numbered(&up, n);
        uv_run(&ends->loop, UV_RUN_NOWAIT);
        if (n == EVENTS / 2)
            ab_broker_run("kill");
    }
    AB_UNTIL(ends, ab_end_says(principal, "kafka") && ab_end_says(agent, "kafka"));
    AB_UNTIL(ends, !ab_end_peer_of(principal, "w1")->up && !ab_end_peer_of(agent, "w1")->up);
    ab_broker_run("start");
    AB_UNTIL(ends, flush(&down, EVENTS) && flush(&up, EVENTS));
    AB_UNTIL(ends, ab_end_count(agent, NULL) >= EVENTS && ab_end_count(principal, NULL) >= EVENTS);
    assert_all_came(agent);
    assert_all_came(principal);
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->up && ab_end_peer_of(agent, "w1")->up);
    assert_false(ab_end_says(principal, ""));
}

static void without_a_broker_a_bounded_amount_is_held_and_given_back(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    quick_to_reconnect(ends);
    ab_ends_set(ends, "%s", ends->fixture->small_queue);
    ab_ends_set(ends, "kafka.delivery-timeout=1s");
    ab_ends_pair(ends, &principal, &agent);
    ab_broker_run("kill");
    static const char filler[1024] = {' '};
    const ab_draft draft = {.key = "app/a", .version = 1, .data = {filler, sizeof(filler)}};
    ab_sending all = {0};
    int accepted = 0;
    while (accepted < 10000 && ab_end_send(principal, "w1", &draft, &all) == AB_ERR_OK)
        accepted++;
    assert_in_range(accepted, 1, 1000);
    assert_int_equal(all.accepted, AB_ERR_FULL);
    AB_UNTIL(ends, all.finished == accepted && ab_end_peer_of(principal, "w1")->writable > 0);
    assert_int_equal(ab_err_class_of(all.code), AB_CLASS_TRANSIENT);
    ab_broker_run("start");
    ab_sending sent = {.accepted = AB_ERR_UNAVAILABLE};
    AB_UNTIL(ends, ab_end_put_until_safe(principal, "w1", "app/a", 2, &sent));
    AB_UNTIL(ends, ab_end_newest(agent, "w1", "app/a") != NULL);
    assert_int_equal(agent->receipts[0].version, 2);
}

static void ends_stop_in_time_without_a_broker(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_broker_run("kill");
    ab_sending sending = {0};
    const ab_draft draft = {.key = "app/a", .version = 1, .data = AB_STR("1")};
    assert_int_equal(ab_end_send(principal, "w1", &draft, &sending), AB_ERR_OK);
    int64_t start = ab_clock_mono_ms(&ab_clock_real);
    ab_end_stop(principal);
    assert_int_equal(sending.finished, 1);
    assert_true(sending.code != AB_ERR_OK);
    ab_end_stop(agent);
    assert_in_range(ab_clock_mono_ms(&ab_clock_real) - start, 0, 30000);
}

#define CASE(f) cmocka_unit_test_prestate_setup_teardown(f, ab_ends_setup, ab_ends_teardown, &kafka)

int main(int argc, char **argv)
{
    ab_kafka_fixture kafka;
    ab_kafka_fixture_init(&kafka);
    const struct CMUnitTest tests[] = {
        CASE(a_broker_killed_under_traffic_loses_nothing),
        CASE(without_a_broker_a_bounded_amount_is_held_and_given_back),
        CASE(ends_stop_in_time_without_a_broker), /* last: it leaves no broker behind */
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("loss", tests, start_broker, kill_broker);
}
