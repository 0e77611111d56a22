/* SPDX-License-Identifier: Apache-2.0 */
#include "services/state_db.h"

#include "services/state_db_priv.h"

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
    ab_state_db *state_db;
    bool fresh;
    size_t done;
    ab_err last;
    ab_received_state row; /* of the last answer */
    char *texts;
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

static void close_cache(fixture *f)
{
    ab_state_db_close(f->state_db);
    f->state_db = NULL;
    (void)uv_run(&f->loop, UV_RUN_DEFAULT);
}

static void reopen(fixture *f)
{
    ab_error err = {0};
    close_cache(f);
    assert_int_equal(ab_state_db_open(&f->loop, f->path, &stepped, &f->state_db, &f->fresh, &err),
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
    close_cache(f);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    remove_file(f->folder, "kept.sqlite");
    remove_file(f->folder, "kept.sqlite-wal");
    remove_file(f->folder, "kept.sqlite-shm");
    assert_int_equal(rmdir(f->folder), 0);
    free(f->texts);
    free(f);
    return 0;
}

static void on_done(void *arg, ab_err code, const ab_received_state *row, const ab_error *err)
{
    fixture *f = arg;
    assert_non_null(err);
    assert_int_equal(row != NULL, code == AB_ERR_OK);
    f->done++;
    f->last = code;
    free(f->texts);
    f->texts = row == NULL ? NULL : malloc(ab_received_state_bytes(row) + 1);
    f->row = f->texts == NULL ? (ab_received_state){0} : ab_received_state_copy(row, f->texts);
}

static void keep(fixture *f, const char *key, const ab_received_state *kept)
{
    assert_int_equal(ab_state_db_save(f->state_db, ab_str_of(key), kept, on_done, f), AB_ERR_OK);
}

static void wait_until_answered(fixture *f, size_t count)
{
    while (f->done < count)
        assert_true(uv_run(&f->loop, UV_RUN_ONCE) != 0 || f->done >= count);
    assert_int_equal(ab_state_db_pending(f->state_db), 0);
}

static void wait_until_kept(fixture *f, size_t count)
{
    wait_until_answered(f, count);
    assert_int_equal(f->last, AB_ERR_OK);
}

static ab_err load(fixture *f, const char *key, ab_received_state *out)
{
    size_t before = f->done;
    assert_int_equal(ab_state_db_load(f->state_db, ab_str_of(key), on_done, f), AB_ERR_OK);
    assert_int_equal(f->done, before); /* never from inside the call */
    wait_until_answered(f, before + 1);
    *out = f->row;
    return f->last;
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
    close_cache(f);
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
    ab_received_state out;
    const char desired[] = "{\"n\":123456789012345678901234567890,\"s\":\"a\\u0000b\"}";
    ab_received_state in = {.version = {7, UINT64_MAX},
                            .deleting = true,
                            .adoptable = true,
                            .remapped = true,
                            .uid = AB_STR("uid-1"),
                            .owner = AB_STR("p-1"),
                            .owned = AB_STR("{}"),
                            .desired = AB_STR(desired)};
    keep(f, "Application/argocd/a", &in);
    wait_until_kept(f, 1);
    reopen(f);
    assert_int_equal(load(f, "Application/argocd/a", &out), AB_ERR_OK);
    assert_int_equal(ab_version_cmp(out.version, in.version), 0);
    assert_true(out.deleting && out.adoptable && out.remapped && !out.ended);
    assert_true(ab_str_eq(out.uid, in.uid) && ab_str_eq(out.owner, in.owner));
    assert_true(ab_str_eq(out.owned, in.owned) && ab_str_is(out.desired, desired));
}

static void what_was_given_up_is_given_up_after_reopening(void **state)
{
    fixture *f = *state;
    ab_received_state out;
    ab_received_state in = {.version = {7, 1}, .released = true};
    keep(f, "Application/argocd/a", &in);
    wait_until_kept(f, 1);
    reopen(f);
    assert_int_equal(load(f, "Application/argocd/a", &out), AB_ERR_OK);
    assert_true(out.released && !out.ended && !out.deleting);
}

static void whether_what_it_deployed_stays_is_known_after_reopening(void **state)
{
    fixture *f = *state;
    ab_received_state out;
    keep(f, "stays", &(ab_received_state){.version = {7, 1}, .ended = true, .orphan = true});
    keep(f, "goes", &(ab_received_state){.version = {7, 2}, .ended = true});
    wait_until_kept(f, 2);
    reopen(f);
    assert_int_equal(load(f, "stays", &out), AB_ERR_OK);
    assert_true(out.ended && out.orphan);
    assert_int_equal(load(f, "goes", &out), AB_ERR_OK);
    assert_true(out.ended && !out.orphan);
}

static void the_newest_of_one_key_stays(void **state)
{
    fixture *f = *state;
    ab_received_state out;
    keep(f, "k", &(ab_received_state){.version = {1, 1}, .desired = AB_STR("old")});
    keep(f, "k", &(ab_received_state){.version = {1, 2}, .desired = AB_STR("new")});
    wait_until_kept(f, 2);
    assert_int_equal(load(f, "k", &out), AB_ERR_OK);
    assert_true(ab_str_is(out.desired, "new"));
}

static void the_answer_to_a_write_is_the_row(void **state)
{
    fixture *f = *state;
    keep(f, "k",
         &(ab_received_state){.version = {3, 4}, .uid = AB_STR("u"), .desired = AB_STR("{}")});
    wait_until_kept(f, 1);
    assert_int_equal(ab_version_cmp(f->row.version, (ab_version){3, 4}), 0);
    assert_true(ab_str_is(f->row.uid, "u") && ab_str_is(f->row.desired, "{}"));
}

static void an_unknown_key_is_not_found(void **state)
{
    fixture *f = *state;
    ab_received_state out;
    assert_int_equal(load(f, "nobody", &out), AB_ERR_NOTFOUND);
}

static ab_err count_row(void *arg, ab_str key, const ab_received_state *kept)
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
    assert_int_equal(ab_state_db_each(f->state_db, count_row, &count, NULL), AB_ERR_OK);
    return count;
}

