/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/file.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];
static char path[80];
static char beside[96];

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/argobus-file-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/file", folder);
    snprintf(beside, sizeof(beside), "%s.new", path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(path);
    (void)unlink(beside);
    return rmdir(folder);
}

static void put(ab_str text)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(text.ptr, 1, text.len, f), text.len);
    assert_int_equal(fclose(f), 0);
}

static void assert_holds(ab_str text)
{
    ab_buf out;
    ab_buf_init(&out, 1024);
    assert_int_equal(ab_file_read(path, &out, NULL, NULL), AB_ERR_OK);
    assert_true(ab_str_eq(ab_buf_str(&out), text));
    ab_buf_fini(&out);
}

static void assert_refused(const char *name, size_t cap, ab_err code, const char *why)
{
    ab_buf out;
    ab_error err = {0};
    char text[256];
    ab_buf_init(&out, cap);
    assert_int_equal(ab_file_read(name, &out, NULL, &err), code);
    snprintf(text, sizeof(text), "%s: %s", name, why);
    assert_string_equal(err.text, text);
    ab_buf_fini(&out);
}

static void a_file_is_read_to_its_last_byte(void **state)
{
    (void)state;
    put(AB_STR("one\0two\n\0"));
    assert_holds(AB_STR("one\0two\n\0"));
    put(AB_STR(""));
    assert_holds(AB_STR(""));
}

static void what_is_read_is_appended(void **state)
{
    (void)state;
    ab_buf out;
    put(AB_STR("two"));
    ab_buf_init(&out, 6);
    ab_buf_puts(&out, "one");
    assert_int_equal(ab_file_read(path, &out, NULL, NULL), AB_ERR_OK);
    assert_true(ab_str_is(ab_buf_str(&out), "onetwo"));
    ab_buf_fini(&out);
}

static void a_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    assert_refused(path, 10, AB_ERR_NOTFOUND, "No such file or directory");
}

static void a_folder_is_no_file(void **state)
{
    (void)state;
    assert_refused(folder, 10, AB_ERR_INVALID, "is a folder, not a file");
}

static void a_pipe_and_a_device_hold_up_nobody(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(path, 10, AB_ERR_INVALID, "is not a regular file");
    assert_refused("/dev/zero", 10, AB_ERR_INVALID, "is not a regular file");
}

static void a_file_that_may_not_be_read_is_named(void **state)
{
    (void)state;
    uid_t user = geteuid();
    put(AB_STR("secret"));
    assert_int_equal(chmod(path, 0), 0);
    if (user == 0) /* who may read everything */
        assert_int_equal(seteuid(65534), 0);
    assert_refused(path, 10, AB_ERR_DENIED, "Permission denied");
    assert_int_equal(seteuid(user), 0);
}

static void a_file_may_be_as_large_as_the_limit(void **state)
{
    (void)state;
    ab_buf out;
    put(AB_STR("0123456789"));
    ab_buf_init(&out, 10);
    assert_int_equal(ab_file_read(path, &out, NULL, NULL), AB_ERR_OK);
    ab_buf_fini(&out);
    assert_refused(path, 9, AB_ERR_TOOBIG, "is larger than 9 bytes: is it the right file?");
}

/* Those of /proc have no size until they are read. */
static void a_file_that_grows_is_read_to_its_end_or_to_the_limit(void **state)
{
    (void)state;
    ab_buf out;
    ab_buf_init(&out, 65536);
    assert_int_equal(ab_file_read("/proc/self/status", &out, NULL, NULL), AB_ERR_OK);
    assert_true(out.len > 100);
    ab_buf_fini(&out);
    assert_refused("/proc/self/status", 100, AB_ERR_TOOBIG,
                   "is larger than 100 bytes: is it the right file?");
}

