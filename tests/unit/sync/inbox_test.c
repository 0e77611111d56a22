/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/inbox.h"

#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int deliveries[8];

static void *push(ab_inbox *in, ab_type type, const char *key, int number)
{
    void *superseded = NULL;
    ab_event *event = sample_event(key, "{}", (uint64_t)number);
    ab_task task = {.event = event, .delivery = &deliveries[number], .type = type};
    assert_int_equal(ab_inbox_push(in, &task, &superseded), AB_ERR_OK);
    ab_event_unref(event);
    return superseded;
}

static void a_newer_state_replaces_one_that_waits(void **state)
{
    (void)state;
    ab_inbox in;
    ab_inbox_init(&in);
    assert_null(push(&in, AB_TYPE_CREATE, "a", 1));
    assert_ptr_equal(push(&in, AB_TYPE_SPEC_UPDATE, "a", 2), &deliveries[1]);
    assert_ptr_equal(ab_inbox_pop(&in), &deliveries[2]);
    assert_null(in.head);
    assert_null(in.tail);
}

static void states_of_other_keys_are_not_replaced(void **state)
{
    (void)state;
    ab_inbox in;
    ab_inbox_init(&in);
    assert_null(push(&in, AB_TYPE_STATUS_UPDATE, "a", 1));
    assert_null(push(&in, AB_TYPE_ERROR, "error/a", 2));
    assert_null(push(&in, AB_TYPE_STATUS_UPDATE, "a", 3));
    assert_ptr_equal(ab_inbox_pop(&in), &deliveries[1]);
    assert_ptr_equal(ab_inbox_pop(&in), &deliveries[2]);
    assert_ptr_equal(ab_inbox_pop(&in), &deliveries[3]);
}

static void commands_are_neither_replaced_nor_overtaken(void **state)
{
    (void)state;
    static const ab_type commands[] = {AB_TYPE_SET_OPERATION, AB_TYPE_TERMINATE_OPERATION,
                                       AB_TYPE_REFRESH};
    for (size_t i = 0; i < 3; i++) {
        ab_inbox in;
        ab_inbox_init(&in);
        assert_null(push(&in, AB_TYPE_SPEC_UPDATE, "a", 1));
        assert_null(push(&in, commands[i], "a", 2));
        assert_null(push(&in, commands[i], "a", 3));
        assert_null(push(&in, AB_TYPE_SPEC_UPDATE, "a", 4));
        for (int n = 1; n <= 4; n++)
            assert_ptr_equal(ab_inbox_pop(&in), &deliveries[n]);
    }
}

static void a_state_that_is_begun_is_passed_not_replaced(void **state)
{
    (void)state;
    ab_inbox in;
    ab_inbox_init(&in);
    push(&in, AB_TYPE_SPEC_UPDATE, "a", 1);
    assert_false(ab_inbox_head_superseded(&in));
    in.head->begun = true;
    assert_null(push(&in, AB_TYPE_SPEC_UPDATE, "a", 2));
    assert_true(ab_inbox_head_superseded(&in));
    assert_ptr_equal(push(&in, AB_TYPE_SPEC_UPDATE, "a", 3), &deliveries[2]);
    assert_ptr_equal(ab_inbox_pop(&in), &deliveries[1]);
    assert_false(ab_inbox_head_superseded(&in));
    assert_ptr_equal(ab_inbox_pop(&in), &deliveries[3]);
}

static void a_command_behind_does_not_pass_a_begun_state(void **state)
{
    (void)state;
    ab_inbox in;
    ab_inbox_init(&in);
    push(&in, AB_TYPE_SPEC_UPDATE, "a", 1);
    in.head->begun = true;
    push(&in, AB_TYPE_REFRESH, "a", 2);
    push(&in, AB_TYPE_SPEC_UPDATE, "a", 3);
    assert_false(ab_inbox_head_superseded(&in));
    ab_inbox_fini(&in);
}

static void delays_grow_until_something_goes_well(void **state)
{
    (void)state;
    ab_inbox in;
    ab_inbox_init(&in);
    ab_inbox_back_off(&in, 1000);
    int64_t first = in.retry_at - 1000;
    assert_true(first > 0);
    for (int i = 0; i < 3; i++)
        ab_inbox_back_off(&in, 1000);
    assert_true(in.retry_at - 1000 > first);
    ab_inbox_succeeded(&in);
    assert_int_equal(in.retry_at, 0);
    ab_inbox_back_off(&in, 1000);
    assert_true(in.retry_at - 1000 <= 2 * first);
}

static void it_knows_since_when_it_has_been_failing(void **state)
{
    (void)state;
    ab_inbox in;
    ab_inbox_init(&in);
    assert_int_equal(ab_inbox_failing_ms(&in, 500), 0);
    assert_int_equal(ab_inbox_failing_ms(&in, 800), 300);
    ab_inbox_succeeded(&in);
    assert_int_equal(ab_inbox_failing_ms(&in, 900), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newer_state_replaces_one_that_waits),
        cmocka_unit_test(states_of_other_keys_are_not_replaced),
        cmocka_unit_test(commands_are_neither_replaced_nor_overtaken),
        cmocka_unit_test(a_state_that_is_begun_is_passed_not_replaced),
        cmocka_unit_test(a_command_behind_does_not_pass_a_begun_state),
        cmocka_unit_test(delays_grow_until_something_goes_well),
        cmocka_unit_test(it_knows_since_when_it_has_been_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
