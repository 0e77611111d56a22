/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/feedback.h"

#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_says(const char *data, const char *member, const char *wanted)
{
    ab_event *event = sample_event("k", data, 1);
    char *text = ab_feedback_text(event, member, "why: ");
    if (wanted == NULL)
        assert_null(text);
    else
        assert_string_equal(text, wanted);
    free(text);
    ab_event_unref(event);
}

static void an_error_is_read_as_it_was_written(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 4096);
    assert_int_equal(
        ab_feedback_error(AB_STR("app"), AB_STR("argocd"), "no \"space\"\n\xc3\xa9", &out),
        AB_ERR_OK);
    assert_true(ab_str_is(ab_buf_str(&out),
                          "{\"resourceName\":\"app\",\"resourceNamespace\":\"argocd\","
                          "\"message\":\"no \\\"space\\\"\\n\xc3\xa9\"}"));
    ab_buf_putc(&out, '\0');
    assert_says(out.ptr, "message", "why: no \"space\"\n\xc3\xa9");
    ab_buf_fini(&out);
}

static void an_answer_has_an_error_only_when_there_is_one(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 4096);
    assert_int_equal(ab_feedback_answer(AB_STR("7"), NULL, &out), AB_ERR_OK);
    assert_true(ab_str_is(ab_buf_str(&out), "{\"id\":\"7\"}"));
    ab_buf_clear(&out);
    assert_int_equal(ab_feedback_answer(AB_STR("7"), "denied", &out), AB_ERR_OK);
    assert_true(ab_str_is(ab_buf_str(&out), "{\"id\":\"7\",\"error\":\"denied\"}"));
    ab_buf_fini(&out);
}

static void a_text_that_is_not_utf_8_is_not_written(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 4096);
    assert_int_not_equal(ab_feedback_answer(AB_STR("7"), "\xff", &out), AB_ERR_OK);
    assert_int_not_equal(ab_buf_status(&out), AB_ERR_OK);
    ab_buf_fini(&out);
}

static void what_has_no_such_text_says_nothing(void **state)
{
    (void)state;
    assert_says("{\"error\":\"denied\"}", "error", "why: denied");
    assert_says("{\"error\":\"\"}", "error", "why: ");
    assert_says("{\"error\":5}", "error", NULL);
    assert_says("{\"error\":null}", "error", NULL);
    assert_says("{\"id\":\"7\"}", "error", NULL);
    assert_says("[]", "error", NULL);
    assert_says("{\"error\":\"a\",\"error\":\"b\"}", "error", NULL);
    assert_says("{\"error\":\"de", "error", NULL);
}

/* An agent may report an error of each object: its principal keeps all of them. */
/* Of characters of two bytes, behind one of one byte or none. */
static void assert_cut(const char *first, size_t len)
{
    ab_buf data;
    ab_buf_init(&data, 16384);
    ab_buf_printf(&data, "{\"error\":\"%s", first);
    for (size_t i = 0; i < 3000; i++)
        ab_buf_puts(&data, "\xc3\xa9");
    ab_buf_puts(&data, "\"}");
    ab_event *event = sample_event("k", data.ptr, 1);
    char *text = ab_feedback_text(event, "error", "");
    assert_non_null(text);
    assert_int_equal(strlen(text), len);
    assert_true(ab_str_is_utf8(ab_str_of(text)));
    free(text);
    ab_event_unref(event);
    ab_buf_fini(&data);
}

static void a_long_text_is_cut_between_two_characters(void **state)
{
    (void)state;
    assert_cut("", 4096);
    assert_cut("x", 4095);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_is_read_as_it_was_written),
        cmocka_unit_test(an_answer_has_an_error_only_when_there_is_one),
        cmocka_unit_test(a_text_that_is_not_utf_8_is_not_written),
        cmocka_unit_test(what_has_no_such_text_says_nothing),
        cmocka_unit_test(a_long_text_is_cut_between_two_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
