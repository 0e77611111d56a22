/* SPDX-License-Identifier: Apache-2.0
 *
 * What every transport must do for the live lane, which carries the bytes of sessions: in order, at
 * once or never, and without the state lane and it delaying each other.
 */
#include "tests/conformance/transport/suite_priv.h"

#include <stdio.h>
#include <string.h>

#define FRAME       ((size_t)128 * 1024)
#define FRAMES      512 /* 64 MiB */
#define DEADLINE_MS 60000

static char frame[FRAME];

static void name_of(unsigned n, char out[32])
{
    snprintf(out, 32, "frame/%u", n);
}

static ab_err send_frame(ab_end *end, const char *agent, unsigned n, size_t size,
                         ab_sending *sending)
{
    char name[32];
    name_of(n, name);
    return ab_end_live_data(end, agent, name, (ab_str){frame, size}, DEADLINE_MS, sending);
}

/* Sends what is taken now of the frames up to `count`. @return true, for AB_UNTIL */
static bool push_sized(ab_end *end, const char *agent, unsigned *sent, unsigned count, size_t size)
{
    ab_err e = AB_ERR_OK;
    while (*sent < count && e == AB_ERR_OK) {
        e = send_frame(end, agent, *sent, size, NULL);
        *sent += e == AB_ERR_OK ? 1 : 0;
    }
    assert_true(e == AB_ERR_OK || e == AB_ERR_FULL);
    return true;
}

static bool push(ab_end *end, const char *agent, unsigned *sent, unsigned count)
{
    return push_sized(end, agent, sent, count, FRAME);
}

static size_t count_lane(const ab_end *end, ab_lane lane)
{
    size_t count = 0;
    for (size_t i = 0; i < end->receipt_count; i++)
        count += end->receipts[i].lane == lane ? 1 : 0;
    return count;
}

/* All that came by the live lane, from the first frame on. */
static void assert_in_order(const ab_end *end, unsigned count, size_t size)
{
    unsigned next = 0;
    for (size_t i = 0; i < end->receipt_count; i++) {
        char name[32];
        if (end->receipts[i].lane != AB_LANE_LIVE)
            continue;
        name_of(next++, name);
        assert_string_equal(end->receipts[i].key, name);
        assert_int_equal(ab_event_data(end->receipts[i].event).len, size);
    }
    assert_int_equal(next, count);
}

static void live_events_arrive_in_the_order_they_were_sent(void **state)
{
    enum { COUNT = 400 };
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    unsigned down = 0;
    unsigned up = 0;
    AB_UNTIL(ends, push_sized(principal, "w1", &down, COUNT, 10) &&
                       push_sized(agent, NULL, &up, COUNT, 20) && agent->receipt_count == COUNT &&
                       principal->receipt_count == COUNT);
    assert_in_order(agent, COUNT, 10);
    assert_in_order(principal, COUNT, 20);
}

static void large_live_events_arrive_whole(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    for (size_t i = 0; i < FRAME; i++)
        frame[i] = (char)(i * 31 + i / 251);
    for (unsigned n = 0; n < 4; n++)
        AB_UNTIL(ends, send_frame(agent, NULL, n, FRAME, NULL) == AB_ERR_OK);
    AB_UNTIL(ends, principal->receipt_count == 4);
    assert_in_order(principal, 4, FRAME);
    for (size_t i = 0; i < 4; i++)
        assert_memory_equal(ab_event_data(principal->receipts[i].event).ptr, frame, FRAME);
}

static void a_live_event_too_large_to_go_holds_nothing_up(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    char *large = test_calloc(1, ends->fixture->event_max);
    ab_sending sending = {0};
    ab_err e = ab_end_live_data(principal, "w1", "large", (ab_str){large, ends->fixture->event_max},
                                DEADLINE_MS, &sending);
    assert_int_equal(e, AB_ERR_OK);
    test_free(large);
    assert_int_equal(send_frame(principal, "w1", 0, 10, NULL), AB_ERR_OK);
    AB_UNTIL(ends, sending.finished == 1 && ab_end_count(agent, "frame/0") == 1);
    assert_int_equal(sending.code, AB_ERR_TOOBIG);
}

/* Nothing is confirmed, nor leaves, while the loop does not run. */
static void a_mebibyte_is_taken_at_once(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    for (unsigned n = 0; n < 7; n++)
        assert_int_equal(send_frame(agent, NULL, n, FRAME, NULL), AB_ERR_OK);
    AB_UNTIL(ends, principal->receipt_count == 7);
    assert_in_order(principal, 7, FRAME);
}

static void others_are_between_the_ends_only_with_a_broker(void **state)
{
    ab_ends *ends = *state;
    assert_int_equal(ab_ends_can(ends, AB_CAP_BROKER), ends->fixture->broker);
}

/* The way is open: what is said on it the first time may take longer. */
static void warm_up(ab_ends *ends, ab_end *principal, ab_end *agent)
{
    ab_ends_pass_live(ends, principal, "w1", agent, "first");
    for (size_t i = 0; i < agent->receipt_count; i++)
        ab_event_unref(agent->receipts[i].event);
    agent->receipt_count = 0;
}

