/* SPDX-License-Identifier: Apache-2.0
 *
 * When records were written, of logs that are short and long.
 */
#include "transport/log_marks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void add(ab_log_marks *m, int64_t begin, int64_t end)
{
    for (int64_t offset = begin; offset < end; offset++)
        ab_log_marks_add(m, offset, 1000 + offset);
}

static void a_short_log_is_known_record_by_record(void **state)
{
    (void)state;
    ab_log_marks m = {0};
    assert_null(ab_log_marks_find(&m, 0));
    ab_log_marks_drop(&m, 0);
    add(&m, 10, 10 + AB_LOG_MARKS_MAX);
    assert_int_equal(ab_log_marks_find(&m, 0)->offset, 10);
    assert_int_equal(ab_log_marks_find(&m, 77)->written_ms, 1077);
    ab_log_marks_drop(&m, 77);
    assert_int_equal(ab_log_marks_find(&m, 77)->offset, 78);
    ab_log_marks_drop(&m, 77);
    assert_int_equal(m.count, AB_LOG_MARKS_MAX - 1);
    assert_null(ab_log_marks_find(&m, 10 + AB_LOG_MARKS_MAX));
    ab_log_marks_clear(&m);
    assert_null(ab_log_marks_find(&m, 0));
}

static void a_long_log_is_known_at_even_distances(void **state)
{
    (void)state;
    ab_log_marks m = {0};
    add(&m, 0, 16 * AB_LOG_MARKS_MAX);
    assert_true(m.count <= AB_LOG_MARKS_MAX);
    int64_t at = 5 * AB_LOG_MARKS_MAX + 1;
    assert_in_range(ab_log_marks_find(&m, at)->offset, at, at + 31);
    for (size_t i = 1; i < m.count; i++)
        assert_in_range(m.rows[i].offset - m.rows[i - 1].offset, 1, 32);
    ab_log_marks_clear(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_log_is_known_record_by_record),
        cmocka_unit_test(a_long_log_is_known_at_even_distances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
