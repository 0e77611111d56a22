/* SPDX-License-Identifier: Apache-2.0
 *
 * How often an answer is written.
 */
#include "services/principal/page/answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MOST 16

static uv_loop_t loop;
static ab_page_answer *answer;
static int written;
static const char *text; /* what is written */

static void write_text(void *arg, ab_buf *out)
{
    (void)arg;
    written++;
    ab_buf_puts(out, text);
}

static int set_up(void **state)
{
    (void)state;
    written = 0;
    text = "first";
    assert_int_equal(uv_loop_init(&loop), 0);
    answer = ab_page_answer_new(
        &loop, &(ab_page_answer_source){.keep_ms = 1, .most = MOST, .write = write_text});
    assert_non_null(answer);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ab_page_answer_free(answer);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    return 0;
}

static void is(const char *expected, int times)
{
    const ab_buf *got = ab_page_answer_get(answer);
    assert_int_equal(ab_buf_status(got), AB_ERR_OK);
    assert_true(ab_str_is(ab_buf_str(got), expected));
    assert_int_equal(written, times);
}

static void it_is_written_once_in_a_moment(void **state)
{
    (void)state;
    is("first", 1);
    text = "second";
    is("first", 1);
    is("first", 1);
}

static void it_is_written_again_after_the_moment(void **state)
{
    (void)state;
    is("first", 1);
    text = "second";
    uv_run(&loop, UV_RUN_DEFAULT); /* ends when the moment has */
    is("second", 2);
}

static void it_is_written_again_when_it_is_not_right_any_more(void **state)
{
    (void)state;
    is("first", 1);
    text = "second";
    ab_page_answer_forget(answer);
    is("second", 2);
}

static void a_failure_is_not_kept(void **state)
{
    (void)state;
    text = "longer than is allowed";
    assert_int_equal(ab_buf_status(ab_page_answer_get(answer)), AB_ERR_TOOBIG);
    text = "second";
    is("second", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_written_once_in_a_moment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_is_written_again_after_the_moment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_is_written_again_when_it_is_not_right_any_more, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_failure_is_not_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
