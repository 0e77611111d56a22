/* SPDX-License-Identifier: Apache-2.0 */
#include "tracing/context.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The example of W3C Trace Context, section 3.2.3. */
#define EXAMPLE "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static ab_err parse(const char *text, ab_trace_context *out)
{
    return ab_trace_context_parse(ab_str_of(text), out);
}

static void it_is_read_and_written(void **state)
{
    (void)state;
    ab_trace_context c;
    char text[AB_TRACEPARENT_TEXT];
    assert_int_equal(parse(EXAMPLE, &c), AB_ERR_OK);
    assert_int_equal(c.trace[0], 0x4b);
    assert_int_equal(c.trace[15], 0x36);
    assert_int_equal(c.span[0], 0x00);
    assert_int_equal(c.span[7], 0xb7);
    assert_true(c.sampled);
    ab_trace_context_format(&c, text);
    assert_string_equal(text, EXAMPLE);
}

static void flags_say_whether_it_is_sampled(void **state)
{
    (void)state;
    ab_trace_context c;
    assert_int_equal(parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", &c),
                     AB_ERR_OK);
    assert_false(c.sampled);
    assert_int_equal(parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03", &c),
                     AB_ERR_OK);
    assert_true(c.sampled);
    assert_int_equal(parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fe", &c),
                     AB_ERR_OK);
    assert_false(c.sampled);
}

static void a_newer_version_may_say_more(void **state)
{
    (void)state;
    ab_trace_context c;
    assert_int_equal(parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", &c),
                     AB_ERR_OK);
    assert_int_equal(parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what", &c),
                     AB_ERR_OK);
    assert_int_equal(parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.what", &c),
                     AB_ERR_PARSE);
}

static void what_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "00",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902bg-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01",
    };
    ab_trace_context c;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(parse(bad[i], &c), AB_ERR_PARSE);
    assert_int_equal(ab_trace_context_parse(AB_STR_NONE, &c), AB_ERR_PARSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_read_and_written),
        cmocka_unit_test(flags_say_whether_it_is_sampled),
        cmocka_unit_test(a_newer_version_may_say_more),
        cmocka_unit_test(what_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
