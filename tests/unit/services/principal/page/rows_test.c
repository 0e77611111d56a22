/* SPDX-License-Identifier: Apache-2.0
 *
 * The order in which the fleet page tells what has changed.
 */
#include "services/principal/page/rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define AGENTS 200

static int value[AGENTS]; /* of the agents "0", "1", ... */
static unsigned written;
static ab_page_rows *rows;

static void write_value(void *arg, const char *agent, ab_buf *out)
{
    (void)arg;
    written++;
    ab_buf_printf(out, "%s=%d", agent, value[strtol(agent, NULL, 10)]);
}

static ab_str name_of(int agent)
{
    static char name[16];
    snprintf(name, sizeof(name), "%d", agent);
    return ab_str_of(name);
}

static void add(int from, int to)
{
    for (int i = from; i < to; i++)
        assert_int_equal(ab_page_rows_add(rows, name_of(i)), AB_ERR_OK);
}

static int set_up(void **state)
{
    (void)state;
    memset(value, 0, sizeof(value));
    rows = ab_page_rows_new(write_value, NULL);
    return rows == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    ab_page_rows_free(rows);
    return 0;
}

/* All changes after a number as one text; the number becomes the last one's. */
static const char *changes(uint64_t *seen)
{
    static char text[4096];
    text[0] = '\0';
    for (const ab_page_row *r = ab_page_rows_after(rows, *seen); r != NULL;
         r = ab_page_row_next(r)) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof(text) - len, "%.*s ", AB_STR_ARG(ab_page_row_text(r)));
        *seen = ab_page_row_number(r);
    }
    return text;
}

static void shows_all_to_who_knows_nothing_and_then_only_changes(void **state)
{
    (void)state;
    uint64_t seen = 0;
    add(0, 3);
    assert_string_equal(changes(&seen), "");
    ab_page_rows_refresh(rows, 3);
    assert_string_equal(changes(&seen), "2=0 1=0 0=0 ");
    ab_page_rows_refresh(rows, 3);
    assert_string_equal(changes(&seen), "");
    value[1] = 7;
    ab_page_rows_refresh(rows, 3);
    assert_string_equal(changes(&seen), "1=7 ");
}

static void one_that_changes_twice_is_shown_once_as_it_is_now(void **state)
{
    (void)state;
    uint64_t seen = 0;
    add(0, 3);
    ab_page_rows_refresh(rows, 3);
    (void)changes(&seen);
    value[0] = 1;
    ab_page_rows_refresh(rows, 3);
    value[2] = 2;
    ab_page_rows_refresh(rows, 3);
    value[0] = 3;
    ab_page_rows_refresh(rows, 3);
    assert_string_equal(changes(&seen), "2=2 0=3 ");
}

static void looks_at_a_share_in_a_turn_and_at_each_in_time(void **state)
{
    (void)state;
    uint64_t seen = 0;
    add(0, AGENTS);
    written = 0;
    ab_page_rows_refresh(rows, 50);
    assert_int_equal(written, 50);
    ab_page_rows_refresh(rows, 150);
    (void)changes(&seen);
    value[123] = 1;
    for (int turn = 0; turn < 4; turn++)
        ab_page_rows_refresh(rows, 50);
    assert_string_equal(changes(&seen), "123=1 ");
    written = 0;
    ab_page_rows_refresh(rows, 1000);
    assert_int_equal(written, AGENTS);
}

static void forgets_an_agent_that_is_removed(void **state)
{
    (void)state;
    uint64_t seen = 0;
    add(0, 3);
    ab_page_rows_refresh(rows, 3);
    ab_page_rows_remove(rows, name_of(1));
    ab_page_rows_remove(rows, name_of(1));
    assert_string_equal(changes(&seen), "2=0 0=0 ");
    add(1, 2);
    ab_page_rows_remove(rows, name_of(1)); /* before it was looked at */
    add(1, 2);
    ab_page_rows_refresh(rows, 3);
    assert_string_equal(changes(&seen), "1=0 ");
    assert_int_equal(ab_page_rows_count(rows), 3);
}

static void adding_what_is_there_changes_nothing(void **state)
{
    (void)state;
    uint64_t seen = 0;
    add(0, 2);
    ab_page_rows_refresh(rows, 2);
    (void)changes(&seen);
    add(0, 2);
    ab_page_rows_refresh(rows, 2);
    assert_string_equal(changes(&seen), "");
    assert_int_equal(ab_page_rows_count(rows), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shows_all_to_who_knows_nothing_and_then_only_changes,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_changes_twice_is_shown_once_as_it_is_now, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(looks_at_a_share_in_a_turn_and_at_each_in_time, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(forgets_an_agent_that_is_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(adding_what_is_there_changes_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
