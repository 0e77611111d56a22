/* SPDX-License-Identifier: Apache-2.0
 *
 * How many connections and bytes are allowed to an address before a login, and to an agent after
 * it.
 */
#include "net/rpc/rpc_priv.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define CONNS_MAX      8
#define STRANGERS      4
#define PER_ADDRESS    2
#define PER_AGENT      2
#define STRANGER_BYTES 1000
#define MESSAGE_BYTES  100000
#define BUFFERED_BYTES 40000
#define LONG_MS        10000 /* no peer that is about to log in takes as long */

typedef struct {
    uv_loop_t loop;
    ab_metrics *metrics;
    ab_rpc_endpoint endpoint;
    ab_rpc_conn conns[CONNS_MAX];
    size_t count;
    bool closed;
} fixture;

static void on_closed(ab_rpc_endpoint *endpoint)
{
    fixture *f = (fixture *)((char *)endpoint - offsetof(fixture, endpoint));
    f->closed = true;
}

static const ab_rpc_endpoint_ops ops = {.on_closed = on_closed};

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    assert_int_equal(uv_loop_init(&f->loop), 0);
    f->metrics = ab_metrics_new();
    const ab_rpc_env env = {&f->loop, NULL, f->metrics, &ab_clock_real};
    const ab_tls tls = {.insecure = true};
    ab_rpc_limits limits = ab_rpc_default_limits;
    limits.login_ms = 1000;
    limits.strangers = STRANGERS;
    limits.strangers_per_address = PER_ADDRESS;
    limits.agent_connections = PER_AGENT;
    limits.stranger_bytes = STRANGER_BYTES;
    limits.message_bytes = MESSAGE_BYTES;
    limits.buffered_bytes = BUFFERED_BYTES;
    assert_int_equal(ab_rpc_endpoint_init(&f->endpoint, &ops, &env, &limits, &tls, true, "", NULL),
                     AB_ERR_OK);
    *state = f;
    return 0;
}

static void leave(ab_rpc_conn *conn)
{
    ab_rpc_endpoint_forget(conn);
    ab_rpc_account_close(conn);
    conn->endpoint = NULL;
}

static int teardown(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < f->count; i++)
        if (f->conns[i].endpoint != NULL)
            leave(&f->conns[i]);
    assert_int_equal(f->endpoint.budget.used, 0);
    assert_int_equal(f->endpoint.stranger_count, 0);
    assert_int_equal(ab_map_count(f->endpoint.accounts), 0);
    ab_rpc_endpoint_close(&f->endpoint);
    (void)uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_true(f->closed);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    ab_metrics_free(f->metrics);
    free(f);
    return 0;
}

static ab_rpc_conn *come(fixture *f, const char *address, int64_t now_ms)
{
    ab_rpc_conn *conn = &f->conns[f->count++];
    struct sockaddr_in6 in = {.sin6_family = AF_INET6};
    assert_int_equal(inet_pton(AF_INET6, address, &in.sin6_addr), 1);
    *conn = (ab_rpc_conn){.endpoint = &f->endpoint, .born_ms = now_ms};
    TAILQ_INIT(&conn->calls);
    ab_rpc_account_open(conn, (const struct sockaddr *)&in);
    return conn;
}

/* ----- connections ----- */

static void past_the_number_of_an_address_its_oldest_stranger_goes(void **state)
{
    fixture *f = *state;
    const ab_rpc_conn *first = come(f, "2001:db8:0:1::1", 0);
    const ab_rpc_conn *second = come(f, "2001:db8:0:1::2", 1);
    const ab_rpc_conn *other = come(f, "2001:db8:0:2::1", 2);
    assert_false(first->doomed || second->doomed || other->doomed);
    const ab_rpc_conn *third = come(f, "2001:db8:0:1::3", LONG_MS);
    assert_true(first->doomed);
    assert_false(second->doomed || third->doomed || other->doomed);
}

