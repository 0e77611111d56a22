/* SPDX-License-Identifier: Apache-2.0
 *
 * What a broker answers to ApiVersions. A real one is asked in tests/integration/ctl/check_test.py.
 */
#include "services/ctl/check/kafka/api_versions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Produce 3 to 13, a key that no release has yet, and a tag that none has; metadata.version is
 * between two other features. */
static const char whole[] =
    "\0\0\0\1"
    "\0\0"
    "\3"
    "\0\0\0\3\0\15\0"
    "\177\377\0\0\0\7\1\5\2xx"
    "\0\0\0\0"
    "\4"
    "\0\61\4\2a\0\1\0\1\0\21metadata.version\0\7\0\36\0\16share.version\0\0\0\1\0"
    "\1\10\0\0\0\0\0\0\0\5"
    "\2\27\2\21metadata.version\0\35\0\35\0"
    "\11\1x";
#define WHOLE ((ab_str){whole, sizeof(whole) - 1})

static void an_answer_tells_requests_and_levels(void **state)
{
    (void)state;
    ab_error err = {0};
    ab_api_versions v;
    assert_int_equal(ab_api_versions_read(WHOLE, &v, &err), AB_ERR_OK);
    assert_false(v.is_refused);
    assert_int_equal(v.newest[0], 13);
    assert_int_equal(v.newest[1], -1);
    assert_int_equal(v.newest[AB_API_KEYS - 1], -1);
    assert_int_equal(v.supported, 30);
    assert_int_equal(v.finalized, 29);
}

static void an_answer_that_ends_too_early_is_refused(void **state)
{
    (void)state;
    for (size_t len = 0; len < WHOLE.len; len++) {
        ab_error err = {0};
        ab_api_versions v;
        assert_int_equal(ab_api_versions_read((ab_str){whole, len}, &v, &err), AB_ERR_PARSE);
    }
}

static void an_answer_to_another_request_is_refused(void **state)
{
    (void)state;
    ab_error err = {0};
    ab_api_versions v;
    assert_int_equal(ab_api_versions_read(AB_STR("\0\0\0\2\0\0\1\0\0\0\0\0"), &v, &err),
                     AB_ERR_PARSE);
    assert_int_equal(ab_api_versions_read(AB_STR("HTTP/1.1 400 Bad Request\r\n"), &v, &err),
                     AB_ERR_PARSE);
}

static void a_broker_that_knows_only_older_requests_says_so(void **state)
{
    (void)state;
    ab_error err = {0};
    ab_api_versions v;
    ab_str answer = AB_STR("\0\0\0\1\0\43\0\0\0\1\0\22\0\0\0\2");
    assert_int_equal(ab_api_versions_read(answer, &v, &err), AB_ERR_OK);
    assert_true(v.is_refused);
}

static void an_error_of_the_broker_is_told(void **state)
{
    (void)state;
    ab_error err = {0};
    ab_api_versions v;
    ab_str answer = AB_STR("\0\0\0\1\0\52\1\0\0\0\0\0");
    assert_int_equal(ab_api_versions_read(answer, &v, &err), AB_ERR_PARSE);
    assert_non_null(strstr(err.text, "with error 42"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_tells_requests_and_levels),
        cmocka_unit_test(an_answer_that_ends_too_early_is_refused),
        cmocka_unit_test(an_answer_to_another_request_is_refused),
        cmocka_unit_test(a_broker_that_knows_only_older_requests_says_so),
        cmocka_unit_test(an_error_of_the_broker_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
