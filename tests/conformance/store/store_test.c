/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract of store/store.h, over every store of places.c.
 */
#include "tests/conformance/store/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The store's own part of an Application, where the API's schema allows any content. */
#define SPEC "spec", "source", "helm", "valuesObject"

/* An Application with these further members of metadata and this content. */
static const char *app_named(const world *w, const char *name, const char *metadata,
                             const char *content)
{
    static char text[4096];
    (void)snprintf(text, sizeof(text),
                   "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":"
                   "{\"name\":\"%s\",\"namespace\":\"%s\"%s},\"spec\":{\"destination\":{},"
                   "\"project\":\"default\",\"source\":{\"repoURL\":\"https://example.com/r.git\","
                   "\"helm\":{\"valuesObject\":%s}}}}",
                   name, w->namespace, metadata, content);
    return text;
}

static const char *app(const world *w, const char *metadata, const char *content)
{
    return app_named(w, "guestbook", metadata, content);
}

static world *begin(void **state)
{
    return world_new(*state);
}

static void expect(result r, ab_err code)
{
    if (r.code != code)
        fail_msg("code %s: %s", ab_err_text(r.code), r.err.text);
    result_fini(&r);
}

static ab_str uid_of(const result *r)
{
    return ab_object_uid(r->object);
}

static void assert_generation(const ab_object *object, int64_t expected)
{
    int64_t generation = 0;
    assert_int_equal(ab_span_i64(ab_object_meta(object, "generation"), &generation), AB_ERR_OK);
    assert_int_equal(generation, expected);
}

static void an_empty_store_is_listed_then_synced_and_reports_nothing_else(void **state)
{
    world *w = begin(state);
    assert_int_equal(w->count, 2);
    assert_int_equal(w->changes[0].change, AB_STORE_LIST_DONE);
    assert_int_equal(w->changes[1].change, AB_STORE_SYNCED);
    world_free(w);
}

static void a_created_object_is_seen_once_with_uid_version_and_generation(void **state)
{
    world *w = begin(state);
    result r = do_apply(w, app(w, "", "{\"a\":1}"), NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    assert_true(uid_of(&r).len > 0);
    assert_true(ab_object_version(r.object).len > 0);
    assert_generation(r.object, 1);
    assert_true(ab_span_present(ab_object_meta(r.object, "creationTimestamp")));
    wait_changes(w, AB_STORE_UPDATED, w->key, 1);
    expect(do_get(w, w->key), AB_ERR_OK);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, w->key), 1);
    assert_true(ab_str_eq(ab_object_uid(last_seen(w, w->key)), uid_of(&r)));
    result_fini(&r);
    world_free(w);
}

