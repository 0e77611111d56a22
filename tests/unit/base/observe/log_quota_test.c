/* SPDX-License-Identifier: Apache-2.0 */
#include "base/observe/log_quota.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void fill(ab_log_quota *q, int64_t now_ms)
{
    for (int i = 0; i < AB_LOG_QUOTA_LINES; i++)
        assert_true(ab_log_quota_pass(q, now_ms));
    assert_int_equal(q->held_back, 0);
}

static void so_many_lines_go_out_in_a_minute_and_no_more(void **state)
{
    ab_log_quota q = {0};
    (void)state;
    fill(&q, 5000);
    for (int i = 0; i < 1000; i++)
        assert_false(ab_log_quota_pass(&q, 64999));
}

static void what_was_left_out_is_told_once_with_the_next_line(void **state)
{
    ab_log_quota q = {0};
    (void)state;
    fill(&q, 0);
    for (int i = 0; i < 1000; i++)
        assert_false(ab_log_quota_pass(&q, 1));
    assert_true(ab_log_quota_pass(&q, 60000));
    assert_int_equal(q.held_back, 1000);
    assert_true(ab_log_quota_pass(&q, 60000));
    assert_int_equal(q.held_back, 0);
}

static void a_noisy_peer_leaves_the_quota_of_another_alone(void **state)
{
    ab_log_quota noisy = {0}, quiet = {0};
    (void)state;
    fill(&noisy, 0);
    assert_false(ab_log_quota_pass(&noisy, 0));
    assert_true(ab_log_quota_pass(&quiet, 0));
    assert_int_equal(quiet.held_back, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_lines_go_out_in_a_minute_and_no_more),
        cmocka_unit_test(what_was_left_out_is_told_once_with_the_next_line),
        cmocka_unit_test(a_noisy_peer_leaves_the_quota_of_another_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
