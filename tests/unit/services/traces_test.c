/* SPDX-License-Identifier: Apache-2.0
 *
 * What is traced of an event, and what is awaited; a real collector gets it in
 * services/tracing_test.py.
 */
#include "services/traces.h"

#include "schema/attributes.h"
#include "tracing/setup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define PARENT "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static const ab_option rows[] = {{.name = "transport", .kind = AB_OPT_STRING, .deflt = "kafka"}};
static const ab_options own = {rows, 1};
static const ab_daemon_program program = {.name = "argobus-principal"};
static uv_loop_t loop;
static ab_daemon d;
static ab_traces *traces;
static bool waits;
static size_t asked;

static bool is_awaited(void *arg, const char *agent, ab_str key)
{
    (void)arg;
    assert_string_equal(agent, "w1");
    assert_true(ab_str_is(key, "Application/w1/a"));
    asked++;
    return waits;
}

/* A daemon without a life, whose collector is never reached: nothing is sent before a turn. */
static int set_up(void **state)
{
    (void)state;
    const ab_options all[] = {own, ab_tracing_options};
    const char *sets[] = {"tracing.endpoint=http://127.0.0.1:9/v1/traces", "tracing.one-in=1"};
    const ab_config_sources sources = {.set = sets, .set_count = 2};
    assert_int_equal(uv_loop_init(&loop), 0);
    d = (ab_daemon){
        .program = &program, .loop = &loop, .metrics = ab_metrics_new(), .clock = &ab_clock_real};
    assert_int_equal(ab_config_load(all, 2, &sources, &d.config, NULL), AB_ERR_OK);
    assert_int_equal(ab_traces_new(&d, NULL, &traces, NULL), AB_ERR_OK);
    ab_traces_ask(traces, is_awaited, NULL);
    waits = true;
    asked = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ab_traces_free(traces);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    ab_config_free(d.config);
    ab_metrics_free(d.metrics);
    return uv_loop_close(&loop);
}

static ab_event *event_with(const char *traceparent)
{
    ab_event *event = NULL;
    ab_event_draft draft = {.data = AB_STR("{}")};
    ab_event_set_text(&draft, AB_CE_ID, "1");
    ab_event_set_text(&draft, AB_CE_SOURCE, AB_SOURCE_PRINCIPAL);
    ab_event_set_text(&draft, AB_CE_TYPE, "test");
    ab_event_set_text(&draft, AB_CE_PARTITIONKEY, "Application/w1/a");
    ab_event_set_u64(&draft, AB_CE_OBJVERSION, 1000);
    ab_event_set_text(&draft, AB_CE_TRACEPARENT, traceparent);
    assert_int_equal(ab_event_new(&draft, &event, NULL), AB_ERR_OK);
    return event;
}

static void sent(const char *traceparent, ab_err code)
{
    ab_event *event = event_with(traceparent);
    ab_traces_sent(traces, "w1", event, code);
    ab_event_unref(event);
}

/* Spans that wait to be exported: they count as dropped when the tracing ends. */
static int queued(void)
{
    ab_traces_free(traces);
    traces = NULL;
    return (int)ab_metric_value(ab_metric_get(d.metrics, AB_METRIC_COUNTER,
                                              "argobus_trace_spans_dropped_total", "", NULL, 0));
}

static void objects_and_commands_are_traced(void **state)
{
    (void)state;
    const ab_trace *hooks = ab_traces_of_sync(traces);
    ab_trace_context context;
    const char *text = hooks->begin(hooks->arg, AB_STR("Application/w1/a"));
    assert_int_equal(ab_trace_context_parse(ab_str_of(text), &context), AB_ERR_OK);
    assert_true(context.sampled);
    assert_non_null(hooks->begin(hooks->arg, AB_STR("cmd/1")));
    assert_null(hooks->begin(hooks->arg, AB_STR("ctl/hello")));
    assert_null(hooks->begin(hooks->arg, AB_STR("ack/1")));
    assert_null(hooks->begin(hooks->arg, AB_STR("error/Application/w1/a")));
}

static void a_change_is_awaited_until_it_is_in_effect(void **state)
{
    (void)state;
    sent(PARENT, AB_ERR_OK);
    ab_traces_tick(traces);
    ab_traces_tick(traces);
    assert_int_equal(asked, 2);
    waits = false;
    ab_traces_tick(traces);
    ab_traces_tick(traces);
    assert_int_equal(asked, 3); /* it is not asked for any more */
    assert_int_equal(queued(), 2);
}

static void what_is_not_traced_costs_nothing(void **state)
{
    (void)state;
    sent(NULL, AB_ERR_OK);
    sent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", AB_ERR_OK);
    sent("no trace", AB_ERR_OK);
    ab_traces_tick(traces);
    assert_int_equal(asked, 0);
    assert_int_equal(queued(), 0);
}

static void only_the_last_try_is_told_of(void **state)
{
    (void)state;
    sent(PARENT, AB_ERR_UNAVAILABLE);
    sent(PARENT, AB_ERR_TIMEOUT);
    sent(PARENT, AB_ERR_TOOBIG);
    ab_traces_tick(traces);
    assert_int_equal(asked, 0); /* what can never go is not awaited */
    assert_int_equal(queued(), 1);
}

#define TRACED(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRACED(objects_and_commands_are_traced),
        TRACED(a_change_is_awaited_until_it_is_in_effect),
        TRACED(what_is_not_traced_costs_nothing),
        TRACED(only_the_last_try_is_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