static void what_the_text_says_of_server_fields_is_ignored(void **state)
{
    world *w = begin(state);
    result r = do_apply(w,
                        app(w,
                            ",\"uid\":\"mine\",\"resourceVersion\":\"7\",\"generation\":99,"
                            "\"creationTimestamp\":\"2001-01-01T00:00:00Z\","
                            "\"deletionTimestamp\":\"2001-01-01T00:00:00Z\"",
                            "{}"),
                        NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    assert_false(ab_str_is(uid_of(&r), "mine"));
    assert_generation(r.object, 1);
    assert_false(ab_object_deleting(r.object));
    assert_false(ab_span_is(ab_object_meta(r.object, "creationTimestamp"), "2001-01-01T00:00:00Z"));
    result_fini(&r);
    world_free(w);
}

static void a_changed_spec_raises_generation_and_version_and_keeps_the_uid(void **state)
{
    world *w = begin(state);
    result first = do_apply(w, app(w, "", "{\"a\":1}"), NULL);
    result second = do_apply(w, app(w, "", "{\"a\":2}"), NULL);
    assert_int_equal(second.code, AB_ERR_OK);
    assert_generation(second.object, 2);
    assert_true(ab_str_eq(uid_of(&first), uid_of(&second)));
    assert_false(ab_str_eq(ab_object_version(first.object), ab_object_version(second.object)));
    assert_text(TEXT_AT(second.object, SPEC, "a"), "2");
    result_fini(&first);
    result_fini(&second);
    world_free(w);
}

static void changed_metadata_alone_leaves_the_generation(void **state)
{
    world *w = begin(state);
    expect(do_apply(w, app(w, "", "{\"a\":1}"), NULL), AB_ERR_OK);
    result r = do_apply(w, app(w, ",\"labels\":{\"x\":\"y\"}", "{\"a\":1}"), NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    assert_generation(r.object, 1);
    assert_text(TEXT_AT(r.object, "metadata", "labels", "x"), "\"y\"");
    result_fini(&r);
    world_free(w);
}

static void a_write_that_changes_nothing_is_not_made(void **state)
{
    world *w = begin(state);
    result first = do_apply(w, app(w, "", "{\"a\":1,\"b\":[1,2]}"), NULL);
    result again = do_apply(w, app(w, "", "{\"b\":[1,2], \"a\":1}"), NULL);
    assert_int_equal(again.code, AB_ERR_OK);
    assert_true(ab_str_eq(ab_object_version(first.object), ab_object_version(again.object)));
    result_fini(&first);
    result_fini(&again);
    world_free(w);
}

static void what_was_read_can_be_written_back_unchanged(void **state)
{
    world *w = begin(state);
    expect(do_apply(w, app(w, ",\"finalizers\":[\"x/y\"]", "{\"a\":1}"), NULL), AB_ERR_OK);
    expect(do_patch(w, w->key, "{\"sourceType\":\"ok\"}", "5.6", NULL), AB_ERR_OK);
    result r = do_get(w, w->key);
    char *text = ab_str_dup(ab_span_raw(ab_object_json(r.object)));
    result again = do_apply(w, text, NULL);
    assert_int_equal(again.code, AB_ERR_OK);
    assert_true(ab_str_eq(ab_object_version(r.object), ab_object_version(again.object)));
    free(text);
    result_fini(&again);
    result_fini(&r);
    world_free(w);
}

static void what_a_write_does_not_have_is_removed(void **state)
{
    world *w = begin(state);
    expect(do_apply(w,
                    app(w,
                        ",\"labels\":{\"x\":\"y\"},\"annotations\":{\"x\":\"y\"},"
                        "\"finalizers\":[\"x/y\"]",
                        "{\"a\":1,\"b\":2}"),
                    NULL),
           AB_ERR_OK);
    result r = do_apply(w, app(w, "", "{\"b\":3}"), NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    assert_text(TEXT_AT(r.object, SPEC), "{\"b\":3}");
    assert_false(ab_span_present(ab_object_meta(r.object, "labels")));
    assert_false(ab_span_present(ab_object_meta(r.object, "annotations")));
    assert_false(ab_span_present(ab_object_meta(r.object, "finalizers")));
    result_fini(&r);
    world_free(w);
}

static void an_operation_is_there_until_a_write_without_it(void **state)
{
    world *w = begin(state);
    char text[4096];
    const char *without = app(w, "", "{}");
    (void)snprintf(text, sizeof(text), "%.*s,\"operation\":{\"sync\":{\"revision\":\"x\"}}}",
                   (int)strlen(without) - 1, without);
    expect(do_apply(w, without, NULL), AB_ERR_OK);
    result r = do_apply(w, text, NULL);
    assert_text(TEXT_AT(r.object, "operation", "sync", "revision"), "\"x\"");
    result_fini(&r);
    r = do_apply(w, app(w, "", "{}"), NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    assert_false(ab_span_present(ab_object_field(r.object, "operation")));
    result_fini(&r);
    world_free(w);
}

static void a_secret_is_written_changed_and_listed_at_the_next_start(void **state)
{
    world *w = begin(state);
    char text[512];
    char key[AB_OBJECT_KEY_MAX];
    (void)snprintf(key, sizeof(key), "Secret/%s/repo", w->namespace);
    for (const char *data = "eA=="; data != NULL;
         data = strcmp(data, "eQ==") == 0 ? NULL : "eQ==") {
        (void)snprintf(text, sizeof(text),
                       "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"repo\","
                       "\"namespace\":\"%s\"},\"data\":{\"password\":\"%s\"},\"type\":\"Opaque\"}",
                       w->namespace, data);
        expect(do_apply(w, text, NULL), AB_ERR_OK);
    }
    world_stop(w);
    world_forget(w);
    world_start(w);
    world_wait_synced(w);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, key), 1);
    const ab_object *seen = last_seen(w, key);
    assert_text(TEXT_AT(seen, "kind"), "\"Secret\"");
    assert_text(TEXT_AT(seen, "apiVersion"), "\"v1\"");
    assert_text(TEXT_AT(seen, "data", "password"), "\"eQ==\"");
    expect(do_remove(w, key, NULL), AB_ERR_OK);
    wait_changes(w, AB_STORE_DELETED, key, 1);
    world_free(w);
}

static void must_not_exist_refuses_an_existing_object(void **state)
{
    world *w = begin(state);
    ab_store_condition absent = {.must_not_exist = true};
    expect(do_apply(w, app(w, "", "{\"a\":1}"), &absent), AB_ERR_OK);
    expect(do_apply(w, app(w, "", "{\"a\":2}"), &absent), AB_ERR_EXISTS);
    result r = do_get(w, w->key);
    assert_text(TEXT_AT(r.object, SPEC, "a"), "1");
    result_fini(&r);
    world_free(w);
}

static void must_exist_refuses_a_missing_object(void **state)
{
    world *w = begin(state);
    ab_store_condition present = {.must_exist = true};
    expect(do_apply(w, app(w, "", "{\"a\":1}"), &present), AB_ERR_NOTFOUND);
    expect(do_get(w, w->key), AB_ERR_NOTFOUND);
    expect(do_apply(w, app(w, "", "{\"a\":1}"), NULL), AB_ERR_OK);
    expect(do_apply(w, app(w, "", "{\"a\":2}"), &present), AB_ERR_OK);
    world_free(w);
}

static void another_version_is_a_conflict(void **state)
{
    world *w = begin(state);
    result first = do_apply(w, app(w, "", "{\"a\":1}"), NULL);
    ab_store_condition same = {.version = ab_object_version(first.object)};
    expect(do_apply(w, app(w, "", "{\"a\":2}"), &same), AB_ERR_OK);
    expect(do_apply(w, app(w, "", "{\"a\":3}"), &same), AB_ERR_CONFLICT);
    expect(do_patch(w, w->key, "{\"sourceType\":\"1\"}", NULL, &same), AB_ERR_CONFLICT);
    expect(do_remove(w, w->key, &same), AB_ERR_CONFLICT);
    result r = do_get(w, w->key);
    assert_text(TEXT_AT(r.object, SPEC, "a"), "2");
    result_fini(&r);
    result_fini(&first);
    world_free(w);
}

static void another_uid_is_a_conflict(void **state)
{
    world *w = begin(state);
    result first = do_apply(w, app(w, "", "{\"a\":1}"), NULL);
    ab_store_condition right = {.uid = uid_of(&first)};
    ab_store_condition wrong = {.uid = AB_STR("00000000-0000-4000-8000-000000000000")};
    expect(do_apply(w, app(w, "", "{\"a\":2}"), &wrong), AB_ERR_CONFLICT);
    expect(do_patch(w, w->key, "{\"x\":1}", "3.1", &wrong), AB_ERR_CONFLICT);
    expect(do_remove(w, w->key, &wrong), AB_ERR_CONFLICT);
    expect(do_apply(w, app(w, "", "{\"a\":2}"), &right), AB_ERR_OK);
    expect(do_patch(w, w->key, "{\"x\":1}", "3.1", &right), AB_ERR_OK);
    expect(do_remove(w, w->key, &right), AB_ERR_OK);
    result_fini(&first);
    world_free(w);
}

/* It would be made again, who knows after whose deletion. */
static void what_is_not_there_has_no_version_and_no_uid(void **state)
{
    world *w = begin(state);
    result first = do_apply(w, app(w, "", "{\"a\":1}"), NULL);
    const ab_store_condition former[] = {{.version = ab_object_version(first.object)},
                                         {.uid = uid_of(&first)}};
    expect(do_remove(w, w->key, NULL), AB_ERR_OK);
    for (size_t i = 0; i < 2; i++) {
        result r = do_apply(w, app(w, "", "{\"a\":2}"), &former[i]);
        assert_true(r.code == AB_ERR_CONFLICT || r.code == AB_ERR_NOTFOUND);
        result_fini(&r);
        expect(do_get(w, w->key), AB_ERR_NOTFOUND);
    }
    result_fini(&first);
    world_free(w);
}

static void status_is_kept_apart_from_the_rest(void **state)
{
    world *w = begin(state);
    expect(do_apply(w, app(w, "", "{\"a\":1}"), NULL), AB_ERR_OK);
    result patched = do_patch(w, w->key, "{\"health\":{\"status\":\"Healthy\"}}", "3.17", NULL);
    assert_int_equal(patched.code, AB_ERR_OK);
    assert_generation(patched.object, w->kind->status_counts ? 2 : 1);
    assert_true(ab_str_is(ab_object_annotation(patched.object, AB_STORE_STATUS_VERSION), "3.17"));
    assert_text(TEXT_AT(patched.object, "status"), "{\"health\":{\"status\":\"Healthy\"}}");
    assert_text(TEXT_AT(patched.object, SPEC, "a"), "1");
    result applied = do_apply(w, app(w, "", "{\"a\":2}"), NULL);
    assert_int_equal(applied.code, AB_ERR_OK);
    assert_text(TEXT_AT(applied.object, "status"), "{\"health\":{\"status\":\"Healthy\"}}");
    assert_generation(applied.object, w->kind->status_counts ? 3 : 2);
    result_fini(&patched);
    result_fini(&applied);
    world_free(w);
}

static void a_status_without_version_leaves_the_annotation(void **state)
{
    world *w = begin(state);
    expect(do_apply(w, app(w, ",\"annotations\":{\"k\":\"v\"}", "{}"), NULL), AB_ERR_OK);
    expect(do_patch(w, w->key, "{\"sourceType\":\"1\"}", "1.1", NULL), AB_ERR_OK);
    result r = do_patch(w, w->key, "{\"sourceType\":\"2\"}", NULL, NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    assert_text(TEXT_AT(r.object, "status", "sourceType"), "\"2\"");
    assert_true(ab_str_is(ab_object_annotation(r.object, AB_STORE_STATUS_VERSION), "1.1"));
    assert_true(ab_str_is(ab_object_annotation(r.object, "k"), "v"));
    result_fini(&r);
    world_free(w);
}

static void its_annotation_goes_when_it_is_written_without(void **state)
{
    world *w = begin(state);
    const char *with = ",\"annotations\":{\"" AB_STORE_STATUS_VERSION "\":\"3.17\"}";
    expect(do_apply(w, app(w, "", "{\"a\":1}"), NULL), AB_ERR_OK);
    expect(do_patch(w, w->key, "{\"health\":{\"status\":\"Healthy\"}}", "3.17", NULL), AB_ERR_OK);
    result kept = do_apply(w, app(w, with, "{\"a\":2}"), NULL);
    assert_true(ab_str_is(ab_object_annotation(kept.object, AB_STORE_STATUS_VERSION), "3.17"));
    expect(do_apply(w, app(w, "", "{\"a\":2}"), NULL), AB_ERR_OK);
    result gone = do_get(w, w->key);
    assert_null(ab_object_annotation(gone.object, AB_STORE_STATUS_VERSION).ptr);
    assert_text(TEXT_AT(gone.object, "status"), "{\"health\":{\"status\":\"Healthy\"}}");
    result_fini(&kept);
    result_fini(&gone);
    world_free(w);
}

static void a_status_of_nothing_is_not_found_and_no_object_is_refused(void **state)
{
    world *w = begin(state);
    expect(do_patch(w, w->key, "{}", NULL, NULL), AB_ERR_NOTFOUND);
    expect(do_apply(w, app(w, "", "{}"), NULL), AB_ERR_OK);
    expect(do_patch(w, w->key, "[1]", NULL, NULL), AB_ERR_INVALID);
    expect(do_patch(w, w->key, "{", NULL, NULL), AB_ERR_INVALID);
    world_free(w);
}

static void a_removed_object_is_gone(void **state)
{
    world *w = begin(state);
    result made = do_apply(w, app(w, "", "{\"a\":1}"), NULL);
    result r = do_remove(w, w->key, NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    assert_null(r.object);
    wait_changes(w, AB_STORE_DELETED, w->key, 1);
    expect(do_get(w, w->key), AB_ERR_NOTFOUND);
    expect(do_remove(w, w->key, NULL), AB_ERR_NOTFOUND);
    assert_int_equal(count_changes(w, AB_STORE_DELETED, w->key), 1);
    result anew = do_apply(w, app(w, "", "{\"a\":1}"), NULL);
    assert_false(ab_str_eq(uid_of(&made), uid_of(&anew)));
    assert_generation(anew.object, 1);
    result_fini(&made);
    result_fini(&anew);
    world_free(w);
}

static void finalizers_hold_an_object_until_the_last_is_removed(void **state)
{
    world *w = begin(state);
    expect(do_apply(w, app(w, ",\"finalizers\":[\"a/b\",\"c/d\"]", "{}"), NULL), AB_ERR_OK);
    result marked = do_remove(w, w->key, NULL);
    assert_int_equal(marked.code, AB_ERR_OK);
    assert_true(ab_object_deleting(marked.object));
    result again = do_remove(w, w->key, NULL);
    assert_int_equal(again.code, AB_ERR_OK);
    result one = do_apply(w, app(w, ",\"finalizers\":[\"c/d\"]", "{}"), NULL);
    assert_int_equal(one.code, AB_ERR_OK);
    assert_true(ab_object_deleting(one.object));
    assert_int_equal(count_changes(w, AB_STORE_DELETED, w->key), 0);
    result none = do_apply(w, app(w, "", "{}"), NULL);
    assert_int_equal(none.code, AB_ERR_OK);
    assert_null(none.object);
    wait_changes(w, AB_STORE_DELETED, w->key, 1);
    expect(do_get(w, w->key), AB_ERR_NOTFOUND);
    result_fini(&marked);
    result_fini(&again);
    result_fini(&one);
    world_free(w);
}

/* A store whose objects have a schema may drop members and numbers that it does not know. */
#define ANY_STORE_KEEPS                                                                            \
    "\"big\":9007199254740993,\"nul\":\"a\\u0000b\",\"order\":[3,1,2,{\"z\":1,\"a\":2}],"          \
    "\"empty\":{},\"none\":null,\"list\":[],\"text\":\"yes\",\"oct\":\"0777\",\"date\":\"2001-01-" \
    "01\","                                                                                        \
    "\"multi\":\"a\\nb\\n\\n\",\"emoji\":\"\\ud83d\\ude00 ü\",\"truth\":[true,false]"
#define ONLY_TEXT_KEEPS "\"huge\":123456789012345678901234567890,\"exp\":1e400,\"frac\":1.10"

static void assert_kept(const world *w, const ab_object *object, const ab_span *wanted)
{
    ab_spanv content = ab_span_path(ab_object_json(object), SPEC, NULL);
    assert_true(ab_span_same(content, ab_span_root(wanted)));
    if (!w->kind->has_schema)
        assert_text(TEXT_AT(object, "metadata", "unknown"), "{\"x\":[1]}");
}

static void everything_passes_through_unchanged(void **state)
{
    world *w = begin(state);
    const char *content =
        w->kind->has_schema ? "{" ANY_STORE_KEEPS "}" : "{" ANY_STORE_KEEPS "," ONLY_TEXT_KEEPS "}";
    expect(do_apply(w, app(w, ",\"unknown\":{\"x\":[1]}", content), NULL), AB_ERR_OK);
    ab_span *wanted = NULL;
    assert_int_equal(ab_span_parse(ab_str_of(content), &wanted, NULL), AB_ERR_OK);
    for (int start = 0; start < 2; start++) {
        result r = do_get(w, w->key);
        assert_int_equal(r.code, AB_ERR_OK);
        assert_kept(w, r.object, wanted);
        result_fini(&r);
        world_stop(w);
        world_forget(w);
        world_start(w);
        world_wait_synced(w);
    }
    assert_kept(w, last_seen(w, w->key), wanted);
    ab_span_free(wanted);
    world_free(w);
}

static void calls_on_one_object_take_effect_in_order(void **state)
{
    enum { CALLS = 50 };
    static result results[CALLS];
    world *w = begin(state);
    memset(results, 0, sizeof(results));
    for (int i = 0; i < CALLS; i++) {
        char spec[32];
        (void)snprintf(spec, sizeof(spec), "{\"a\":%d}", i);
        ab_object *object = NULL;
        assert_int_equal(ab_object_parse(ab_str_of(app(w, "", spec)), &object, NULL), AB_ERR_OK);
        ab_store_apply(w->store, object, NULL, result_done, &results[i]);
        ab_object_unref(object);
    }
    for (int i = 0; i < CALLS; i++) {
        world_wait(w, result_ended, &results[i]);
        assert_int_equal(results[i].code, AB_ERR_OK);
        assert_generation(results[i].object, i + 1);
        result_fini(&results[i]);
    }
    wait_changes(w, AB_STORE_UPDATED, w->key, 1);
    result r = do_get(w, w->key);
    assert_text(TEXT_AT(r.object, SPEC, "a"), "49");
    int64_t before = 0;
    for (size_t i = 0; i < w->count; i++) {
        int64_t generation = 0;
        if (w->changes[i].object == NULL)
            continue;
        assert_int_equal(
            ab_span_i64(ab_object_meta(w->changes[i].object, "generation"), &generation),
            AB_ERR_OK);
        assert_true(generation >= before);
        before = generation;
    }
    result_fini(&r);
    world_free(w);
}

static void apply_numbered(world *w, int i, result *r)
{
    char name[16];
    char content[32];
    ab_object *object = NULL;
    (void)snprintf(name, sizeof(name), "app-%04d", i);
    (void)snprintf(content, sizeof(content), "{\"n\":%d}", i);
    assert_int_equal(ab_object_parse(ab_str_of(app_named(w, name, "", content)), &object, NULL),
                     AB_ERR_OK);
    ab_store_apply(w->store, object, NULL, result_done, r);
    ab_object_unref(object);
}

#define MANY 1000

static void a_thousand_objects_are_written_listed_and_removed(void **state)
{
    static result results[MANY];
    world *w = begin(state);
    memset(results, 0, sizeof(results));
    for (int i = 0; i < MANY; i++)
        apply_numbered(w, i, &results[i]);
    for (int i = 0; i < MANY; i++) {
        world_wait(w, result_ended, &results[i]);
        assert_int_equal(results[i].code, AB_ERR_OK);
        result_fini(&results[i]);
    }
    wait_changes(w, AB_STORE_UPDATED, NULL, MANY);
    world_stop(w);
    world_forget(w);
    world_start(w);
    world_wait_synced(w);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, NULL), MANY);
    assert_int_equal(w->changes[w->count - 1].change, AB_STORE_SYNCED);
    for (int i = 0; i < MANY; i++) {
        char key[AB_OBJECT_KEY_MAX];
        (void)snprintf(key, sizeof(key), "Application/%s/app-%04d", w->namespace, i);
        ab_store_remove(w->store, ab_str_of(key), NULL, AB_PROPAGATE_BACKGROUND, result_done,
                        &results[i]);
    }
    wait_changes(w, AB_STORE_DELETED, NULL, MANY);
    for (int i = 0; i < MANY; i++) {
        world_wait(w, result_ended, &results[i]);
        assert_int_equal(results[i].code, AB_ERR_OK);
    }
    world_free(w);
}

static void a_removal_in_the_foreground_ends_too(void **state)
{
    world *w = begin(state);
    result r = {0};
    expect(do_apply(w, app(w, "", "{}"), NULL), AB_ERR_OK);
    ab_store_remove(w->store, ab_str_of(w->key), NULL, AB_PROPAGATE_FOREGROUND, result_done, &r);
    wait_changes(w, AB_STORE_DELETED, w->key, 1);
    world_wait(w, result_ended, &r);
    if (w->kind->has_collector)
        assert_text(TEXT_AT(r.object, "metadata", "finalizers"), "[\"foregroundDeletion\"]");
    expect(r, AB_ERR_OK);
    world_free(w);
}

static void a_restart_keeps_uid_generation_version_and_status(void **state)
{
    world *w = begin(state);
    expect(do_apply(w, app(w, "", "{\"a\":1}"), NULL), AB_ERR_OK);
    expect(do_apply(w, app(w, "", "{\"a\":2}"), NULL), AB_ERR_OK);
    result before = do_patch(w, w->key, "{\"sourceType\":\"ok\"}", "9.9", NULL);
    world_stop(w);
    world_forget(w);
    world_start(w);
    world_wait_synced(w);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, w->key), 1);
    const ab_object *after = last_seen(w, w->key);
    assert_true(ab_span_same(ab_object_json(after), ab_object_json(before.object)));
    result_fini(&before);
    world_free(w);
}

