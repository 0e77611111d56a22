/* SPDX-License-Identifier: Apache-2.0
 *
 * What a person does to the folder is seen; what the store does to it leaves the person's work
 * alone.
 */
#include "tests/unit/store/directory/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY       "Application/argocd/guestbook"
#define FILE_NAME "argocd/Application/guestbook.yaml"
#define SIDECAR   "argocd/Application/.argobus/guestbook.json"

static world *begin(void)
{
    return world_new(&directory_place);
}

static void assert_generation(const ab_object *object, int64_t expected)
{
    int64_t generation = 0;
    assert_int_equal(ab_span_i64(ab_object_meta(object, "generation"), &generation), AB_ERR_OK);
    assert_int_equal(generation, expected);
}

static void apply_ok(world *w, const char *json)
{
    result r = do_apply(w, json, NULL);
    if (r.code != AB_ERR_OK)
        fail_msg("%s", r.err.text);
    result_fini(&r);
}

#define APP(name, spec)                                                                            \
    "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{"             \
    "\"name\":\"" name "\",\"namespace\":\"argocd\"},\"spec\":" spec "}"

#define HELD                                                                                       \
    "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{"             \
    "\"name\":\"guestbook\",\"namespace\":\"argocd\",\"finalizers\":[\"a/b\"]}}"

/* As an API server reads it. */
static void the_strings_of_a_secret_are_its_data(void **state)
{
    (void)state;
    world *w = begin();
    person_writes(w, "argocd/Secret/s.yaml",
                  "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
                  "data: {a: Zm9ybWVy, b: a2VwdA==}\nstringData: {a: \"n\\u00e9w\", c: ''}\n");
    wait_changes(w, AB_STORE_UPDATED, "Secret/argocd/s", 1);
    const ab_object *seen = last_seen(w, "Secret/argocd/s");
    assert_text(TEXT_AT(seen, "data"), "{\"b\":\"a2VwdA==\",\"a\":\"bsOpdw==\",\"c\":\"\"}");
    assert_false(ab_span_present(ab_object_field(seen, "stringData")));
    person_writes(w, "argocd/Secret/s.yaml",
                  "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: 5}\n");
    world_wait_fault(w, "s.yaml", "stringData: \"a\" is not a string");
    assert_int_equal(count_changes(w, AB_STORE_DELETED, "Secret/argocd/s"), 0);
    world_free(w);
}

static void a_new_manifest_in_new_folders_is_seen(void **state)
{
    (void)state;
    world *w = begin();
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 1}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 1);
    const ab_object *seen = last_seen(w, KEY);
    assert_text(TEXT_AT(seen, "metadata", "namespace"), "\"argocd\"");
    assert_true(ab_object_uid(seen).len == 36);
    assert_generation(seen, 1);
    world_free(w);
}

static void an_edit_in_place_raises_the_generation_once(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, APP("guestbook", "{\"a\":1}"));
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 2}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 2);
    assert_generation(last_seen(w, KEY), 2);
    assert_text(TEXT_AT(last_seen(w, KEY), "spec", "a"), "2");
    world_free(w);
}

