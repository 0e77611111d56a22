/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define KIB    ((size_t)1024)
#define EVENT  (64 * KIB)
#define MAX    (16 * 1024 * KIB)
#define AGENTS 3000
#define STUCK  1000

static ab_budget budget(void)
{
    return (ab_budget){.max = MAX, .first = AB_SHARE_FIRST, .stuck_ms = STUCK};
}

/* Of an agent for which the broker has confirmed much. */
static ab_share proven(void)
{
    return (ab_share){.proven = MAX};
}

/* Adds what is admitted, at most `most` events; gives how many. */
static size_t fill(ab_budget *b, ab_share *s, size_t bytes, size_t most, int64_t now)
{
    size_t n = 0;
    while (n < most && ab_share_admits(b, s, bytes)) {
        ab_share_take(b, s, bytes, now);
        n++;
    }
    return n;
}

static void one_agent_has_half_of_the_queue(void **state)
{
    (void)state;
    ab_budget b = budget();
    ab_share s = proven();
    assert_int_equal(fill(&b, &s, EVENT, SIZE_MAX, 0), MAX / 2 / EVENT);
    assert_true(s.waits);
}

static void an_agent_has_more_of_it_as_the_broker_confirms(void **state)
{
    (void)state;
    const size_t first = AB_SHARE_FIRST / EVENT;
    ab_budget b = budget();
    ab_share s = {0};
    assert_int_equal(fill(&b, &s, EVENT, SIZE_MAX, 0), first);
    for (size_t i = 1; i < first; i++)
        ab_share_give(&b, &s, EVENT, true, 0);
    assert_int_equal(fill(&b, &s, EVENT, SIZE_MAX, 0), 2 * (first - 1));
    ab_share_give(&b, &s, EVENT, false, 0);
    while (s.count > 0)
        ab_share_give(&b, &s, EVENT, true, 0);
    assert_int_equal(fill(&b, &s, EVENT, SIZE_MAX, 0), first);
    ab_share_give(&b, &s, EVENT, true, 0);
    ab_share_check(&b, &s, STUCK);
    ab_share_give(&b, &s, EVENT, true, STUCK);
    assert_int_equal(s.proven, EVENT);
}

static void who_was_idle_is_not_stuck(void **state)
{
    (void)state;
    ab_budget b = budget();
    ab_share s = {0};
    assert_int_equal(fill(&b, &s, EVENT, 1, 100 * STUCK), 1);
    ab_share_check(&b, &s, 100 * STUCK + STUCK - 1);
    assert_false(s.stuck);
    ab_share_check(&b, &s, 100 * STUCK + STUCK);
    assert_true(s.stuck);
}

static void there_is_always_room_for_one_more_agent(void **state)
{
    (void)state;
    ab_budget b = budget();
    ab_share all[AGENTS] = {0};
    for (size_t i = 0; i < AGENTS; i++)
        assert_true(fill(&b, &all[i], 3 * KIB, SIZE_MAX, 0) >= 1);
    assert_true(b.flowing <= MAX + AGENTS * AB_SHARE_FLOOR);
}

static void what_is_stuck_leaves_the_queue_to_the_others(void **state)
{
    (void)state;
    ab_budget b = budget();
    ab_share stuck[20] = {0};
    ab_share well = proven();
    for (size_t i = 0; i < 20; i++) {
        stuck[i] = proven();
        fill(&b, &stuck[i], EVENT, SIZE_MAX, 0);
    }
    assert_true(fill(&b, &well, EVENT, SIZE_MAX, 0) < 10);
    for (size_t i = 0; i < 20; i++)
        ab_share_check(&b, &stuck[i], STUCK);
    while (well.count > 0)
        ab_share_give(&b, &well, EVENT, true, STUCK);
    assert_int_equal(b.flowing, 0);
    well.proven = MAX;
    assert_int_equal(fill(&b, &well, EVENT, SIZE_MAX, STUCK), MAX / 2 / EVENT);
}

static void agents_that_get_stuck_one_after_the_other_stay_below_the_bound(void **state)
{
    (void)state;
    ab_budget b = budget();
    ab_share all[AGENTS] = {0};
    ab_share odd = {0};
    assert_int_equal(fill(&b, &odd, EVENT, 1, 0), 1);
    for (size_t i = 0; i < AGENTS; i++) {
        all[i] = proven();
        size_t added = fill(&b, &all[i], EVENT, SIZE_MAX, (int64_t)i * STUCK);
        assert_true(added <= 1 || b.flowing + b.stuck <= 2 * MAX); /* the rest is for single ones */
        ab_share_check(&b, &all[i], (int64_t)(i + 1) * STUCK);
    }
    assert_true(b.flowing + b.stuck <= 3 * MAX);
    ab_share late = {0};
    assert_true(ab_share_admits(&b, &late, AB_SHARE_FLOOR));
}