static void thousands_of_rows_are_all_kept(void **state)
{
    fixture *f = *state;
    char key[64];
    for (int i = 0; i < 5000; i++) {
        snprintf(key, sizeof(key), "Application/argocd/app-%d", i);
        keep(f, key,
             &(ab_received_state){.version = {1, (uint64_t)i + 1}, .desired = AB_STR("{}")});
    }
    wait_until_kept(f, 5000);
    assert_int_equal(rows(f), 5000);
}

static void the_mark_of_a_deleted_object_goes_after_thirty_days(void **state)
{
    fixture *f = *state;
    keep(f, "gone", &(ab_received_state){.version = {1, 1}, .ended = true});
    keep(f, "here", &(ab_received_state){.version = {1, 1}, .desired = AB_STR("{}")});
    wait_until_kept(f, 2);
    day += 29;
    reopen(f);
    assert_int_equal(rows(f), 2);
    day += 2;
    reopen(f);
    assert_int_equal(rows(f), 1);
}

/* Its agent has become autonomous: as after a deletion, older events may still come. */
static void the_mark_of_a_released_object_stays_thirty_days_after_its_release(void **state)
{
    fixture *f = *state;
    ab_received_state out;
    keep(f, "released", &(ab_received_state){.version = {1, 1}, .desired = AB_STR("{}")});
    wait_until_kept(f, 1);
    day += 40;
    reopen(f);
    assert_int_equal(ab_state_db_release(f->state_db, NULL), AB_ERR_OK);
    keep(f, "here", &(ab_received_state){.version = {1, 1}, .desired = AB_STR("{}")});
    wait_until_kept(f, 2);
    assert_int_equal(load(f, "released", &out), AB_ERR_OK);
    assert_true(out.released);
    day += 31;
    keep(f, "here", &(ab_received_state){.version = {1, 2}, .desired = AB_STR("{}")});
    wait_until_kept(f, 4);
    assert_int_equal(load(f, "released", &out), AB_ERR_NOTFOUND);
}

static size_t rows_of_gone(fixture *f, int from, int to)
{
    char key[32];
    for (int i = from; i < to; i++) {
        snprintf(key, sizeof(key), "gone-%d", i);
        keep(f, key, &(ab_received_state){.version = {1, 1}, .ended = true});
    }
    return (size_t)(to - from);
}

static void such_marks_go_while_it_runs_a_bounded_number_at_a_time(void **state)
{
    fixture *f = *state;
    size_t count = rows_of_gone(f, 0, AB_STATE_FILE_PRUNE_MAX + 10);
    wait_until_kept(f, count);
    assert_int_equal(rows(f), count);
    day += 31;
    keep(f, "here", &(ab_received_state){.version = {1, 1}, .desired = AB_STR("{}")});
    wait_until_kept(f, count + 1);
    assert_int_equal(rows(f), 11);
    keep(f, "here", &(ab_received_state){.version = {1, 2}, .desired = AB_STR("{}")});
    wait_until_kept(f, count + 2);
    assert_int_equal(rows(f), 1);
}

