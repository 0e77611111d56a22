/* SPDX-License-Identifier: Apache-2.0
 *
 * Without a collector; with one: services/tracing_test.py.
 */
#include "tracing/exporter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static ab_exporter *make(uv_loop_t *loop, ab_metrics *metrics)
{
    ab_exporter *x = NULL;
    const ab_exporter_env env = {.loop = loop,
                                 .metrics = metrics,
                                 .clock = &ab_clock_real,
                                 .url = "http://127.0.0.1:9/v1/traces",
                                 .resource = {"argobus-agent", "1.0", "host"}};
    assert_int_equal(ab_exporter_new(&env, &x, NULL), AB_ERR_OK);
    return x;
}

static int dropped(ab_metrics *metrics)
{
    return (int)ab_metric_value(ab_metric_get(metrics, AB_METRIC_COUNTER,
                                              "argobus_trace_spans_dropped_total", "", NULL, 0));
}

static void the_queue_ends_and_what_is_lost_is_counted(void **state)
{
    (void)state;
    uv_loop_t loop;
    assert_int_equal(uv_loop_init(&loop), 0);
    ab_metrics *metrics = ab_metrics_new();
    ab_exporter *x = make(&loop, metrics);
    const ab_trace_span span = {.name = "send"};
    for (size_t i = 0; i < AB_EXPORTER_QUEUE_MAX; i++)
        ab_exporter_put(x, &span);
    assert_int_equal(dropped(metrics), 0);
    for (size_t i = 0; i < 3; i++)
        ab_exporter_put(x, &span);
    assert_int_equal(dropped(metrics), 3);
    ab_exporter_free(x);
    assert_int_equal(dropped(metrics), AB_EXPORTER_QUEUE_MAX + 3);
    ab_metrics_free(metrics);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void a_line_that_is_no_header_is_named(void **state)
{
    (void)state;
    ab_error err = {0};
    assert_int_equal(ab_exporter_check_headers(AB_STR("A: b\r\n\nC:d\n"), &err), AB_ERR_OK);
    assert_int_equal(ab_exporter_check_headers(AB_STR_NONE, &err), AB_ERR_OK);
    assert_int_equal(ab_exporter_check_headers(AB_STR("A: b\n\nsecret\n"), &err), AB_ERR_CONFIG);
    assert_string_equal(err.text, "line 3 is not of the form Name: value");
    assert_int_equal(ab_exporter_check_headers(AB_STR(": b\n"), &err), AB_ERR_CONFIG);
    assert_string_equal(err.text, "line 1 is not of the form Name: value");
    assert_int_equal(ab_exporter_check_headers(
                         AB_STR("a:1\na:1\na:1\na:1\na:1\na:1\na:1\na:1\na:1\na:1\na:1\na:1\na:1\n"
                                "a:1\na:1\na:1\na:1\n"),
                         &err),
                     AB_ERR_CONFIG);
    assert_string_equal(err.text, "17 headers: at most 16 are allowed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_queue_ends_and_what_is_lost_is_counted),
        cmocka_unit_test(a_line_that_is_no_header_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
