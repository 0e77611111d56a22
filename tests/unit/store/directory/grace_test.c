/* SPDX-License-Identifier: Apache-2.0
 *
 * What is missing and not yet gone, at a clock that only the test moves.
 */
#include "tests/unit/store/directory/tree.h"

#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY       "Application/argocd/guestbook"
#define FILE_NAME "argocd/Application/guestbook.yaml"
#define RENAMED   "argocd/Application/renamed.yaml"
#define OTHER     "Application/team/other"

static int64_t now_ms;
static unsigned looks; /* how often somebody asked what time it is */

static int64_t mono_ms(void *arg)
{
    (void)arg;
    looks++;
    return now_ms;
}

static int64_t wall_us(void *arg)
{
    (void)arg;
    return 1000000;
}

static void begin_clock(world *w)
{
    static const ab_clock clock = {mono_ms, wall_us, NULL};
    w->clock = &clock;
    now_ms = 1000;
}

static world *begin(void)
{
    world *w = world_new_place(&directory_place);
    begin_clock(w);
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 1}"));
    person_writes(w, "team/Application/other.yaml", manifest("other", "{}"));
    world_start(w);
    world_wait_synced(w);
    return w;
}

static bool was_looked_at(world *w, void *arg)
{
    (void)w;
    return looks > *(unsigned *)arg;
}

/* Time goes on to this, and what is missing is looked at twice. */
static void reach(world *w, int64_t ms)
{
    now_ms = ms;
    for (int i = 0; i < 2; i++) {
        unsigned before = looks;
        world_wait(w, was_looked_at, &before);
    }
    world_settle(w);
}

static void wait_until_missing(world *w, const char *key)
{
    for (ab_err code = AB_ERR_OK; code != AB_ERR_NOTFOUND;) {
        result r = do_get(w, key);
        code = r.code;
        result_fini(&r);
    }
}

static void assert_none_is_gone(world *w)
{
    assert_int_equal(count_changes(w, AB_STORE_DELETED, NULL), 0);
    assert_int_equal(count_changes(w, AB_STORE_ABSENT, NULL), 0);
}

static void what_is_missing_is_gone_after_a_while(void **state)
{
    (void)state;
    world *w = begin();
    person_removes(w, FILE_NAME);
    wait_until_missing(w, KEY);
    reach(w, 1249);
    assert_none_is_gone(w);
    now_ms = 1250;
    wait_changes(w, AB_STORE_DELETED, KEY, 1);
    world_free(w);
}

static void what_nobody_saw_go_is_told_together(void **state)
{
    (void)state;
    world *w = begin();
    person_renames(w, "argocd", ".argocd");
    wait_until_missing(w, KEY);
    now_ms = 1200;
    person_renames(w, "team", ".team");
    wait_until_missing(w, OTHER);
    reach(w, 1300);
    assert_none_is_gone(w);
    now_ms = 2000;
    wait_changes(w, AB_STORE_ABSENT, KEY, 1);
    wait_changes(w, AB_STORE_ABSENT, OTHER, 1);
    assert_int_equal(count_changes(w, AB_STORE_DELETED, NULL), 0);
    world_free(w);
}

/* --- the root --- */

static const char *aside_of(world *w)
{
    static char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s.aside", directory_place_path(w->place));
    return path;
}

static void root_moves(const char *from, const char *to)
{
    assert_int_equal(rename(from, to), 0);
}

static void wait_until_lost(world *w)
{
    world_wait_fault(w, directory_place_path(w->place), "counts as deleted");
}

/* The store has the folder open, wherever it is. */
static void remove_aside(world *w, const char *file)
{
    char path[PATH_MAX + 64];
    (void)snprintf(path, sizeof(path), "%s/%s", aside_of(w), file);
    assert_int_equal(unlink(path), 0);
}