static void a_deletion_asked_for_before_a_restart_is_not_forgotten(void **state)
{
    world *w = begin(state);
    expect(do_apply(w, app(w, ",\"finalizers\":[\"a/b\"]", "{}"), NULL), AB_ERR_OK);
    expect(do_remove(w, w->key, NULL), AB_ERR_OK);
    world_stop(w);
    world_forget(w);
    world_start(w);
    world_wait_synced(w);
    assert_true(ab_object_deleting(last_seen(w, w->key)));
    expect(do_apply(w, app(w, "", "{}"), NULL), AB_ERR_OK);
    wait_changes(w, AB_STORE_DELETED, w->key, 1);
    world_free(w);
}

static void versions_rise_over_restarts_also_after_removals(void **state)
{
    world *w = begin(state);
    for (int i = 0; i < 10; i++) {
        expect(do_apply(w, app(w, "", "{\"a\":1}"), NULL), AB_ERR_OK);
        expect(do_remove(w, w->key, NULL), AB_ERR_OK);
    }
    result before = do_apply(w, app(w, "", "{\"a\":1}"), NULL);
    expect(do_remove(w, w->key, NULL), AB_ERR_OK);
    world_stop(w);
    world_start(w);
    result after = do_apply(w, app(w, "", "{\"a\":1}"), NULL);
    uint64_t first = 0;
    uint64_t second = 0;
    assert_int_equal(ab_str_to_u64(ab_object_version(before.object), &first), AB_ERR_OK);
    assert_int_equal(ab_str_to_u64(ab_object_version(after.object), &second), AB_ERR_OK);
    assert_true(second > first);
    result_fini(&before);
    result_fini(&after);
    world_free(w);
}