/* As when no inotify instance is left, which the machine's other tests need. */
static void leave_no_descriptor(struct rlimit *before)
{
    int lowest = dup(STDERR_FILENO);
    assert_true(lowest >= 0);
    assert_int_equal(close(lowest), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, before), 0);
    const struct rlimit none = {(rlim_t)lowest, before->rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

static void a_folder_that_cannot_be_watched_says_which_and_what_to_do(void **state)
{
    (void)state;
    ab_error err = {0};
    struct rlimit before;
    world *w = world_new_place(&directory_place);
    const ab_store_env env = {
        .loop = &w->loop, .config = w->config, .metrics = w->metrics, .clock = w->clock};
    assert_int_equal(ab_store_new(&env, &w->store, &err), AB_ERR_OK);
    leave_no_descriptor(&before);
    ab_err e = ab_store_start(w->store, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(e, AB_ERR_IO);
    assert_non_null(strstr(err.text, directory_place_path(w->place)));
    assert_non_null(strstr(err.text, "fs.inotify.max_user_instances"));
    ab_store_free(w->store);
    w->store = NULL;
    world_free(w);
}

static void an_edit_by_rename_is_seen(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, APP("guestbook", "{\"a\":1}"));
    person_replaces(w, FILE_NAME, manifest("guestbook", "{a: 2}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 2);
    assert_generation(last_seen(w, KEY), 2);
    world_free(w);
}

static void a_comment_is_no_change(void **state)
{
    (void)state;
    world *w = begin();
    char text[1024];
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 1}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 1);
    (void)snprintf(text, sizeof(text), "# mine\n%s", manifest("guestbook", "{a: 1}"));
    person_writes(w, FILE_NAME, text);
    person_writes(w, "argocd/Application/other.yaml", manifest("other", "{}"));
    wait_changes(w, AB_STORE_UPDATED, "Application/argocd/other", 1);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, KEY), 1);
    world_free(w);
}

static void an_edit_while_the_store_is_down_raises_the_generation(void **state)
{
    (void)state;
    world *w = begin();
    result made = do_apply(w, APP("guestbook", "{\"a\":1}"), NULL);
    world_stop(w);
    world_forget(w);
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 2}"));
    world_start(w);
    world_wait_synced(w);
    assert_generation(last_seen(w, KEY), 2);
    assert_true(ab_str_eq(ab_object_uid(last_seen(w, KEY)), ab_object_uid(made.object)));
    result_fini(&made);
    world_free(w);
}

static void a_removed_manifest_is_a_deleted_object_whatever_its_finalizers(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\",\"metadata\":{"
                "\"name\":\"guestbook\",\"namespace\":\"argocd\",\"finalizers\":[\"a/b\"],"
                "\"annotations\":{\"k\":\"v\"}}}");
    char *uid = ab_str_dup(ab_object_uid(last_seen(w, KEY)));
    person_removes(w, FILE_NAME);
    wait_changes(w, AB_STORE_DELETED, KEY, 1);
    const ab_object *last = w->changes[w->count - 1].object;
    assert_true(ab_str_is(ab_object_uid(last), uid));
    assert_true(ab_str_is(ab_object_annotation(last, "k"), "v"));
    assert_int_not_equal(access(path_of(w, SIDECAR), F_OK), 0);
    free(uid);
    world_free(w);
}

static void a_manifest_removed_while_the_store_was_down_leaves_no_sidecar(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, APP("guestbook", "{}"));
    world_stop(w);
    world_forget(w);
    person_removes(w, FILE_NAME);
    world_start(w);
    world_wait_synced(w);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, KEY), 0);
    world_settle(w);
    assert_int_not_equal(access(path_of(w, SIDECAR), F_OK), 0);
    world_free(w);
}

