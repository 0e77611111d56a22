/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether what an Application deployed is deleted with it: its finalizers at the hub say so, and
 * the last that they said counts, also where its end came before it.
 */
#include "schema/attributes.h"
#include "sync/object/application.h"
#include "tests/unit/sync/world/pair.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define OTHER                                                                                      \
    ",\"finalizers\":[\"a/b\",\"resources-finalizer.argocd.argoproj.io/background\",\"c/d\"]"

/* As `argocd app delete --cascade=false`. */
static void delete_without_cascade(void)
{
    drop_finalizers(w.hub, HUB);
    fake_store_erase(w.hub, HUB);
}

static void assert_gone_without_cascade(void)
{
    assert_null(hub());
    assert_null(local()); /* else it waits for Argo CD to delete what it deployed */
    assert_at_rest();
}

static void what_it_deployed_stays_when_its_user_said_so_last(void **state)
{
    (void)state;
    placed(FINALIZER);
    delete_without_cascade();
    world_run(&w, 2);
    assert_gone_without_cascade();
}

static void it_stays_also_when_the_agent_was_down_meanwhile(void **state)
{
    (void)state;
    placed(FINALIZER);
    world_crash_agent(&w);
    drop_finalizers(w.hub, HUB);
    world_settle(&w);
    fake_store_erase(w.hub, HUB);
    world_run(&w, 2);
    fake_log_compact(w.down);
    world_start_agent(&w);
    world_run(&w, 2);
    assert_gone_without_cascade();
}

static void it_stays_also_when_the_principal_was_down_meanwhile(void **state)
{
    (void)state;
    placed(FINALIZER);
    world_crash_principal(&w);
    delete_without_cascade();
    world_start_principal(&w);
    world_run(&w, 2);
    assert_gone_without_cascade();
}

/* The transport tells the principal nothing of former runs. */
static void it_stays_also_when_only_a_comparison_shows_that_the_agent_has_it(void **state)
{
    (void)state;
    w.resyncs = w.compare_first = true;
    placed(FINALIZER);
    world_run(&w, 2);
    world_crash_principal(&w);
    delete_without_cascade();
    world_lose_log(&w, &w.principal_link);
    world_start_principal(&w);
    world_run(&w, 40);
    assert_null(hub());
    assert_null(local());
}

static void it_stays_also_when_the_agent_crashes_on_the_way(void **state)
{
    size_t left = 1;
    for (size_t steps = 0; left > 0; steps++) {
        placed(FINALIZER);
        delete_without_cascade();
        for (size_t i = 0; i < steps && world_choices(&w) > 0; i++)
            world_step(&w, 0);
        left = world_choices(&w);
        world_crash_agent(&w);
        world_start_agent(&w);
        world_run(&w, 2);
        assert_gone_without_cascade();
        teardown(state);
        setup(state);
    }
}

static void never_deleting(void *arg, const ab_object *before, const ab_object *after)
{
    (void)arg;
    (void)before;
    assert_true(after == NULL || (!ab_object_deleting(after) && spec_of(after) > 0));
}

/* What is read without the finalizer may have it again when it is removed. */
static void it_stays_also_when_the_finalizer_comes_back_meanwhile(void **state)
{
    size_t left = 1;
    for (size_t steps = 0; left > 0; steps++) {
        placed(FINALIZER);
        w.on_local_write = never_deleting;
        ab_object *before = ab_object_ref(local());
        delete_without_cascade();
        for (size_t i = 0; i < steps && world_choices(&w) > 0; i++)
            world_step(&w, 0);
        left = world_choices(&w);
        if (local() != NULL)
            fake_store_put(w.local, before);
        ab_object_unref(before);
        world_run(&w, 2);
        assert_gone_without_cascade();
        teardown(state);
        setup(state);
    }
}