static void a_full_live_queue_says_so_and_says_when_there_is_room(void **state)
{
    ab_ends *ends = *state;
    if (ends->fixture->small_queue != NULL)
        ab_ends_set(ends, "%s", ends->fixture->small_queue);
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    warm_up(ends, principal, agent);
    ab_end_peer *seen = ab_end_peer_of(principal, "w1");
    unsigned sent = 0;
    int writable = seen->writable;
    /* Nothing leaves while the loop does not run. */
    ab_err e = AB_ERR_OK;
    while (e == AB_ERR_OK && sent < AB_END_RECEIPT_MAX) {
        e = send_frame(principal, "w1", sent, 16384, NULL);
        sent += e == AB_ERR_OK ? 1 : 0;
    }
    assert_int_equal(e, AB_ERR_FULL);
    assert_int_equal(seen->writable, writable);
    AB_UNTIL(ends, seen->writable > writable);
    AB_UNTIL(ends, send_frame(principal, "w1", sent, 16384, NULL) == AB_ERR_OK);
    AB_UNTIL(ends, agent->receipt_count > sent);
    assert_in_order(agent, sent + 1, 16384);
}

static void live_events_pass_a_peer_that_acknowledges_no_state(void **state)
{
    ab_ends *ends = *state;
    ab_ends_set(ends, "transport.inflight=4");
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    agent->keep = true;
    for (unsigned n = 0; n < 20; n++) {
        char key[32];
        snprintf(key, sizeof(key), "cmd/%u", n);
        ab_end_put(principal, "w1", key, n + 1);
    }
    AB_UNTIL(ends, count_lane(agent, AB_LANE_STATE) == 4);
    for (unsigned n = 0; n < 3; n++) {
        assert_int_equal(send_frame(principal, "w1", n, 10, NULL), AB_ERR_OK);
        AB_UNTIL(ends, count_lane(agent, AB_LANE_LIVE) == n + 1);
    }
    assert_in_order(agent, 3, 10);
    assert_int_equal(count_lane(agent, AB_LANE_STATE), 4);
}

/* What was sent after many frames does not wait until all of them have arrived. */
static void many_live_bytes_do_not_stop_the_state(void **state)
{
    enum { STATES = 4 };
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    unsigned sent = 0;
    ab_ends_pair(ends, &principal, &agent);
    for (unsigned n = 0; n < STATES; n++) {
        char key[32];
        snprintf(key, sizeof(key), "app/%u", n);
        AB_UNTIL(ends, push(agent, NULL, &sent, FRAMES) &&
                           count_lane(principal, AB_LANE_LIVE) >= n * FRAMES / 16);
        size_t before = count_lane(principal, AB_LANE_LIVE);
        ab_end_put(agent, NULL, key, n + 1);
        AB_UNTIL(ends, push(agent, NULL, &sent, FRAMES) && ab_end_count(principal, key) == 1);
        assert_true(count_lane(principal, AB_LANE_LIVE) < before + FRAMES / 2);
    }
    AB_UNTIL(ends,
             push(agent, NULL, &sent, FRAMES) && count_lane(principal, AB_LANE_LIVE) == FRAMES);
    assert_in_order(principal, FRAMES, FRAME);
    assert_int_equal(count_lane(principal, AB_LANE_STATE), STATES);
}

static void agents_live_events_do_not_mix(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = ab_end_principal(ends, "w1,w2");
    ab_end *one = ab_end_agent(ends, "w1");
    ab_end *two = ab_end_agent(ends, "w2");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->up && ab_end_peer_of(principal, "w2")->up);
    AB_UNTIL(ends, ab_end_peer_of(one, "w1")->up && ab_end_peer_of(two, "w2")->up);
    ab_ends_pass_live(ends, principal, "w1", one, "one");
    ab_ends_pass_live(ends, principal, "w2", two, "two");
    assert_int_equal(ab_end_count(one, "one"), one->receipt_count);
    assert_int_equal(ab_end_count(two, "two"), two->receipt_count);
    ab_ends_pass_live(ends, one, NULL, principal, "back");
    assert_string_equal(principal->receipts[0].agent, "w1");
}

static void one_agents_full_queue_leaves_room_for_another(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = ab_end_principal(ends, "w1,w2");
    ab_end *one = ab_end_agent(ends, "w1");
    ab_end *two = ab_end_agent(ends, "w2");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->up && ab_end_peer_of(principal, "w2")->up);
    AB_UNTIL(ends, ab_end_peer_of(one, "w1")->up && ab_end_peer_of(two, "w2")->up);
    unsigned sent = 0;
    push(principal, "w1", &sent, FRAMES);
    assert_true(sent < FRAMES);
    assert_int_equal(send_frame(principal, "w2", 0, 10, NULL), AB_ERR_OK);
    AB_UNTIL(ends, two->receipt_count == 1);
    AB_UNTIL(ends, push(principal, "w1", &sent, FRAMES / 4) && one->receipt_count >= FRAMES / 4);
    assert_in_order(one, FRAMES / 4, FRAME);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, ab_ends_setup, ab_ends_teardown)

int ab_suite_live(const ab_ends_fixture *fixture)
{
    struct CMUnitTest tests[] = {
        CASE(live_events_arrive_in_the_order_they_were_sent),
        CASE(large_live_events_arrive_whole),
        CASE(a_live_event_too_large_to_go_holds_nothing_up),
        CASE(a_mebibyte_is_taken_at_once),
        CASE(others_are_between_the_ends_only_with_a_broker),
        CASE(a_full_live_queue_says_so_and_says_when_there_is_room),
        CASE(live_events_pass_a_peer_that_acknowledges_no_state),
        CASE(many_live_bytes_do_not_stop_the_state),
        CASE(agents_live_events_do_not_mix),
        CASE(one_agents_full_queue_leaves_room_for_another),
    };
    return ab_suite_run_group(fixture, "live", tests, sizeof(tests) / sizeof(tests[0]));
}
