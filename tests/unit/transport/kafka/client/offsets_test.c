/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/offsets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static uint64_t opened(ab_offsets *o, int64_t offset)
{
    uint64_t number = 0;
    assert_int_equal(ab_offsets_open(o, offset, &number), AB_ERR_OK);
    return number;
}

static void a_new_one_begins_where_it_was_told(void **state)
{
    (void)state;
    ab_offsets o;
    ab_offsets_init(&o, 42);
    assert_int_equal(ab_offsets_position(&o), 42);
    assert_int_equal(o.open, 0);
    ab_offsets_fini(&o);
}

static void the_position_waits_for_the_oldest(void **state)
{
    (void)state;
    ab_offsets o;
    ab_offsets_init(&o, 10);
    uint64_t first = opened(&o, 10);
    uint64_t second = opened(&o, 11);
    uint64_t third = opened(&o, 12);
    ab_offsets_done(&o, third);
    ab_offsets_done(&o, second);
    assert_int_equal(ab_offsets_position(&o), 10);
    ab_offsets_done(&o, first);
    assert_int_equal(ab_offsets_position(&o), 13);
    ab_offsets_fini(&o);
}

static void a_hole_in_the_middle_stops_the_position_there(void **state)
{
    (void)state;
    ab_offsets o;
    ab_offsets_init(&o, 0);
    uint64_t numbers[5];
    for (int i = 0; i < 5; i++)
        numbers[i] = opened(&o, i);
    for (int i = 0; i < 5; i++) {
        if (i != 2)
            ab_offsets_done(&o, numbers[i]);
    }
    assert_int_equal(ab_offsets_position(&o), 2);
    assert_int_equal(o.open, 1);
    ab_offsets_done(&o, numbers[2]);
    assert_int_equal(ab_offsets_position(&o), 5);
    ab_offsets_fini(&o);
}

static void offsets_that_compaction_removed_are_no_obstacle(void **state)
{
    (void)state;
    ab_offsets o;
    ab_offsets_init(&o, 0);
    ab_offsets_done(&o, opened(&o, 7));
    uint64_t open = opened(&o, 100);
    assert_int_equal(ab_offsets_position(&o), 100);
    ab_offsets_done(&o, open);
    assert_int_equal(ab_offsets_position(&o), 101);
    ab_offsets_fini(&o);
}

static void what_arrived_before_is_refused(void **state)
{
    (void)state;
    ab_offsets o;
    ab_offsets_init(&o, 5);
    uint64_t number = opened(&o, 5);
    uint64_t other = 77;
    assert_int_equal(ab_offsets_open(&o, 5, &other), AB_ERR_INVALID);
    assert_int_equal(ab_offsets_open(&o, 4, &other), AB_ERR_INVALID);
    assert_int_equal(other, 77);
    ab_offsets_done(&o, number);
    ab_offsets_fini(&o);
}

static void passing_moves_the_position_only_when_nothing_is_open(void **state)
{
    (void)state;
    ab_offsets o;
    ab_offsets_init(&o, 0);
    ab_offsets_pass(&o, 3);
    assert_int_equal(ab_offsets_position(&o), 3);
    uint64_t number = opened(&o, 3);
    ab_offsets_pass(&o, 9);
    assert_int_equal(ab_offsets_position(&o), 3);
    ab_offsets_done(&o, number);
    assert_int_equal(ab_offsets_position(&o), 9);
    ab_offsets_pass(&o, 1);
    assert_int_equal(ab_offsets_position(&o), 9);
    ab_offsets_fini(&o);
}

/* Against a plain model: the lowest offset not done, in an order that looks random, over many sizes
 * of the ring. */
static void any_order_gives_the_lowest_offset_still_open(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    static bool done[COUNT];
    uint64_t numbers[COUNT];
    ab_offsets o;
    ab_offsets_init(&o, 0);
    for (int i = 0; i < COUNT; i++)
        numbers[i] = opened(&o, i);
    unsigned at = 0;
    for (int i = 0; i < COUNT; i++) {
        at = (at + 617) % COUNT; /* 617 and 1000 have no common divisor: each comes once */
        ab_offsets_done(&o, numbers[at]);
        done[at] = true;
        int64_t lowest = 0;
        while (lowest < COUNT && done[lowest])
            lowest++;
        assert_int_equal(ab_offsets_position(&o), lowest);
    }
    ab_offsets_fini(&o);
}

static void the_ring_keeps_its_size_when_work_keeps_up(void **state)
{
    (void)state;
    ab_offsets o;
    ab_offsets_init(&o, 0);
    for (int64_t i = 0; i < 10000; i++)
        ab_offsets_done(&o, opened(&o, i));
    assert_int_equal(ab_offsets_position(&o), 10000);
    assert_true(o.room <= 16);
    ab_offsets_fini(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_one_begins_where_it_was_told),
        cmocka_unit_test(the_position_waits_for_the_oldest),
        cmocka_unit_test(a_hole_in_the_middle_stops_the_position_there),
        cmocka_unit_test(offsets_that_compaction_removed_are_no_obstacle),
        cmocka_unit_test(what_arrived_before_is_refused),
        cmocka_unit_test(passing_moves_the_position_only_when_nothing_is_open),
        cmocka_unit_test(any_order_gives_the_lowest_offset_still_open),
        cmocka_unit_test(the_ring_keeps_its_size_when_work_keeps_up),
    };
    return cmocka_run_group_tests_name("offsets", tests, NULL, NULL);
}
