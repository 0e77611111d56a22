/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of certificates and keys.
 */
#include "services/ctl/pki/pair.h"

#include "base/core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/argobus-test-XXXXXX";
static ab_pki_paths paths;
static ab_error err;

/* What happens at the next calls of rename. */
static bool interrupt_renames, kill_renames;
static const char *refused; /* the end of a name */
/* Of the last look at a file, or change: whether another call had to wait for this one. */
static bool locked;

static void note_lock(void)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    locked = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
}

/* In place of those of the C library, whose parameters have other names.
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
int access(const char *path, int mode)
{
    note_lock();
    return faccessat(AT_FDCWD, path, mode, 0);
}

int rename(const char *from, const char *to)
{
    size_t len = strlen(to);
    note_lock();
    if (refused != NULL && strcmp(to + len - 4, refused) == 0) {
        errno = EPERM;
        return -1;
    }
    int made = renameat(AT_FDCWD, from, AT_FDCWD, to);
    if (interrupt_renames)
        raise(SIGINT);
    if (kill_renames)
        raise(SIGKILL);
    return made;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

static int set_up(void **state)
{
    (void)state;
    interrupt_renames = locked = false;
    refused = NULL;
    memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
    assert_non_null(mkdtemp(folder));
    assert_int_equal(ab_pki_paths_in(folder, "w1", &paths, &err), AB_ERR_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(paths.cert);
    unlink(paths.key);
    return rmdir(folder); /* fails when something else was left */
}

static void assert_file(const char *path, const char *text, mode_t mode)
{
    struct stat st;
    ab_buf got;
    ab_buf_init(&got, 100);
    assert_int_equal(ab_file_read(path, &got, NULL, &err), AB_ERR_OK);
    assert_string_equal(got.ptr, text);
    ab_buf_fini(&got);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, mode);
}

static ab_err create(const char *cert, const char *key)
{
    return ab_pki_pair_create(&paths, ab_str_of(cert), ab_str_of(key), &err);
}

static void the_key_is_for_its_owner_only(void **state)
{
    (void)state;
    umask(022);
    assert_int_equal(create("c", "k"), AB_ERR_OK);
    assert_file(paths.cert, "c", 0644);
    assert_file(paths.key, "k", 0600);
}

static void nothing_is_overwritten(void **state)
{
    (void)state;
    assert_int_equal(create("c", NULL), AB_ERR_OK);
    assert_int_equal(create("d", "l"), AB_ERR_EXISTS);
    assert_int_equal(access(paths.key, F_OK), -1);
    unlink(paths.cert);
    assert_int_equal(ab_pki_file_create(paths.key, AB_STR("k"), 0600, &err), AB_ERR_OK);
    assert_int_equal(create("d", "l"), AB_ERR_CONFLICT);
    assert_non_null(strstr(err.text, "an earlier call was interrupted"));
    assert_int_equal(access(paths.cert, F_OK), -1);
    assert_file(paths.key, "k", 0600);
}

static void replaced_files_keep_their_modes(void **state)
{
    (void)state;
    assert_int_equal(create("c", "k"), AB_ERR_OK);
    assert_int_equal(chmod(paths.key, 0640), 0);
    assert_int_equal(ab_pki_pair_replace(&paths, AB_STR("d"), AB_STR("l"), &err), AB_ERR_OK);
    assert_file(paths.cert, "d", 0644);
    assert_file(paths.key, "l", 0640);
}

/* Else a daemon could not read the key that root has renewed for it. */
static void replaced_files_keep_their_owners(void **state)
{
    (void)state;
    struct stat st;
    if (geteuid() != 0)
        skip(); /* only root gives files away */
    assert_int_equal(create("c", "k"), AB_ERR_OK);
    assert_int_equal(chown(paths.key, 12345, 54321), 0);
    assert_int_equal(ab_pki_pair_replace(&paths, AB_STR("d"), AB_STR("l"), &err), AB_ERR_OK);
    assert_file(paths.key, "l", 0600);
    assert_int_equal(stat(paths.key, &st), 0);
    assert_int_equal(st.st_uid, 12345);
    assert_int_equal(st.st_gid, 54321);
}

