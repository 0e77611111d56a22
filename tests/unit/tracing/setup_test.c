/* SPDX-License-Identifier: Apache-2.0 */
#include "tracing/setup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static ab_err check(const char *set, ab_error *err)
{
    ab_config *config = NULL;
    const char *sets[] = {set};
    ab_config_sources sources = {.set = sets, .set_count = 1};
    assert_int_equal(ab_config_load(&ab_tracing_options, 1, &sources, &config, err), AB_ERR_OK);
    ab_err e = ab_tracing_check(config, err);
    ab_config_free(config);
    return e;
}

static void an_endpoint_is_a_url_of_http(void **state)
{
    (void)state;
    ab_error err = {0};
    assert_int_equal(check("tracing.one-in=5", &err), AB_ERR_OK); /* off */
    assert_int_equal(check("tracing.endpoint=http://c:4318/v1/traces", &err), AB_ERR_OK);
    assert_int_equal(check("tracing.endpoint=https://c/v1/traces", &err), AB_ERR_OK);
    assert_int_equal(check("tracing.endpoint=ftp://c", &err), AB_ERR_CONFIG);
    assert_int_equal(check("tracing.endpoint=collector:4318", &err), AB_ERR_CONFIG);
    assert_string_equal(
        err.text, "tracing.endpoint: \"collector:4318\" is not a URL of http or https: set it "
                  "to the collector's, e.g. http://collector:4318/v1/traces");
}

static void an_endpoint_has_no_password_for_the_log_to_name(void **state)
{
    (void)state;
    ab_error err = {0};
    assert_int_equal(check("tracing.endpoint=http://u:hun#ter2@c", &err), AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, "tracing.headers"));
    assert_null(strstr(err.text, "ter2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_endpoint_is_a_url_of_http),
        cmocka_unit_test(an_endpoint_has_no_password_for_the_log_to_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
