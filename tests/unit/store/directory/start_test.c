/* SPDX-License-Identifier: Apache-2.0
 *
 * What a store that starts finds in the folder: a file that somebody has begun to write before, and
 * whose events nobody has told of, may hold but a part of what it will.
 */
#include "store/directory/disk.h"
#include "tests/unit/store/directory/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define ONE       "Application/argocd/one"
#define TWO       "Application/argocd/two"
#define FILE_NAME "argocd/Application/both.yaml"
#define SIDECAR   "argocd/Application/.argobus/two.json"

/* Stands still where the file was written so long ago. */
static int64_t now_us;

static int64_t wall(void *arg)
{
    (void)arg;
    return now_us;
}

static int64_t mono(void *arg)
{
    (void)arg;
    return ab_clock_mono_ms(&ab_clock_real);
}

static const ab_clock standing = {mono, wall, NULL};

static void put_part(FILE *f, const char *name)
{
    assert_true(fprintf(f, "---\n%s", manifest(name, "{a: 1}")) > 0);
    assert_int_equal(fflush(f), 0);
}

/* The file is emptied and written again, up to its second object, while no store runs. */
static FILE *begin_writing(world *w)
{
    FILE *f = fopen(path_of(w, FILE_NAME), "w");
    assert_non_null(f);
    put_part(f, "one");
    return f;
}

/* A store has had both objects, and is stopped. */
static world *stopped(char **uid)
{
    world *w = world_new(&directory_place);
    person_writes(w, FILE_NAME, "");
    FILE *f = begin_writing(w);
    put_part(f, "two");
    assert_int_equal(fclose(f), 0);
    wait_changes(w, AB_STORE_UPDATED, ONE, 1);
    wait_changes(w, AB_STORE_UPDATED, TWO, 1);
    *uid = ab_str_dup(ab_object_uid(last_seen(w, TWO)));
    world_stop(w);
    world_forget(w);
    return w;
}

/* Start it `ms` after this was changed last. */
static void begin_after(world *w, const char *path, int64_t ms)
{
    struct stat st;
    assert_int_equal(stat(path_of(w, path), &st), 0);
    now_us = (int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000 + ms * 1000;
    w->clock = &standing;
    world_start(w);
}

/* Start it `ms` after the file was written last. */
static void start_after(world *w, int64_t ms)
{
    begin_after(w, FILE_NAME, ms);
    wait_changes(w, AB_STORE_LIST_DONE, NULL, 1);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, ONE), 1);
}

static void what_a_file_that_is_being_written_lacks_is_not_gone(void **state)
{
    (void)state;
    char *uid = NULL;
    world *w = stopped(&uid);
    FILE *f = begin_writing(w);
    start_after(w, 0);
    world_settle(w);
    assert_int_equal(count_changes(w, AB_STORE_SYNCED, NULL), 0);
    put_part(f, "two");
    assert_int_equal(fclose(f), 0);
    world_wait_synced(w);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, TWO), 1);
    assert_true(ab_str_is(ab_object_uid(last_seen(w, TWO)), uid));
    free(uid);
    world_free(w);
}

static void what_it_lacks_when_it_was_written_long_ago_is_gone(void **state)
{
    (void)state;
    char *uid = NULL;
    world *w = stopped(&uid);
    assert_int_equal(fclose(begin_writing(w)), 0);
    start_after(w, 29900);
    world_wait_synced(w);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, TWO), 0);
    world_stop(w);
    world_forget(w);
    start_after(w, 30000);
    world_wait_synced(w);
    assert_null(text_of(w, SIDECAR));
    free(uid);
    world_free(w);
}

#define FOLDER "argocd/Application"
#define AWAY   FOLDER "/both.yaml~"

/* @return whether a timer of the store runs, with which it waits for what was moved away */
static bool waits(world *w)
{
    int left_ms = uv_backend_timeout(&w->loop);
    while (count_changes(w, AB_STORE_LIST_DONE, NULL) == 0 && (left_ms <= 0 || left_ms > 251)) {
        (void)uv_run(&w->loop, UV_RUN_NOWAIT);
        left_ms = uv_backend_timeout(&w->loop);
    }
    return count_changes(w, AB_STORE_LIST_DONE, NULL) == 0;
}

