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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/argobus-test-XXXXXX";
static ab_pki_paths paths;
static ab_error err;

/* What happens at the next calls of rename. */
static bool interrupt_renames, refuse_certificates;
static bool kill_renames;

/* In place of that of the C library, whose parameters have other names.
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
int rename(const char *from, const char *to)
{
    size_t len = strlen(to);
    if (refuse_certificates && strcmp(to + len - 4, ".crt") == 0) {
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
    interrupt_renames = refuse_certificates = false;
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

static void a_certificate_that_cannot_be_replaced_keeps_its_key(void **state)
{
    (void)state;
    assert_int_equal(create("c", "k"), AB_ERR_OK);
    refuse_certificates = true;
    assert_int_equal(ab_pki_pair_replace(&paths, AB_STR("d"), AB_STR("l"), &err), AB_ERR_DENIED);
    assert_file(paths.cert, "c", 0644);
    assert_file(paths.key, "k", 0600);
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
        TEST(a_pair_without_its_key_stays_as_it_is),
        TEST(the_target_of_a_link_is_replaced),
        TEST(the_key_lies_beside_the_certificate),
        TEST(an_interrupted_call_leaves_a_pair),
        TEST(after_a_call_that_was_killed_the_next_one_makes_a_pair),
        TEST(a_certificate_that_cannot_be_replaced_keeps_its_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
