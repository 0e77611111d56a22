/* SPDX-License-Identifier: Apache-2.0 */
#include "services/cache.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct {
    uv_loop_t loop;
    char folder[64];
    char path[128];
    ab_cache *cache;
    bool fresh;
    size_t done;
    ab_err last;
} fixture;

static int64_t day;

static int64_t stepped_wall_us(void *arg)
{
    (void)arg;
    return day * 86400 * 1000000;
}

static int64_t no_mono_ms(void *arg)
{
    (void)arg;
    return 0;
}

static const ab_clock stepped = {no_mono_ms, stepped_wall_us, NULL};

static void reopen(fixture *f)
{
    ab_error err = {0};
    ab_cache_close(f->cache);
    f->cache = NULL;
    assert_int_equal(ab_cache_open(&f->loop, f->path, &stepped, &f->cache, &f->fresh, &err),
                     AB_ERR_OK);
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    snprintf(f->folder, sizeof(f->folder), "/tmp/argobus-cache-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof(f->path), "%s/kept.sqlite", f->folder);
    assert_int_equal(uv_loop_init(&f->loop), 0);
    day = 20000;
    reopen(f);
    *state = f;
    return 0;
}

static void remove_file(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    (void)unlink(path);
}

static int tear_down(void **state)
{
    fixture *f = *state;
    ab_cache_close(f->cache);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    remove_file(f->folder, "kept.sqlite");
    remove_file(f->folder, "kept.sqlite-wal");
    remove_file(f->folder, "kept.sqlite-shm");
    assert_int_equal(rmdir(f->folder), 0);
    free(f);
    return 0;
}

static void on_done(void *arg, ab_err code, const ab_error *err)
{
    fixture *f = arg;
    (void)err;
    f->done++;
    f->last = code;
}

static void keep(fixture *f, const char *key, const ab_kept *kept)
{
    assert_int_equal(ab_cache_keep(f->cache, ab_str_of(key), kept, on_done, f), AB_ERR_OK);
}

static void wait_until_kept(fixture *f, size_t count)
{
    while (f->done < count)
        assert_true(uv_run(&f->loop, UV_RUN_ONCE) != 0 || f->done >= count);
    assert_int_equal(f->last, AB_ERR_OK);
    assert_int_equal(ab_cache_pending(f->cache), 0);
}

static void a_new_file_is_fresh_and_an_old_one_is_not(void **state)
{
    fixture *f = *state;
    assert_true(f->fresh);
    reopen(f);
    assert_false(f->fresh);
}

static void assert_private(const fixture *f)
{
    const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < 3; i++) {
        char path[160];
        struct stat st;
        snprintf(path, sizeof(path), "%s%s", f->path, ends[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
}

static void nobody_else_may_read_it(void **state)
{
    assert_private(*state);
}

/* As an older argobus left it, which was killed. */
static void what_everybody_could_read_is_taken_from_them(void **state)
{
    fixture *f = *state;
    char log[160];
    snprintf(log, sizeof(log), "%s-wal", f->path);
    ab_cache_close(f->cache);
    f->cache = NULL;
    assert_int_equal(chmod(f->path, 0644), 0);
    int fd = open(log, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, 0644), 0);
    assert_int_equal(close(fd), 0);
    reopen(f);
    assert_private(f);
}

static void a_row_comes_back_as_it_was_also_after_reopening(void **state)
{
    fixture *f = *state;
    ab_kept out;
    const char wish[] = "{\"n\":123456789012345678901234567890,\"s\":\"a\\u0000b\"}";
    ab_kept in = {.version = {7, UINT64_MAX},
                  .deleting = true,
                  .adoptable = true,
                  .remapped = true,
                  .uid = AB_STR("uid-1"),
                  .owner = AB_STR("p-1"),
                  .owned = AB_STR("{}"),
                  .wish = AB_STR(wish)};
    keep(f, "Application/argocd/a", &in);
    wait_until_kept(f, 1);
    reopen(f);
    assert_int_equal(ab_cache_recall(f->cache, AB_STR("Application/argocd/a"), &out), AB_ERR_OK);
    assert_int_equal(ab_version_cmp(out.version, in.version), 0);
    assert_true(out.deleting && out.adoptable && out.remapped && !out.ended);
    assert_true(ab_str_eq(out.uid, in.uid) && ab_str_eq(out.owner, in.owner));
    assert_true(ab_str_eq(out.owned, in.owned) && ab_str_is(out.wish, wish));
}

static void the_newest_of_one_key_stays(void **state)
{
    fixture *f = *state;
    ab_kept out;
    keep(f, "k", &(ab_kept){.version = {1, 1}, .wish = AB_STR("old")});
    keep(f, "k", &(ab_kept){.version = {1, 2}, .wish = AB_STR("new")});
    wait_until_kept(f, 2);
    assert_int_equal(ab_cache_recall(f->cache, AB_STR("k"), &out), AB_ERR_OK);
    assert_true(ab_str_is(out.wish, "new"));
}

static void an_unknown_key_is_not_found(void **state)
{
    fixture *f = *state;
    ab_kept out;
    assert_int_equal(ab_cache_recall(f->cache, AB_STR("nobody"), &out), AB_ERR_NOTFOUND);
}

static ab_err count_row(void *arg, ab_str key, const ab_kept *kept)
{
    size_t *count = arg;
    (void)key;
    (void)kept;
    ++*count;
    return AB_ERR_OK;
}

static size_t rows(fixture *f)
{
    size_t count = 0;
    assert_int_equal(ab_cache_each(f->cache, count_row, &count, NULL), AB_ERR_OK);
    return count;
}

static void thousands_of_rows_are_all_kept(void **state)
{
    fixture *f = *state;
    char key[64];
    for (int i = 0; i < 5000; i++) {
        snprintf(key, sizeof(key), "Application/argocd/app-%d", i);
        keep(f, key, &(ab_kept){.version = {1, (uint64_t)i + 1}, .wish = AB_STR("{}")});
    }
    wait_until_kept(f, 5000);
    assert_int_equal(rows(f), 5000);
}

static void the_mark_of_a_deleted_object_goes_after_thirty_days(void **state)
{
    fixture *f = *state;
    keep(f, "gone", &(ab_kept){.version = {1, 1}, .ended = true});
    keep(f, "here", &(ab_kept){.version = {1, 1}, .wish = AB_STR("{}")});
    wait_until_kept(f, 2);
    day += 29;
    reopen(f);
    assert_int_equal(rows(f), 2);
    day += 2;
    reopen(f);
    assert_int_equal(rows(f), 1);
}

/* A file as argobus made it before the source and the hash of an object were kept. */
static void put_file_of_format_1(fixture *f)
{
    sqlite3 *db = NULL;
    ab_cache_close(f->cache);
    f->cache = NULL;
    remove_file(f->folder, "kept.sqlite");
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(
            db,
            "CREATE TABLE kept(key TEXT PRIMARY KEY, epoch INTEGER, version INTEGER,"
            " flags INTEGER, at INTEGER, uid TEXT, principal_uid TEXT, owned TEXT,"
            " wish BLOB);"
            "INSERT INTO kept VALUES('old', 3, 4, 0, 1, 'uid-1', 'p-1', '{}', '{\"n\":1}');"
            "PRAGMA user_version=1;",
            NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_file_of_format_1_is_taken_over(void **state)
{
    fixture *f = *state;
    ab_kept out;
    put_file_of_format_1(f);
    reopen(f);
    assert_false(f->fresh);
    assert_int_equal(ab_cache_recall(f->cache, AB_STR("old"), &out), AB_ERR_OK);
    assert_int_equal(ab_version_cmp(out.version, (ab_version){3, 4}), 0);
    assert_true(ab_str_is(out.uid, "uid-1") && ab_str_is(out.owner, "p-1"));
    assert_true(ab_str_is(out.wish, "{\"n\":1}"));
    assert_null(out.source.ptr);
    assert_true(ab_digest_is_none(&out.hash));
}

static void a_file_of_format_1_keeps_what_comes_then(void **state)
{
    fixture *f = *state;
    ab_kept out;
    ab_kept in = {.version = {3, 5}, .wish = AB_STR("{}"), .source = AB_STR("Application/w1/a")};
    in.hash.bytes[0] = 7;
    put_file_of_format_1(f);
    reopen(f);
    keep(f, "old", &in);
    wait_until_kept(f, 1);
    reopen(f);
    assert_int_equal(rows(f), 1);
    assert_int_equal(ab_cache_recall(f->cache, AB_STR("old"), &out), AB_ERR_OK);
    assert_true(ab_str_eq(out.source, in.source));
    assert_true(ab_digest_eq(&out.hash, &in.hash));
}

static void a_damaged_file_is_an_error_that_says_what_to_do(void **state)
{
    fixture *f = *state;
    ab_error err = {0};
    ab_cache *c = NULL;
    bool fresh;
    ab_cache_close(f->cache);
    f->cache = NULL;
    FILE *file = fopen(f->path, "wb");
    assert_non_null(file);
    fputs("this is no database, and it is long enough to be looked at as one", file);
    fclose(file);
    assert_int_equal(ab_cache_open(&f->loop, f->path, &stepped, &c, &fresh, &err), AB_ERR_PARSE);
    assert_non_null(strstr(err.text, "remove it"));
}

static void a_missing_folder_is_an_error_that_names_it(void **state)
{
    fixture *f = *state;
    ab_error err = {0};
    ab_cache *c = NULL;
    bool fresh;
    assert_int_equal(
        ab_cache_open(&f->loop, "/nowhere/at/all/kept.sqlite", &stepped, &c, &fresh, &err),
        AB_ERR_DENIED);
    assert_non_null(strstr(err.text, "/nowhere/at/all"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_new_file_is_fresh_and_an_old_one_is_not),
        CASE(nobody_else_may_read_it),
        CASE(what_everybody_could_read_is_taken_from_them),
        CASE(a_row_comes_back_as_it_was_also_after_reopening),
        CASE(the_newest_of_one_key_stays),
        CASE(an_unknown_key_is_not_found),
        CASE(thousands_of_rows_are_all_kept),
        CASE(the_mark_of_a_deleted_object_goes_after_thirty_days),
        CASE(a_file_of_format_1_is_taken_over),
        CASE(a_file_of_format_1_keeps_what_comes_then),
        CASE(a_damaged_file_is_an_error_that_says_what_to_do),
        CASE(a_missing_folder_is_an_error_that_names_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