static void a_renamed_file_keeps_its_object(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, APP("guestbook", "{\"a\":1}"));
    char *uid = ab_str_dup(ab_object_uid(last_seen(w, KEY)));
    person_renames(w, FILE_NAME, "argocd/Application/zz.yml");
    person_writes(w, "argocd/Application/zz.yml", manifest("guestbook", "{a: 2}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 2);
    assert_true(ab_str_is(ab_object_uid(last_seen(w, KEY)), uid));
    apply_ok(w, APP("guestbook", "{\"a\":3}"));
    char *text = text_of(w, "argocd/Application/zz.yml");
    assert_non_null(strstr(text, "a: 3"));
    assert_int_not_equal(access(path_of(w, FILE_NAME), F_OK), 0);
    assert_int_equal(count_changes(w, AB_STORE_DELETED, KEY), 0);
    assert_int_equal(w->fault_count, 0);
    free(text);
    free(uid);
    world_free(w);
}

static int64_t still_ms(void *arg)
{
    (void)arg;
    return 1000;
}

static int64_t still_us(void *arg)
{
    (void)arg;
    return 1000000;
}

/* As vim does: the file is moved to a backup, then written anew. The clock stands still meanwhile.
 */
static void an_editor_that_moves_the_file_away_first_deletes_nothing(void **state)
{
    (void)state;
    const ab_clock clock = {still_ms, still_us, NULL};
    world *w = world_new_place(&directory_place);
    w->clock = &clock;
    world_start(w);
    apply_ok(w, APP("guestbook", "{\"a\":1}"));
    char *uid = ab_str_dup(ab_object_uid(last_seen(w, KEY)));
    person_renames(w, FILE_NAME, FILE_NAME "~");
    person_writes(w, "argocd/Application/later.yaml", manifest("later", "{}"));
    wait_changes(w, AB_STORE_UPDATED, "Application/argocd/later", 1);
    world_settle(w);
    result r = do_get(w, KEY);
    assert_int_equal(r.code, AB_ERR_NOTFOUND);
    assert_int_equal(count_changes(w, AB_STORE_DELETED, KEY), 0);
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 2}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 2);
    assert_true(ab_str_is(ab_object_uid(last_seen(w, KEY)), uid));
    free(uid);
    world_free(w);
}

#define OTHER      "Application/argocd/other"
#define OTHER_FILE "argocd/Application/other.yaml"

/* What was missing before it is gone by then, too. */
static void wait_until_other_is_gone(world *w)
{
    person_removes(w, OTHER_FILE);
    wait_changes(w, AB_STORE_DELETED, OTHER, 1);
}

static void finish_writing(world *w, FILE *f, const char *text, const char *uid)
{
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    wait_changes(w, AB_STORE_UPDATED, KEY, 2);
    assert_text(TEXT_AT(last_seen(w, KEY), "spec", "a"), "2");
    assert_true(ab_str_is(ab_object_uid(last_seen(w, KEY)), uid));
    assert_int_equal(count_changes(w, AB_STORE_DELETED, KEY), 0);
    result r = do_patch(w, KEY, "{\"n\":1}", "1.1/w1", NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    result_fini(&r);
}

static void assert_being_written(world *w)
{
    result r = do_patch(w, KEY, "{\"n\":1}", "1.1/w1", NULL);
    assert_int_equal(r.code, AB_ERR_UNAVAILABLE);
    assert_non_null(strstr(r.err.text, FILE_NAME));
    result_fini(&r);
}

/* As `helm template > FILE`, which empties the file first and writes it seconds later. */
static void a_file_that_is_being_written_loses_nothing(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, APP("guestbook", "{\"a\":1}"));
    apply_ok(w, APP("other", "{}"));
    char *uid = ab_str_dup(ab_object_uid(last_seen(w, KEY)));
    FILE *f = fopen(path_of(w, FILE_NAME), "w");
    assert_non_null(f);
    assert_being_written(w);
    wait_until_other_is_gone(w);
    assert_int_equal(count_changes(w, AB_STORE_DELETED, KEY), 0);
    finish_writing(w, f, manifest("guestbook", "{a: 2}"), uid);
    free(uid);
    world_free(w);
}

static void what_is_written_in_parts_is_seen_as_a_whole(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, APP("guestbook", "{\"a\":1}"));
    char *uid = ab_str_dup(ab_object_uid(last_seen(w, KEY)));
    FILE *f = fopen(path_of(w, FILE_NAME), "w");
    assert_non_null(f);
    assert_true(fputs(manifest("guestbook", "\n"), f) >= 0);
    assert_int_equal(fflush(f), 0);
    assert_being_written(w);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, KEY), 1);
    finish_writing(w, f, "  a: 2\n", uid);
    assert_int_equal(w->fault_count, 0);
    free(uid);
    world_free(w);
}

