/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

static void every_code_has_its_class_and_text(void **state)
{
    (void)state;
    assert_int_equal(ab_err_class_of(AB_ERR_OK), AB_CLASS_NONE);
    assert_int_equal(ab_err_class_of(AB_ERR_TIMEOUT), AB_CLASS_TRANSIENT);
    assert_int_equal(ab_err_class_of(AB_ERR_CONFLICT), AB_CLASS_STALE);
    assert_int_equal(ab_err_class_of(AB_ERR_PARSE), AB_CLASS_PERMANENT);
    assert_int_equal(ab_err_class_of(AB_ERR_NOMEM), AB_CLASS_FATAL);
    assert_string_equal(ab_err_text(AB_ERR_OK), "success");
    assert_string_equal(ab_err_text(AB_ERR_FULL), "queue full");
}

static void a_code_outside_of_the_table_is_fatal(void **state)
{
    (void)state;
    assert_int_equal(ab_err_class_of((ab_err)1000), AB_CLASS_FATAL);
    assert_string_equal(ab_err_text((ab_err)1000), "cannot go on");
}

static void failing_sets_code_and_text_and_returns_the_code(void **state)
{
    (void)state;
    ab_error err = {.foreign = 7};
    assert_int_equal(ab_fail(&err, AB_ERR_PARSE, "line %d", 3), AB_ERR_PARSE);
    assert_int_equal(err.code, AB_ERR_PARSE);
    assert_int_equal(err.foreign, 0);
    assert_string_equal(err.text, "line 3");
}

static void failing_without_an_error_still_returns_the_code(void **state)
{
    (void)state;
    assert_int_equal(ab_fail(NULL, AB_ERR_FULL, "x"), AB_ERR_FULL);
    assert_int_equal(ab_fail_errno(NULL, AB_ERR_IO, EIO, "x"), AB_ERR_IO);
    ab_error_prefix(NULL, "x");
}

static void a_text_too_long_is_cut(void **state)
{
    (void)state;
    ab_error err = {0};
    (void)ab_fail(&err, AB_ERR_IO, "%0*d", 2 * AB_ERROR_TEXT_MAX, 1);
    assert_int_equal(strlen(err.text), AB_ERROR_TEXT_MAX - 1);
    ab_error_prefix(&err, "%0*d", 2 * AB_ERROR_TEXT_MAX, 1);
    assert_int_equal(strlen(err.text), AB_ERROR_TEXT_MAX - 1);
}

static void an_errno_adds_its_text_and_a_foreign_code_does_not(void **state)
{
    (void)state;
    ab_error err = {0};
    (void)ab_fail_errno(&err, AB_ERR_NOTFOUND, ENOENT, "open %s", "a.yaml");
    assert_string_equal(err.text, "open a.yaml: No such file or directory");
    assert_int_equal(err.foreign, ENOENT);
    (void)ab_fail_errno(&err, AB_ERR_TIMEOUT, -185, "produce");
    assert_string_equal(err.text, "produce");
    assert_int_equal(err.foreign, -185);
}

static void a_prefix_says_where_it_happened(void **state)
{
    (void)state;
    ab_error err = {0};
    (void)ab_fail_errno(&err, AB_ERR_DENIED, EACCES, "open");
    ab_error_prefix(&err, "file %s", "x");
    assert_string_equal(err.text, "file x: open: Permission denied");
    assert_int_equal(err.code, AB_ERR_DENIED);
    assert_int_equal(err.foreign, EACCES);
}

static void errnos_have_their_codes(void **state)
{
    (void)state;
    assert_int_equal(ab_err_from_errno(ENOSPC), AB_ERR_NOSPACE);
    assert_int_equal(ab_err_from_errno(EDQUOT), AB_ERR_NOSPACE);
    assert_int_equal(ab_err_from_errno(EACCES), AB_ERR_DENIED);
    assert_int_equal(ab_err_from_errno(EPERM), AB_ERR_DENIED);
    assert_int_equal(ab_err_from_errno(ENOENT), AB_ERR_NOTFOUND);
    assert_int_equal(ab_err_from_errno(ENOMEM), AB_ERR_NOMEM);
    assert_int_equal(ab_err_from_errno(EBADF), AB_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_class_and_text),
        cmocka_unit_test(a_code_outside_of_the_table_is_fatal),
        cmocka_unit_test(failing_sets_code_and_text_and_returns_the_code),
        cmocka_unit_test(failing_without_an_error_still_returns_the_code),
        cmocka_unit_test(a_text_too_long_is_cut),
        cmocka_unit_test(an_errno_adds_its_text_and_a_foreign_code_does_not),
        cmocka_unit_test(a_prefix_says_where_it_happened),
        cmocka_unit_test(errnos_have_their_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
