/* SPDX-License-Identifier: Apache-2.0
 *
 * What a check ends with. What it prints is looked at in tests/integration/ctl/check_test.py.
 */
#include "services/ctl/check/findings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(warnings_do_not_fail_a_check_and_errors_do, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(text_that_is_not_utf8_does_not_lose_the_finding, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
