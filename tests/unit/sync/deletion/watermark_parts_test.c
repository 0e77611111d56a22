/* SPDX-License-Identifier: Apache-2.0
 *
 * The watermark of a store with more agents than one ConfigMap gets: no line of it is lost, neither
 * when what a former version wrote is divided nor after a downgrade, and what it proves is the
 * same.
 */
#include "tests/unit/sync/world/pair.h"

#include "sync/deletion/watermark_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define OTHERS    (2 * AB_WATERMARK_AGENTS_MAX + 100)
#define PARTS     3
#define OWN_PART  MARK "-1" /* of w1, which comes first: what is too much is given from there on */
#define STEPS_MAX 1000

/* What all parts together say of an agent. */
struct search {
    const char *agent;
    size_t count;
    ab_watermark_sent told;
};

static ab_err look_at_line(void *arg, ab_str agent, const ab_watermark_sent *told)
{
    struct search *s = arg;
    if (!ab_str_is(agent, s->agent))
        return AB_ERR_OK;
    s->count++;
    ab_watermark_merge(&s->told, told);
    return AB_ERR_OK;
}

static struct search search(const char *agent)
{
    struct search s = {.agent = agent};
    for (size_t i = 0; fake_store_at(w.hub, i) != NULL; i++)
        if (is_mark(fake_store_at(w.hub, i)))
            assert_int_equal(ab_watermark_read(fake_store_at(w.hub, i), look_at_line, &s),
                             AB_ERR_OK);
    return s;
}

/* A former version has served many agents, and stops. */
static void stop_former(void)
{
    world_crash_principal(&w);
    crowd_mark(w.hub, OTHERS);
}

static int begin(void **state)
{
    (void)setup(state);
    w.resyncs = true;
    placed("");
    put_app(w.hub, "w1", "new", 1, "", "");
    world_run(&w, 1);
    stop_former();
    return 0;
}

static void start_principal(void)
{
    world_start_principal(&w);
    world_run(&w, 6);
}

static ab_err count_line(void *arg, ab_str agent, const ab_watermark_sent *told)
{
    (void)agent;
    (void)told;
    ++*(size_t *)arg;
    return AB_ERR_OK;
}

static void assert_divided(void)
{
    static const char *const keys[PARTS] = {MARK, MARK "-1", MARK "-2"};
    size_t all = 0;
    for (size_t i = 0; i < PARTS; i++) {
        size_t count = 0;
        assert_int_equal(ab_watermark_read(fake_store_find(w.hub, keys[i]), count_line, &count),
                         AB_ERR_OK);
        assert_true(count <= AB_WATERMARK_AGENTS_MAX);
        all += count;
    }
    assert_int_equal(all, OTHERS + 1);
    assert_null(fake_store_find(w.hub, MARK "-3"));
    assert_int_equal(search("w1").count, 1);
    assert_int_equal(search("x0").count, 1);
}

/* --- upgrade and downgrade --- */

static void an_upgrade_divides_it_and_holds_nothing(void **state)
{
    (void)state;
    start_principal();
    assert_divided();
    assert_non_null(local());
    assert_true(has_new());
    assert_int_equal(held_deletions(), 0);
    assert_at_rest();
}

static void what_was_deleted_during_an_upgrade_goes(void **state)
{
    (void)state;
    fake_store_erase(w.hub, "Application/w1/new");
    start_principal();
    assert_false(has_new());
    assert_non_null(local());
    assert_int_equal(held_deletions(), 0);
    assert_at_rest();
}

static void what_the_former_version_did_not_cover_is_held_after_an_upgrade(void **state)
{
    (void)state;
    set_field(w.hub, MARK, "data", "{\"write_id\":\"older\",\"w1\":\"1.1\"}");
    fake_store_erase(w.hub, "Application/w1/new");
    crowd_mark(w.hub, OTHERS);
    start_principal();
    assert_true(has_new());
    assert_int_equal(held_deletions(), 1);
}

