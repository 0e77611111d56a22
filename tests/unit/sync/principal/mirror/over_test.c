/* SPDX-License-Identifier: Apache-2.0
 *
 * What the principal remembers of objects that an autonomous agent had: nothing in memory, however
 * many these are, and all in its state database.
 */
#include "sync/principal/state.h"
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define OLD                                                                                        \
    "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{"             \
    "\"name\":\"a\",\"namespace\":\"argocd\",\"uid\":\"u\"},\"spec\":{}}"

static int setup_autonomous(void **state)
{
    (void)setup(state);
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    world_start(&w);
    return 0;
}

#define AUTONOMOUS(f) cmocka_unit_test_setup_teardown(f, setup_autonomous, teardown)

static size_t in_memory(void)
{
    return ab_map_count(w.principal->mirrors);
}

static void publish_and_end(int first, int count)
{
    char name[16], key[64];
    for (int i = first; i < first + count; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        snprintf(key, sizeof(key), "Application/argocd/%s", name);
        put_app(w.local, "argocd", name, i + 1, "", "");
        world_settle(&w);
        fake_store_erase(w.local, key);
        world_settle(&w);
    }
    world_run(&w, 1);
}

static void begin_and_end(void)
{
    put_app(w.local, "argocd", "a", 1, "", "");
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 1);
    fake_store_erase(w.local, LOCAL);
    world_run(&w, 1);
    assert_null(hub());
    assert_int_equal(in_memory(), 0);
}

static void what_ended_is_not_in_memory(void **state)
{
    (void)state;
    publish_and_end(0, 50);
    assert_int_equal(count_objects(w.hub), 0);
    assert_int_equal(in_memory(), 0);
    publish_and_end(50, 50);
    assert_int_equal(in_memory(), 0);
    assert_int_equal(ab_map_count(w.hub_cache.rows), 100);
}

static void nor_is_it_after_a_new_start(void **state)
{
    (void)state;
    publish_and_end(0, 50);
    world_crash_principal(&w);
    world_start_principal(&w);
    assert_int_equal(in_memory(), 0);
    world_run(&w, 1);
    assert_int_equal(in_memory(), 0);
}

static void it_is_mirrored_when_there_is_one_again(void **state)
{
    (void)state;
    begin_and_end();
    put_app(w.local, "argocd", "a", 2, "", "");
    world_settle(&w);
    assert_int_equal(spec_of(hub()), 2);
    assert_at_rest();
}

/* A former process of the agent says it. */
static void what_is_older_than_the_end_is_not_mirrored_again(void **state)
{
    (void)state;
    for (int restarts = 0; restarts < 2; restarts++) {
        begin_and_end();
        if (restarts > 0)
            restart_principal();
        say_up_in(1, LOCAL, AB_TYPE_CREATE, OLD, 1);
        world_run(&w, 1);
        assert_null(hub());
        assert_int_equal(fake_log_open(w.up), 0);
        assert_int_equal(in_memory(), 0);
    }
}

/* The control plane's store was restored from a backup. */
static void a_mirror_that_comes_back_after_the_end_goes_again(void **state)
{
    (void)state;
    put_app(w.local, "argocd", "a", 1, "", "");
    world_settle(&w);
    ab_map *backup = fake_store_back_up(w.hub);
    fake_store_erase(w.local, LOCAL);
    world_run(&w, 1);
    assert_int_equal(in_memory(), 0);
    fake_store_restore(w.hub, backup);
    fake_backup_free(backup);
    assert_non_null(hub());
    world_run(&w, 1);
    assert_null(hub());
    assert_int_equal(in_memory(), 0);
}

/* It may have come back, and become the control plane's own while the agent was managed. */
static void what_was_handed_over_after_the_end_is_not_a_mirror_again(void **state)
{
    (void)state;
    put_app(w.local, "argocd", "a", 1, "", "");
    world_settle(&w);
    ab_map *backup = fake_store_back_up(w.hub);
    fake_store_erase(w.local, LOCAL);
    world_run(&w, 1);
    world_crash_agent(&w);
    ab_principal_set_mode(w.principal, "w1", AB_MANAGED);
    fake_store_restore(w.hub, backup);
    fake_backup_free(backup);
    world_run(&w, 1);
    assert_non_null(hub());
    ab_principal_set_mode(w.principal, "w1", AB_AUTONOMOUS);
    world_run(&w, 1);
    assert_non_null(hub());
    restart_principal();
    assert_non_null(hub());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        AUTONOMOUS(what_ended_is_not_in_memory),
        AUTONOMOUS(nor_is_it_after_a_new_start),
        AUTONOMOUS(it_is_mirrored_when_there_is_one_again),
        AUTONOMOUS(what_is_older_than_the_end_is_not_mirrored_again),
        AUTONOMOUS(a_mirror_that_comes_back_after_the_end_goes_again),
        AUTONOMOUS(what_was_handed_over_after_the_end_is_not_a_mirror_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
