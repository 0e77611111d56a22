/* SPDX-License-Identifier: Apache-2.0
 *
 * Our client with a server that is not ours: the service test.Echo at AB_GRPC_PORT, by TLS unless
 * AB_GRPC_PLAIN is set, by WebSockets if AB_GRPC_WEBSOCKET is. interop_test.py starts the server.
 */
#include "tests/integration/grpc/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int begin(void **state)
{
    world_set_up(state);
    world *w = *state;
    if (getenv("AB_GRPC_PLAIN") == NULL)
        world_use_tls(w);
    w->port = (int)strtol(getenv("AB_GRPC_PORT"), NULL, 10);
    return 0;
}

static int connected(void **state)
{
    begin(state);
    world_start_client(*state);
    world_wait_link(*state, AB_RPC_UP);
    return 0;
}

static void expect_end(world *w, seen *s, ab_rpc_status status, const char *text)
{
    world_wait_end(w, s);
    if (s->status != status)
        fail_msg("%s: %s", ab_rpc_status_name(s->status), s->text);
    if (text != NULL)
        assert_string_equal(s->text, text);
    seen_fini(s);
}

static void unary(world *w, size_t size, bool compress)
{
    seen s;
    world_begin(w, "Unary", 0, compress, &s);
    world_send(&s, size, 'x');
    ab_rpc_half_close(s.call);
    world_wait_messages(w, &s, 1);
    assert_int_equal(s.last.len, size);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(s.last.ptr[i], 'x');
    expect_end(w, &s, AB_RPC_OK, "");
}

static void unary_calls_are_answered(void **state)
{
    unary(*state, 5000, false);
    unary(*state, 5000, true);
    unary(*state, 0, false);
    unary(*state, 0, true);
}

static void a_64_mib_message_passes(void **state)
{
    unary(*state, 64u << 20, false);
}

static void messages_go_both_ways(void **state)
{
    world *w = *state;
    for (int compress = 0; compress < 2; compress++) {
        seen s;
        world_begin(w, "Echo", 0, compress == 1, &s);
        for (size_t i = 0; i < 500; i++) {
            world_send(&s, i * 37, (char)i);
            world_wait_messages(w, &s, i + 1);
            assert_int_equal(s.last.len, i * 37);
        }
        ab_rpc_half_close(s.call);
        expect_end(w, &s, AB_RPC_OK, "");
    }
}

static void a_stream_of_the_server_arrives(void **state)
{
    world *w = *state;
    seen s;
    world_begin(w, "Many", 0, false, &s);
    assert_int_equal(ab_rpc_send(s.call, AB_STR("2000 5000"), false), AB_ERR_OK);
    ab_rpc_half_close(s.call);
    world_wait_end(w, &s);
    assert_int_equal(s.messages, 2000);
    assert_int_equal(s.bytes, 2000 * 5000);
    expect_end(w, &s, AB_RPC_OK, "");
}

static void a_paused_stream_of_the_server_waits_and_is_whole(void **state)
{
    world *w = *state;
    seen s;
    world_begin(w, "Many", 0, false, &s);
    s.pause_each = true;
    assert_int_equal(ab_rpc_send(s.call, AB_STR("2000 5000"), false), AB_ERR_OK);
    ab_rpc_half_close(s.call);
    world_wait_messages(w, &s, 1);
    world_run_ms(w, 200);
    assert_int_equal(s.messages, 1);
    s.pause_each = false;
    ab_rpc_resume(s.call);
    world_wait_end(w, &s);
    assert_int_equal(s.messages, 2000);
    expect_end(w, &s, AB_RPC_OK, "");
}

static void a_stream_of_the_client_arrives(void **state)
{
    world *w = *state;
    seen s;
    static char block[3000];
    world_begin(w, "Count", 0, false, &s);
    for (int i = 0; i < 1000; i++) {
        while (ab_rpc_send(s.call, (ab_str){block, sizeof(block)}, false) == AB_ERR_FULL)
            world_run_ms(w, 1);
    }
    ab_rpc_half_close(s.call);
    world_wait_messages(w, &s, 1);
    assert_string_equal(s.last.ptr, "1000 3000000");
    expect_end(w, &s, AB_RPC_OK, "");
}

static void a_status_comes_with_its_text(void **state)
{
    world *w = *state;
    seen s;
    world_begin(w, "Deny", 0, false, &s);
    world_send(&s, 5, 'x');
    expect_end(w, &s, AB_RPC_PERMISSION_DENIED, "ne: prosím, 100% nein");
}

static void an_unknown_method_is_unimplemented(void **state)
{
    world *w = *state;
    seen s;
    world_begin(w, "None", 0, false, &s);
    expect_end(w, &s, AB_RPC_UNIMPLEMENTED, NULL);
}

static void a_deadline_ends_a_call(void **state)
{
    world *w = *state;
    seen s;
    world_begin(w, "Hold", 100, false, &s);
    expect_end(w, &s, AB_RPC_DEADLINE_EXCEEDED, NULL);
}

