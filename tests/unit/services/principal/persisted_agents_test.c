/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/persisted_agents.h"

#include "base/core/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];
static char path[96];
static uv_loop_t loop;
static ab_persisted_agents s;

static void reopen(void)
{
    ab_error err = {0};
    ab_persisted_agents_fini(&s);
    if (ab_persisted_agents_init(&s, &loop, path, NULL, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/argobus-served-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(uv_loop_init(&loop), 0);
    snprintf(path, sizeof(path), "%s/agents", folder);
    reopen();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ab_persisted_agents_fini(&s);
    assert_int_equal(uv_loop_close(&loop), 0);
    (void)unlink(path);
    return rmdir(folder);
}

static bool has(const char *agent)
{
    return ab_map_find(s.agents, ab_str_of(agent)) != NULL;
}

static void write_file(const char *text)
{
    assert_int_equal(ab_file_replace(path, ab_str_of(text), NULL), AB_ERR_OK);
}

static void save(void)
{
    ab_persisted_agents_save(&s);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_null(s.write);
}

static void who_was_served_is_known_to_the_next(void **state)
{
    (void)state;
    assert_true(ab_persisted_agents_assign(&s, "uid-1"));
    ab_persisted_agents_add(&s, "w1");
    ab_persisted_agents_add(&s, "w2");
    ab_persisted_agents_add(&s, "w3");
    ab_persisted_agents_drop(&s, "w2");
    save();
    reopen();
    assert_true(has("w1") && !has("w2") && has("w3"));
    assert_true(ab_persisted_agents_assign(&s, "uid-1"));
    assert_int_equal(ab_map_count(s.agents), 2);
}

static void nothing_is_written_when_nothing_has_changed(void **state)
{
    (void)state;
    assert_true(ab_persisted_agents_assign(&s, "uid-1"));
    ab_persisted_agents_add(&s, "w1");
    save();
    assert_int_equal(unlink(path), 0);
    ab_persisted_agents_add(&s, "w1");
    ab_persisted_agents_drop(&s, "w9");
    save();
    assert_int_equal(access(path, F_OK), -1);
}

static void agents_of_another_principal_are_not_ours(void **state)
{
    (void)state;
    write_file("uid-1\nw1\n");
    reopen();
    assert_false(ab_persisted_agents_assign(&s, "uid-2"));
    assert_int_equal(ab_map_count(s.agents), 0);
    save();
    reopen();
    assert_true(ab_persisted_agents_assign(&s, "uid-2"));
}

static void a_change_while_the_file_is_written_is_written_next(void **state)
{
    (void)state;
    assert_true(ab_persisted_agents_assign(&s, "uid-1"));
    ab_persisted_agents_add(&s, "w1");
    ab_persisted_agents_save(&s);
    assert_non_null(s.write);
    ab_persisted_agents_add(&s, "w2");
    ab_persisted_agents_save(&s);
    assert_true(s.dirty);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_true(s.dirty);
    reopen(); /* what is not written yet is written at the end */
    assert_true(has("w1") && has("w2"));
}

static void what_is_no_name_is_passed_over(void **state)
{
    (void)state;
    write_file("uid-1\nw1\n../x\n\nUP.down\nw2");
    reopen();
    assert_int_equal(ab_map_count(s.agents), 2);
    assert_true(has("w1") && has("w2"));
    write_file("a line that is far too long to be the uid of anything\nw1\n");
    reopen();
    assert_string_equal(s.principal, "");
}

static void a_folder_that_is_not_there_any_more_is_tried_again(void **state)
{
    (void)state;
    assert_true(ab_persisted_agents_assign(&s, "uid-1"));
    ab_persisted_agents_add(&s, "w1");
    assert_int_equal(rmdir(folder), 0);
    save();
    assert_true(s.dirty);
    assert_int_equal(mkdir(folder, 0700), 0);
    save();
    assert_false(s.dirty);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(who_was_served_is_known_to_the_next),
        CASE(nothing_is_written_when_nothing_has_changed),
        CASE(agents_of_another_principal_are_not_ours),
        CASE(a_change_while_the_file_is_written_is_written_next),
        CASE(what_is_no_name_is_passed_over),
        CASE(a_folder_that_is_not_there_any_more_is_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
