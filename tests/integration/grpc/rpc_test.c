/* SPDX-License-Identifier: Apache-2.0
 *
 * Our server and our client, each other's peers.
 */
#include "tests/integration/grpc/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int plain(void **state)
{
    world *w = malloc(sizeof(*w));
    world_init(w);
    *state = w;
    return 0;
}

static int secure(void **state)
{
    plain(state);
    world_use_tls(*state);
    return 0;
}

static int end(void **state)
{
    world_fini(*state);
    free(*state);
    return 0;
}

static void echo_some(world *w, bool compress)
{
    seen s;
    static const size_t sizes[] = {0, 1, 5, 300, 16384, 70000, 3000000};
    world_start(w);
    world_begin(w, "Echo", 0, compress, &s);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        world_send(&s, sizes[i], (char)('a' + i));
        world_wait_messages(w, &s, i + 1);
        assert_int_equal(s.last.len, sizes[i]);
        if (sizes[i] > 0) {
            assert_int_equal(s.last.ptr[0], 'a' + i);
            assert_int_equal(s.last.ptr[sizes[i] - 1], 'a' + i);
        }
    }
    ab_rpc_half_close(s.call);
    world_wait_end(w, &s);
    assert_int_equal(s.status, AB_RPC_OK);
    assert_int_equal(s.ended, 1);
    assert_int_equal(w->calls[0].status, AB_RPC_OK);
    assert_int_equal(w->calls[0].ended, 1);
    seen_fini(&s);
}

static void messages_go_both_ways(void **state)
{
    echo_some(*state, false);
}

static void messages_go_both_ways_compressed(void **state)
{
    echo_some(*state, true);
}

static void a_client_shows_its_certificate(void **state)
{
    world *w = *state;
    echo_some(w, true);
    assert_string_equal(w->server_peer, "/CN=w1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_go_both_ways, plain, end),
        cmocka_unit_test_setup_teardown(messages_go_both_ways_compressed, plain, end),
        cmocka_unit_test_setup_teardown(a_client_shows_its_certificate, secure, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
