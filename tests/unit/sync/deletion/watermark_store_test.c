/* SPDX-License-Identifier: Apache-2.0
 *
 * What a write of the watermark covers, when it is under way while the store turns out to have lost
 * something.
 */
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define LOCAL_B "Application/argocd/b"

static int begin(void **state)
{
    (void)setup(state);
    w.resyncs = true;
    placed("");
    return 0;
}

/* The store is restored from before it had "b", and shows that before it answers the write. */
static void what_is_lost_while_the_mark_is_written_is_held(void **state)
{
    (void)state;
    put_app(w.hub, "w1", "c", 1, "", "");
    world_settle(&w);
    ab_map *backup = fake_store_back_up(w.hub);
    put_app(w.hub, "w1", "b", 1, "", "");
    world_settle(&w);
    assert_int_equal(fake_store_choices(w.hub), 0); /* it is not written again at once */
    world_tick(&w, 1000);
    assert_int_equal(fake_store_choices(w.hub), 1);
    fake_store_restore(w.hub, backup);
    while (fake_store_has_changes(w.hub))
        fake_store_step(w.hub, fake_store_choices(w.hub) - 1, false);
    world_run(&w, 5);
    assert_non_null(fake_store_find(w.local, LOCAL_B));
    assert_int_equal(held_deletions(), 1);
    fake_backup_free(backup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_lost_while_the_mark_is_written_is_held, begin,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
