/* SPDX-License-Identifier: Apache-2.0
 *
 * A call with a deadline ends by it, whatever the other side does and whatever other deadlines
 * there are: nobody waits for an answer for ever.
 */
#include "tests/integration/grpc/world.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void assert_expires(world *w, seen *s)
{
    world_wait_end(w, s);
    assert_int_equal(s->status, AB_RPC_DEADLINE_EXCEEDED);
    seen_fini(s);
}

static void a_later_deadline_holds_up_no_earlier_one(void **state)
{
    world *w = *state;
    seen late, early;
    world_start(w);
    world_begin(w, "Hold", 600000, false, &late);
    world_begin(w, "Hold", 100, false, &early);
    assert_expires(w, &early);
    assert_int_equal(late.ended, 0);
    ab_rpc_cancel(late.call);
    world_wait_end(w, &late);
    seen_fini(&late);
}

static void deadlines_follow_one_another(void **state)
{
    world *w = *state;
    seen calls[3];
    world_start(w);
    for (int i = 0; i < 3; i++)
        world_begin(w, "Hold", 50 * (i + 1), false, &calls[i]);
    for (int i = 0; i < 3; i++)
        assert_expires(w, &calls[i]);
}

/* ---- the other side keeps no deadline ---- */

typedef struct {
    int listener;
    int fd;
} silent_server;

static void listen_silently(world *w, silent_server *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    s->fd = -1;
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->listener, (const struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(s->listener, 8), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&at, &len), 0);
    w->port = ntohs(at.sin_port);
}

/* The settings by which a connection begins are all that it ever says. */
static bool has_said_hello(void *arg)
{
    static const char settings[9] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
    silent_server *s = arg;
    s->fd = accept(s->listener, NULL, NULL);
    return s->fd >= 0 && write(s->fd, settings, sizeof(settings)) == sizeof(settings);
}

static void a_server_that_never_answers_is_waited_for_until_the_deadline(void **state)
{
    world *w = *state;
    silent_server server;
    seen s;
    listen_silently(w, &server);
    world_start_client(w);
    world_wait(w, has_said_hello, &server);
    world_wait_link(w, AB_RPC_UP);
    world_begin(w, "Hold", 100, false, &s);
    assert_expires(w, &s);
    assert_int_equal(w->link, AB_RPC_UP);
    close(server.fd);
    close(server.listener);
}

/* @param timeout  that it asks for */
static int call_by_websocket(world *w, const char *timeout)
{
    char text[512];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    w->server_tls.websocket = true;
    world_start_server(w);
    to.sin_port = htons((uint16_t)w->port);
    int len = snprintf(text, sizeof(text),
                       "GET /test.Echo/Hold HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
                       "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                       "Sec-WebSocket-Protocol: grpc-ws\r\n"
                       "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                       "Content-Type: application/grpc\r\ngrpc-timeout: %s\r\n\r\n",
                       timeout);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(write(fd, text, (size_t)len), len);
    return fd;
}

static void a_server_ends_the_call_of_a_client_that_waits_for_ever(void **state)
{
    world *w = *state;
    int fd = call_by_websocket(w, "100m");
    world_wait_calls(w, 1);
    world_wait_end(w, &w->calls[0]);
    assert_int_equal(w->calls[0].status, AB_RPC_DEADLINE_EXCEEDED);
    close(fd);
}

static bool has_heard(void *arg)
{
    static char text[1024];
    ssize_t n = recv(*(int *)arg, text, sizeof(text) - 1, MSG_DONTWAIT | MSG_PEEK);
    return n > 0 && memmem(text, (size_t)n, "grpc-timeout is invalid", 23) != NULL;
}

static void a_timeout_that_is_none_begins_no_call(void **state)
{
    world *w = *state;
    int fd = call_by_websocket(w, "soon");
    world_wait(w, has_heard, &fd);
    assert_int_equal(w->call_count, 0);
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_later_deadline_holds_up_no_earlier_one),
        TEST(deadlines_follow_one_another),
        TEST(a_server_that_never_answers_is_waited_for_until_the_deadline),
        TEST(a_server_ends_the_call_of_a_client_that_waits_for_ever),
        TEST(a_timeout_that_is_none_begins_no_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
