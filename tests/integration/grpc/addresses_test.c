/* SPDX-License-Identifier: Apache-2.0
 *
 * The principal's name has two addresses, and the first one is of no use: a host that is gone, or
 * a proxy with nothing behind it.
 */
#include "tests/integration/grpc/world.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define FIRST (INADDR_LOOPBACK + 1)

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
int getaddrinfo(const char *restrict name, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict out)
{
    static struct sockaddr_in at[2];
    static struct addrinfo rows[2];
    bool server = (hints->ai_flags & AI_PASSIVE) != 0;
    (void)name;
    for (int i = 0; i < 2; i++) {
        at[i] = (struct sockaddr_in){.sin_family = AF_INET,
                                     .sin_port = htons((in_port_t)strtol(service, NULL, 10)),
                                     .sin_addr.s_addr = htonl(i == 0 ? FIRST : INADDR_LOOPBACK)};
        rows[i] = (struct addrinfo){.ai_family = AF_INET,
                                    .ai_socktype = SOCK_STREAM,
                                    .ai_addr = (struct sockaddr *)&at[i],
                                    .ai_addrlen = sizeof(at[i]),
                                    .ai_next = i == 0 ? &rows[1] : NULL};
    }
    *out = server ? &rows[1] : rows;
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    (void)list;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

static void the_next_address_is_tried_where_nobody_listens(void **state)
{
    world *w = *state;
    world_start(w);
    assert_int_equal(w->ups, 1);
    assert_int_equal(w->link_error.code, AB_ERR_OK); /* it was never down */
}

static void hang_up(uv_poll_t *poll, int status, int events)
{
    int *listener = poll->data;
    (void)status;
    (void)events;
    (void)close(accept(*listener, NULL, NULL));
}

static void the_next_address_is_tried_where_the_first_one_hangs_up(void **state)
{
    world *w = *state;
    uv_poll_t poll;
    world_start_server(w);
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((in_port_t)w->port),
                                   .sin_addr.s_addr = htonl(FIRST)};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(uv_poll_init(&w->loop, &poll, listener), 0);
    poll.data = &listener;
    assert_int_equal(uv_poll_start(&poll, UV_READABLE, hang_up), 0);
    world_start_client(w);
    world_wait_link(w, AB_RPC_UP);
    assert_int_equal(w->link_error.code, AB_ERR_OK);
    uv_close((uv_handle_t *)&poll, NULL);
    world_run_ms(w, 1);
    (void)close(listener);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_next_address_is_tried_where_nobody_listens),
        TEST(the_next_address_is_tried_where_the_first_one_hangs_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
