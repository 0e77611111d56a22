/* SPDX-License-Identifier: Apache-2.0 */
#include "net/rpc/conn_end.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Or a connection that lasts for days would be refused in the end. */
static void a_rate_counts_what_came_lately(void **state)
{
    (void)state;
    const ab_rpc_rate rate = {.count = 2, .per_ms = 100};
    ab_rpc_conn conn = {.heard_ms = 1000, .closing = true}; /* nothing is left to be refused */
    ab_rpc_count c = {0};
    for (int i = 0; i < 3; i++) {
        assert_true(ab_rpc_conn_allows(&conn, &c, &rate, "pings"));
        conn.heard_ms += 50;
        assert_true(ab_rpc_conn_allows(&conn, &c, &rate, "pings"));
        conn.heard_ms += 49;
        assert_false(ab_rpc_conn_allows(&conn, &c, &rate, "pings"));
        conn.heard_ms++;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_counts_what_came_lately),
    };
    return cmocka_run_group_tests_name("conn_end", tests, NULL, NULL);
}