static void past_the_number_of_all_addresses_the_oldest_stranger_goes(void **state)
{
    fixture *f = *state;
    const ab_rpc_conn *first = come(f, "2001:db8:0:1::1", 0);
    const ab_rpc_conn *second = come(f, "2001:db8:0:2::1", 1);
    (void)come(f, "2001:db8:0:3::1", 2);
    (void)come(f, "2001:db8:0:4::1", 3);
    assert_false(first->doomed);
    const ab_rpc_conn *last = come(f, "2001:db8:0:5::1", LONG_MS);
    assert_true(first->doomed);
    assert_false(second->doomed || last->doomed);
}

static void who_may_be_about_to_log_in_keeps_its_place(void **state)
{
    fixture *f = *state;
    const ab_rpc_conn *first = come(f, "2001:db8:0:1::1", 0);
    (void)come(f, "2001:db8:0:1::2", 1);
    const ab_rpc_conn *third = come(f, "2001:db8:0:1::3", 2);
    assert_false(first->doomed);
    assert_true(third->doomed);
}

static void who_has_logged_in_counts_as_no_stranger(void **state)
{
    fixture *f = *state;
    ab_rpc_conn *known = come(f, "2001:db8:0:1::1", 0);
    ab_rpc_account_welcome(known, "w1");
    const ab_rpc_conn *first = come(f, "2001:db8:0:1::2", LONG_MS);
    (void)come(f, "2001:db8:0:1::3", LONG_MS + 1);
    assert_false(first->doomed);
    (void)come(f, "2001:db8:0:1::4", 2 * LONG_MS);
    assert_false(known->doomed);
    assert_true(first->doomed);
}

static void past_the_number_of_an_agent_its_oldest_goes(void **state)
{
    fixture *f = *state;
    ab_rpc_conn *conns[PER_AGENT + 1];
    ab_rpc_conn *other = come(f, "2001:db8:0:2::1", 0);
    ab_rpc_account_welcome(other, "w2");
    for (int i = 0; i < PER_AGENT + 1; i++) {
        conns[i] = come(f, "2001:db8:0:1::1", 1);
        ab_rpc_account_welcome(conns[i], "w1");
    }
    assert_true(conns[0]->doomed);
    assert_false(conns[1]->doomed || conns[PER_AGENT]->doomed || other->doomed);
}

/* ----- bytes ----- */

static void a_stranger_gets_little_until_it_logs_in(void **state)
{
    fixture *f = *state;
    ab_rpc_conn *conn = come(f, "2001:db8:0:1::1", 0);
    assert_int_equal(ab_rpc_budget_room(&conn->budget), STRANGER_BYTES);
    assert_int_equal(ab_rpc_account_message_max(conn), STRANGER_BYTES);
    ab_rpc_account_welcome(conn, "w1");
    assert_true(ab_rpc_budget_room(&conn->budget) > STRANGER_BYTES);
    assert_int_equal(ab_rpc_account_message_max(conn), MESSAGE_BYTES);
}

static void the_call_by_which_it_logs_in_may_go_on_with_more(void **state)
{
    fixture *f = *state;
    ab_rpc_conn *conn = come(f, "2001:db8:0:1::1", 0);
    ab_rpc_call *call = ab_rpc_call_new(conn, 1);
    assert_non_null(call);
    assert_int_equal(call->in.max, STRANGER_BYTES);
    ab_rpc_account_welcome(conn, "w1");
    assert_int_equal(call->in.max, MESSAGE_BYTES);
    ab_rpc_call_free(call, true);
}

