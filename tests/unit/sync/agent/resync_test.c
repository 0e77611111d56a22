/* SPDX-License-Identifier: Apache-2.0
 *
 * When the agent answers in a resync.
 */
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int begin(void **state)
{
    (void)setup(state);
    w.resyncs = true;
    placed("");
    return 0;
}

#define TEST_BEGUN(f) cmocka_unit_test_setup_teardown(f, begin, teardown)

/* Nothing but what travels between the two. */
static void exchange(void)
{
    size_t others;
    for (;;) {
        others = fake_store_choices(w.hub) + fake_store_choices(w.local) +
                 (w.cache.keeping != NULL) + (w.hub_cache.keeping != NULL);
        if (world_choices(&w) == others)
            return;
        world_step(&w, others);
    }
}

/* It would tell that it lacks what it is about to have. */
static void it_answers_when_all_that_came_is_saved(void **state)
{
    (void)state;
    set_spec(w.hub, HUB, 2);
    while (w.cache.keeping == NULL)
        world_step(&w, 0);
    size_t up = fake_log_appended(w.up), down = fake_log_appended(w.down);
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    exchange();
    assert_int_equal(fake_log_appended(w.down), down + 1);
    assert_int_equal(fake_log_appended(w.up), up);
    world_settle(&w);
    assert_int_equal(fake_log_appended(w.up), up + 1);
    assert_int_equal(fake_log_appended(w.down), down + 2); /* the beginning and the end */
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

/* The object cannot be written, as the hub was told, when the agent ends. */
static void fail_and_end(void)
{
    w.local_refuses = AB_ERR_DENIED;
    set_spec(w.hub, HUB, 2);
    world_settle(&w);
    assert_true(has_error(hub()));
    world_crash_agent(&w);
}

/* The agent starts, and the resync is over before it has tried anything. */
static void start_and_compare(void)
{
    world_start_agent(&w);
    fake_store_settle(w.local);
    assert_non_null(w.cache.keeping);
    exchange();
    fake_store_settle(w.hub);
    exchange();
}

static void an_error_of_an_earlier_run_is_said_again_if_it_stands(void **state)
{
    (void)state;
    fail_and_end();
    world_crash_principal(&w);
    set_field(w.hub, HUB, "status", NULL);
    world_start_principal(&w);
    world_settle(&w);
    start_and_compare();
    assert_false(has_error(hub()));
    world_settle(&w);
    assert_true(has_error(hub()));
    w.local_refuses = AB_ERR_OK;
    world_run(&w, 301);
    assert_false(has_error(hub()));
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

static void an_error_of_an_earlier_run_that_no_log_has_is_ended(void **state)
{
    (void)state;
    fail_and_end();
    world_lose_log(&w, &w.agent_link);
    world_settle(&w);
    start_and_compare();
    w.local_refuses = AB_ERR_OK;
    world_settle(&w);
    assert_int_equal(spec_of(local()), 2);
    assert_false(has_error(hub()));
    assert_at_rest();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_BEGUN(it_answers_when_all_that_came_is_saved),
        TEST_BEGUN(an_error_of_an_earlier_run_is_said_again_if_it_stands),
        TEST_BEGUN(an_error_of_an_earlier_run_that_no_log_has_is_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