static void a_file_that_was_left_gets_no_new_key(void **state)
{
    (void)state;
    char left[AB_PKI_PATH_MAX + 4], other[AB_PKI_PATH_MAX];
    snprintf(left, sizeof(left), "%s.new", paths.key);
    snprintf(other, sizeof(other), "%s/other", folder);
    assert_int_equal(create("c", "k"), AB_ERR_OK);
    assert_int_equal(ab_pki_file_create(other, AB_STR("o"), 0644, &err), AB_ERR_OK);
    assert_int_equal(link(other, left), 0);
    assert_int_equal(ab_pki_pair_replace(&paths, AB_STR("d"), AB_STR("l"), &err), AB_ERR_OK);
    assert_file(other, "o", 0644);
    assert_file(paths.key, "l", 0600);
    unlink(other);
}

static void an_interrupted_call_leaves_a_pair(void **state)
{
    (void)state;
    int status = 0;
    assert_int_equal(create("c", "k"), AB_ERR_OK);
    pid_t child = fork();
    if (child == 0) {
        interrupt_renames = true;
        _exit(ab_pki_pair_replace(&paths, AB_STR("d"), AB_STR("l"), &err) == AB_ERR_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGINT);
    assert_file(paths.cert, "d", 0644);
    assert_file(paths.key, "l", 0600);
}

/* Two files have no name in common that could be replaced at once. */
static void after_a_call_that_was_killed_the_next_one_makes_a_pair(void **state)
{
    (void)state;
    int status = 0;
    assert_int_equal(create("c", "k"), AB_ERR_OK);
    pid_t child = fork();
    if (child == 0) {
        kill_renames = true;
        _exit(ab_pki_pair_replace(&paths, AB_STR("d"), AB_STR("l"), &err) == AB_ERR_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_file(paths.cert, "c", 0644);
    assert_file(paths.key, "l", 0600);
    assert_int_equal(ab_pki_pair_replace(&paths, AB_STR("e"), AB_STR("m"), &err), AB_ERR_OK);
    assert_file(paths.cert, "e", 0644);
    assert_file(paths.key, "m", 0600);
}

static void what_cannot_be_replaced_stays_a_pair(void **state)
{
    (void)state;
    static const char *const ends[] = {".crt", ".key"};
    assert_int_equal(create("c", "k"), AB_ERR_OK);
    for (size_t i = 0; i < 2; i++) {
        refused = ends[i];
        assert_int_equal(ab_pki_pair_replace(&paths, AB_STR("d"), AB_STR("l"), &err),
                         AB_ERR_DENIED);
        assert_file(paths.cert, "c", 0644);
        assert_file(paths.key, "k", 0600);
    }
}

/* The process's limit on file sizes stands for the full disk: a write ends in the middle. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static ab_err create_limited(const char *cert, const char *key)
{
    limit_files(1);
    ab_err e = create(cert, key);
    limit_files(RLIM_INFINITY);
    return e;
}

/* Else the next call would refuse to touch what is left. */
static void a_full_disk_leaves_neither_a_key_nor_half_a_file(void **state)
{
    (void)state;
    assert_int_not_equal(create_limited("c", "kk"), AB_ERR_OK);
    assert_int_equal(access(paths.key, F_OK), -1);
    assert_int_not_equal(create_limited("cc", "k"), AB_ERR_OK);
    assert_int_equal(access(paths.key, F_OK), -1);
    assert_int_equal(access(paths.cert, F_OK), -1);
    assert_int_equal(create("c", "k"), AB_ERR_OK);
    limit_files(1);
    ab_err e = ab_pki_pair_replace(&paths, AB_STR("dd"), AB_STR("l"), &err);
    limit_files(RLIM_INFINITY);
    assert_int_not_equal(e, AB_ERR_OK);
    assert_file(paths.cert, "c", 0644);
    assert_file(paths.key, "k", 0600);
}

/* The folder is that of the files, by whatever links they are called. */
static void one_call_at_a_time_changes_a_folder(void **state)
{
    (void)state;
    ab_pki_paths links;
    char elsewhere[] = "/tmp/argobus-test-XXXXXX";
    assert_non_null(mkdtemp(elsewhere));
    assert_int_equal(ab_pki_paths_in(elsewhere, "link", &links, &err), AB_ERR_OK);
    assert_int_equal(symlink(paths.cert, links.cert), 0);
    assert_int_equal(symlink(paths.key, links.key), 0);
    assert_int_equal(create("c", "k"), AB_ERR_OK);
    assert_true(locked);
    locked = false;
    assert_int_equal(ab_pki_pair_replace(&links, AB_STR("d"), AB_STR("l"), &err), AB_ERR_OK);
    assert_true(locked);
    note_lock();
    assert_false(locked);
    assert_int_equal(unlink(links.cert), 0);
    assert_int_equal(unlink(links.key), 0);
    assert_int_equal(rmdir(elsewhere), 0);
}

static void a_pair_without_its_key_stays_as_it_is(void **state)
{
    (void)state;
    assert_int_equal(create("c", NULL), AB_ERR_OK);
    assert_int_equal(ab_pki_pair_replace(&paths, AB_STR("d"), AB_STR("l"), &err), AB_ERR_NOTFOUND);
    assert_file(paths.cert, "c", 0644);
}

static void the_target_of_a_link_is_replaced(void **state)
{
    (void)state;
    ab_pki_paths links;
    assert_int_equal(create("c", "k"), AB_ERR_OK);
    assert_int_equal(ab_pki_paths_in(folder, "link", &links, &err), AB_ERR_OK);
    assert_int_equal(symlink("w1.crt", links.cert), 0);
    assert_int_equal(symlink("w1.key", links.key), 0);
    assert_int_equal(ab_pki_pair_replace(&links, AB_STR("d"), AB_STR("l"), &err), AB_ERR_OK);
    assert_file(paths.cert, "d", 0644);
    assert_int_equal(unlink(links.cert), 0);
    assert_int_equal(unlink(links.key), 0);
}

static void the_key_lies_beside_the_certificate(void **state)
{
    (void)state;
    ab_pki_paths got;
    assert_int_equal(ab_pki_paths_of("a/w1.crt", &got, &err), AB_ERR_OK);
    assert_string_equal(got.key, "a/w1.key");
    assert_int_equal(ab_pki_paths_of("a/w1.pem", &got, &err), AB_ERR_INVALID);
    assert_int_equal(ab_pki_paths_of(".crt", &got, &err), AB_ERR_INVALID);
    assert_int_equal(ab_pki_paths_in(".", "w1", &got, &err), AB_ERR_OK);
    assert_string_equal(got.cert, "w1.crt");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_key_is_for_its_owner_only),
        TEST(nothing_is_overwritten),
        TEST(a_file_that_was_left_gets_no_new_key),
        TEST(replaced_files_keep_their_modes),
        TEST(replaced_files_keep_their_owners),
        TEST(a_pair_without_its_key_stays_as_it_is),
        TEST(the_target_of_a_link_is_replaced),
        TEST(the_key_lies_beside_the_certificate),
        TEST(an_interrupted_call_leaves_a_pair),
        TEST(after_a_call_that_was_killed_the_next_one_makes_a_pair),
        TEST(what_cannot_be_replaced_stays_a_pair),
        TEST(a_full_disk_leaves_neither_a_key_nor_half_a_file),
        TEST(one_call_at_a_time_changes_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
