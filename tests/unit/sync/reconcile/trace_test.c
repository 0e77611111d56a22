/* SPDX-License-Identifier: Apache-2.0
 *
 * What is told of events on their way: which begin a trace, what was written and when, what is
 * deferred.
 */
#include "tests/unit/sync/world/pair.h"

#include "schema/attributes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct {
    ab_trace hooks;
    size_t begun;
    size_t ended, deferred, unanswered;
    bool mixed;            /* an answer was told that is older than what was asked */
    ab_trace_outcome last; /* without what it borrows */
    char parent[64];       /* that the event of the last one carries */
} told;

static const char *begin(void *arg, ab_str key)
{
    (void)arg;
    if (!ab_str_starts(key, "Application/"))
        return NULL;
    told.begun++;
    return "a trace";
}

static void end(void *arg, const ab_trace_outcome *outcome)
{
    (void)arg;
    if (ab_event_attr(outcome->event, AB_CE_TRACEPARENT).ptr == NULL)
        return; /* an answer or a report */
    told.ended++;
    told.deferred += outcome->err != NULL;
    told.unanswered += outcome->asked_us != 0 && outcome->answered_us == 0;
    told.mixed |= outcome->answered_us != 0 && outcome->answered_us < outcome->asked_us;
    told.last = *outcome;
    snprintf(told.parent, sizeof(told.parent), "%.*s",
             AB_STR_ARG(ab_event_attr(outcome->event, AB_CE_TRACEPARENT)));
}

static int traced(void **state)
{
    memset(&told, 0, sizeof(told));
    told.hooks = (ab_trace){begin, end, NULL};
    int failed = setup(state);
    w.trace = &told.hooks;
    return failed;
}

static void a_write_is_told_with_its_times(void **state)
{
    (void)state;
    placed("");
    int64_t written_us = ab_clock_wall_us(&w.clock);
    assert_true(told.begun > 0);
    assert_int_equal(told.deferred, 0);
    assert_int_equal(told.ended, 1);
    assert_string_equal(told.parent, "a trace");
    assert_true(told.last.received_us > 0);
    assert_true(told.last.received_us <= told.last.asked_us);
    assert_true(told.last.asked_us <= told.last.answered_us);
    assert_true(told.last.answered_us <= written_us);
}

static void what_is_in_effect_already_is_not_told(void **state)
{
    (void)state;
    placed("");
    size_t before = told.ended;
    world_crash_agent(&w);
    world_lose_log(&w, &w.principal_link);
    world_start_agent(&w);
    world_run(&w, 5);
    assert_int_equal(told.ended, before);
}

static void a_deferred_change_is_told_with_its_reason(void **state)
{
    (void)state;
    placed("");
    size_t before = told.ended;
    w.local_refuses = AB_ERR_DENIED;
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    assert_int_equal(told.ended, before + 1);
    assert_int_equal(told.deferred, 1);
    w.local_refuses = AB_ERR_OK;
    set_spec(w.hub, HUB, 3);
    world_settle(&w);
    assert_int_equal(spec_of(local()), 3);
    assert_int_equal(told.deferred, 1);
    assert_true(told.ended > before + 1);
}

static void a_status_is_told_by_the_principal(void **state)
{
    (void)state;
    placed("");
    size_t before = told.ended;
    set_field(w.local, LOCAL, "status", "{\"n\":1}");
    world_settle(&w);
    assert_int_equal(told.ended, before + 1);
    assert_string_equal(told.parent, "a trace");
}

/* @return false: there was less to do */
static bool take_steps(size_t count)
{
    for (; count > 0 && world_choices(&w) > 0; count--) {
        w.ms++;
        world_step(&w, 0);
    }
    return count == 0;
}

/* For this report the object of the control plane is written twice: the request goes, then the
 * status comes. The agent is removed after each number of steps. */
static void a_write_that_was_not_answered_is_told_without_an_answer(void **state)
{
    bool more = true;
    size_t unanswered = 0;
    for (size_t steps = 0; more; steps++) {
        placed("");
        set_field(w.hub, HUB, "operation", "{\"n\":1}");
        world_settle(&w);
        set_field(w.local, LOCAL, "operation", NULL);
        set_field(w.local, LOCAL, "status", "{\"n\":1}");
        more = take_steps(steps);
        ab_principal_remove_agent(w.principal, "w1");
        assert_false(told.mixed);
        unanswered += told.unanswered;
        teardown(state);
        traced(state);
    }
    assert_true(unanswered > 0);
}

#define TRACED_TEST(f) cmocka_unit_test_setup_teardown(f, traced, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRACED_TEST(a_write_is_told_with_its_times),
        TRACED_TEST(what_is_in_effect_already_is_not_told),
        TRACED_TEST(a_deferred_change_is_told_with_its_reason),
        TRACED_TEST(a_status_is_told_by_the_principal),
        TRACED_TEST(a_write_that_was_not_answered_is_told_without_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
