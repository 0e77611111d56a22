/* SPDX-License-Identifier: Apache-2.0
 *
 * What only the in-process transport does: cutting lines and beginning logs anew. The rest is in
 * tests/conformance/transport.
 */
#include "tests/conformance/transport/inproc/inproc.h"

#include "tests/conformance/transport/ends.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void open_switch(ab_ends *ends)
{
    ends->state = ab_inproc_new();
    assert_non_null(ends->state);
}

static void close_switch(ab_ends *ends)
{
    ab_inproc_free(ends->state);
}

static const ab_transport_ops *ops(ab_ends *ends)
{
    return ab_inproc_transport(ends->state);
}

static void cutting_a_line_is_seen_on_both_sides_and_loses_no_state(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_inproc_cut(ends->state, "w1", true);
    AB_UNTIL(ends, !ab_end_peer_of(principal, "w1")->up && !ab_end_peer_of(agent, "w1")->up);
    ab_sending down = {0};
    ab_sending up = {0};
    const ab_draft draft = {.key = "app/a", .version = 1, .data = AB_STR("1")};
    assert_int_equal(ab_end_send(principal, "w1", &draft, &down), AB_ERR_OK);
    assert_int_equal(ab_end_send(agent, NULL, &draft, &up), AB_ERR_OK);
    AB_UNTIL(ends, down.finished == 1);
    assert_int_equal(up.finished, 0);
    assert_int_equal(ab_end_count(agent, NULL), 0);
    ab_inproc_cut(ends->state, "w1", false);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1 && ab_end_count(principal, "app/a") == 1);
    assert_int_equal(up.finished, 1);
    assert_true(ab_end_peer_of(principal, "w1")->up);
}

static void a_live_event_over_a_cut_line_fails(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_inproc_cut(ends->state, "w1", true);
    ab_sending down = {0};
    ab_sending up = {0};
    assert_int_equal(ab_end_live(principal, "w1", "request", 1000, &down), AB_ERR_OK);
    assert_int_equal(ab_end_live(agent, NULL, "reply", 1000, &up), AB_ERR_OK);
    AB_UNTIL(ends, down.finished == 1 && up.finished == 1);
    assert_int_equal(down.code, AB_ERR_UNAVAILABLE);
    assert_int_equal(up.code, AB_ERR_UNAVAILABLE);
}

static void sends_over_a_cut_line_wait_until_the_queue_is_full(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_inproc_cut(ends->state, "w1", true);
    char key[32];
    for (unsigned n = 0; n < AB_INPROC_QUEUE_MAX; n++) {
        snprintf(key, sizeof(key), "cmd/%u", n);
        ab_end_put(agent, NULL, key, n + 1);
    }
    const ab_draft draft = {.key = "cmd/more", .version = 999, .data = AB_STR("1")};
    assert_int_equal(ab_end_send(agent, NULL, &draft, NULL), AB_ERR_FULL);
    ab_inproc_cut(ends->state, "w1", false);
    AB_UNTIL(ends, ab_end_peer_of(agent, "w1")->writable == 1);
    AB_UNTIL(ends, ab_end_count(principal, NULL) == AB_INPROC_QUEUE_MAX);
}

static void stopping_over_a_cut_line_fails_what_waits(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_inproc_cut(ends->state, "w1", true);
    ab_sending up = {0};
    const ab_draft draft = {.key = "app/a", .version = 1, .data = AB_STR("1")};
    assert_int_equal(ab_end_send(agent, NULL, &draft, &up), AB_ERR_OK);
    ab_end_stop(agent);
    assert_int_equal(up.finished, 1);
    assert_int_equal(up.code, AB_ERR_UNAVAILABLE);
}

static void logs_that_begin_anew_are_a_gap_on_both_sides(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    ab_end_put(principal, "w1", "app/a", 1);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 1);
    uint64_t epoch = ab_end_peer_of(principal, "w1")->epoch;
    ab_inproc_recreate(ends->state, "w1");
    AB_UNTIL(ends, ab_end_peer_of(principal, "w1")->ready == 2 &&
                       ab_end_peer_of(agent, "w1")->ready == 2);
    assert_int_equal(ab_end_peer_of(principal, "w1")->gaps[AB_GAP_RECREATED], 1);
    assert_int_equal(ab_end_peer_of(agent, "w1")->gaps[AB_GAP_RECREATED], 1);
    assert_int_equal(ab_end_peer_of(principal, "w1")->head_count, 0);
    assert_true(ab_end_peer_of(principal, "w1")->epoch > epoch);
    ab_end_put(principal, "w1", "app/a", 2);
    AB_UNTIL(ends, ab_end_count(agent, "app/a") == 2);
}

static void an_expired_live_event_is_not_delivered(void **state)
{
    ab_ends *ends = *state;
    ab_ends_set(ends, "transport.inflight=1");
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    agent->keep = true;
    assert_int_equal(ab_end_live(principal, "w1", "first", 60000, NULL), AB_ERR_OK);
    AB_UNTIL(ends, ab_end_count(agent, "first") == 1);
    ab_sending late = {0};
    assert_int_equal(ab_end_live(principal, "w1", "late", 1, &late), AB_ERR_OK);
    assert_int_equal(ab_end_live(principal, "w1", "in-time", 60000, NULL), AB_ERR_OK);
    AB_UNTIL(ends, late.finished == 1);
    int64_t expired = ab_clock_mono_ms(&ab_clock_real) + 2;
    AB_UNTIL(ends, ab_clock_mono_ms(&ab_clock_real) >= expired);
    ab_end_ack(agent, 0, AB_VERDICT_APPLIED);
    AB_UNTIL(ends, ab_end_count(agent, "in-time") == 1);
    assert_int_equal(ab_end_count(agent, "late"), 0);
}

#define CASE(f)                                                                                    \
    cmocka_unit_test_prestate_setup_teardown(f, ab_ends_setup, ab_ends_teardown, &inproc)

int main(void)
{
    ab_ends_fixture inproc = {
        .name = "inproc",
        .event_max = AB_INPROC_EVENT_MAX,
        .tables = &ab_transport_options,
        .table_count = 1,
        .open = open_switch,
        .close = close_switch,
        .ops = ops,
    };
    const struct CMUnitTest tests[] = {
        CASE(cutting_a_line_is_seen_on_both_sides_and_loses_no_state),
        CASE(a_live_event_over_a_cut_line_fails),
        CASE(sends_over_a_cut_line_wait_until_the_queue_is_full),
        CASE(stopping_over_a_cut_line_fails_what_waits),
        CASE(logs_that_begin_anew_are_a_gap_on_both_sides),
        CASE(an_expired_live_event_is_not_delivered),
    };
    return cmocka_run_group_tests_name("inproc", tests, NULL, NULL);
}
