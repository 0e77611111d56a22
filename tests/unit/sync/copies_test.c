/* SPDX-License-Identifier: Apache-2.0
 *
 * Users copy objects with the annotations that say whose they are: kubectl get -o yaml, another
 * name, namespace or cluster, kubectl apply. A copy is taken neither for what it was copied from,
 * nor for a mirror.
 */
#include "schema/attributes.h"
#include "tests/unit/logged.h"
#include "tests/unit/sync/world/pair.h"
#include "tests/unit/sync/world/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* What the agent writes on the object that it makes of HUB's first one. */
#define OF_THE_AGENT                                                                               \
    ",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"uid-1\",\"" AB_ANN_PRINCIPAL_UID                \
    "\":\"principal-1\"}"
/* The same by an agent of this version. */
#define NAMED_BY_THE_AGENT                                                                         \
    ",\"annotations\":{\"" AB_ANN_SOURCE_UID "\":\"uid-1\",\"" AB_ANN_PRINCIPAL_UID                \
    "\":\"principal-1\",\"" AB_ANN_NAME "\":\"a\"}"
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

static void what_is_copied_over_another_object_of_the_agent_deletes_nothing(void **state)
{
    (void)state;
    placed(FINALIZER);
    put_app(w.hub, "w1", "new", 2, FINALIZER, "");
    world_settle(&w);
    assert_non_null(fake_store_find(w.local, LOCAL_NEW));
    w.on_local_write = never_deleting;
    put_app(w.local, "argocd", "new", 7, FINALIZER NAMED_BY_THE_AGENT, "");
    world_run(&w, 2);
    assert_int_equal(spec_of(fake_store_find(w.local, LOCAL_NEW)), 2);
    assert_true(has_in(fake_store_find(w.local, LOCAL_NEW), "annotations", AB_ANN_NAME, "new"));
    assert_followed();
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

/* From what a user has kept of it. */
static void a_copy_of_what_has_ended_is_nobodys(void **state)
{
    (void)state;
    w.resyncs = true;
    placed("");
    world_run(&w, 2);
    fake_store_erase(w.hub, HUB);
    world_run(&w, 2);
    assert_null(local());
    put_app(w.local, "argocd", "copy", 7, NAMED_BY_THE_AGENT, "");
    world_run(&w, 2);
    assert_copy_stays();
    assert_copy_stays();
}

#define META_OF_THE_AGENT(name)                                                                    \
    "\"metadata\":{\"name\":\"" name                                                               \
    "\",\"namespace\":\"argocd\",\"labels\":{\"" AB_LABEL_SECRET_TYPE                              \
    "\":\"repository\"}" NAMED_BY_THE_AGENT "}"

static void put(fake_store *s, const char *json)
{
    ab_object *o = sample_object(json);
    fake_store_put(s, o);
    ab_object_unref(o);
}

static void so_is_a_copy_of_another_kind(void **state)
{
    (void)state;
    w.resyncs = true;
    placed("");
    put(w.local,
        "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\"," META_OF_THE_AGENT(
            "q") ",\"spec\":{\"n\":7}}");
    put(w.local, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\"," META_OF_THE_AGENT(
                     "r") ",\"spec\":{\"n\":7}}");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
        world_run(&w, 70);
    }
    const ab_object *project = fake_store_find(w.local, "AppProject/argocd/q");
    const ab_object *secret = fake_store_find(w.local, "Secret/argocd/r");
    assert_int_equal(spec_of(project), 7);
    assert_int_equal(spec_of(secret), 7);
    assert_true(has_in(project, "annotations", AB_ANN_SOURCE_UID, NULL));
    assert_true(has_in(secret, "annotations", AB_ANN_NAME, NULL));
    assert_at_rest();
}