/* Killed after each step of the upgrade in turn. */
static void an_upgrade_that_is_cut_short_loses_no_line(void **state)
{
    static const char *const agents[] = {"w1", "x0", "x498", "x499", "x599", "x600", "x1099"};
    struct search before[sizeof(agents) / sizeof(agents[0])];
    ab_map *former = fake_store_back_up(w.hub);
    bool divided = false;
    (void)state;
    for (size_t a = 0; a < sizeof(agents) / sizeof(agents[0]); a++)
        before[a] = search(agents[a]);
    for (size_t steps = 0; !divided; steps++) {
        assert_true(steps < STEPS_MAX);
        fake_store_restore(w.hub, former);
        world_start_principal(&w);
        for (size_t i = 0; i < steps; i++) {
            if (world_choices(&w) > 0)
                world_step(&w, 0);
            else
                world_tick(&w, 1000);
        }
        world_crash_principal(&w);
        for (size_t a = 0; a < sizeof(agents) / sizeof(agents[0]); a++) {
            ab_watermark_sent told = search(agents[a]).told;
            assert_true(ab_watermark_covers(&told, before[a].told.all));
        }
        divided = fake_store_find(w.hub, MARK "-2") != NULL && search("x599").count == 1;
    }
    fake_backup_free(former);
    start_principal();
    assert_divided();
}

/* The former version wrote all into the first part again, and left the others as they were. */
static void after_a_downgrade_the_newest_counts(void **state)
{
    (void)state;
    start_principal();
    put_app(w.hub, "w1", "b", 1, "", "");
    world_run(&w, 3);
    struct search newest = search("w1");
    world_crash_principal(&w);
    set_field(w.hub, OWN_PART, "data", "{\"write_id\":\"older\",\"w1\":\"1.1\"}");
    ab_watermark_draft draft;
    ab_object *first = NULL;
    ab_watermark_begin(&draft, 0, "argocd", "of a former version", NULL);
    ab_watermark_add(&draft, "w1", &newest.told);
    assert_int_equal(ab_watermark_finish(&draft, &first), AB_ERR_OK);
    fake_store_put(w.hub, first);
    ab_object_unref(first);
    crowd_mark(w.hub, OTHERS);
    fake_store_erase(w.hub, "Application/w1/b");
    start_principal();
    world_run(&w, 40); /* what has no status is reported after 30 s */
    assert_null(fake_store_find(w.local, "Application/argocd/b"));
    assert_int_equal(held_deletions(), 0);
    assert_divided();
    assert_at_rest();
}

/* --- what it proves --- */

static void what_a_restored_hub_lacks_is_held(void **state)
{
    (void)state;
    start_principal();
    ab_map *backup = fake_store_back_up(w.hub);
    put_app(w.hub, "w1", "b", 1, "", "");
    world_run(&w, 3);
    world_crash_principal(&w);
    fake_store_restore(w.hub, backup);
    start_principal();
    assert_non_null(fake_store_find(w.local, "Application/argocd/b"));
    assert_int_equal(held_deletions(), 1);
    fake_backup_free(backup);
}

static void what_a_hub_lacks_that_is_restored_under_a_running_principal_is_held(void **state)
{
    (void)state;
    start_principal();
    ab_map *backup = fake_store_back_up(w.hub);
    put_app(w.hub, "w1", "b", 1, "", "");
    world_run(&w, 3);
    fake_store_restore(w.hub, backup);
    world_run(&w, 5);
    assert_non_null(fake_store_find(w.local, "Application/argocd/b"));
    assert_int_equal(held_deletions(), 1);
    fake_backup_free(backup);
}

static void a_part_that_is_another_one_ends_nothing_of_its_agents(void **state)
{
    (void)state;
    start_principal();
    set_field(w.hub, OWN_PART, "data", "{\"write_id\":\"of the backup\"}");
    fake_store_erase(w.hub, HUB);
    fake_store_erase(w.hub, "Application/w1/new");
    world_run(&w, 5);
    assert_non_null(local());
    assert_true(has_new());
    assert_int_equal(held_deletions(), 2);
}

static void other_parts_are_not_read_for_a_deletion(void **state)
{
    (void)state;
    start_principal();
    set_field(w.hub, MARK, "data", "{\"write_id\":\"another one\"}");
    set_field(w.hub, MARK "-2", "data", "{\"write_id\":\"another one\"}");
    fake_store_erase(w.hub, "Application/w1/new");
    world_run(&w, 5);
    assert_false(has_new());
    assert_int_equal(held_deletions(), 0);
}

static ab_str id_of(const char *key)
{
    return ab_watermark_id(fake_store_find(w.hub, key));
}

static void a_change_writes_the_part_of_its_agent(void **state)
{
    char first[AB_WATERMARK_ID_MAX], own[AB_WATERMARK_ID_MAX];
    (void)state;
    start_principal();
    snprintf(first, sizeof(first), "%.*s", AB_STR_ARG(id_of(MARK)));
    snprintf(own, sizeof(own), "%.*s", AB_STR_ARG(id_of(OWN_PART)));
    put_app(w.hub, "w1", "b", 1, "", "");
    world_run(&w, 3);
    assert_false(ab_str_is(id_of(OWN_PART), own));
    assert_true(ab_str_is(id_of(MARK), first));
    struct search s = search("w1");
    assert_int_equal(s.count, 1);
}

