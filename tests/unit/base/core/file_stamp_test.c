/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/file_stamp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];
static char file[96];
static char other[96];

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/argobus-stamp-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof(file), "%s/a", folder);
    snprintf(other, sizeof(other), "%s/b", folder);
    write_file(file, "one");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(file);
    (void)unlink(other);
    return rmdir(folder);
}

static void a_file_that_nobody_touches_stays_the_same(void **state)
{
    (void)state;
    ab_file_stamps s = {0};
    ab_file_stamps_add(&s, file);
    ab_file_stamps_add(&s, NULL);
    assert_int_equal(s.count, 1);
    assert_false(ab_file_stamps_changed(&s));
}

static void a_file_that_is_written_is_another_one_once(void **state)
{
    (void)state;
    ab_file_stamps s = {0};
    ab_file_stamps_add(&s, file);
    write_file(file, "three");
    assert_true(ab_file_stamps_changed(&s));
    assert_false(ab_file_stamps_changed(&s));
}

/* As Kubernetes changes a mounted Secret. */
static void a_link_that_is_replaced_leads_to_another_file(void **state)
{
    (void)state;
    char link_path[128];
    char next[128];
    ab_file_stamps s = {0};
    write_file(other, "two");
    snprintf(link_path, sizeof(link_path), "%s/link", folder);
    snprintf(next, sizeof(next), "%s/next", folder);
    assert_int_equal(symlink("a", link_path), 0);
    ab_file_stamps_add(&s, link_path);
    assert_int_equal(symlink("b", next), 0);
    assert_int_equal(rename(next, link_path), 0);
    assert_true(ab_file_stamps_changed(&s));
    assert_int_equal(unlink(link_path), 0);
}

static void one_that_goes_and_one_that_comes_are_changes(void **state)
{
    (void)state;
    ab_file_stamps s = {0};
    ab_file_stamps_add(&s, file);
    ab_file_stamps_add(&s, other);
    assert_int_equal(unlink(file), 0);
    assert_true(ab_file_stamps_changed(&s));
    assert_false(ab_file_stamps_changed(&s));
    write_file(other, "two");
    assert_true(ab_file_stamps_changed(&s));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_that_nobody_touches_stays_the_same),
        TEST(a_file_that_is_written_is_another_one_once),
        TEST(a_link_that_is_replaced_leads_to_another_file),
        TEST(one_that_goes_and_one_that_comes_are_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