static void an_editor_that_moves_the_file_away_and_writes_slowly_deletes_nothing(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, APP("guestbook", "{\"a\":1}"));
    apply_ok(w, APP("other", "{}"));
    char *uid = ab_str_dup(ab_object_uid(last_seen(w, KEY)));
    person_renames(w, FILE_NAME, FILE_NAME "~");
    FILE *f = fopen(path_of(w, FILE_NAME), "w");
    assert_non_null(f);
    wait_until_other_is_gone(w);
    assert_int_equal(count_changes(w, AB_STORE_DELETED, KEY), 0);
    finish_writing(w, f, manifest("guestbook", "{a: 2}"), uid);
    free(uid);
    world_free(w);
}

/* So soon after it was missed that it is not gone yet; on a slow machine it may be. */
static void one_that_is_missing_is_not_gone_while_it_is_written(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, APP("guestbook", "{\"a\":1}"));
    apply_ok(w, APP("other", "{}"));
    person_renames(w, FILE_NAME, FILE_NAME "~");
    for (ab_err code = AB_ERR_OK; code != AB_ERR_NOTFOUND;) {
        result r = do_get(w, KEY);
        code = r.code;
        result_fini(&r);
    }
    FILE *f = fopen(path_of(w, FILE_NAME), "w");
    assert_non_null(f);
    world_settle(w);
    size_t gone = count_changes(w, AB_STORE_DELETED, KEY);
    wait_until_other_is_gone(w);
    assert_int_equal(count_changes(w, AB_STORE_DELETED, KEY), gone);
    assert_int_equal(w->fault_count, 0);
    assert_int_equal(fclose(f), 0);
    world_free(w);
}

/* Everything is read again, for another reason. */
static void what_is_read_meanwhile_is_what_it_was(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, APP("guestbook", "{\"a\":1}"));
    apply_ok(w, APP("other", "{}"));
    char *uid = ab_str_dup(ab_object_uid(last_seen(w, KEY)));
    assert_int_equal(mkdir(path_of(w, "No-Namespace"), 0777), 0);
    world_wait_fault(w, "No-Namespace", "not a namespace");
    FILE *f = fopen(path_of(w, FILE_NAME), "w");
    assert_non_null(f);
    person_renames(w, "No-Namespace", "good");
    person_writes(w, OTHER_FILE, manifest("other", "{a: 2}"));
    wait_changes(w, AB_STORE_UPDATED, OTHER, 2);
    result r = do_get(w, KEY);
    assert_int_equal(r.code, AB_ERR_UNAVAILABLE);
    result_fini(&r);
    finish_writing(w, f, manifest("guestbook", "{a: 2}"), uid);
    free(uid);
    world_free(w);
}

static void a_file_that_is_removed_while_it_is_written_is_gone(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, APP("guestbook", "{\"a\":1}"));
    FILE *f = fopen(path_of(w, FILE_NAME), "w");
    assert_non_null(f);
    assert_being_written(w);
    person_removes(w, FILE_NAME);
    assert_true(fputs(manifest("guestbook", "{a: 2}"), f) >= 0);
    assert_int_equal(fflush(f), 0);
    wait_changes(w, AB_STORE_DELETED, KEY, 1);
    assert_int_equal(fclose(f), 0);
    apply_ok(w, APP("guestbook", "{\"a\":3}"));
    world_free(w);
}

