/* SPDX-License-Identifier: Apache-2.0
 *
 * What a check ends with. What it prints is looked at in tests/integration/ctl/check_test.py.
 */
#include "services/ctl/check/findings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static ab_findings found;

static int set_up(void **state)
{
    (void)state;
    ab_findings_init(&found);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ab_findings_fini(&found);
    return 0;
}

static const cJSON *at(int i)
{
    return cJSON_GetArrayItem(found.list, i);
}

static void warnings_do_not_fail_a_check_and_errors_do(void **state)
{
    (void)state;
    ab_findings_add(&found, AB_FOUND_OK, "a", NULL, "good");
    ab_findings_add(&found, AB_FOUND_WARNING, "b", "do that", "%d days", 3);
    assert_false(found.failed);
    ab_findings_add(&found, AB_FOUND_ERROR, "c", "do this", "bad");
    assert_true(found.failed);
    assert_true(found.complete);
    assert_true(ab_doc_is(at(1), "what", "3 days"));
    assert_true(ab_doc_is(at(2), "remedy", "do this"));
    assert_null(ab_doc_text(at(0), "remedy").ptr);
}

static void text_that_is_not_utf8_does_not_lose_the_finding(void **state)
{
    (void)state;
    ab_findings_add(&found, AB_FOUND_ERROR, "a", "b", "%s", "\xff\xfe");
    assert_true(found.complete && found.failed);
    assert_true(ab_doc_is(at(0), "what", "(not printable)"));
}

/* What is printed in this form. */
static void prints(ab_ctl_form form, char *out, size_t size)
{
    const ab_ctl ctl = {.form = form};
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    int before = dup(STDOUT_FILENO);
    assert_return_code(dup2(fileno(file), STDOUT_FILENO), 0);
    int code = ab_findings_print(&found, &ctl);
    assert_return_code(dup2(before, STDOUT_FILENO), 0);
    close(before);
    rewind(file);
    out[fread(out, 1, size - 1, file)] = '\0';
    fclose(file);
    assert_int_equal(code, AB_CTL_FAILED);
}

static void names_of_a_certificate_cannot_move_the_cursor(void **state)
{
    char text[512];
    (void)state;
    ab_findings_add(&found, AB_FOUND_ERROR, "a", "b\x1b[2J", "not for h, but for %s",
                    "CN=\xc2\x9b"
                    "2J\x7f");
    prints(AB_CTL_TABLE, text, sizeof(text));
    assert_string_equal(text, "error    a: not for h, but for CN=  2J ; b [2J\n");
    prints(AB_CTL_JSON, text, sizeof(text));
    assert_non_null(strstr(text, "CN=\\u009b2J\\u007f"));
    prints(AB_CTL_YAML, text, sizeof(text));
    assert_null(strstr(text, "\xc2\x9b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(warnings_do_not_fail_a_check_and_errors_do, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(text_that_is_not_utf8_does_not_lose_the_finding, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(names_of_a_certificate_cannot_move_the_cursor, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