typedef struct {
    fixture *f;
    bool reads;
    bool over;
    size_t count; /* answers */
} endless;

static void ask_again(void *arg, ab_err code, const ab_received_state *row, const ab_error *err);

static void ask_one(endless *e)
{
    const ab_received_state row = {.version = {1, 1}};
    ab_err asked = e->reads ? ab_state_db_load(e->f->state_db, AB_STR("none"), ask_again, e)
                            : ab_state_db_save(e->f->state_db, AB_STR("many"), &row, ask_again, e);
    assert_int_equal(asked, AB_ERR_OK);
}

static void ask_again(void *arg, ab_err code, const ab_received_state *row, const ab_error *err)
{
    endless *e = arg;
    (void)code;
    (void)row;
    (void)err;
    e->count++;
    if (!e->over)
        ask_one(e);
}

/* Whatever is asked for all the time, the other is answered too. */
static void go_on_until_answered(fixture *f, bool reads)
{
    endless e = {.f = f, .reads = reads};
    size_t before = f->done;
    for (int i = 0; i < 3000; i++) /* more than a batch holds */
        ask_one(&e);
    if (reads)
        keep(f, "k", &(ab_received_state){.version = {1, 1}});
    else
        assert_int_equal(ab_state_db_load(f->state_db, AB_STR("k"), on_done, f), AB_ERR_OK);
    while (f->done == before && e.count < 100000)
        (void)uv_run(&f->loop, UV_RUN_ONCE);
    assert_int_equal(f->done, before + 1);
    e.over = true;
    (void)uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(ab_state_db_pending(f->state_db), 0);
}

static void reads_and_writes_do_not_starve_each_other(void **state)
{
    go_on_until_answered(*state, true);
    go_on_until_answered(*state, false);
}

static void what_is_pending_at_the_end_is_never_answered(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 100; i++) {
        keep(f, "k", &(ab_received_state){.version = {1, 1}, .desired = AB_STR("{}")});
        assert_int_equal(ab_state_db_load(f->state_db, AB_STR("k"), on_done, f), AB_ERR_OK);
    }
    close_cache(f);
    assert_int_equal(f->done, 0);
}

static void on_turn(uv_timer_t *timer)
{
    size_t *turns = timer->data;
    ++*turns;
}

/* Somebody else has the file: what is asked for waits, and the loop does not. */
static void a_file_that_is_held_does_not_hold_the_loop(void **state)
{
    fixture *f = *state;
    sqlite3 *other = NULL;
    size_t turns = 0;
    uv_timer_t timer;
    assert_int_equal(sqlite3_open(f->path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(uv_timer_init(&f->loop, &timer), 0);
    timer.data = &turns;
    assert_int_equal(uv_timer_start(&timer, on_turn, 1, 1), 0);
    keep(f, "k", &(ab_received_state){.version = {1, 1}, .desired = AB_STR("{}")});
    assert_int_equal(ab_state_db_load(f->state_db, AB_STR("k"), on_done, f), AB_ERR_OK);
    while (turns < 50)
        (void)uv_run(&f->loop, UV_RUN_ONCE);
    assert_int_equal(f->done, 0);
    assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    wait_until_kept(f, 2);
    uv_close((uv_handle_t *)&timer, NULL);
    (void)uv_run(&f->loop, UV_RUN_DEFAULT);
}

/* A file as argobus made it before the source and the hash of an object were kept. */
static void put_file_of_format_1(fixture *f)
{
    sqlite3 *db = NULL;
    close_cache(f);
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
    ab_received_state out;
    put_file_of_format_1(f);
    reopen(f);
    assert_false(f->fresh);
    assert_int_equal(load(f, "old", &out), AB_ERR_OK);
    assert_int_equal(ab_version_cmp(out.version, (ab_version){3, 4}), 0);
    assert_true(ab_str_is(out.uid, "uid-1") && ab_str_is(out.owner, "p-1"));
    assert_true(ab_str_is(out.desired, "{\"n\":1}"));
    assert_null(out.source.ptr);
    assert_true(ab_digest_is_none(&out.hash));
}

static void a_file_of_format_1_keeps_what_comes_then(void **state)
{
    fixture *f = *state;
    ab_received_state out;
    ab_received_state in = {
        .version = {3, 5}, .desired = AB_STR("{}"), .source = AB_STR("Application/w1/a")};
    in.hash.bytes[0] = 7;
    put_file_of_format_1(f);
    reopen(f);
    keep(f, "old", &in);
    wait_until_kept(f, 1);
    reopen(f);
    assert_int_equal(rows(f), 1);
    assert_int_equal(load(f, "old", &out), AB_ERR_OK);
    assert_true(ab_str_eq(out.source, in.source));
    assert_true(ab_digest_eq(&out.hash, &in.hash));
}

static void a_file_of_a_newer_argobus_is_left_alone(void **state)
{
    fixture *f = *state;
    ab_error err = {0};
    ab_state_db *c = NULL;
    sqlite3 *db = NULL;
    bool fresh;
    close_cache(f);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version=3", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(ab_state_db_open(&f->loop, f->path, &stepped, &c, &fresh, &err),
                     AB_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "newer argobus"));
    assert_non_null(strstr(err.text, f->path));
}

