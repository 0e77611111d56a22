/* SPDX-License-Identifier: Apache-2.0
 *
 * What a write of the watermark covers, when it is under way while the store turns out to have lost
 * something.
 */
#include "sync/deletion/watermark_store.h"
#include "tests/unit/logged.h"
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

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

/* --- the store alone --- */

#define OURS                                                                                       \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" AB_WATERMARK_NAME    \
    "\",\"namespace\":\"argocd\",\"uid\":\"u\",\"resourceVersion\":\"1\"},\"data\":{\"write_id\":" \
    "\"id\",\"configmap_uid\":\"u\"}}"

/* A store with the line of one agent, whose watermark was read once. */
static struct {
    ab_watermark_store store;
    ab_watermark_line *line;
    ab_object *ours;
    ab_asker *asker; /* of the last get */
    int gets, fatals, checked;
} lone;

static void lone_get(void *arg, ab_str key, ab_asker *asker)
{
    (void)arg;
    (void)key;
    lone.gets++;
    lone.asker = asker;
}

static void lone_fatal(void *arg, const char *why)
{
    (void)arg;
    (void)why;
    lone.fatals++;
}

static void lone_checked(void *owner)
{
    (void)owner;
    lone.checked++;
}

static int begin_lone(void **state)
{
    static const ab_effects effects = {.get = lone_get, .fatal = lone_fatal};
    (void)state;
    memset(&lone, 0, sizeof(lone));
    const ab_watermark_store_env env = {.effects = &effects,
                                        .clock = &ab_clock_real,
                                        .namespace = "argocd",
                                        .checked = lone_checked};
    assert_int_equal(ab_object_parse(AB_STR(OURS), &lone.ours, NULL), AB_ERR_OK);
    assert_int_equal(ab_watermark_store_init(&lone.store, &env), AB_ERR_OK);
    assert_int_equal(ab_watermark_store_join(&lone.store, AB_STR("w1"), &lone, &lone.line),
                     AB_ERR_OK);
    ab_watermark_store_note(&lone.store, lone.ours);
    ab_watermark_store_listed(&lone.store);
    lone.asker->done(lone.asker, AB_ERR_OK, lone.ours, NULL);
    assert_true(ab_watermark_store_check(&lone.store, lone.line));
    assert_int_equal(lone.gets, 1);
    return 0;
}

static int end_lone(void **state)
{
    (void)state;
    ab_watermark_store_fini(&lone.store);
    ab_object_unref(lone.ours);
    return 0;
}

static void a_store_that_has_lost_its_watermark_is_another_one(void **state)
{
    (void)state;
    ab_watermark_store_outdate(&lone.store);
    assert_false(ab_watermark_store_check(&lone.store, lone.line));
    lone.asker->done(lone.asker, AB_ERR_NOTFOUND, NULL, NULL);
    assert_int_equal(lone.fatals, 1);
    assert_int_equal(lone.checked, 0);
}

static void what_is_read_again_after_an_interruption_proves_nothing_before(void **state)
{
    (void)state;
    ab_watermark_store_interrupt(&lone.store);
    ab_watermark_store_resume(&lone.store);
    assert_int_equal(lone.gets, 2);
    assert_false(ab_watermark_store_check(&lone.store, lone.line));
    lone.asker->done(lone.asker, AB_ERR_OK, lone.ours, NULL);
    assert_int_equal(lone.checked, 1);
    assert_true(ab_watermark_store_check(&lone.store, lone.line));
}

static void of_another_store_nothing_is_proved_and_nothing_asked(void **state)
{
    (void)state;
    ab_watermark_store_replace(&lone.store);
    assert_int_equal(lone.fatals, 1);
    assert_false(ab_watermark_store_check(&lone.store, lone.line));
    ab_watermark_store_outdate(&lone.store);
    assert_false(ab_watermark_store_check(&lone.store, lone.line));
    ab_watermark_store_advance(&lone.store);
    assert_int_equal(lone.gets, 1);
    assert_int_equal(lone.checked, 0);
}

#define LONE(name) cmocka_unit_test_setup_teardown(name, begin_lone, end_lone)
#define T(name)    cmocka_unit_test_setup_teardown(name, begin, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_is_lost_while_the_mark_is_written_is_held),
        T(a_write_whose_answer_was_lost_is_recognised),
        T(a_write_that_is_refused_is_told_once_and_tried_less_and_less_often),
        LONE(a_store_that_has_lost_its_watermark_is_another_one),
        LONE(what_is_read_again_after_an_interruption_proves_nothing_before),
        LONE(of_another_store_nothing_is_proved_and_nothing_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