static void a_call_is_cancelled(void **state)
{
    world *w = *state;
    seen s;
    world_begin(w, "Hold", 0, false, &s);
    world_run_ms(w, 50);
    ab_rpc_cancel(s.call);
    expect_end(w, &s, AB_RPC_CANCELLED, NULL);
    unary(w, 10, false);
}

static void metadata_goes_both_ways(void **state)
{
    world *w = *state;
    seen s = {0};
    static const ab_rpc_field metadata[] = {
        {{"x-echo", 6}, {"a b", 3}},
        {{"x-echo-bin", 10}, {"\xff\x00z", 3}},
    };
    ab_buf_init(&s.headers, 65536);
    ab_buf_init(&s.last, 65536);
    ab_rpc_begin b = {.path = "/test.Echo/Meta", .metadata = metadata, .metadata_count = 2};
    assert_int_equal(ab_rpc_call_begin(w->client, &b, &seen_handler, &s, &s.call), AB_ERR_OK);
    world_send(&s, 1, 'x');
    ab_rpc_half_close(s.call);
    world_wait_end(w, &s);
    static const char *const expected[] = {"x-echo=a b\n", "x-subject=/CN=w1\n"};
    for (size_t i = 0; i < (getenv("AB_GRPC_PLAIN") == NULL ? 2 : 1); i++)
        assert_non_null(memmem(s.headers.ptr, s.headers.len, expected[i], strlen(expected[i])));
    assert_non_null(memmem(s.headers.ptr, s.headers.len, "x-echo-bin=\xff\x00z\n", 15));
    expect_end(w, &s, AB_RPC_OK, "");
}

/* Both implementations allow a ping in five minutes, and tell who sends more to go. */
static void too_many_pings_are_seen_as_such_and_become_fewer(void **state)
{
    world *w = *state;
    seen s;
    w->limits.ping_ms = 50;
    w->limits.ping_timeout_ms = 5000;
    world_start_client(w);
    world_wait_link(w, AB_RPC_UP);
    world_begin(w, "Hold", 0, false, &s);
    world_wait_end(w, &s);
    assert_int_equal(s.status, AB_RPC_UNAVAILABLE);
    if (strstr(w->link_error.text, "too_many_pings") == NULL)
        fail_msg("%s", w->link_error.text);
    world_wait_link(w, AB_RPC_UP);
    seen_fini(&s);
}

static void the_server_goes_in_order(void **state)
{
    world *w = *state;
    seen s;
    world_begin(w, "Echo", 0, false, &s);
    world_send(&s, 5, 'x');
    world_wait_messages(w, &s, 1);
    printf("open\n"); /* interop_test.py ends the server now */
    fflush(stdout);
    world_wait_link(w, AB_RPC_DRAINING);
    world_send(&s, 5, 'x');
    world_wait_messages(w, &s, 2);
    ab_rpc_half_close(s.call);
    expect_end(w, &s, AB_RPC_OK, "");
    world_wait_link(w, AB_RPC_DOWN);
}

static bool has_failed(void *arg)
{
    return ((const world *)arg)->link_error.code != AB_ERR_OK;
}

static void a_foreign_client_is_refused(void **state)
{
    world *w = *state;
    world_foreign_client(w);
    world_start_client(w);
    world_wait(w, has_failed, w);
    assert_int_not_equal(w->link_error.code, AB_ERR_OK);
    assert_int_equal(w->ups, 0);
}

#define CONNECTED(name) cmocka_unit_test_setup_teardown(name, connected, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONNECTED(unary_calls_are_answered),
        CONNECTED(a_64_mib_message_passes),
        CONNECTED(messages_go_both_ways),
        CONNECTED(a_stream_of_the_server_arrives),
        CONNECTED(a_paused_stream_of_the_server_waits_and_is_whole),
        CONNECTED(a_stream_of_the_client_arrives),
        CONNECTED(a_status_comes_with_its_text),
        CONNECTED(an_unknown_method_is_unimplemented),
        CONNECTED(a_deadline_ends_a_call),
        CONNECTED(a_call_is_cancelled),
        CONNECTED(metadata_goes_both_ways),
    };
    const struct CMUnitTest pings[] = {
        cmocka_unit_test_setup_teardown(too_many_pings_are_seen_as_such_and_become_fewer, begin,
                                        world_tear_down),
    };
    const struct CMUnitTest foreign[] = {
        cmocka_unit_test_setup_teardown(a_foreign_client_is_refused, begin, world_tear_down),
    };
    const struct CMUnitTest last[] = {CONNECTED(the_server_goes_in_order)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    /* What follows is about what a WebSocket has not: a server's settings and GOAWAY. */
    if (getenv("AB_GRPC_WEBSOCKET") != NULL)
        return failed;
    failed += cmocka_run_group_tests(pings, NULL, NULL);
    if (getenv("AB_GRPC_PLAIN") == NULL)
        failed += cmocka_run_group_tests(foreign, NULL, NULL);
    return failed + cmocka_run_group_tests(last, NULL, NULL);
}