static void several_documents_in_a_file_are_several_objects(void **state)
{
    (void)state;
    world *w = begin();
    char text[2048];
    (void)snprintf(text, sizeof(text), "# both\n---\n%s---\n# second\n%s",
                   manifest("one", "{a: 1}"), manifest("two", "{a: 1}"));
    person_writes(w, "argocd/Application/both.yaml", text);
    wait_changes(w, AB_STORE_UPDATED, "Application/argocd/one", 1);
    wait_changes(w, AB_STORE_UPDATED, "Application/argocd/two", 1);
    apply_ok(w, APP("one", "{\"a\":2}"));
    char *now = text_of(w, "argocd/Application/both.yaml");
    assert_non_null(strstr(now, "# second\n"));
    assert_non_null(strstr(now, manifest("two", "{a: 1}")));
    assert_non_null(strstr(now, "a: 2"));
    free(now);
    result r = do_remove(w, "Application/argocd/one", NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    now = text_of(w, "argocd/Application/both.yaml");
    assert_null(strstr(now, "name: one"));
    assert_non_null(strstr(now, manifest("two", "{a: 1}")));
    free(now);
    r = do_remove(w, "Application/argocd/two", NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    assert_null(text_of(w, "argocd/Application/both.yaml"));
    assert_int_equal(w->fault_count, 0);
    world_free(w);
}

static void an_object_whose_place_is_taken_is_added_to_the_file(void **state)
{
    (void)state;
    world *w = begin();
    person_writes(w, FILE_NAME, manifest("other", "{a: 1}"));
    wait_changes(w, AB_STORE_UPDATED, "Application/argocd/other", 1);
    apply_ok(w, APP("guestbook", "{\"a\":2}"));
    char *now = text_of(w, FILE_NAME);
    assert_true(strncmp(now, manifest("other", "{a: 1}"), strlen(manifest("other", "{a: 1}"))) ==
                0);
    assert_non_null(strstr(now, "name: guestbook"));
    free(now);
    world_stop(w);
    world_forget(w);
    world_start(w);
    world_wait_synced(w);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, NULL), 2);
    world_free(w);
}

static void a_json_file_stays_json(void **state)
{
    (void)state;
    world *w = begin();
    person_writes(w, "argocd/Application/guestbook.json", APP("guestbook", "{\"a\":1e400}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 1);
    apply_ok(w, APP("guestbook", "{\"a\":1e401}"));
    char *now = text_of(w, "argocd/Application/guestbook.json");
    assert_int_equal(now[0], '{');
    assert_non_null(strstr(now, "1e401"));
    free(now);
    world_free(w);
}

static void an_exported_object_with_status_can_be_dropped_in(void **state)
{
    (void)state;
    world *w = begin();
    person_writes(w, FILE_NAME,
                  "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n"
                  "  name: guestbook\n  namespace: argocd\n  uid: foreign\n"
                  "  resourceVersion: \"77\"\n  creationTimestamp: null\n"
                  "spec: {a: 1}\nstatus: {health: good}\n");
    wait_changes(w, AB_STORE_UPDATED, KEY, 1);
    assert_text(TEXT_AT(last_seen(w, KEY), "status", "health"), "\"good\"");
    assert_false(ab_str_is(ab_object_uid(last_seen(w, KEY)), "foreign"));
    char *before = text_of(w, FILE_NAME);
    result r = do_patch(w, KEY, "{\"health\":\"bad\"}", "1.1", NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    char *after = text_of(w, FILE_NAME);
    assert_string_equal(before, after);
    assert_text(TEXT_AT(r.object, "status", "health"), "\"bad\"");
    free(before);
    free(after);
    result_fini(&r);
    apply_ok(w, APP("guestbook", "{\"a\":2}"));
    assert_text(TEXT_AT(last_seen(w, KEY), "status", "health"), "\"bad\"");
    world_free(w);
}

static void own_writes_are_seen_once_and_not_again_by_their_echo(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, APP("guestbook", "{\"a\":1}"));
    apply_ok(w, APP("guestbook", "{\"a\":2}"));
    person_writes(w, "argocd/Application/other.yaml", manifest("other", "{}"));
    wait_changes(w, AB_STORE_UPDATED, "Application/argocd/other", 1);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, KEY), 2);
    world_free(w);
}

static void assert_mode(world *w, const char *path, mode_t expected)
{
    struct stat st;
    assert_int_equal(stat(path_of(w, path), &st), 0);
    assert_int_equal(st.st_mode & 0777, expected);
}

