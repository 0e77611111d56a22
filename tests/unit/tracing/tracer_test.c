/* SPDX-License-Identifier: Apache-2.0 */
#include "tracing/tracer.h"

#include "base/core/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static size_t begun(uint64_t one_in, size_t tries)
{
    size_t count = 0;
    ab_trace_context context;
    ab_tracer *t = ab_tracer_new(NULL, &ab_clock_real, one_in);
    assert_non_null(t);
    for (size_t i = 0; i < tries; i++)
        count += ab_tracer_begin(t, &context);
    ab_tracer_free(t);
    return count;
}

static void one_in_so_many_is_traced(void **state)
{
    (void)state;
    assert_int_equal(begun(1, 1000), 1000);
    /* 1,000 are expected; the standard deviation is 31. */
    assert_in_range(begun(100, 100000), 700, 1300);
}

static void ids_differ(void **state)
{
    (void)state;
    ab_trace_context a, b;
    ab_tracer *t = ab_tracer_new(NULL, &ab_clock_real, 1);
    assert_non_null(t);
    assert_true(ab_tracer_begin(t, &a));
    assert_true(ab_tracer_begin(t, &b));
    assert_memory_not_equal(a.trace, b.trace, sizeof(a.trace));
    assert_memory_not_equal(a.span, b.span, sizeof(a.span));
    ab_trace_span below = ab_tracer_below(t, &a, "apply", AB_TRACE_CONSUMER);
    assert_memory_equal(below.context.trace, a.trace, sizeof(a.trace));
    assert_memory_equal(below.parent, a.span, sizeof(a.span));
    assert_memory_not_equal(below.context.span, a.span, sizeof(a.span));
    ab_tracer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_in_so_many_is_traced),
        cmocka_unit_test(ids_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