static void stop_finishes_what_was_begun_and_refuses_the_rest(void **state)
{
    static result results[20];
    world *w = begin(state);
    memset(results, 0, sizeof(results));
    for (int i = 0; i < 20; i++)
        apply_numbered(w, i, &results[i]);
    world_stop(w);
    for (int i = 0; i < 20; i++) {
        assert_true(results[i].ended);
        assert_true(results[i].code == AB_ERR_OK || results[i].code == AB_ERR_CLOSED);
        result_fini(&results[i]);
    }
    world_free(w);
}

static void calls_after_stop_report_closed(void **state)
{
    world *w = begin(state);
    result late = {0};
    world_stop_begin(w);
    apply_numbered(w, 1, &late);
    assert_false(late.ended);
    world_stop_end(w);
    assert_true(late.ended);
    assert_int_equal(late.code, AB_ERR_CLOSED);
    world_free(w);
}

static void a_store_stopped_at_once_is_stopped(void **state)
{
    world *w = world_new_place(*state);
    world_start(w);
    world_free(w);
}

static void objects_of_one_name_in_other_namespaces_and_kinds_are_others(void **state)
{
    world *w = begin(state);
    char text[512];
    char project[AB_OBJECT_KEY_MAX];
    char other[AB_OBJECT_KEY_MAX];
    char namespace[64];
    (void)snprintf(project, sizeof(project), "AppProject/%s/guestbook", w->namespace);
    (void)snprintf(namespace, sizeof(namespace), "%s-other", w->namespace);
    (void)snprintf(other, sizeof(other), "Application/%s/guestbook", namespace);
    expect(do_apply(w, app(w, "", "{}"), NULL), AB_ERR_OK);
    (void)snprintf(text, sizeof(text),
                   "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"AppProject\",\"metadata\":"
                   "{\"name\":\"guestbook\",\"namespace\":\"%s\"},\"spec\":{}}",
                   w->namespace);
    expect(do_apply(w, text, NULL), AB_ERR_OK);
    const world elsewhere = {.namespace = namespace};
    expect(do_apply(w, app(&elsewhere, "", "{}"), NULL), AB_ERR_OK);
    expect(do_remove(w, w->key, NULL), AB_ERR_OK);
    expect(do_get(w, project), AB_ERR_OK);
    expect(do_get(w, other), AB_ERR_OK);
    expect(do_get(w, w->key), AB_ERR_NOTFOUND);
    world_free(w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_empty_store_is_listed_then_synced_and_reports_nothing_else),
    cmocka_unit_test(a_created_object_is_seen_once_with_uid_version_and_generation),
    cmocka_unit_test(what_the_text_says_of_server_fields_is_ignored),
    cmocka_unit_test(a_changed_spec_raises_generation_and_version_and_keeps_the_uid),
    cmocka_unit_test(changed_metadata_alone_leaves_the_generation),
    cmocka_unit_test(a_write_that_changes_nothing_is_not_made),
    cmocka_unit_test(what_was_read_can_be_written_back_unchanged),
    cmocka_unit_test(what_a_write_does_not_have_is_removed),
    cmocka_unit_test(an_operation_is_there_until_a_write_without_it),
    cmocka_unit_test(a_secret_is_written_changed_and_listed_at_the_next_start),
    cmocka_unit_test(must_not_exist_refuses_an_existing_object),
    cmocka_unit_test(must_exist_refuses_a_missing_object),
    cmocka_unit_test(another_version_is_a_conflict),
    cmocka_unit_test(another_uid_is_a_conflict),
    cmocka_unit_test(what_is_not_there_has_no_version_and_no_uid),
    cmocka_unit_test(status_is_kept_apart_from_the_rest),
    cmocka_unit_test(a_status_without_version_leaves_the_annotation),
    cmocka_unit_test(its_annotation_goes_when_it_is_written_without),
    cmocka_unit_test(a_status_of_nothing_is_not_found_and_no_object_is_refused),
    cmocka_unit_test(a_removed_object_is_gone),
    cmocka_unit_test(finalizers_hold_an_object_until_the_last_is_removed),
    cmocka_unit_test(everything_passes_through_unchanged),
    cmocka_unit_test(calls_on_one_object_take_effect_in_order),
    cmocka_unit_test(a_thousand_objects_are_written_listed_and_removed),
    cmocka_unit_test(a_removal_in_the_foreground_ends_too),
    cmocka_unit_test(a_restart_keeps_uid_generation_version_and_status),
    cmocka_unit_test(a_deletion_asked_for_before_a_restart_is_not_forgotten),
    cmocka_unit_test(versions_rise_over_restarts_also_after_removals),
    cmocka_unit_test(stop_finishes_what_was_begun_and_refuses_the_rest),
    cmocka_unit_test(calls_after_stop_report_closed),
    cmocka_unit_test(a_store_stopped_at_once_is_stopped),
    cmocka_unit_test(objects_of_one_name_in_other_namespaces_and_kinds_are_others),
};
#define TEST_COUNT (sizeof(tests) / sizeof(tests[0]))

static int run(const store_place *place)
{
    const char *missing = place->missing();
    struct CMUnitTest group[TEST_COUNT];
    if (missing != NULL) {
        (void)printf("%s: skipped, %s\n", place->name, missing);
        return 0;
    }
    memcpy(group, tests, sizeof(tests));
    for (size_t i = 0; i < TEST_COUNT; i++)
        group[i].initial_state = (void *)(uintptr_t)place;
    return _cmocka_run_group_tests(place->name, group, TEST_COUNT, NULL, NULL);
}

/* Every test once for each store, or for the one that is named; the store is its initial state. */
int main(int argc, char **argv)
{
    int failed = 0;
    for (const store_place *const *place = store_places; *place != NULL; place++)
        if (argc < 2 || strcmp(argv[1], (*place)->name) == 0)
            failed += run(*place);
    return failed;
}
