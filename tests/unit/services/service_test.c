/* SPDX-License-Identifier: Apache-2.0
 *
 * Which deliveries reach the state machine of a daemon.
 */
#include "services/service.h"

#include "tests/conformance/transport/ends.h"
#include "tests/conformance/transport/inproc/inproc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void open_switch(ab_ends *ends)
{
    ends->state = ab_inproc_new();
    assert_non_null(ends->state);
}

static void close_switch(ab_ends *ends)
{
    ab_inproc_free(ends->state);
}

static const ab_transport_ops *ops(ab_ends *ends)
{
    return ab_inproc_transport(ends->state);
}

static void a_live_event_is_counted_and_does_not_reach_the_state_machine(void **state)
{
    ab_ends *ends = *state;
    ab_end *principal = NULL;
    ab_end *agent = NULL;
    ab_ends_pair(ends, &principal, &agent);
    agent->keep = true;
    ab_daemon daemon = {.metrics = agent->metrics};
    ab_service service = {.daemon = &daemon, .transport = agent->transport};
    assert_int_equal(ab_end_live(principal, "w1", "request", 60000, NULL), AB_ERR_OK);
    AB_UNTIL(ends, agent->receipt_count == 1);
    assert_false(ab_service_takes(&service, agent->receipts[0].delivery));
    agent->receipts[0].delivery = NULL; /* it was acknowledged */
    assert_true(ab_end_refused(agent, "live") == 1);
    ab_end_put(principal, "w1", "app/a", 1);
    AB_UNTIL(ends, agent->receipt_count == 2);
    assert_true(ab_service_takes(&service, agent->receipts[1].delivery));
    assert_true(ab_end_refused(agent, "live") == 1);
}

int main(void)
{
    ab_ends_fixture inproc = {
        .name = "inproc",
        .tables = &ab_transport_options,
        .table_count = 1,
        .open = open_switch,
        .close = close_switch,
        .ops = ops,
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(
            a_live_event_is_counted_and_does_not_reach_the_state_machine, ab_ends_setup,
            ab_ends_teardown, &inproc),
    };
    return cmocka_run_group_tests_name("service", tests, NULL, NULL);
}