static void what_a_root_lacks_that_was_moved_away_is_kept_until_it_is_back(void **state)
{
    (void)state;
    world *w = begin();
    root_moves(directory_place_path(w->place), aside_of(w));
    wait_until_lost(w);
    remove_aside(w, FILE_NAME);
    wait_until_missing(w, KEY);
    reach(w, 5000);
    assert_none_is_gone(w);
    root_moves(aside_of(w), directory_place_path(w->place));
    now_ms = 9000;
    wait_changes(w, AB_STORE_ABSENT, KEY, 1);
    assert_int_equal(count_changes(w, AB_STORE_DELETED, NULL), 0);
    assert_int_equal(count_changes(w, AB_STORE_ABSENT, OTHER), 0);
    world_free(w);
}

static void one_that_is_replaced_by_an_empty_one_loses_nothing(void **state)
{
    (void)state;
    world *w = begin();
    root_moves(directory_place_path(w->place), aside_of(w));
    assert_int_equal(mkdir(directory_place_path(w->place), 0777), 0);
    wait_until_lost(w);
    remove_aside(w, FILE_NAME);
    wait_until_missing(w, KEY);
    reach(w, 5000);
    assert_none_is_gone(w);
    assert_int_equal(rmdir(directory_place_path(w->place)), 0);
    root_moves(aside_of(w), directory_place_path(w->place));
    world_free(w);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* Of its own removal it tells nothing while the store has it open. */
static void one_that_is_removed_with_all_in_it_loses_nothing(void **state)
{
    (void)state;
    world *w = begin();
    assert_int_equal(nftw(directory_place_path(w->place), remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
    wait_until_lost(w);
    wait_until_missing(w, KEY);
    wait_until_missing(w, OTHER);
    reach(w, 5000);
    assert_none_is_gone(w);
    world_free(w);
}

/* --- a disk of its own below it --- */

static bool may_mount; /* mounts of this process are its own */

static int take_mounts(void **state)
{
    (void)state;
    char map[32];
    int size = snprintf(map, sizeof(map), "0 %u 1", (unsigned)geteuid());
    if (geteuid() != 0 && unshare(CLONE_NEWUSER) == 0) {
        FILE *f = fopen("/proc/self/uid_map", "w");
        assert_non_null(f);
        assert_int_equal(fwrite(map, 1, (size_t)size, f), size);
        assert_int_equal(fclose(f), 0);
    }
    may_mount =
        unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    return 0;
}

static world *begin_mounted(const char *folder)
{
    char below[PATH_MAX];
    if (!may_mount)
        skip();
    world *w = world_new_place(&directory_place);
    begin_clock(w);
    (void)snprintf(below, sizeof(below), "%s/.below", folder);
    person_writes(w, below, "");
    assert_int_equal(mount("none", path_of(w, folder), "tmpfs", 0, NULL), 0);
    person_writes(w, FILE_NAME, manifest("guestbook", "{a: 1}"));
    world_start(w);
    wait_changes(w, AB_STORE_UPDATED, KEY, 1);
    return w;
}

static void unmount(world *w, const char *folder)
{
    assert_int_equal(umount2(path_of(w, folder), MNT_DETACH), 0);
}

/* As whoever writes a status does. */
static void find_it_missing(world *w)
{
    result r = do_patch(w, KEY, "{}", NULL, NULL);
    assert_int_equal(r.code, AB_ERR_NOTFOUND);
    result_fini(&r);
}

/* Below it is an empty folder, and no event tells that any file has gone. */
static void what_was_unmounted_is_kept(void **state)
{
    (void)state;
    world *w = begin_mounted("argocd/Application");
    unmount(w, "argocd/Application");
    world_wait_fault(w, "argocd/Application", "was unmounted");
    find_it_missing(w);
    reach(w, 5000);
    assert_none_is_gone(w);
    world_free(w);
}

/* Somebody has a file on it open, so it is unmounted and no event tells of that either. */
static void what_went_with_its_folder_was_not_observed_to_go(void **state)
{
    (void)state;
    world *w = begin_mounted("argocd");
    FILE *open = fopen(path_of(w, FILE_NAME), "r");
    assert_non_null(open);
    unmount(w, "argocd");
    find_it_missing(w);
    now_ms = 5000;
    wait_changes(w, AB_STORE_ABSENT, KEY, 1);
    assert_int_equal(count_changes(w, AB_STORE_DELETED, NULL), 0);
    assert_int_equal(fclose(open), 0);
    world_free(w);
}

/* --- renamed and damaged in one go --- */

static world *begin_renamed_and_broken(void)
{
    world *w = begin();
    person_writes(w, RENAMED, "kind: [Application\n");
    world_wait_fault(w, RENAMED, "line");
    person_removes(w, FILE_NAME);
    wait_until_missing(w, KEY);
    reach(w, 5000);
    assert_none_is_gone(w);
    return w;
}

static void what_a_broken_file_may_hold_is_kept(void **state)
{
    (void)state;
    world *w = begin_renamed_and_broken();
    result r = do_remove(w, KEY, NULL);
    assert_int_equal(r.code, AB_ERR_UNAVAILABLE);
    assert_null(r.object);
    char *uid = ab_str_dup(ab_object_uid(last_seen(w, KEY)));
    person_writes(w, RENAMED, manifest("guestbook", "{a: 2}"));
    wait_changes(w, AB_STORE_UPDATED, KEY, 2);
    assert_true(ab_str_is(ab_object_uid(last_seen(w, KEY)), uid));
    assert_none_is_gone(w);
    free(uid);
    world_free(w);
}

static void what_a_broken_file_did_not_hold_is_gone_when_it_can_be_read(void **state)
{
    (void)state;
    world *w = begin_renamed_and_broken();
    person_writes(w, RENAMED, manifest("another", "{}"));
    wait_changes(w, AB_STORE_DELETED, KEY, 1);
    world_free(w);
}

static void what_a_broken_file_may_hold_can_be_written(void **state)
{
    (void)state;
    world *w = begin_renamed_and_broken();
    result r =
        do_apply(w,
                 "{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Application\","
                 "\"metadata\":{\"name\":\"guestbook\",\"namespace\":\"argocd\"},\"spec\":{}}",
                 NULL);
    assert_int_equal(r.code, AB_ERR_OK);
    result_fini(&r);
    world_free(w);
}

static void what_was_broken_long_before_or_elsewhere_holds_nothing(void **state)
{
    (void)state;
    world *w = begin();
    person_writes(w, RENAMED, "kind: [Application\n");
    world_wait_fault(w, RENAMED, "line");
    now_ms = 1251;
    person_writes(w, "team/Application/broken.yaml", "kind: [Application\n");
    world_wait_fault(w, "broken.yaml", "line");
    person_removes(w, FILE_NAME);
    wait_until_missing(w, KEY);
    now_ms = 1501;
    wait_changes(w, AB_STORE_DELETED, KEY, 1);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_is_gone_after_a_while),
        cmocka_unit_test(what_nobody_saw_go_is_told_together),
        cmocka_unit_test(what_a_root_lacks_that_was_moved_away_is_kept_until_it_is_back),
        cmocka_unit_test(one_that_is_replaced_by_an_empty_one_loses_nothing),
        cmocka_unit_test(one_that_is_removed_with_all_in_it_loses_nothing),
        cmocka_unit_test(what_was_unmounted_is_kept),
        cmocka_unit_test(what_went_with_its_folder_was_not_observed_to_go),
        cmocka_unit_test(what_a_broken_file_may_hold_is_kept),
        cmocka_unit_test(what_a_broken_file_did_not_hold_is_gone_when_it_can_be_read),
        cmocka_unit_test(what_a_broken_file_may_hold_can_be_written),
        cmocka_unit_test(what_was_broken_long_before_or_elsewhere_holds_nothing),
    };
    return cmocka_run_group_tests(tests, take_mounts, NULL);
}
