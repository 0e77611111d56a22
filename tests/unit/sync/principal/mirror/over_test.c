/* SPDX-License-Identifier: Apache-2.0
 *
 * What the principal remembers of objects that an autonomous agent had: nothing in memory, however
 * many these are, and all in its state database.
 */
#include "sync/principal/state.h"
#include "tests/unit/logged.h"
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

/* --- no more than are mirrored --- */

static void put_local(int first, int count)
{
    char name[16];
    for (int i = first; i < first + count; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        put_app(w.local, "argocd", name, i + 1, "", "");
    }
    world_run(&w, 2);
}

static int refused(void)
{
    ab_label label = {"reason", AB_STR("limit")};
    return (int)ab_metric_value(ab_metric_get(w.principal_metrics, AB_METRIC_COUNTER,
                                              "argobus_events_refused_total", "", &label, 1));
}

static void restart_with_room_for(size_t max)
{
    world_crash_principal(&w);
    w.mirrors_max = max;
    w.resyncs = true;
    world_start_principal(&w);
    world_run(&w, 2);
}

static void what_is_too_much_is_mirrored_when_there_is_room(void **state)
{
    (void)state;
    FILE *file = logged_open(&w.clock, &w.log);
    restart_with_room_for(3);
    put_local(0, 5);
    assert_int_equal(logged_count(file, "publishes more objects than are mirrored"), 1);
    assert_int_equal(count_objects(w.hub), 3);
    assert_int_equal(in_memory(), 3);
    assert_int_equal(refused(), 2);
    fake_store_erase(w.local, "Application/argocd/n0");
    fake_store_erase(w.local, "Application/argocd/n1");
    world_run(&w, 2);
    assert_int_equal(count_objects(w.hub), 3);
    assert_non_null(fake_store_find(w.hub, "Application/w1/n3"));
    assert_non_null(fake_store_find(w.hub, "Application/w1/n4"));
    put_local(5, 1);
    assert_int_equal(count_objects(w.hub), 3);
    assert_true(refused() > 2);
    restart_with_room_for(0);
    assert_int_equal(count_objects(w.hub), 4);
    assert_at_rest();
    fclose(file);
}

/* An agent may end and publish as often as it likes. */
static void room_that_is_made_often_costs_no_resync_each_time(void **state)
{
    (void)state;
    char key[40];
    restart_with_room_for(8);
    put_local(0, 20);
    double before = world_count(w.principal_metrics, "argobus_resyncs_total");
    for (int i = 0; i < 6; i++) {
        snprintf(key, sizeof(key), "Application/argocd/n%d", i);
        fake_store_erase(w.local, key);
        world_settle(&w);
        world_tick(&w, 100);
        world_settle(&w);
    }
    assert_true(world_count(w.principal_metrics, "argobus_resyncs_total") <= before + 1);
    world_run(&w, 3);
    assert_int_equal(count_objects(w.hub), 8);
    assert_at_rest();
}

static void what_is_mirrored_stays_so_with_less_room(void **state)
{
    (void)state;
    put_local(0, 5);
    restart_with_room_for(2);
    world_crash_principal(&w);
    world_forget_mirrors(&w);
    world_start_principal(&w);
    set_spec(w.local, "Application/argocd/n4", 9);
    world_run(&w, 2);
    assert_int_equal(count_objects(w.hub), 5);
    assert_int_equal(spec_of(fake_store_find(w.hub, "Application/w1/n4")), 9);
    assert_int_equal(refused(), 0);
    assert_at_rest();
}

/* --- an agent that is served no more --- */

/* What is kept of objects that it had: none of what it published, so that the rows go in time. */
static void assert_nothing_is_left(int rows)
{
    assert_int_equal(in_memory(), 0);
    assert_int_equal(ab_map_count(w.hub_cache.rows), rows);
    for (ab_map_iter i = ab_map_first(w.hub_cache.rows); i.entry != NULL; ab_map_next(&i)) {
        const struct world_row *row = i.value;
        assert_true(row->kept.released);
        assert_int_equal(row->kept.desired.len, 0);
    }
}

/* The operator deletes the namespace of an agent that was taken away. */
static void clear_hub(void)
{
    while (fake_store_at(w.hub, 0) != NULL)
        fake_store_erase(w.hub, ab_object_key(fake_store_at(w.hub, 0)));
}

static void come_again(void)
{
    world_lose_log(&w, &w.principal_link);
    assert_int_equal(ab_principal_add_agent(w.principal, "w1"), AB_ERR_OK);
    ab_principal_set_mode(w.principal, "w1", AB_AUTONOMOUS);
    world_run(&w, 2);
}

static void what_an_agent_left_is_given_back_when_its_mirrors_go(void **state)
{
    (void)state;
    restart_with_room_for(0);
    put_local(0, 5);
    ab_principal_remove_agent(w.principal, "w1");
    world_run(&w, 1);
    assert_int_equal(in_memory(), 5); /* they stand here, and are its own when it comes again */
    clear_hub();
    world_run(&w, 1);
    assert_nothing_is_left(5);
    come_again();
    assert_int_equal(count_objects(w.hub), 5);
    assert_at_rest();
}

static void nor_is_it_kept_when_they_went_while_no_principal_ran(void **state)
{
    (void)state;
    put_local(0, 5);
    world_crash_agent(&w);
    world_crash_principal(&w);
    clear_hub();
    world_start_principal(&w);
    ab_principal_remove_agent(w.principal, "w1");
    assert_int_equal(in_memory(), 5);
    world_run(&w, 1);
    assert_nothing_is_left(5);
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
        AUTONOMOUS(what_is_too_much_is_mirrored_when_there_is_room),
        AUTONOMOUS(room_that_is_made_often_costs_no_resync_each_time),
        AUTONOMOUS(what_is_mirrored_stays_so_with_less_room),
        AUTONOMOUS(what_an_agent_left_is_given_back_when_its_mirrors_go),
        AUTONOMOUS(nor_is_it_kept_when_they_went_while_no_principal_ran),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