static void what_was_moved_away_to_be_replaced_is_not_gone(void **state)
{
    (void)state;
    char *uid = NULL;
    world *w = stopped(&uid);
    person_renames(w, FILE_NAME, AWAY);
    begin_after(w, FOLDER, 0);
    assert_true(waits(w));
    person_renames(w, AWAY, FILE_NAME);
    world_wait_synced(w);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, TWO), 1);
    assert_true(ab_str_is(ab_object_uid(last_seen(w, TWO)), uid));
    free(uid);
    world_free(w);
}

static void what_was_moved_away_and_does_not_come_back_is_gone(void **state)
{
    (void)state;
    char *uid = NULL;
    world *w = stopped(&uid);
    person_renames(w, FILE_NAME, AWAY);
    begin_after(w, FOLDER, 0);
    assert_true(waits(w));
    world_wait_synced(w);
    assert_int_equal(count_changes(w, AB_STORE_UPDATED, TWO), 0);
    assert_null(text_of(w, SIDECAR));
    free(uid);
    world_free(w);
}

static void what_was_moved_away_before_is_gone_at_once(void **state)
{
    (void)state;
    char *uid = NULL;
    world *w = stopped(&uid);
    person_renames(w, FILE_NAME, AWAY);
    begin_after(w, FOLDER, 250);
    assert_false(waits(w));
    assert_null(text_of(w, SIDECAR));
    free(uid);
    world_free(w);
}

static void a_store_may_stop_while_it_waits(void **state)
{
    (void)state;
    char *uid = NULL;
    world *w = stopped(&uid);
    person_renames(w, FILE_NAME, AWAY);
    begin_after(w, FOLDER, 0);
    assert_true(waits(w));
    free(uid);
    world_free(w);
}

/* The version of an object that is written while no store runs, and read at the next start. */
static char *version_of_edit(world *w, const char *spec)
{
    FILE *f = fopen(path_of(w, FILE_NAME), "w");
    assert_non_null(f);
    assert_true(fprintf(f, "%s---\n", manifest("one", spec)) > 0);
    put_part(f, "two"); /* without it the store would wait for a writer */
    assert_int_equal(fclose(f), 0);
    world_start(w);
    world_wait_synced(w);
    char *version = ab_str_dup(ab_object_version(last_seen(w, ONE)));
    world_stop(w);
    world_forget(w);
    return version;
}

/* What tells two contents of one object apart by its version relies on that. */
static void a_folder_from_a_backup_gives_no_version_twice(void **state)
{
    (void)state;
    static const char *const kept[] = {".argobus/starts", "argocd/Application/.argobus/one.json"};
    char *uid = NULL, *saved[2];
    world *w = stopped(&uid);
    for (size_t i = 0; i < 2; i++)
        assert_non_null(saved[i] = text_of(w, kept[i]));
    char *lost = version_of_edit(w, "{a: 2}");
    for (size_t i = 0; i < 2; i++) {
        person_writes(w, kept[i], saved[i]);
        free(saved[i]);
    }
    char *next = version_of_edit(w, "{a: 3}");
    assert_string_not_equal(lost, next);
    free(lost);
    free(next);
    free(uid);
    world_start(w);
    world_free(w);
}

static void a_count_of_starts_that_is_none_is_an_error_that_says_what_to_do(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "x\n", "-1\n",
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000001\n"};
    char *uid = NULL;
    world *w = stopped(&uid);
    int root = -1, lock = -1;
    uint64_t start = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        ab_error err = {0};
        person_writes(w, ".argobus/starts", texts[i]);
        assert_int_equal(ab_disk_claim(path_of(w, "."), &root, &lock, &start, &err), AB_ERR_CONFIG);
        assert_ptr_equal(strstr(err.text, path_of(w, "./.argobus/starts")), err.text);
        assert_non_null(strstr(err.text, "write one into it"));
    }
    person_writes(w, ".argobus/starts", "10000");
    free(uid);
    world_start(w);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_file_that_is_being_written_lacks_is_not_gone),
        cmocka_unit_test(what_it_lacks_when_it_was_written_long_ago_is_gone),
        cmocka_unit_test(what_was_moved_away_to_be_replaced_is_not_gone),
        cmocka_unit_test(what_was_moved_away_and_does_not_come_back_is_gone),
        cmocka_unit_test(what_was_moved_away_before_is_gone_at_once),
        cmocka_unit_test(a_store_may_stop_while_it_waits),
        cmocka_unit_test(a_folder_from_a_backup_gives_no_version_twice),
        cmocka_unit_test(a_count_of_starts_that_is_none_is_an_error_that_says_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
