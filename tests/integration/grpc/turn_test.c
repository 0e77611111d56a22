/* SPDX-License-Identifier: Apache-2.0
 *
 * Many agents come at once, after a restart of the principal for one: what the server does for them
 * in one turn of the loop.
 */
#include "tests/integration/grpc/world.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define PEERS 64 /* a handshake takes 0.1 ms and more, and their part of a turn is 2 ms */

typedef struct {
    world w;
    SSL_CTX *ctx;
    SSL *peers[PEERS];
} scene;

static SSL *connect_peer(const scene *s)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->w.port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    SSL *ssl = SSL_new(s->ctx);
    SSL_set_fd(ssl, fd);
    SSL_set_connect_state(ssl);
    return ssl;
}

static int begin(void **state)
{
    scene *s = calloc(1, sizeof(*s));
    world_init(&s->w);
    world_use_tls(&s->w);
    world_start_server(&s->w);
    s->ctx = SSL_CTX_new(TLS_client_method());
    for (size_t i = 0; i < PEERS; i++)
        s->peers[i] = connect_peer(s);
    *state = s;
    return 0;
}

static int end(void **state)
{
    scene *s = *state;
    for (size_t i = 0; i < PEERS; i++) {
        (void)close(SSL_get_fd(s->peers[i]));
        SSL_free(s->peers[i]);
    }
    SSL_CTX_free(s->ctx);
    world_fini(&s->w);
    free(s);
    return 0;
}

static bool are_accepted(void *arg)
{
    const scene *s = arg;
    return ab_rpc_server_connections(s->w.server) == PEERS;
}

static size_t count_answered(const scene *s)
{
    size_t count = 0;
    char first;
    for (size_t i = 0; i < PEERS; i++)
        count += recv(SSL_get_fd(s->peers[i]), &first, 1, MSG_PEEK) == 1;
    return count;
}

static bool are_answered(void *arg)
{
    return count_answered(arg) == PEERS;
}

static void handshakes_at_once_take_several_turns(void **state)
{
    scene *s = *state;
    world_wait(&s->w, are_accepted, s);
    for (size_t i = 0; i < PEERS; i++)
        assert_int_equal(SSL_do_handshake(s->peers[i]), -1); /* the server has yet to answer */
    uv_run(&s->w.loop, UV_RUN_NOWAIT);
    assert_in_range(count_answered(s), 1, PEERS - 1);
    world_wait(&s->w, are_answered, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(handshakes_at_once_take_several_turns, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