/* As whoever gives an Application another name or owner, and wants no interruption. */
static void what_the_former_one_deployed_stays_when_it_is_made_again(void **state)
{
    (void)state;
    placed(FINALIZER);
    world_crash_agent(&w);
    delete_without_cascade();
    put_app(w.hub, "w1", "a", 2, FINALIZER, "");
    w.on_local_write = never_deleting;
    world_start_agent(&w);
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 2);
    assert_true(ab_str_eq(ab_object_annotation(local(), AB_ANN_SOURCE_UID), ab_object_uid(hub())));
    assert_int_equal(ab_span_count(ab_object_meta(local(), "finalizers")), 1);
    assert_at_rest();
}

static void it_stays_also_while_the_agent_runs(void **state)
{
    (void)state;
    placed(FINALIZER);
    w.on_local_write = never_deleting;
    delete_without_cascade();
    put_app(w.hub, "w1", "a", 2, FINALIZER, "");
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 2);
    assert_at_rest();
}

static void count_local_writes(void *arg, const ab_object *before, const ab_object *after)
{
    size_t *count = arg;
    (void)before;
    (void)after;
    ++*count;
}

/* The log has all that ever was of this name, and more of others than is read at once. */
static void a_former_one_of_its_name_does_nothing_when_all_is_read_again(void **state)
{
    (void)state;
    size_t writes = 0;
    placed(FINALIZER);
    fake_store_erase(w.hub, HUB);
    world_run(&w, 2);
    drop_finalizers(w.local, LOCAL); /* Argo CD has deleted what it deployed */
    world_run(&w, 2);
    put_app(w.hub, "w1", "a", 2, FINALIZER, "");
    world_run(&w, 2);
    set_spec(w.hub, HUB, 3);
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 3);
    world_crash_agent(&w);
    world_forget_all_desired(&w);
    fake_log_replay(w.down);
    w.on_local_write = count_local_writes;
    w.arg = &writes;
    world_start_agent(&w);
    world_run(&w, 40);
    assert_int_equal(spec_of(local()), 3);
    assert_int_equal(writes, 0);
    assert_at_rest();
}

static void other_finalizers_keep_their_say(void **state)
{
    (void)state;
    placed(OTHER);
    delete_without_cascade();
    world_run(&w, 2);
    assert_true(ab_object_deleting(local()));
    ab_spanv left = ab_object_meta(local(), "finalizers");
    assert_int_equal(ab_span_count(left), 2);
    assert_true(ab_span_is(ab_span_first(left), "a/b"));
    drop_finalizers(w.local, LOCAL);
    world_run(&w, 2);
    assert_gone_without_cascade();
}

/* As Argo CD does where the Application has hooks for its end: that it is to go comes with what is
 * left of its finalizers. */
static void it_stays_also_when_other_finalizers_hold_the_object(void **state)
{
    (void)state;
    placed(OTHER);
    put_app(w.hub, "w1", "a", 1, ",\"finalizers\":[\"a/b\"]", "");
    fake_store_erase(w.hub, HUB);
    world_run(&w, 2);
    assert_true(ab_object_deleting(hub()));
    assert_true(ab_object_deleting(local()));
    ab_spanv left = ab_object_meta(local(), "finalizers");
    for (ab_spanv v = ab_span_first(left); ab_span_present(v); v = ab_span_next(v))
        assert_false(ab_str_starts(ab_span_plain(v), AB_FINALIZER_RESOURCES));
    drop_finalizers(w.local, LOCAL);
    world_run(&w, 2);
    assert_gone_without_cascade();
}

#define BACKGROUND ",\"finalizers\":[\"resources-finalizer.argocd.argoproj.io/background\"]"

/* As `argocd app delete`: the finalizer that says so is set, and the object deleted at once. */
static void delete_with(const char *finalizers)
{
    put_app(w.hub, "w1", "a", 1, finalizers, "");
    fake_store_erase(w.hub, HUB);
}

/* It waits for Argo CD to delete what it deployed, in this way. */
static void assert_waits_for(const char *finalizer)
{
    assert_non_null(local());
    assert_true(ab_object_deleting(hub()));
    assert_true(ab_object_deleting(local()));
    ab_str cascade = ab_app_cascade(ab_object_meta(local(), "finalizers"));
    assert_true(ab_str_is(cascade, finalizer));
    drop_finalizers(w.local, LOCAL);
    world_run(&w, 2);
    assert_gone_without_cascade();
}

