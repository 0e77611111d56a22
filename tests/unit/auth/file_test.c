/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/file.h"

#include "tests/unit/auth/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct {
    world w;
    ab_auth_watch watch;
    char path[2][128];
} fixture;

static void count_change(void *arg)
{
    ((world *)arg)->changes++;
}

static void on_closed(void *arg)
{
    ((world *)arg)->closed = true;
}

static void start(fixture *f, const char *one, const char *two)
{
    const char *const names[] = {one, two};
    *f = (fixture){0};
    world_init(&f->w);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(f->path[i], sizeof(f->path[i]), "%s/%s", f->w.folder, names[i]);
        ab_auth_watch_add(&f->watch, f->path[i], count_change, &f->w);
    }
    ab_auth_watch_start(&f->watch, &f->w.loop);
}

static void stop(fixture *f)
{
    ab_auth_watch_close(&f->watch, on_closed, &f->w);
    world_wait(&f->w, &f->w.closed);
    world_fini(&f->w);
}

static void a_file_that_is_replaced_or_comes_or_goes_is_noticed(void **state)
{
    (void)state;
    fixture f;
    start(&f, "a", "b");
    world_write(&f.w, "a", "1");
    world_wait_changes(&f.w, 1);
    world_write(&f.w, "a", "2");
    world_wait_changes(&f.w, 2);
    assert_int_equal(unlink(f.path[0]), 0);
    world_wait_changes(&f.w, 3);
    assert_int_equal(f.w.changes, 3);
    stop(&f);
}

/* As the kubelet does it: file -> ..data/file, ..data -> a folder per version. */
static void a_mounted_config_map_that_changes_is_noticed(void **state)
{
    (void)state;
    fixture f;
    char command[512];
    start(&f, "mount/list", "unused");
    ab_auth_watch_close(&f.watch, on_closed, &f.w);
    world_wait(&f.w, &f.w.closed);
    (void)snprintf(command, sizeof(command),
                   "cd %s && mkdir -p mount/..1 mount/..2 && echo 1 >mount/..1/list && echo 2 "
                   ">mount/..2/list && ln -s ..1 mount/..data && ln -s ..data/list mount/list",
                   f.w.folder);
    assert_int_equal(system(command), 0);
    f.watch = (ab_auth_watch){0};
    f.w.closed = false;
    ab_auth_watch_add(&f.watch, f.path[0], count_change, &f.w);
    ab_auth_watch_start(&f.watch, &f.w.loop);
    (void)snprintf(command, sizeof(command), "cd %s/mount && ln -s ..2 ..tmp && mv -T ..tmp ..data",
                   f.w.folder);
    assert_int_equal(system(command), 0);
    world_wait_changes(&f.w, 1);
    stop(&f);
}

static void another_file_in_the_folder_is_no_change(void **state)
{
    (void)state;
    fixture f;
    start(&f, "a", "b");
    world_write(&f.w, "c", "1");
    world_write(&f.w, "b", "1");
    world_wait_changes(&f.w, 1);
    assert_int_equal(f.w.changes, 1);
    stop(&f);
}

static void closing_what_was_never_started_ends_at_once(void **state)
{
    (void)state;
    ab_auth_watch watch = {0};
    world w = {0};
    ab_auth_watch_close(&watch, on_closed, &w);
    assert_true(w.closed);
}

static void a_folder_that_is_not_there_is_looked_at_all_the_same(void **state)
{
    (void)state;
    fixture f;
    start(&f, "missing/a", "b");
    world_write(&f.w, "b", "1");
    world_wait_changes(&f.w, 1);
    stop(&f);
}

static void a_file_is_read_whole_up_to_the_bound(void **state)
{
    (void)state;
    fixture f;
    ab_buf text;
    ab_error err = {0};
    start(&f, "a", "b");
    world_write(&f.w, "a", "0123456789");
    ab_buf_init(&text, 10);
    assert_int_equal(ab_file_read(f.path[0], &text, NULL, &err), AB_ERR_OK);
    assert_true(ab_str_is(ab_buf_str(&text), "0123456789"));
    ab_buf_fini(&text);
    ab_buf_init(&text, 9);
    assert_int_equal(ab_file_read(f.path[0], &text, NULL, &err), AB_ERR_TOOBIG);
    assert_non_null(strstr(err.text, f.path[0]));
    assert_int_equal(ab_file_read(f.path[1], &text, NULL, &err), AB_ERR_NOTFOUND);
    assert_int_not_equal(ab_file_read(f.w.folder, &text, NULL, &err), AB_ERR_OK);
    ab_buf_fini(&text);
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_replaced_or_comes_or_goes_is_noticed),
        cmocka_unit_test(a_mounted_config_map_that_changes_is_noticed),
        cmocka_unit_test(another_file_in_the_folder_is_no_change),
        cmocka_unit_test(closing_what_was_never_started_ends_at_once),
        cmocka_unit_test(a_folder_that_is_not_there_is_looked_at_all_the_same),
        cmocka_unit_test(a_file_is_read_whole_up_to_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