static void a_secret_is_for_its_owner_alone(void **state)
{
    (void)state;
    world *w = begin();
    const char *text = "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\","
                       "\"namespace\":\"argocd\"},\"data\":{\"password\":\"eA==\"}}";
    apply_ok(w, text);
    assert_mode(w, "argocd/Secret/s.yaml", 0600);
    world_free(w);
}

static void person_writes_secret(world *w, const char *name, mode_t mode)
{
    const char *temp = "argocd/Secret/.swp";
    char path[64];
    char text[256];
    (void)snprintf(path, sizeof(path), "argocd/Secret/%s.yaml", name);
    (void)snprintf(text, sizeof(text), "apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\n",
                   name);
    person_writes(w, temp, text);
    assert_int_equal(chmod(path_of(w, temp), mode), 0);
    person_renames(w, temp, path);
}

static void a_secret_that_everybody_could_read_is_so_no_longer(void **state)
{
    (void)state;
    world *w = begin();
    person_writes_secret(w, "open", 0644);
    person_writes_secret(w, "shared", 0640);
    wait_changes(w, AB_STORE_UPDATED, "Secret/argocd/open", 1);
    wait_changes(w, AB_STORE_UPDATED, "Secret/argocd/shared", 1);
    assert_mode(w, "argocd/Secret/open.yaml", 0600);
    assert_mode(w, "argocd/Secret/shared.yaml", 0640);
    world_free(w);
}

static void manifests_hold_nothing_that_the_server_sets(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, APP("guestbook", "{\"a\":1}"));
    result r = do_patch(w, KEY, "{\"x\":1}", "2.2", NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    char *text = ab_str_dup(ab_span_raw(ab_object_json(r.object)));
    result_fini(&r);
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 5}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 3);
    apply_ok(w, text);
    free(text);
    text = text_of(w, FILE_NAME);
    static const char *const not_there[] = {"uid",        "resourceVersion", "creationTimestamp",
                                            "generation", "status",          "status-version"};
    for (size_t i = 0; i < sizeof(not_there) / sizeof(not_there[0]); i++)
        assert_null(strstr(text, not_there[i]));
    free(text);
    world_free(w);
}

/* An edit that the store has not seen yet is not overwritten unseen. */
static void an_apply_on_an_older_version_than_the_file_is_a_conflict(void **state)
{
    (void)state;
    world *w = begin();
    result made = do_apply(w, APP("guestbook", "{\"a\":1}"), NULL);
    ab_store_condition condition = {.version = ab_object_version(made.object)};
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 2}"));
    result r = do_apply(w, APP("guestbook", "{\"a\":3}"), &condition);
    assert_int_equal(r.code, AB_ERR_CONFLICT);
    assert_text(TEXT_AT(last_seen(w, KEY), "spec", "a"), "2");
    result_fini(&made);
    world_free(w);
}

/* What the sidecar still says of it makes it no object. */
static void an_apply_on_the_uid_of_what_a_person_has_just_removed_is_a_conflict(void **state)
{
    (void)state;
    world *w = begin();
    result made = do_apply(w, APP("guestbook", "{\"a\":1}"), NULL);
    ab_store_condition condition = {.uid = ab_object_uid(made.object)};
    person_removes(w, FILE_NAME);
    result r = do_apply(w, APP("guestbook", "{\"a\":2}"), &condition);
    assert_int_equal(r.code, AB_ERR_CONFLICT);
    assert_null(text_of(w, FILE_NAME));
    result_fini(&made);
    world_free(w);
}

static void a_finalizer_taken_out_by_a_person_lets_the_object_go(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, HELD);
    result r = do_remove(w, KEY, NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    result_fini(&r);
    person_writes(w, FILE_NAME, manifest("guestbook", "{}"));
    wait_changes(w, AB_STORE_DELETED, KEY, 1);
    assert_null(text_of(w, FILE_NAME));
    world_free(w);
}

