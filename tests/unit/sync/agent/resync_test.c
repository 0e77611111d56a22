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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_answers_when_all_that_came_is_saved, begin, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
