/* SPDX-License-Identifier: Apache-2.0
 *
 * What calls by WebSockets have that those by HTTP/2 have not: a paused call holds up its whole
 * connection, and who is cut short amid a message can only go. rpc_test.c has the rest.
 */
#include "tests/integration/grpc/world.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#define SENDS_MAX 100000
#define ROUNDS    150 /* of 50 ms: longer than ping_timeout_ms */

static int begin(void **state)
{
    world_set_up(state);
    world *w = *state;
    w->server_tls.websocket = true;
    w->client_tls.websocket = true;
    return 0;
}

static bool is_full(void *arg)
{
    static char block[16384];
    seen *s = arg;
    return ab_rpc_send(s->call, (ab_str){block, sizeof(block)}, false) == AB_ERR_FULL;
}

static void a_paused_call_stops_its_peer_and_neither_is_taken_for_dead(void **state)
{
    world *w = *state;
    seen s;
    size_t sent = 1;
    w->limits.ping_ms = 100;
    w->limits.ping_timeout_ms = 5000;
    world_start(w);
    world_begin(w, "Count", 0, false, &s);
    world_send(&s, 1, 'x');
    while (w->call_count == 0 || w->calls[0].messages == 0)
        world_run_ms(w, 1);
    ab_rpc_pause(w->calls[0].call);
    for (unsigned rounds = 0; rounds < ROUNDS;) {
        assert_int_equal(s.ended + w->calls[0].ended, 0);
        bool full = is_full(&s);
        sent += !full;
        rounds = full ? rounds + 1 : 0;
        assert_true(sent < SENDS_MAX);
        world_run_ms(w, full ? 50 : 0);
    }
    assert_int_equal(w->calls[0].messages, 1);
    ab_rpc_resume(w->calls[0].call);
    ab_rpc_half_close(s.call);
    world_wait_end(w, &s);
    assert_int_equal(s.status, AB_RPC_OK);
    assert_int_equal(w->calls[0].messages, sent);
    seen_fini(&s);
}

static void a_server_that_refuses_amid_a_message_is_heard(void **state)
{
    world *w = *state;
    seen s;
    world_start(w);
    world_begin(w, "Deny", 0, false, &s);
    world_send(&s, 32u << 20, 'x');
    world_wait_end(w, &s);
    assert_int_equal(s.status, AB_RPC_PERMISSION_DENIED);
    assert_int_equal(w->link, AB_RPC_UP);
    seen_fini(&s);
}

static void calls_have_connections_of_their_own_and_the_link_stays_up(void **state)
{
    world *w = *state;
    seen s[3];
    world_start(w);
    for (int i = 0; i < 3; i++)
        world_begin(w, "Echo", 0, false, &s[i]);
    for (int i = 0; i < 3; i++) {
        world_send(&s[i], 10, 'x');
        world_wait_messages(w, &s[i], 1);
    }
    assert_int_equal(ab_rpc_server_connections(w->server), 3);
    for (int i = 0; i < 3; i++) {
        ab_rpc_half_close(s[i].call);
        world_wait_end(w, &s[i]);
        assert_int_equal(s[i].status, AB_RPC_OK);
        seen_fini(&s[i]);
    }
    assert_int_equal(w->link, AB_RPC_UP);
    assert_int_equal(w->ups, 1);
}

static void a_server_without_websockets_is_not_called(void **state)
{
    world *w = *state;
    seen s;
    w->server_tls.websocket = false;
    world_start(w);
    world_begin(w, "Echo", 0, false, &s);
    world_wait_end(w, &s);
    assert_int_not_equal(s.status, AB_RPC_OK);
    world_wait_link(w, AB_RPC_DOWN);
    assert_int_not_equal(w->link_error.code, AB_ERR_OK);
    seen_fini(&s);
}

/* A client that upgrades, and then neither says nor answers anything. */
static int open_silent_client(const world *w)
{
    static const char text[] = "GET /test.Echo/Hold HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
                               "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                               "Sec-WebSocket-Protocol: grpc-ws\r\n"
                               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                               "Content-Type: application/grpc\r\n\r\n";
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)w->port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    return fd;
}

static bool has_ended(void *arg)
{
    const world *w = arg;
    return w->call_count == 1 && w->calls[0].ended == 1;
}

static void a_peer_that_answers_no_ping_is_dead(void **state)
{
    world *w = *state;
    w->limits.ping_ms = 50;
    w->limits.ping_timeout_ms = 200;
    world_start_server(w);
    int fd = open_silent_client(w);
    world_wait(w, has_ended, w);
    assert_int_equal(w->calls[0].status, AB_RPC_UNAVAILABLE);
    assert_true(world_refused(w, "ping") == 1);
    assert_int_equal(ab_rpc_server_connections(w->server), 0);
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_paused_call_stops_its_peer_and_neither_is_taken_for_dead),
        TEST(a_server_that_refuses_amid_a_message_is_heard),
        TEST(calls_have_connections_of_their_own_and_the_link_stays_up),
        TEST(a_server_without_websockets_is_not_called),
        TEST(a_peer_that_answers_no_ping_is_dead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
