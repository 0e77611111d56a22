/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/link/hello.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_hello_survives_the_way(void **state)
{
    (void)state;
    ab_grpc_hello said = {.base = {.mode = "autonomous",
                                   .version = "1.2",
                                   .instance = "i",
                                   .epoch = 5,
                                   .time_ms = 3,
                                   .leaving = true,
                                   .certificate = "-----BEGIN\n\"x\"\n"},
                          .seen = 4,
                          .inflight = 2,
                          .message_max = 1,
                          .backlog = 9,
                          .heartbeat_ms = 60000,
                          .live_call = true,
                          .open_live = true,
                          .fresh = true};
    ab_event *event = NULL;
    ab_grpc_hello heard;
    assert_int_equal(ab_grpc_hello_make(&said, "/principal", &event), AB_ERR_OK);
    assert_int_equal(ab_grpc_hello_read(event, &heard, NULL), AB_ERR_OK);
    assert_string_equal(heard.base.mode, said.base.mode);
    assert_string_equal(heard.base.version, said.base.version);
    assert_string_equal(heard.base.instance, said.base.instance);
    assert_string_equal(heard.base.certificate, said.base.certificate);
    assert_int_equal(heard.base.epoch, 5);
    assert_int_equal(heard.seen, 4);
    assert_int_equal(heard.base.time_ms, 3);
    assert_int_equal(heard.inflight, 2);
    assert_int_equal(heard.message_max, 1);
    assert_int_equal(heard.backlog, 9);
    assert_int_equal(heard.heartbeat_ms, 60000);
    assert_true(heard.fresh && heard.base.leaving && heard.live_call && heard.open_live);
    ab_grpc_hello_fini(&heard);
    ab_event_unref(event);
}

static ab_err read_with(int64_t inflight, int64_t message_max)
{
    const ab_grpc_hello said = {
        .base = {.mode = "managed", .version = "1", .instance = "i", .epoch = 1, .certificate = ""},
        .inflight = inflight,
        .message_max = message_max};
    ab_event *event = NULL;
    ab_grpc_hello heard;
    assert_int_equal(ab_grpc_hello_make(&said, "/principal", &event), AB_ERR_OK);
    ab_err e = ab_grpc_hello_read(event, &heard, NULL);
    ab_grpc_hello_fini(&heard);
    ab_event_unref(event);
    return e;
}

/* Who takes nothing could never be sent anything. */
static void numbers_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    assert_int_equal(read_with(1, 1), AB_ERR_OK);
    assert_int_equal(read_with(65536, INT64_C(1) << 40), AB_ERR_OK);
    assert_int_equal(read_with(0, 1), AB_ERR_INVALID);
    assert_int_equal(read_with(65537, 1), AB_ERR_INVALID);
    assert_int_equal(read_with(1, 0), AB_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hello_survives_the_way),
        cmocka_unit_test(numbers_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
