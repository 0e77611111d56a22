/* SPDX-License-Identifier: Apache-2.0
 *
 * That it is OTLP is shown with OpenTelemetry's own definitions (services/tracing_test.py); here,
 * what it costs and when it fails.
 */
#include "tracing/otlp.h"

#include "schema/proto/otlp.pb-c.h"
#include "schema/protobuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const ab_otlp_resource who = {"argobus-agent", "1.0", "host"};

static void so_many_of_the_list_are_written(void **state)
{
    (void)state;
    ab_link list;
    ab_buf out;
    ab_pb_arena arena;
    const ProtobufCMessage *message;
    ab_trace_span spans[3] = {{.name = "send", .start_us = 1, .end_us = 2, .kind = AB_TRACE_CLIENT},
                              {.name = "apply", .has_parent = true, .error = AB_STR("why")},
                              {.name = "left out"}};
    ab_link_init(&list);
    for (size_t i = 0; i < 3; i++) {
        ab_link_init(&spans[i].link);
        ab_list_append(&list, &spans[i].link);
    }
    ab_buf_init(&out, 1024 * 1024);
    assert_int_equal(ab_otlp_write(&who, &list, 2, &out), AB_ERR_OK);
    ab_pb_arena_init(&arena, 65536);
    assert_int_equal(
        ab_pb_unpack(&arena, &otlp__export_request__descriptor, ab_buf_str(&out), &message),
        AB_ERR_OK);
    const Otlp__ExportRequest *request = (const Otlp__ExportRequest *)message;
    const Otlp__ScopeSpans *scope = request->resource_spans[0]->scope_spans[0];
    assert_int_equal(scope->n_spans, 2);
    assert_true(ab_str_is(ab_pb_str(scope->spans[0]->name), "send"));
    assert_int_equal(scope->spans[0]->kind, 3);
    assert_int_equal(scope->spans[0]->start_time_unix_nano, 1000);
    assert_int_equal(scope->spans[0]->end_time_unix_nano, 2000);
    assert_int_equal(scope->spans[0]->parent_span_id.len, 0);
    assert_null(scope->spans[0]->status);
    assert_int_equal(scope->spans[1]->parent_span_id.len, 8);
    assert_int_equal(scope->spans[1]->status->code, 2);
    assert_true(ab_str_is(ab_pb_str(scope->spans[1]->status->message), "why"));
    ab_pb_arena_fini(&arena);
    ab_buf_fini(&out);
}

static void no_more_is_written_than_there_is_room_for(void **state)
{
    (void)state;
    ab_link list;
    ab_buf out;
    ab_trace_span span = {.name = "send"};
    ab_link_init(&list);
    ab_link_init(&span.link);
    ab_list_append(&list, &span.link);
    ab_buf_init(&out, 16);
    assert_int_equal(ab_otlp_write(&who, &list, 1, &out), AB_ERR_TOOBIG);
    ab_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_of_the_list_are_written),
        cmocka_unit_test(no_more_is_written_than_there_is_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