static void what_it_deployed_goes_when_its_user_said_so_last(void **state)
{
    (void)state;
    placed("");
    delete_with(FINALIZER);
    world_run(&w, 2);
    assert_waits_for(AB_FINALIZER_RESOURCES);
}

static void it_goes_as_its_user_said_last(void **state)
{
    (void)state;
    placed(FINALIZER);
    delete_with(BACKGROUND);
    world_run(&w, 2);
    assert_waits_for(AB_FINALIZER_RESOURCES "/background");
}

static void it_goes_also_when_the_agent_crashes_on_the_way(void **state)
{
    size_t left = 1;
    for (size_t steps = 0; left > 0; steps++) {
        placed("");
        delete_with(FINALIZER);
        for (size_t i = 0; i < steps && world_choices(&w) > 0; i++)
            world_step(&w, 0);
        left = world_choices(&w);
        world_crash_agent(&w);
        world_start_agent(&w);
        world_run(&w, 2);
        assert_waits_for(AB_FINALIZER_RESOURCES);
        teardown(state);
        setup(state);
    }
}

/* Nobody has deleted it. */
static void what_it_deployed_stays_when_it_is_the_agents_no_more(void **state)
{
    for (int i = 0; i < 2; i++) {
        w.hub_stays = i == 1;
        placed(FINALIZER);
        set_in(w.hub, HUB, "labels", AB_LABEL_IGNORE_SYNC, "true");
        world_run(&w, 2);
        assert_non_null(hub());
        assert_null(local());
        set_in(w.hub, HUB, "labels", AB_LABEL_IGNORE_SYNC, NULL);
        world_run(&w, 2);
        assert_int_equal(ab_span_count(ab_object_meta(local(), "finalizers")), 1);
        assert_at_rest();
        teardown(state);
        setup(state);
    }
}

/* As the API server tells one that its selector does not match any more. */
static void it_stays_also_when_the_store_says_that_it_went(void **state)
{
    (void)state;
    placed(FINALIZER);
    ab_object *last =
        sample_object("{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\","
                      "\"metadata\":{\"name\":\"a\",\"namespace\":\"w1\"" FINALIZER "}}");
    ab_principal_on_deleted(w.principal, last, true);
    ab_object_unref(last);
    world_run(&w, 2);
    assert_null(local());
}

/* A folder does not wait for finalizers: whoever removes the file wants what they say. */
static void what_it_deployed_goes_with_a_file_that_says_so(void **state)
{
    (void)state;
    w.hub_stays = true;
    placed(FINALIZER);
    fake_store_lose(w.hub, HUB);
    world_run(&w, 2);
    assert_true(ab_object_deleting(local()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_it_deployed_stays_when_its_user_said_so_last),
        TEST(it_stays_also_when_the_agent_was_down_meanwhile),
        TEST(it_stays_also_when_the_principal_was_down_meanwhile),
        TEST(it_stays_also_when_only_a_comparison_shows_that_the_agent_has_it),
        TEST(it_stays_also_when_the_agent_crashes_on_the_way),
        TEST(it_stays_also_when_the_finalizer_comes_back_meanwhile),
        TEST(what_the_former_one_deployed_stays_when_it_is_made_again),
        TEST(it_stays_also_while_the_agent_runs),
        TEST(a_former_one_of_its_name_does_nothing_when_all_is_read_again),
        TEST(other_finalizers_keep_their_say),
        TEST(it_stays_also_when_other_finalizers_hold_the_object),
        TEST(what_it_deployed_goes_when_its_user_said_so_last),
        TEST(it_goes_as_its_user_said_last),
        TEST(it_goes_also_when_the_agent_crashes_on_the_way),
        TEST(what_it_deployed_stays_when_it_is_the_agents_no_more),
        TEST(it_stays_also_when_the_store_says_that_it_went),
        TEST(what_it_deployed_goes_with_a_file_that_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
