/* SPDX-License-Identifier: Apache-2.0
 *
 * Argo CD at the agent asks before it deletes resources with Delete=confirm or Prune=confirm. The
 * answer is an annotation that its user sets at the hub, also on what is being deleted there.
 */
#include "schema/attributes.h"
#include "sync/object/application.h"
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define BEFORE "2025-12-31T23:59:59Z"
#define NOW    "2026-01-01T00:00:00Z" /* when the hub deletes */
#define LATER  "2026-01-01T01:00:09Z"
#define OTHER  ",\"finalizers\":[\"a/b\",\"resources-finalizer.argocd.argoproj.io\"]"

static void approve(const char *when)
{
    set_in(w.hub, HUB, "annotations", AB_ANN_DELETION_APPROVED, when);
}

static bool local_says(const char *when)
{
    return has_in(local(), "annotations", AB_ANN_DELETION_APPROVED, when);
}

/* It waits at the agent. */
static void deleted(const char *meta)
{
    placed(meta);
    fake_store_erase(w.hub, HUB);
    world_run(&w, 2);
    assert_true(ab_object_deleting(local()));
}

static void assert_goes_on(void)
{
    assert_true(ab_app_is_deletion_approved(local()));
    assert_at_rest();
    drop_finalizers(w.local, LOCAL); /* Argo CD has deleted what it deployed */
    world_run(&w, 2);
    assert_null(hub());
    assert_null(local());
    assert_at_rest();
}

static void an_approval_at_the_hub_reaches_the_agent(void **state)
{
    (void)state;
    deleted(FINALIZER);
    assert_true(local_says(NULL));
    assert_at_rest();
    approve(NOW);
    world_run(&w, 2);
    assert_true(local_says(NOW));
    assert_int_equal(spec_of(local()), 1);
    assert_int_equal(ab_span_count(ab_object_meta(local(), "finalizers")), 1);
    assert_goes_on();
}

/* Of a live object all annotations are the hub's. */
static void nothing_else_of_it_changes(void **state)
{
    (void)state;
    deleted(FINALIZER);
    set_spec(w.hub, HUB, 2);
    set_in(w.hub, HUB, "annotations", "x", "1");
    approve(NOW);
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 1);
    assert_true(has_in(local(), "annotations", "x", NULL));
    assert_goes_on();
}

/* Argo CD at the agent compares it with the deletion there. */
static void it_counts_also_where_the_deletion_began_later(void **state)
{
    (void)state;
    fake_store_set_time(w.local, LATER);
    deleted(FINALIZER);
    approve(NOW);
    world_run(&w, 2);
    assert_true(local_says(LATER));
    assert_goes_on();
}

static void what_was_approved_before_is_not_the_deletion(void **state)
{
    (void)state;
    placed(FINALIZER);
    approve(BEFORE);
    world_run(&w, 2);
    fake_store_erase(w.hub, HUB);
    world_run(&w, 2);
    assert_true(ab_object_deleting(local()));
    assert_true(local_says(BEFORE));
    restart_agent();
    assert_true(local_says(BEFORE));
    approve(NOW);
    world_run(&w, 2);
    assert_goes_on();
}

static void an_agent_that_was_down_learns_of_it(void **state)
{
    (void)state;
    deleted(FINALIZER);
    world_crash_agent(&w);
    approve(NOW);
    world_run(&w, 2);
    fake_log_compact(w.down);
    world_start_agent(&w);
    world_run(&w, 2);
    assert_goes_on();
}

static void it_also_learns_of_a_deletion_that_is_approved_already(void **state)
{
    (void)state;
    placed(FINALIZER);
    world_crash_agent(&w);
    fake_store_set_time(w.local, LATER);
    fake_store_erase(w.hub, HUB);
    approve(NOW);
    world_run(&w, 2);
    fake_log_compact(w.down);
    world_start_agent(&w);
    world_run(&w, 2);
    assert_goes_on();
}

static void it_reaches_an_agent_that_crashes_on_the_way(void **state)
{
    size_t left = 1;
    for (size_t steps = 0; left > 0; steps++) {
        deleted(FINALIZER);
        approve(NOW);
        for (size_t i = 0; i < steps && world_choices(&w) > 0; i++)
            world_step(&w, 0);
        left = world_choices(&w);
        world_crash_agent(&w);
        world_start_agent(&w);
        world_run(&w, 2);
        assert_goes_on();
        teardown(state);
        setup(state);
    }
}

/* The row of agent.data says it; the log does not any more. */
static void it_is_passed_on_when_only_agent_data_has_it(void **state)
{
    (void)state;
    deleted(FINALIZER);
    approve(NOW);
    world_run(&w, 2);
    world_crash_agent(&w);
    set_in(w.local, LOCAL, "annotations", AB_ANN_DELETION_APPROVED, NULL);
    world_start_agent(&w);
    world_run(&w, 2);
    assert_goes_on();
}

static void a_local_approval_is_left_as_it_is(void **state)
{
    (void)state;
    deleted(FINALIZER);
    set_in(w.local, LOCAL, "annotations", AB_ANN_DELETION_APPROVED, LATER);
    world_run(&w, 2);
    uint64_t writes = fake_store_changes(w.local);
    approve(NOW);
    world_run(&w, 2);
    assert_int_equal(fake_store_changes(w.local), writes);
    assert_goes_on();
}

/* What it deployed is to stay by now. */
static void it_does_not_count_without_a_cascade(void **state)
{
    (void)state;
    deleted(OTHER);
    put_app(w.hub, "w1", "a", 1, ",\"finalizers\":[\"a/b\"]", "");
    approve(NOW);
    world_run(&w, 2);
    assert_true(ab_object_deleting(local()));
    assert_true(local_says(NULL));
    assert_at_rest();
}

static void what_is_not_the_hubs_is_not_approved(void **state)
{
    (void)state;
    deleted(FINALIZER);
    set_in(w.local, LOCAL, "annotations", AB_ANN_SOURCE_UID, "another");
    world_run(&w, 2);
    approve(NOW);
    world_run(&w, 2);
    assert_true(local_says(NULL));
    assert_at_rest();
}

/* Prune=confirm: Argo CD compares it with the start of the sync. */
static void an_approval_of_what_stays_is_an_annotation_as_any(void **state)
{
    (void)state;
    placed(FINALIZER);
    approve(NOW);
    world_run(&w, 2);
    assert_true(local_says(NOW));
    approve("2026-01-01T02:00:00.5+01:00");
    world_run(&w, 2);
    assert_true(local_says("2026-01-01T02:00:00.5+01:00"));
    approve(NULL);
    world_run(&w, 2);
    assert_true(local_says(NULL));
    assert_at_rest();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_approval_at_the_hub_reaches_the_agent),
        TEST(nothing_else_of_it_changes),
        TEST(it_counts_also_where_the_deletion_began_later),
        TEST(what_was_approved_before_is_not_the_deletion),
        TEST(an_agent_that_was_down_learns_of_it),
        TEST(it_also_learns_of_a_deletion_that_is_approved_already),
        TEST(it_reaches_an_agent_that_crashes_on_the_way),
        TEST(it_is_passed_on_when_only_agent_data_has_it),
        TEST(a_local_approval_is_left_as_it_is),
        TEST(it_does_not_count_without_a_cascade),
        TEST(what_is_not_the_hubs_is_not_approved),
        TEST(an_approval_of_what_stays_is_an_annotation_as_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