static void a_copy_is_nobodys_for_an_agent_that_has_lost_its_data(void **state)
{
    (void)state;
    w.resyncs = true;
    placed("");
    world_run(&w, 2);
    world_crash_agent(&w);
    world_forget_all_desired(&w);
    world_rewind_agent(&w);
    put_app(w.local, "argocd", "copy", 7, NAMED_BY_THE_AGENT, "");
    world_start_agent(&w);
    world_settle(&w);
    assert_copy_stays();
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

/* --- mirrors --- */

#define HUB_COPY "Application/w1/copy"
#define PROJECT  "AppProject/argocd/w1-p"

static int begin_autonomous(void **state)
{
    (void)setup(state);
    w.policy.autonomous = true;
    w.mode = AB_AUTONOMOUS;
    w.resyncs = true;
    return 0;
}

#define TEST_OF_MIRRORS(f) cmocka_unit_test_setup_teardown(f, begin_autonomous, teardown)

/* With all its annotations, as another user of the hub does. */
static void copy_mirror(const char *key, const char *name)
{
    char json[800];
    const ab_object *mirror = fake_store_find(w.hub, key);
    assert_non_null(mirror);
    int n =
        snprintf(json, sizeof(json),
                 "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"%.*s\",\"metadata\":{"
                 "\"name\":\"%s\",\"namespace\":\"%.*s\",\"annotations\":%.*s},\"spec\":{"
                 "\"n\":7}}",
                 AB_STR_ARG(ab_object_kind(mirror)), name, AB_STR_ARG(ab_object_namespace(mirror)),
                 AB_STR_ARG(ab_span_raw(ab_object_meta(mirror, "annotations"))));
    assert_true(n > 0 && (size_t)n < sizeof(json));
    put(w.hub, json);
}

static void compare(void)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ab_principal_resync(w.principal, "w1", "test"), AB_ERR_OK);
        world_run(&w, 70);
    }
}

static void assert_stays(const fake_store *s, const char *key)
{
    const ab_object *copy = fake_store_find(s, key);
    assert_non_null(copy);
    assert_false(ab_object_deleting(copy));
    assert_int_equal(spec_of(copy), 7);
}