/* Its manifest has gone by hand meanwhile, which the store has not seen yet. */
static void an_object_made_in_the_place_of_a_deleted_one_is_not_being_deleted(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, HELD);
    result gone = do_remove(w, KEY, NULL);
    assert_true(ab_object_deleting(gone.object));
    person_removes(w, FILE_NAME);
    result made = do_apply(w, HELD, NULL);
    assert_int_equal(made.code, AB_ERR_OK);
    assert_false(ab_object_deleting(made.object));
    result_fini(&gone);
    result_fini(&made);
    world_free(w);
}

static void a_namespace_folder_moved_away_deletes_its_objects_and_back_brings_them(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, APP("guestbook", "{}"));
    person_renames(w, "argocd", ".aside");
    wait_changes(w, AB_STORE_ABSENT, KEY, 1);
    assert_int_equal(count_changes(w, AB_STORE_DELETED, KEY), 0);
    person_renames(w, ".aside", "argocd");
    wait_changes(w, AB_STORE_UPDATED, KEY, 2);
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 2}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 3);
    world_free(w);
}

/* More events than the kernel keeps, before the loop runs again. */
static void overflow(world *w)
{
    FILE *limit = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
    int events = 0;
    assert_non_null(limit);
    assert_int_equal(fscanf(limit, "%d", &events), 1);
    assert_int_equal(fclose(limit), 0);
    for (int i = 0; i <= events / 2; i++) {
        person_writes(w, "argocd/Application/one.txt", "");
        person_writes(w, "argocd/Application/two.txt", "");
    }
}

static void changes_whose_events_the_kernel_dropped_are_seen(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, APP("guestbook", "{\"a\":1}"));
    overflow(w);
    person_writes(w, "other/Application/late.yaml", manifest("late", "{}"));
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 2}"));
    person_writes(w, "argocd/Application/new.yaml", manifest("new", "{}"));
    wait_changes(w, AB_STORE_UPDATED, "Application/other/late", 1);
    wait_changes(w, AB_STORE_UPDATED, "Application/argocd/new", 1);
    wait_changes(w, AB_STORE_UPDATED, KEY, 2);
    assert_int_equal(count_changes(w, AB_STORE_DELETED, NULL), 0);
    assert_int_equal(count_changes(w, AB_STORE_ABSENT, NULL), 0);
    world_free(w);
}

/* As rm -r does it: the files first, then their folder. */
static void a_folder_that_goes_takes_along_what_its_files_lost_just_before(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, APP("guestbook", "{}"));
    person_removes(w, FILE_NAME);
    person_renames(w, "argocd/Application", ".aside");
    wait_changes(w, AB_STORE_ABSENT, KEY, 1);
    assert_int_equal(count_changes(w, AB_STORE_DELETED, KEY), 0);
    world_free(w);
}

static void what_the_kernel_dropped_the_events_of_was_not_observed_to_go(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, APP("guestbook", "{}"));
    overflow(w);
    person_removes(w, FILE_NAME);
    wait_changes(w, AB_STORE_ABSENT, KEY, 1);
    assert_int_equal(count_changes(w, AB_STORE_DELETED, KEY), 0);
    world_free(w);
}

static void a_root_that_is_gone_deletes_nothing(void **state)
{
    (void)state;
    world *w = begin();
    char aside[512];
    apply_ok(w, APP("guestbook", "{}"));
    (void)snprintf(aside, sizeof(aside), "%s.aside", directory_place_path(w->place));
    assert_int_equal(rename(directory_place_path(w->place), aside), 0);
    world_wait_fault(w, directory_place_path(w->place), "moved");
    assert_int_equal(rename(aside, directory_place_path(w->place)), 0);
    assert_int_equal(count_changes(w, AB_STORE_DELETED, NULL), 0);
    assert_int_equal(count_changes(w, AB_STORE_ABSENT, NULL), 0);
    world_free(w);
}

