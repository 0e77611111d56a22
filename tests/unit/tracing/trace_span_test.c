/* SPDX-License-Identifier: Apache-2.0 */
#include "tracing/trace_span.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_copy_has_texts_of_its_own(void **state)
{
    (void)state;
    char key[] = "Application/w1/a", why[] = "denied";
    ab_trace_span span = {.name = "apply", .error = AB_STR_NONE};
    span.error = ab_str_of(why);
    ab_trace_span_set(&span, "argobus.key", ab_str_of(key));
    ab_trace_span_set(&span, "absent", AB_STR_NONE);
    ab_trace_span *copy = ab_trace_span_copy(&span);
    assert_non_null(copy);
    memset(key, 'x', sizeof(key));
    memset(why, 'x', sizeof(why));
    assert_int_equal(copy->attribute_count, 1);
    assert_string_equal(copy->attributes[0].name, "argobus.key");
    assert_true(ab_str_is(copy->attributes[0].value, "Application/w1/a"));
    assert_true(ab_str_is(copy->error, "denied"));
    free(copy);
}

static void a_text_is_cut_between_two_characters(void **state)
{
    (void)state;
    char text[AB_TRACE_TEXT_MAX + 10];
    ab_trace_span span = {.name = "apply"};
    memset(text, 'a', sizeof(text));
    memcpy(text + AB_TRACE_TEXT_MAX - 2, "\xe2\x82\xac", 3); /* a euro sign over the end */
    ab_trace_span_set(&span, "long", (ab_str){text, sizeof(text)});
    ab_trace_span_set(&span, "none", AB_STR("\xff\xff\xff\xff\xff\xff"));
    ab_trace_span *copy = ab_trace_span_copy(&span);
    assert_non_null(copy);
    assert_int_equal(copy->attributes[0].value.len, AB_TRACE_TEXT_MAX - 2);
    assert_true(ab_str_is(copy->attributes[1].value, "(not UTF-8)"));
    free(copy);
}

static void more_attributes_than_there_may_be_are_left_out(void **state)
{
    (void)state;
    ab_trace_span span = {.name = "apply"};
    for (size_t i = 0; i < AB_TRACE_ATTRIBUTES_MAX + 2; i++)
        ab_trace_span_set(&span, "a", AB_STR("b"));
    assert_int_equal(span.attribute_count, AB_TRACE_ATTRIBUTES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_has_texts_of_its_own),
        cmocka_unit_test(a_text_is_cut_between_two_characters),
        cmocka_unit_test(more_attributes_than_there_may_be_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
