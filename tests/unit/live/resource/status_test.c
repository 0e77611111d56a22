/* SPDX-License-Identifier: Apache-2.0 */
#include "live/resource/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_status(int code, const char *message, const char *expected)
{
    ab_buf out;
    ab_buf_init(&out, 4096);
    ab_resource_status_put(code, message, &out);
    assert_int_equal(ab_buf_status(&out), AB_ERR_OK);
    assert_string_equal(out.ptr, expected);
    ab_buf_fini(&out);
}

static void a_refusal_is_a_status_with_the_reason_that_client_go_knows(void **state)
{
    (void)state;
    assert_status(
        503, "agent \"one\" is away",
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
        "\"message\":\"agent \\\"one\\\" is away\",\"reason\":\"ServiceUnavailable\","
        "\"code\":503}");
    assert_status(
        403, "no",
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
        "\"message\":\"no\",\"reason\":\"Forbidden\",\"code\":403}");
}

static void a_message_that_is_not_text_is_replaced(void **state)
{
    (void)state;
    assert_status(
        400, "method \"\xff\"",
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
        "\"message\":\"the request is not valid\",\"reason\":\"BadRequest\","
        "\"code\":400}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_is_a_status_with_the_reason_that_client_go_knows),
        cmocka_unit_test(a_message_that_is_not_text_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