static void the_stamp_is_of_the_file_that_was_read(void **state)
{
    (void)state;
    ab_buf out;
    ab_file_stamp stamp = {0};
    put(AB_STR("one"));
    ab_file_stamp before = ab_file_stamp_of(path);
    ab_buf_init(&out, 100);
    assert_int_equal(ab_file_read(path, &out, &stamp, NULL), AB_ERR_OK);
    assert_true(ab_file_stamp_eq(&stamp, &before));
    assert_int_equal(ab_file_replace(path, AB_STR("other"), NULL), AB_ERR_OK);
    ab_file_stamp after = ab_file_stamp_of(path);
    assert_false(ab_file_stamp_eq(&stamp, &after));
    ab_buf_fini(&out);
}

static void what_an_option_names_is_a_matter_of_configuration(void **state)
{
    (void)state;
    ab_buf out;
    ab_error err = {0};
    ab_buf_init(&out, 10);
    assert_int_equal(ab_file_read_named(path, &out, &err), AB_ERR_CONFIG);
    assert_int_equal(err.code, AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, "/file: No such file or directory"));
    put(AB_STR("text"));
    assert_int_equal(ab_file_read_named(path, &out, &err), AB_ERR_OK);
    assert_true(ab_str_is(ab_buf_str(&out), "text"));
    ab_buf_fini(&out);
}

static void a_file_is_made_and_replaced(void **state)
{
    (void)state;
    struct stat st;
    assert_int_equal(ab_file_replace(path, AB_STR("a longer one"), NULL), AB_ERR_OK);
    assert_holds(AB_STR("a longer one"));
    assert_int_equal(ab_file_replace(path, AB_STR("shorter"), NULL), AB_ERR_OK);
    assert_holds(AB_STR("shorter"));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(access(beside, F_OK), -1);
}

static void what_a_crash_left_beside_it_is_written_over(void **state)
{
    (void)state;
    FILE *f = fopen(beside, "we");
    assert_non_null(f);
    assert_true(fputs("a torso that is longer", f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(ab_file_replace(path, AB_STR("text"), NULL), AB_ERR_OK);
    assert_holds(AB_STR("text"));
}

static void without_room_the_file_stays_as_it_was(void **state)
{
    (void)state;
    char text[5000];
    ab_error err = {0};
    struct rlimit before, small;
    memset(text, 'x', sizeof(text));
    put(AB_STR("as it was"));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){1000, before.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    ab_err e = ab_file_replace(path, (ab_str){text, sizeof(text)}, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_not_equal(e, AB_ERR_OK);
    assert_non_null(strstr(err.text, "/file.new: File too large"));
    assert_holds(AB_STR("as it was"));
    assert_int_equal(access(beside, F_OK), -1);
}

static void a_folder_that_is_not_there_is_said(void **state)
{
    (void)state;
    ab_error err = {0};
    assert_int_equal(ab_file_replace("/nowhere/file", AB_STR("x"), &err), AB_ERR_NOTFOUND);
    assert_string_equal(err.text, "/nowhere/file.new: No such file or directory");
}

static void a_path_that_is_too_long_is_refused(void **state)
{
    (void)state;
    char name[5000];
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(ab_file_replace(name, AB_STR("x"), NULL), AB_ERR_INVALID);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_file_is_read_to_its_last_byte),
        CASE(what_is_read_is_appended),
        CASE(a_file_that_is_not_there_is_named),
        CASE(a_folder_is_no_file),
        CASE(a_pipe_and_a_device_hold_up_nobody),
        CASE(a_file_that_may_not_be_read_is_named),
        CASE(a_file_may_be_as_large_as_the_limit),
        CASE(a_file_that_grows_is_read_to_its_end_or_to_the_limit),
        CASE(the_stamp_is_of_the_file_that_was_read),
        CASE(what_an_option_names_is_a_matter_of_configuration),
        CASE(a_file_is_made_and_replaced),
        CASE(what_a_crash_left_beside_it_is_written_over),
        CASE(without_room_the_file_stays_as_it_was),
        CASE(a_folder_that_is_not_there_is_said),
        CASE(a_path_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