static void files_of_a_crash_are_removed_at_start(void **state)
{
    (void)state;
    world *w = begin();
    apply_ok(w, APP("guestbook", "{}"));
    world_stop(w);
    person_writes(w, "argocd/Application/.argobus/.tmp-1-0", "half");
    person_writes(w, ".argobus/.tmp-1-0", "half");
    world_forget(w);
    world_start(w);
    world_wait_synced(w);
    assert_null(text_of(w, "argocd/Application/.argobus/.tmp-1-0"));
    assert_null(text_of(w, ".argobus/.tmp-1-0"));
    world_free(w);
}

static void a_second_process_on_the_same_folder_is_refused(void **state)
{
    (void)state;
    world *w = begin();
    static const ab_store_watch watches[] = {{0}};
    ab_store_env env = w->store->env;
    env.watches = watches;
    ab_store *second = NULL;
    ab_error err = {0};
    assert_int_equal(ab_store_new(&env, &second, &err), AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, "in use"));
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_manifest_in_new_folders_is_seen),
        cmocka_unit_test(the_strings_of_a_secret_are_its_data),
        cmocka_unit_test(an_edit_in_place_raises_the_generation_once),
        cmocka_unit_test(a_folder_that_cannot_be_watched_says_which_and_what_to_do),
        cmocka_unit_test(an_edit_by_rename_is_seen),
        cmocka_unit_test(a_comment_is_no_change),
        cmocka_unit_test(an_edit_while_the_store_is_down_raises_the_generation),
        cmocka_unit_test(a_removed_manifest_is_a_deleted_object_whatever_its_finalizers),
        cmocka_unit_test(a_manifest_removed_while_the_store_was_down_leaves_no_sidecar),
        cmocka_unit_test(a_renamed_file_keeps_its_object),
        cmocka_unit_test(an_editor_that_moves_the_file_away_first_deletes_nothing),
        cmocka_unit_test(a_file_that_is_being_written_loses_nothing),
        cmocka_unit_test(what_is_written_in_parts_is_seen_as_a_whole),
        cmocka_unit_test(an_editor_that_moves_the_file_away_and_writes_slowly_deletes_nothing),
        cmocka_unit_test(one_that_is_missing_is_not_gone_while_it_is_written),
        cmocka_unit_test(what_is_read_meanwhile_is_what_it_was),
        cmocka_unit_test(a_file_that_is_removed_while_it_is_written_is_gone),
        cmocka_unit_test(several_documents_in_a_file_are_several_objects),
        cmocka_unit_test(an_object_whose_place_is_taken_is_added_to_the_file),
        cmocka_unit_test(a_json_file_stays_json),
        cmocka_unit_test(an_exported_object_with_status_can_be_dropped_in),
        cmocka_unit_test(own_writes_are_seen_once_and_not_again_by_their_echo),
        cmocka_unit_test(a_secret_is_for_its_owner_alone),
        cmocka_unit_test(a_secret_that_everybody_could_read_is_so_no_longer),
        cmocka_unit_test(manifests_hold_nothing_that_the_server_sets),
        cmocka_unit_test(an_apply_on_an_older_version_than_the_file_is_a_conflict),
        cmocka_unit_test(an_apply_on_the_uid_of_what_a_person_has_just_removed_is_a_conflict),
        cmocka_unit_test(a_finalizer_taken_out_by_a_person_lets_the_object_go),
        cmocka_unit_test(an_object_made_in_the_place_of_a_deleted_one_is_not_being_deleted),
        cmocka_unit_test(a_namespace_folder_moved_away_deletes_its_objects_and_back_brings_them),
        cmocka_unit_test(changes_whose_events_the_kernel_dropped_are_seen),
        cmocka_unit_test(a_folder_that_goes_takes_along_what_its_files_lost_just_before),
        cmocka_unit_test(what_the_kernel_dropped_the_events_of_was_not_observed_to_go),
        cmocka_unit_test(a_root_that_is_gone_deletes_nothing),
        cmocka_unit_test(files_of_a_crash_are_removed_at_start),
        cmocka_unit_test(a_second_process_on_the_same_folder_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
