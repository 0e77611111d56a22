/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages that end in bytes which are lent, between a client and a server of ours.
 */
#include "tests/integration/grpc/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void count_release(void *owner)
{
    ++*(int *)owner;
}

static void lend_some(world *w, bool compress)
{
    static char data[200000];
    static char expected[sizeof(data) + 5];
    int released = 0;
    seen s;
    memset(data, 'x', sizeof(data));
    memset(expected, 'x', sizeof(expected));
    memcpy(expected, "head:", 5);
    const ab_rpc_loan loan = {{data, sizeof(data)}, count_release, &released};
    world_start(w);
    world_begin(w, "Echo", 0, compress, &s);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ab_rpc_send_lent(s.call, AB_STR("head:"), &loan, compress), AB_ERR_OK);
    world_wait_messages(w, &s, 2);
    assert_int_equal(s.last.len, sizeof(expected));
    assert_memory_equal(s.last.ptr, expected, sizeof(expected));
    assert_int_equal(released, 2);
    ab_rpc_half_close(s.call);
    world_wait_end(w, &s);
    seen_fini(&s);
}

static void a_message_may_end_in_lent_bytes(void **state)
{
    lend_some(*state, false);
}

static void lent_bytes_may_be_compressed(void **state)
{
    lend_some(*state, true);
}

static void lent_bytes_come_back_when_they_are_not_sent(void **state)
{
    world *w = *state;
    static char data[60000];
    int released = 0, sent = 0;
    seen s;
    const ab_rpc_loan loan = {{data, sizeof(data)}, count_release, &released};
    world_start(w);
    world_begin(w, "Hold", 0, false, &s);
    while (ab_rpc_send_lent(s.call, AB_STR("head:"), &loan, false) == AB_ERR_OK)
        sent++;
    assert_true(sent > 0);
    assert_int_equal(released, 0);
    ab_rpc_cancel(s.call);
    assert_int_equal(released, sent);
    assert_int_equal(ab_rpc_send_lent(s.call, AB_STR("head:"), &loan, false), AB_ERR_CLOSED);
    assert_int_equal(released, sent);
    world_wait_end(w, &s);
    seen_fini(&s);
}

#define IN_WORLD(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_message_may_end_in_lent_bytes),
        IN_WORLD(lent_bytes_may_be_compressed),
        IN_WORLD(lent_bytes_come_back_when_they_are_not_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