static void a_damaged_file_is_an_error_that_says_what_to_do(void **state)
{
    fixture *f = *state;
    ab_error err = {0};
    ab_state_db *c = NULL;
    bool fresh;
    close_cache(f);
    FILE *file = fopen(f->path, "wb");
    assert_non_null(file);
    fputs("this is no database, and it is long enough to be looked at as one", file);
    fclose(file);
    assert_int_equal(ab_state_db_open(&f->loop, f->path, &stepped, &c, &fresh, &err), AB_ERR_PARSE);
    assert_non_null(strstr(err.text, "remove the file"));
    assert_ptr_equal(strstr(err.text, f->path), err.text); /* whosever it is, its file is named */
}

static void a_missing_folder_is_an_error_that_names_it(void **state)
{
    fixture *f = *state;
    ab_error err = {0};
    ab_state_db *c = NULL;
    bool fresh;
    assert_int_equal(
        ab_state_db_open(&f->loop, "/nowhere/at/all/kept.sqlite", &stepped, &c, &fresh, &err),
        AB_ERR_DENIED);
    assert_non_null(strstr(err.text, "/nowhere/at/all"));
}

/* 0, or what SQLite says to a transaction that is begun */
static int refusal;

int __real_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **),
                        void *arg, char **why);
int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **),
                        void *arg, char **why);
int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **),
                        void *arg, char **why)
{
    if (refusal != SQLITE_OK && strcmp(sql, "BEGIN") == 0)
        return refusal;
    return __real_sqlite3_exec(db, sql, row, arg, why);
}

static void what_may_not_be_written_for_a_while_is_tried_again(void **state)
{
    fixture *f = *state;
    static const int codes[] = {SQLITE_READONLY, SQLITE_READONLY_DBMOVED, SQLITE_PERM,
                                SQLITE_CANTOPEN, SQLITE_FULL};
    const ab_received_state row = {.version = {1, 1}};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        f->done = 0;
        refusal = codes[i];
        keep(f, "a", &row);
        wait_until_answered(f, 1);
        refusal = SQLITE_OK;
        assert_int_equal(ab_err_class_of(f->last), AB_CLASS_TRANSIENT);
        assert_int_equal(ab_state_db_failure(f->state_db)->code, f->last);
        assert_non_null(strstr(ab_state_db_failure(f->state_db)->text, f->path));
        keep(f, "a", &row);
        wait_until_kept(f, 2);
        assert_int_equal(ab_state_db_failure(f->state_db)->code, AB_ERR_OK);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_new_file_is_fresh_and_an_old_one_is_not),
        CASE(nobody_else_may_read_it),
        CASE(what_everybody_could_read_is_taken_from_them),
        CASE(a_row_comes_back_as_it_was_also_after_reopening),
        CASE(what_was_given_up_is_given_up_after_reopening),
        CASE(whether_what_it_deployed_stays_is_known_after_reopening),
        CASE(the_newest_of_one_key_stays),
        CASE(the_answer_to_a_write_is_the_row),
        CASE(an_unknown_key_is_not_found),
        CASE(thousands_of_rows_are_all_kept),
        CASE(the_mark_of_a_deleted_object_goes_after_thirty_days),
        CASE(the_mark_of_a_released_object_stays_thirty_days_after_its_release),
        CASE(such_marks_go_while_it_runs_a_bounded_number_at_a_time),
        CASE(reads_and_writes_do_not_starve_each_other),
        CASE(what_is_pending_at_the_end_is_never_answered),
        CASE(a_file_that_is_held_does_not_hold_the_loop),
        CASE(a_file_of_format_1_is_taken_over),
        CASE(a_file_of_format_1_keeps_what_comes_then),
        CASE(a_file_of_a_newer_argobus_is_left_alone),
        CASE(a_damaged_file_is_an_error_that_says_what_to_do),
        CASE(what_may_not_be_written_for_a_while_is_tried_again),
        CASE(a_missing_folder_is_an_error_that_names_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
