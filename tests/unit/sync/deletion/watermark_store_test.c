/* SPDX-License-Identifier: Apache-2.0
 *
 * What a write of the watermark covers, when it is under way while the store turns out to have lost
 * something.
 */
#include "tests/unit/logged.h"
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

/* Else the principal would take what it wrote for another store's, and begin again. */
static void a_write_whose_answer_was_lost_is_recognised(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
        world_settle(&w);
    }
    double resyncs = world_count(w.principal_metrics, "argobus_resyncs_total");
    assert_true(resyncs >= 5);
    w.hub_refuses = AB_ERR_UNAVAILABLE;
    w.hub_writes_refused = true;
    put_app(w.hub, "w1", "b", 1, "", "");
    world_run(&w, 5);
    w.hub_refuses = AB_ERR_OK;
    world_run(&w, 60);
    assert_true(world_count(w.principal_metrics, "argobus_resyncs_total") >= resyncs);
    assert_int_equal(held_deletions(), 0);
}

/* It may read the ConfigMap, and neither create nor patch it. */
static void a_write_that_is_refused_is_told_once_and_tried_less_and_less_often(void **state)
{
    (void)state;
    FILE *file = logged_open(&w.clock, &w.log);
    restart_principal();
    w.hub_refuses = AB_ERR_DENIED;
    put_app(w.hub, "w1", "b", 1, "", "");
    world_run(&w, 120);
    assert_int_equal(logged_count(file, "watermark cannot be read or written"), 1);
    w.hub_refuses = AB_ERR_OK;
    world_run(&w, 120);
    w.hub_refuses = AB_ERR_DENIED;
    put_app(w.hub, "w1", "c", 1, "", "");
    world_run(&w, 120);
    assert_int_equal(logged_count(file, "watermark cannot be read or written"), 2);
    (void)fclose(file);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_is_lost_while_the_mark_is_written_is_held),
        T(a_write_whose_answer_was_lost_is_recognised),
        T(a_write_that_is_refused_is_told_once_and_tried_less_and_less_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
