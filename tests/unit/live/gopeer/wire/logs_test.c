/* SPDX-License-Identifier: Apache-2.0 */
#include "live/gopeer/wire/side.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static ab_err put(const char *target, ab_buf *out)
{
    ab_resource_map map;
    ab_error err = {0};
    ab_err e = ab_resource_map_read(AB_STR("GET"), ab_str_of(target), &map, &err);
    assert_int_equal(e, AB_ERR_OK);
    return ab_gopeer_wire_put_logs("u", &map, out, &err);
}

static void a_request_has_what_was_asked_for_and_nothing_else(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 4096);
    assert_int_equal(put("/api/v1/namespaces/web/pods/a/log?follow=1&tailLines=5&sinceTime=2026-01-"
                         "02T03%3A04%3A05Z&previous=false&container=",
                         &out),
                     AB_ERR_OK);
    assert_string_equal(out.ptr,
                        "{\"uuid\":\"u\",\"namespace\":\"web\",\"podName\":\"a\",\"follow\":true,"
                        "\"tailLines\":5,\"sinceTime\":\"2026-01-02T03:04:05Z\"}");
    ab_buf_fini(&out);
}

static void what_cannot_be_asked_for_is_refused(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 4096);
    assert_int_equal(put("/api/v1/namespaces/web/pods/a/log?tailLines=-1", &out), AB_ERR_INVALID);
    assert_int_equal(put("/api/v1/namespaces/web/pods/a/log?container=a&container=b", &out),
                     AB_ERR_INVALID);
    assert_int_equal(put("/api/v1/namespaces/web/pods/a/log?stream=Stdout", &out),
                     AB_ERR_UNSUPPORTED);
    ab_buf_fini(&out);
}

static void assert_read(const char *data, ab_err expected, const char *target)
{
    ab_error err = {0};
    ab_buf out;
    ab_buf_init(&out, 4096);
    assert_int_equal(ab_gopeer_wire_read_logs(ab_str_of(data), &out, &err), expected);
    if (expected == AB_ERR_OK)
        assert_string_equal(out.ptr, target);
    ab_buf_fini(&out);
}

static void a_request_of_go_becomes_a_target(void **state)
{
    (void)state;
    assert_read("{\"uuid\":\"u\",\"namespace\":\"web\",\"podName\":\"a\"}", AB_ERR_OK,
                "/api/v1/namespaces/web/pods/a/log");
    assert_read("{\"namespace\":\"web\",\"podName\":\"../x\",\"container\":\"a&b\",\"follow\":true,"
                "\"tailLines\":7,\"sinceTime\":null}",
                AB_ERR_OK,
                "/api/v1/namespaces/web/pods/..%2Fx/log?container=a%26b&follow=true&tailLines=7");
    assert_read("{\"namespace\":\"web\"}", AB_ERR_INVALID, NULL);
    assert_read("{\"namespace\":\"web\",\"podName\":\"a\",\"tailLines\":1.5}", AB_ERR_INVALID,
                NULL);
    assert_read("{\"namespace\":\"web\",\"podName\":\"a\",\"follow\":\"yes\"}", AB_ERR_INVALID,
                NULL);
    assert_read("no JSON", AB_ERR_PARSE, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_has_what_was_asked_for_and_nothing_else),
        cmocka_unit_test(what_cannot_be_asked_for_is_refused),
        cmocka_unit_test(a_request_of_go_becomes_a_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