static void what_is_stuck_has_one_event_under_way_until_it_is_confirmed(void **state)
{
    (void)state;
    ab_budget b = budget();
    ab_share s = {0};
    assert_int_equal(fill(&b, &s, KIB, 2, 0), 2);
    ab_share_check(&b, &s, STUCK - 1);
    assert_false(s.stuck);
    ab_share_check(&b, &s, STUCK);
    assert_false(ab_share_admits(&b, &s, KIB));
    ab_share_give(&b, &s, KIB, false, STUCK);
    ab_share_give(&b, &s, KIB, false, STUCK);
    assert_int_equal(fill(&b, &s, KIB, SIZE_MAX, STUCK), 1);
    ab_share_give(&b, &s, KIB, true, STUCK);
    assert_int_equal(b.flowing + b.stuck, 0);
    assert_true(fill(&b, &s, KIB, SIZE_MAX, STUCK) > 1);
}

static void large_events_of_stuck_agents_leave_room_for_those_of_others(void **state)
{
    (void)state;
    ab_budget b = budget();
    ab_share stuck[AGENTS] = {0};
    ab_share well = {0};
    size_t added = 0;
    for (size_t i = 0; i < AGENTS; i++) {
        assert_int_equal(fill(&b, &stuck[i], KIB, 1, 0), 1);
        ab_share_give(&b, &stuck[i], KIB, false, 0);
        added += fill(&b, &stuck[i], MAX / 8, 1, 0);
    }
    assert_int_equal(added, 8);
    assert_int_equal(fill(&b, &stuck[AGENTS - 1], AB_SHARE_FLOOR, 1, 0), 1);
    assert_true(ab_share_admits(&b, &well, MAX));
}

static void a_large_event_is_not_held_up_by_many_busy_agents(void **state)
{
    (void)state;
    ab_budget b = budget();
    ab_share busy[100] = {0};
    ab_share large = {0};
    for (size_t i = 0; i < 100; i++) {
        busy[i] = proven();
        fill(&b, &busy[i], EVENT, SIZE_MAX, 0);
    }
    assert_true(ab_share_admits(&b, &large, MAX / 4));
}

static void room_is_told_once_half_of_it_has_left(void **state)
{
    (void)state;
    ab_budget b = budget();
    ab_share s = proven();
    size_t n = fill(&b, &s, EVENT, SIZE_MAX, 0);
    for (size_t left = n; left > n / 2; left--) {
        assert_false(ab_share_wakes(&s));
        assert_false(ab_share_admits(&b, &s, EVENT));
        ab_share_give(&b, &s, EVENT, true, 0);
    }
    assert_true(ab_share_wakes(&s));
    assert_false(ab_share_wakes(&s));
    assert_true(ab_share_admits(&b, &s, EVENT));
}

static void who_was_not_refused_is_not_told_of_room(void **state)
{
    (void)state;
    ab_budget b = budget();
    ab_share s = {0};
    assert_int_equal(fill(&b, &s, EVENT, 1, 0), 1);
    ab_share_give(&b, &s, EVENT, true, 0);
    assert_false(ab_share_wakes(&s));
}

static void what_a_lost_producer_had_leaves_the_queue_and_that_of_others_stays(void **state)
{
    (void)state;
    ab_budget b = budget();
    ab_share flowing = proven();
    ab_share stuck = proven();
    ab_share other = proven();
    (void)fill(&b, &stuck, EVENT, 2, 0);
    ab_share_check(&b, &stuck, STUCK);
    (void)fill(&b, &other, EVENT, 3, STUCK);
    (void)fill(&b, &flowing, EVENT, SIZE_MAX, STUCK);
    ab_share_leave(&b, &flowing);
    ab_share_leave(&b, &stuck);
    assert_int_equal(b.flowing, 3 * EVENT);
    assert_int_equal(b.stuck, 0);
    assert_int_equal(flowing.count, 0);
    assert_true(ab_share_wakes(&flowing));
    assert_false(stuck.stuck);
}

static void one_may_have_what_is_left_within_its_bounds(void **state)
{
    (void)state;
    assert_int_equal(ab_share_of_rest(MAX, 0, KIB, MAX / 4), MAX / 4);
    assert_int_equal(ab_share_of_rest(MAX, MAX - EVENT, KIB, MAX / 4), EVENT);
    assert_int_equal(ab_share_of_rest(MAX, MAX, KIB, MAX / 4), KIB);
    assert_int_equal(ab_share_of_rest(MAX, 2 * MAX, KIB, MAX / 4), KIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_agent_has_half_of_the_queue),
        cmocka_unit_test(an_agent_has_more_of_it_as_the_broker_confirms),
        cmocka_unit_test(who_was_idle_is_not_stuck),
        cmocka_unit_test(there_is_always_room_for_one_more_agent),
        cmocka_unit_test(what_is_stuck_leaves_the_queue_to_the_others),
        cmocka_unit_test(agents_that_get_stuck_one_after_the_other_stay_below_the_bound),
        cmocka_unit_test(what_is_stuck_has_one_event_under_way_until_it_is_confirmed),
        cmocka_unit_test(large_events_of_stuck_agents_leave_room_for_those_of_others),
        cmocka_unit_test(a_large_event_is_not_held_up_by_many_busy_agents),
        cmocka_unit_test(room_is_told_once_half_of_it_has_left),
        cmocka_unit_test(who_was_not_refused_is_not_told_of_room),
        cmocka_unit_test(what_a_lost_producer_had_leaves_the_queue_and_that_of_others_stays),
        cmocka_unit_test(one_may_have_what_is_left_within_its_bounds),
    };
    return cmocka_run_group_tests_name("kafka_share", tests, NULL, NULL);
}
