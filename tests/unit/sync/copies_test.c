/* SPDX-License-Identifier: Apache-2.0
 *
 * Users copy objects with the annotations that say whose they are: kubectl get -o yaml, another
 * name, namespace or cluster, kubectl apply. A copy is taken neither for what it was copied from,
 * nor for a mirror.
 */
#include "schema/attributes.h"
#include "tests/unit/sync/world/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* What the agent writes on the object that it makes of HUB's first one. */
#define OF_THE_AGENT                                                                               \
    ",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"uid-1\",\"" AB_ANN_PRINCIPAL_UID                \
    "\":\"principal-1\"}"
#define COPY "Application/argocd/copy"
#define MIRROR_OF_ANOTHER                                                                          \
    ",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"u\",\"" AB_ANN_MIRROR "\":\"1.1/w2\"}"

static void never_deleting(void *arg, const ab_object *before, const ab_object *after)
{
    (void)arg;
    (void)before;
    assert_true(after != NULL && !ab_object_deleting(after));
}

/* It still takes what the hub says, and the hub shows its status. */
static void assert_followed(void)
{
    assert_non_null(local());
    assert_false(ab_object_deleting(local()));
    set_spec(w.hub, HUB, 5);
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 5);
    assert_true(ab_str_eq(ab_object_annotation(local(), AB_ANN_SOURCE_UID), ab_object_uid(hub())));
    set_field(w.local, LOCAL, "status", "{\"n\":6}");
    world_run(&w, 2);
    assert_int_equal(status_of(hub()), 6);
    assert_at_rest();
}

/* As who edits the agent's object and applies it in the control plane. */
static void what_is_copied_from_the_agent_over_its_source_deletes_nothing(void **state)
{
    (void)state;
    placed(FINALIZER);
    assert_true(has_in(local(), "annotations", AB_ANN_SOURCE_UID, "uid-1"));
    assert_true(has_in(local(), "annotations", AB_ANN_PRINCIPAL_UID, "principal-1"));
    w.on_local_write = never_deleting;
    put_app(w.hub, "w1", "a", 2, FINALIZER OF_THE_AGENT, "");
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 2);
    assert_followed();
}

/* An argocd-agent of former versions does not name its principal. */
static void what_names_but_its_source_deletes_nothing_there_either(void **state)
{
    (void)state;
    placed(FINALIZER);
    w.on_local_write = never_deleting;
    put_app(w.hub, "w1", "a", 2, FINALIZER ",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"uid-1\"}",
            "");
    world_run(&w, 2);
    assert_followed();
}

/* As docs/operate/backups.md says. */
static void what_the_hub_lost_is_made_again_from_the_agents_object(void **state)
{
    (void)state;
    w.resyncs = true;
    placed(FINALIZER);
    world_crash_principal(&w);
    fake_store_lose(w.hub, HUB);
    fake_store_lose(w.hub, MARK);
    world_start_principal(&w);
    world_run(&w, 2);
    assert_int_equal(held_deletions(), 1);
    put_app(w.hub, "w1", "a", 1, FINALIZER OF_THE_AGENT, "");
    world_run(&w, 70);
    assert_int_equal(held_deletions(), 0);
    assert_followed();
}

static void what_is_copied_from_a_mirror_over_another_agents_deletes_nothing(void **state)
{
    (void)state;
    placed(FINALIZER);
    w.on_local_write = never_deleting;
    put_app(w.hub, "w1", "a", 2, FINALIZER MIRROR_OF_ANOTHER, "");
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 2);
    assert_followed();
}

static void assert_copy_stays(void)
{
    assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
    world_run(&w, 70);
    const ab_object *copy = fake_store_find(w.local, COPY);
    assert_non_null(copy);
    assert_int_equal(spec_of(copy), 7);
    assert_int_equal(held_deletions(), 0);
}

/* Under another name, in the workload cluster. */
static void a_copy_at_the_agent_is_nobodys(void **state)
{
    (void)state;
    w.resyncs = true;
    placed("");
    world_run(&w, 2);
    put_app(w.local, "argocd", "copy", 7, OF_THE_AGENT, "");
    world_settle(&w);
    assert_true(has_in(fake_store_find(w.local, COPY), "annotations", AB_ANN_SOURCE_UID, NULL));
    assert_true(has_in(fake_store_find(w.local, COPY), "annotations", AB_ANN_PRINCIPAL_UID, NULL));
    assert_copy_stays();
    fake_store_erase(w.hub, HUB);
    world_run(&w, 2);
    assert_null(local());
    assert_copy_stays();
    assert_at_rest();
}

static void it_is_nobodys_also_when_it_was_made_while_the_agent_was_down(void **state)
{
    (void)state;
    w.resyncs = true;
    placed("");
    world_run(&w, 2);
    world_crash_agent(&w);
    put_app(w.local, "argocd", "copy", 7, OF_THE_AGENT, "");
    world_start_agent(&w);
    world_settle(&w);
    assert_copy_stays();
    assert_followed();
}

/* Argo CD was moved to another namespace with all that it had. */
static void what_was_moved_with_the_agents_namespace_is_no_copy(void **state)
{
    (void)state;
    placed("");
    world_crash_agent(&w);
    w.policy.namespace = "moved";
    put_app(w.local, "moved", "a", 1, OF_THE_AGENT, "");
    world_start_agent(&w);
    world_run(&w, 2);
    set_spec(w.hub, HUB, 5);
    world_run(&w, 2);
    assert_int_equal(spec_of(fake_store_find(w.local, "Application/moved/a")), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_copied_from_the_agent_over_its_source_deletes_nothing),
        TEST(what_names_but_its_source_deletes_nothing_there_either),
        TEST(what_the_hub_lost_is_made_again_from_the_agents_object),
        TEST(what_is_copied_from_a_mirror_over_another_agents_deletes_nothing),
        TEST(a_copy_at_the_agent_is_nobodys),
        TEST(what_was_moved_with_the_agents_namespace_is_no_copy),
        TEST(it_is_nobodys_also_when_it_was_made_while_the_agent_was_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