static void all_connections_of_an_agent_have_a_quarter(void **state)
{
    fixture *f = *state;
    ab_rpc_conn *one = come(f, "2001:db8:0:1::1", 0);
    ab_rpc_conn *two = come(f, "2001:db8:0:2::1", 0);
    ab_rpc_conn *other = come(f, "2001:db8:0:3::1", 0);
    assert_true(ab_rpc_budget_take(&one->budget, STRANGER_BYTES)); /* moves with it */
    ab_rpc_account_welcome(one, "w1");
    ab_rpc_account_welcome(two, "w1");
    ab_rpc_account_welcome(other, "w2");
    while (ab_rpc_budget_take(&one->budget, 10) || ab_rpc_budget_take(&two->budget, 10))
        ;
    assert_in_range(one->budget.used + two->budget.used, BUFFERED_BYTES / 4 - 20,
                    BUFFERED_BYTES / 4);
    assert_true(ab_rpc_budget_take(&other->budget, BUFFERED_BYTES / 8));
    ab_rpc_budget_give(&one->budget, one->budget.used);
    ab_rpc_budget_give(&two->budget, two->budget.used);
    ab_rpc_budget_give(&other->budget, other->budget.used);
}

static void all_strangers_of_an_address_have_a_quarter(void **state)
{
    fixture *f = *state;
    f->endpoint.budget.max = 2 * STRANGER_BYTES;
    ab_rpc_conn *one = come(f, "2001:db8:0:1::1", 0);
    ab_rpc_conn *two = come(f, "2001:db8:0:1::2", 0);
    while (ab_rpc_budget_take(&one->budget, 10) || ab_rpc_budget_take(&two->budget, 10))
        ;
    assert_in_range(one->budget.used + two->budget.used, STRANGER_BYTES / 2 - 20,
                    STRANGER_BYTES / 2);
    ab_rpc_budget_give(&one->budget, one->budget.used);
    ab_rpc_budget_give(&two->budget, two->budget.used);
}

static void a_call_and_its_headers_count(void **state)
{
    fixture *f = *state;
    ab_rpc_conn *conn = come(f, "2001:db8:0:1::1", 0);
    ab_rpc_call *call = ab_rpc_call_new(conn, 0);
    ab_rpc_call *other = ab_rpc_call_new(conn, 0);
    assert_non_null(call);
    assert_non_null(other);
    conn->budget.max = 2 * sizeof(*call) + 100;
    assert_true(ab_rpc_call_charge(call, 100));
    assert_int_equal(conn->budget.used, sizeof(*call) + 100);
    assert_false(ab_rpc_call_charge(other, 1));
    assert_int_equal(other->fate, AB_RPC_RESOURCE_EXHAUSTED);
    ab_rpc_call_free(other, true);
    ab_rpc_call_free(call, true);
}

static void what_is_held_while_a_call_is_paused_counts(void **state)
{
    static const char bytes[STRANGER_BYTES];
    fixture *f = *state;
    ab_rpc_conn *conn = come(f, "2001:db8:0:1::1", 0);
    ab_rpc_call *call = ab_rpc_call_new(conn, 0);
    assert_non_null(call);
    ab_rpc_pause(call);
    ab_rpc_call_receive(call, (ab_str){bytes, STRANGER_BYTES});
    assert_int_equal(conn->budget.used, STRANGER_BYTES);
    assert_false(call->over);
    ab_rpc_call_receive(call, (ab_str){bytes, 1});
    assert_true(call->over);
    assert_int_equal(call->fate, AB_RPC_RESOURCE_EXHAUSTED);
    assert_int_equal(conn->budget.used, 0);
    ab_rpc_call_free(call, true);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(past_the_number_of_an_address_its_oldest_stranger_goes),
        CASE(past_the_number_of_all_addresses_the_oldest_stranger_goes),
        CASE(who_may_be_about_to_log_in_keeps_its_place),
        CASE(who_has_logged_in_counts_as_no_stranger),
        CASE(past_the_number_of_an_agent_its_oldest_goes),
        CASE(a_stranger_gets_little_until_it_logs_in),
        CASE(the_call_by_which_it_logs_in_may_go_on_with_more),
        CASE(all_connections_of_an_agent_have_a_quarter),
        CASE(all_strangers_of_an_address_have_a_quarter),
        CASE(a_call_and_its_headers_count),
        CASE(what_is_held_while_a_call_is_paused_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
