/* SPDX-License-Identifier: Apache-2.0
 *
 * A principal that starts over a transport without a log sends only what its agent does not have.
 */
#include "tests/unit/sync/world/pair.h"

#include "schema/attributes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COMPARED_S 20 /* or else everything is sent */

static unsigned sent; /* states of Applications */

static void on_sent(void *arg, bool down, const ab_event *event)
{
    (void)arg;
    sent += down && ab_str_starts(ab_event_attr(event, AB_CE_PARTITIONKEY), "Application/");
}

static int begin(void **state)
{
    (void)setup(state);
    w.resyncs = w.compare_first = true;
    put_app(w.hub, "w1", "new", 1, "", "");
    placed("");
    w.on_sent = on_sent;
    return 0;
}

/* What it said is forgotten with it. */
static void stop_principal(void)
{
    world_crash_principal(&w);
    world_lose_log(&w, &w.principal_link);
    sent = 0;
}

static void start_principal(void)
{
    world_start_principal(&w);
    world_run(&w, 2);
}

static void what_the_agent_has_is_not_sent_again(void **state)
{
    (void)state;
    stop_principal();
    start_principal();
    assert_int_equal(sent, 0);
    assert_at_rest();
}

static void what_was_changed_meanwhile_is_sent(void **state)
{
    (void)state;
    stop_principal();
    put_app(w.hub, "w1", "a", 2, "", "");
    start_principal();
    assert_int_equal(sent, 1);
    assert_int_equal(spec_of(local()), 2);
}

static void what_was_made_meanwhile_is_sent(void **state)
{
    (void)state;
    stop_principal();
    put_app(w.hub, "w1", "b", 1, "", "");
    start_principal();
    assert_int_equal(sent, 1);
    assert_non_null(fake_store_find(w.local, "Application/argocd/b"));
}

static void what_was_deleted_meanwhile_is_deleted(void **state)
{
    (void)state;
    stop_principal();
    fake_store_erase(w.hub, HUB_NEW);
    start_principal();
    assert_false(has_new());
    assert_non_null(local());
}

static void what_is_changed_or_deleted_afterwards_follows(void **state)
{
    (void)state;
    stop_principal();
    start_principal();
    put_app(w.hub, "w1", "a", 3, "", "");
    fake_store_erase(w.hub, HUB_NEW);
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 3);
    assert_false(has_new());
}

static void an_agent_that_has_lost_everything_gets_everything(void **state)
{
    (void)state;
    stop_principal();
    world_crash_agent(&w);
    world_forget_all_desired(&w);
    fake_store_erase(w.local, LOCAL);
    world_start_agent(&w);
    start_principal();
    assert_non_null(local());
    assert_true(has_new());
}

static void everything_is_sent_when_nothing_is_compared(void **state)
{
    (void)state;
    w.resyncs = false;
    stop_principal();
    start_principal();
    assert_int_equal(sent, 0);
    world_run(&w, COMPARED_S);
    assert_int_equal(sent, 2);
}

static void a_change_does_not_wait_for_the_comparison(void **state)
{
    (void)state;
    w.resyncs = false;
    stop_principal();
    start_principal();
    put_app(w.hub, "w1", "a", 2, "", "");
    world_run(&w, 1);
    assert_int_equal(spec_of(local()), 2);
}

static bool is_all_queued(void)
{
    return ab_principal_is_all_queued(w.principal, "w1");
}

static void what_is_to_be_sent_is_known_once_both_were_compared(void **state)
{
    (void)state;
    assert_true(is_all_queued());
    stop_principal();
    world_start_principal(&w);
    assert_false(is_all_queued());
    world_run(&w, 2);
    assert_true(is_all_queued());
}

static void or_once_everything_is_sent(void **state)
{
    (void)state;
    w.resyncs = false;
    stop_principal();
    start_principal();
    assert_false(is_all_queued());
    world_run(&w, COMPARED_S + 1);
    assert_true(is_all_queued());
}

static void but_not_while_the_mode_is_unknown(void **state)
{
    (void)state;
    ab_principal_unset_mode(w.principal, "w1");
    assert_false(is_all_queued());
    ab_principal_set_mode(w.principal, "w1", AB_MANAGED);
    world_run(&w, 2);
    assert_true(is_all_queued());
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_the_agent_has_is_not_sent_again),
        CASE(what_was_changed_meanwhile_is_sent),
        CASE(what_was_made_meanwhile_is_sent),
        CASE(what_was_deleted_meanwhile_is_deleted),
        CASE(what_is_changed_or_deleted_afterwards_follows),
        CASE(an_agent_that_has_lost_everything_gets_everything),
        CASE(everything_is_sent_when_nothing_is_compared),
        CASE(a_change_does_not_wait_for_the_comparison),
        CASE(what_is_to_be_sent_is_known_once_both_were_compared),
        CASE(or_once_everything_is_sent),
        CASE(but_not_while_the_mode_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