static void mirrored(void)
{
    put_app(w.local, "argocd", "a", 1, "", "");
    put(w.local, "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":{"
                 "\"name\":\"p\",\"namespace\":\"argocd\"},\"spec\":{\"n\":1}}");
    world_start(&w);
    assert_int_equal(spec_of(hub()), 1);
    assert_non_null(fake_store_find(w.hub, PROJECT));
}

static void a_copy_of_a_mirror_stays(void **state)
{
    (void)state;
    mirrored();
    copy_mirror(HUB, "copy");
    compare();
    assert_stays(w.hub, HUB_COPY);
    fake_store_erase(w.local, LOCAL);
    world_run(&w, 2);
    assert_null(hub());
    compare();
    assert_stays(w.hub, HUB_COPY);
    assert_at_rest();
}

static void a_copy_of_a_mirrored_project_stays(void **state)
{
    (void)state;
    mirrored();
    copy_mirror(PROJECT, "w1-q");
    copy_mirror(PROJECT, "q");
    compare();
    assert_stays(w.hub, "AppProject/argocd/w1-q");
    assert_stays(w.hub, "AppProject/argocd/q");
    assert_at_rest();
}

static void it_stays_also_when_nothing_is_kept_of_the_original(void **state)
{
    (void)state;
    mirrored();
    world_crash_principal(&w);
    copy_mirror(HUB, "copy");
    copy_mirror(PROJECT, "w1-q");
    fake_store_erase(w.local, LOCAL);
    world_settle(&w);
    fake_log_lose(w.up);
    world_forget_mirrors(&w);
    world_start_principal(&w);
    world_settle(&w);
    compare();
    assert_null(hub());
    assert_stays(w.hub, HUB_COPY);
    assert_stays(w.hub, "AppProject/argocd/w1-q");
    assert_at_rest();
}

static void its_user_is_told_once(void **state)
{
    (void)state;
    FILE *file = logged_open(&w.clock, &w.log);
    mirrored();
    copy_mirror(HUB, "copy");
    world_run(&w, 2);
    set_field(w.hub, HUB_COPY, "status", "{\"n\":1}");
    world_run(&w, 2);
    assert_int_equal(logged_count(file, "object is a copy that a user made of a mirror"), 1);
    fake_store_erase(w.hub, HUB_COPY);
    world_run(&w, 2);
    copy_mirror(HUB, "copy");
    world_run(&w, 2);
    assert_int_equal(logged_count(file, "object is a copy that a user made of a mirror"), 2);
    fclose(file);
}

/* It has no name, and gets one without being taken for changed. */
static void an_object_of_a_former_version_is_named_once(void **state)
{
    (void)state;
    placed("");
    world_run(&w, 2);
    for (int restarts = 0; restarts < 2; restarts++) {
        world_crash_agent(&w);
        if (restarts == 0)
            set_in(w.local, LOCAL, "annotations", AB_ANN_NAME, NULL);
        world_start_agent(&w);
        uint64_t changes = fake_store_changes(w.local);
        world_run(&w, 2);
        assert_true(has_in(local(), "annotations", AB_ANN_NAME, "a"));
        assert_int_equal(fake_store_changes(w.local), changes + (restarts == 0));
        assert_int_equal((int)world_count(w.agent_metrics, "argobus_reverts_total"), 0);
    }
    assert_at_rest();
}

/* The same of a mirror. */
static void a_mirror_of_a_former_version_is_named_once(void **state)
{
    (void)state;
    mirrored();
    world_crash_principal(&w);
    set_in(w.hub, HUB, "annotations", AB_ANN_NAME, NULL);
    world_start_principal(&w);
    uint64_t changes = fake_store_changes(w.hub);
    world_run(&w, 2);
    assert_true(has_in(hub(), "annotations", AB_ANN_NAME, "a"));
    assert_int_equal(fake_store_changes(w.hub), changes + 1);
    assert_int_equal((int)world_count(w.principal_metrics, "argobus_reverts_total"), 0);
    assert_at_rest();
}

static void one_that_was_left_behind_still_goes(void **state)
{
    (void)state;
    mirrored();
    world_crash_principal(&w);
    set_in(w.hub, HUB, "annotations", AB_ANN_NAME, NULL);
    fake_store_erase(w.local, LOCAL);
    fake_store_erase(w.local, "AppProject/argocd/p");
    world_settle(&w);
    fake_log_lose(w.up);
    world_forget_mirrors(&w);
    world_start_principal(&w);
    compare();
    assert_null(hub());
    assert_null(fake_store_find(w.hub, PROJECT)); /* it has its name */
    assert_at_rest();
}

/* Each side remembers which notifications it has sent. */
static void what_was_notified_is_remembered_on_each_side(void **state)
{
    (void)state;
    placed("");
    size_t events = fake_log_appended(w.down);
    set_in(w.hub, HUB, "annotations", AB_ANN_NOTIFIED, "h");
    set_in(w.local, LOCAL, "annotations", AB_ANN_NOTIFIED, "l");
    world_run(&w, 2);
    assert_int_equal(fake_log_appended(w.down), events);
    set_spec(w.hub, HUB, 2);
    world_run(&w, 2);
    assert_int_equal(spec_of(local()), 2);
    assert_true(has_in(hub(), "annotations", AB_ANN_NOTIFIED, "h"));
    assert_true(has_in(local(), "annotations", AB_ANN_NOTIFIED, "l"));
    assert_true(world_count(w.agent_metrics, "argobus_reverts_total") == 0);
    assert_at_rest();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_copied_from_the_agent_over_its_source_deletes_nothing),
        TEST(what_names_but_its_source_deletes_nothing_there_either),
        TEST(what_the_hub_lost_is_made_again_from_the_agents_object),
        TEST(what_is_copied_from_a_mirror_over_another_agents_deletes_nothing),
        TEST(what_is_copied_over_another_object_of_the_agent_deletes_nothing),
        TEST(a_copy_at_the_agent_is_nobodys),
        TEST(what_was_moved_with_the_agents_namespace_is_no_copy),
        TEST(it_is_nobodys_also_when_it_was_made_while_the_agent_was_down),
        TEST(a_copy_of_what_has_ended_is_nobodys),
        TEST(so_is_a_copy_of_another_kind),
        TEST(a_copy_is_nobodys_for_an_agent_that_has_lost_its_data),
        TEST_OF_MIRRORS(a_copy_of_a_mirror_stays),
        TEST_OF_MIRRORS(a_copy_of_a_mirrored_project_stays),
        TEST_OF_MIRRORS(it_stays_also_when_nothing_is_kept_of_the_original),
        TEST_OF_MIRRORS(its_user_is_told_once),
        TEST(an_object_of_a_former_version_is_named_once),
        TEST_OF_MIRRORS(a_mirror_of_a_former_version_is_named_once),
        TEST_OF_MIRRORS(one_that_was_left_behind_still_goes),
        TEST(what_was_notified_is_remembered_on_each_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