/* A list begins again, and the store is another one by then. */
static void what_a_part_said_before_it_was_shown_again_is_no_more(void **state)
{
    static const ab_version newest[] = {{9, 9}, {1, 1}};
    ab_watermark_parts parts;
    (void)state;
    assert_int_equal(ab_watermark_parts_init(&parts, (ab_asker){0}), AB_ERR_OK);
    for (size_t i = 0; i < 2; i++) {
        ab_watermark_draft draft;
        ab_object *part = NULL;
        ab_watermark_begin(&draft, 0, "argocd", "id", NULL);
        ab_watermark_add(&draft, "w1", &(ab_watermark_sent){.all = newest[i]});
        assert_int_equal(ab_watermark_finish(&draft, &part), AB_ERR_OK);
        assert_int_equal(ab_watermark_parts_list(&parts, 0, part), AB_ERR_OK);
        ab_object_unref(part);
    }
    const ab_watermark_line *line = ab_watermark_parts_line(&parts, AB_STR("w1"));
    assert_true(ab_watermark_covers(&line->sent, newest[1]));
    assert_false(ab_watermark_covers(&line->sent, newest[0]));
    ab_watermark_parts_fini(&parts);
}

/* One that was sent something. */
static ab_watermark_line *join(ab_watermark_parts *parts, const char *agent, size_t number)
{
    char name[64];
    snprintf(name, sizeof(name), "%s%zu", agent, number);
    ab_watermark_line *line = ab_watermark_parts_line(parts, ab_str_of(name));
    assert_non_null(line);
    line->owner = parts;
    line->sent.all = (ab_version){1, 1};
    ab_watermark_parts_place(parts, line);
    return line;
}

static void those_that_are_gone_take_the_place_of_none_that_come(void **state)
{
    ab_watermark_parts parts;
    (void)state;
    assert_int_equal(ab_watermark_parts_init(&parts, (ab_asker){0}), AB_ERR_OK);
    ab_watermark_parts_assign(&parts);
    (void)join(&parts, "stays", 0);
    for (size_t i = 0; i < 3 * AB_WATERMARK_AGENTS_MAX; i++)
        ab_watermark_parts_leave(&parts, join(&parts, "goes", i));
    assert_int_equal(parts.count, 1);
    assert_int_equal(ab_map_count(parts.lines), AB_WATERMARK_AGENTS_MAX);
    assert_non_null(ab_map_find(parts.lines, AB_STR("stays0")));
    assert_non_null(ab_map_find(parts.lines, AB_STR("goes1499")));
    assert_null(ab_map_find(parts.lines, AB_STR("goes0")));
    ab_watermark_parts_fini(&parts);
}

static void none_is_dropped_that_is_served_or_not_yet_written(void **state)
{
    ab_watermark_parts parts;
    (void)state;
    assert_int_equal(ab_watermark_parts_init(&parts, (ab_asker){0}), AB_ERR_OK);
    ab_watermark_parts_assign(&parts);
    for (size_t i = 0; i < AB_WATERMARK_AGENTS_MAX; i++) {
        ab_watermark_line *line = join(&parts, "w", i);
        line->due = i % 3 == 0;
        line->run.distrusted = i % 3 == 1;
        if (i % 3 < 2)
            ab_watermark_parts_leave(&parts, line);
    }
    (void)join(&parts, "x", 0);
    assert_int_equal(parts.count, 2);
    assert_int_equal(ab_map_count(parts.lines), AB_WATERMARK_AGENTS_MAX + 1);
    ab_watermark_parts_fini(&parts);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_upgrade_divides_it_and_holds_nothing),
        T(what_was_deleted_during_an_upgrade_goes),
        T(what_the_former_version_did_not_cover_is_held_after_an_upgrade),
        T(an_upgrade_that_is_cut_short_loses_no_line),
        T(after_a_downgrade_the_newest_counts),
        T(what_a_restored_hub_lacks_is_held),
        T(what_a_hub_lacks_that_is_restored_under_a_running_principal_is_held),
        T(a_part_that_is_another_one_ends_nothing_of_its_agents),
        T(other_parts_are_not_read_for_a_deletion),
        T(a_change_writes_the_part_of_its_agent),
        cmocka_unit_test(what_a_part_said_before_it_was_shown_again_is_no_more),
        cmocka_unit_test(those_that_are_gone_take_the_place_of_none_that_come),
        cmocka_unit_test(none_is_dropped_that_is_served_or_not_yet_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
