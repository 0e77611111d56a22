/* SPDX-License-Identifier: Apache-2.0 */
#include "live/resource/logs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define T(n)     "2026-11-23T10:00:0" #n "Z "
#define OPENED_S 1795428005 /* 2026-11-23T10:00:05Z */
#define LOG      "/api/v1/namespaces/a/pods/p/log?container=c&follow=true&timestamps=true"

typedef struct {
    ab_resource_logs logs;
    ab_resource_map map;
    ab_buf out;
} fixture;

/* Of this, opened at 10:00:05, nothing has come. */
static void open_log(fixture *f, const char *target)
{
    ab_resource_logs_fini(&f->logs);
    ab_resource_logs_init(&f->logs, OPENED_S * INT64_C(1000000));
    assert_int_equal(ab_resource_map_read(AB_STR("GET"), ab_str_of(target), &f->map, NULL),
                     AB_ERR_OK);
}

static int set_up(void **state)
{
    static fixture f;
    memset(&f, 0, sizeof(f));
    ab_buf_init(&f.out, 64 * 1024);
    open_log(&f, LOG "&tailLines=9&sinceSeconds=5");
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    ab_resource_logs_fini(&f->logs);
    ab_buf_fini(&f->out);
    return 0;
}

static void assert_passed(fixture *f, const char *piece, const char *expected)
{
    ab_buf_clear(&f->out);
    assert_int_equal(ab_resource_logs_feed(&f->logs, ab_str_of(piece), &f->out), AB_ERR_OK);
    ab_buf_putc(&f->out, '\0');
    assert_string_equal(f->out.ptr, expected);
}

static void assert_resumed(fixture *f, const char *target)
{
    ab_buf out;
    ab_buf_init(&out, 4096);
    ab_resource_logs_resume(&f->logs, &f->map, &out);
    assert_string_equal(out.ptr, target);
    ab_buf_fini(&out);
}

static void lines_are_passed_on_when_they_are_whole(void **state)
{
    fixture *f = *state;
    assert_passed(f, T(1) "a\n" T(2), T(1) "a\n");
    assert_passed(f, "b\n", T(2) "b\n");
    assert_passed(f, T(3) "c", "");
    ab_buf_clear(&f->out);
    ab_resource_logs_end(&f->logs, &f->out);
    assert_string_equal(f->out.ptr, T(3) "c");
}

static void a_log_goes_on_after_its_last_line(void **state)
{
    fixture *f = *state;
    assert_passed(f, T(1) "a\n" T(2) "b\n" T(2) "c\n" T(2) "d", T(1) "a\n" T(2) "b\n" T(2) "c\n");
    assert_resumed(f, LOG "&sinceTime=2026-11-23T10:00:02Z");
    assert_passed(f, T(2) "b\n" T(2), "");
    assert_passed(f, "c\n" T(2) "d\n" T(3) "e\n", T(2) "d\n" T(3) "e\n");
}

static void lines_out_of_order_come_once(void **state)
{
    fixture *f = *state;
    assert_passed(f, T(3) "out\n" T(2) "err\n", T(3) "out\n" T(2) "err\n");
    assert_resumed(f, LOG "&sinceTime=2026-11-23T10:00:02Z");
    assert_passed(f, T(3) "out\n" T(2) "err\n" T(2) "late\n" T(4) "x\n", T(2) "late\n" T(4) "x\n");
}

/* Of a node whose clock is two hours behind, or ahead. */
static void from_the_first_line_on_only_the_clock_of_the_node_counts(void **state)
{
    static const char *const HOURS[] = {"08", "12"};
    fixture *f = *state;
    for (size_t i = 0; i < sizeof(HOURS) / sizeof(HOURS[0]); i++) {
        char first[64], again[128], next[64], both[128];
        snprintf(first, sizeof(first), "2026-11-23T%s:00:01.5Z a\n", HOURS[i]);
        snprintf(again, sizeof(again), LOG "&sinceTime=2026-11-23T%s:00:01.5Z", HOURS[i]);
        snprintf(next, sizeof(next), "2026-11-23T%s:00:02Z b\n", HOURS[i]);
        snprintf(both, sizeof(both), "%s%s", first, next);
        open_log(f, LOG "&tailLines=2");
        assert_passed(f, first, first);
        assert_resumed(f, again);
        assert_passed(f, both, next);
    }
}

static void equal_lines_are_counted(void **state)
{
    fixture *f = *state;
    assert_passed(f, T(1) "a\n" T(1) "a\n", T(1) "a\n" T(1) "a\n");
    assert_resumed(f, LOG "&sinceTime=2026-11-23T10:00:01Z");
    assert_passed(f, T(1) "a\n" T(1) "a\n" T(1) "a\n", T(1) "a\n");
}

static void a_log_without_its_last_line_goes_on_with_what_is_newer(void **state)
{
    fixture *f = *state;
    assert_passed(f, T(1) "a\n" T(2) "b\n", T(1) "a\n" T(2) "b\n");
    assert_resumed(f, LOG "&sinceTime=2026-11-23T10:00:02Z");
    assert_passed(f, T(2) "?\n" T(3) "c\n" T(3) "d\n", T(3) "c\n" T(3) "d\n");
}

static void what_counts_back_counts_from_when_a_log_was_opened(void **state)
{
    static const struct {
        const char *begins;
        const char *again;
    } CASES[] = {
        {"", ""},
        {"&sinceTime=2026-01-02T03:04:05Z", "&sinceTime=2026-01-02T03:04:05Z"},
        {"&tailLines=9", "&tailLines=9"},
        {"&tailLines=no", "&tailLines=no"},
        {"&sinceSeconds=61", "&sinceTime=2026-11-23T09:58:59Z"},
        {"&tailLines=9&sinceSeconds=1", "&tailLines=9&sinceTime=2026-11-23T09:59:59Z"},
        {"&tailLines=0", "&sinceTime=2026-11-23T10:00:00Z"},
        {"&tailLines=0&sinceSeconds=61", "&sinceTime=2026-11-23T10:00:00Z"},
    };
    fixture *f = *state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char first[256], again[256];
        snprintf(first, sizeof(first), LOG "%s", CASES[i].begins);
        snprintf(again, sizeof(again), LOG "%s", CASES[i].again);
        open_log(f, first);
        assert_passed(f, T(1) "not wh", "");
        assert_resumed(f, again);
    }
}

static void the_last_lines_of_now_are_passed_on_where_they_begin_before_the_opening(void **state)
{
    static const char *const FIRST[] = {"2026-11-23T10:00:00.999999999Z a\n",
                                        "2026-11-23T12:30:00.5+02:30 a\n",
                                        "2026-11-23T06:30:00-03:30 a\n"};
    fixture *f = *state;
    for (size_t i = 0; i < sizeof(FIRST) / sizeof(FIRST[0]); i++) {
        open_log(f, LOG "&tailLines=2");
        assert_resumed(f, LOG "&tailLines=2");
        assert_passed(f, FIRST[i], FIRST[i]);
        assert_passed(f, T(9) "b\n", T(9) "b\n");
    }
}

static void all_since_the_opening_is_asked_for_where_the_last_lines_of_now_are_newer(void **state)
{
    static const char *const FIRST[] = {
        "2026-11-23T10:00:01Z a\n", "2026-11-23T12:30:01.5+02:30 a\n",
        "2026-11-23T06:30:01-03:30 a\n", "2026-11-23-10-00-00Z a\n"};
    fixture *f = *state;
    for (size_t i = 0; i < sizeof(FIRST) / sizeof(FIRST[0]); i++) {
        open_log(f, LOG "&tailLines=2");
        assert_resumed(f, LOG "&tailLines=2");
        ab_buf_clear(&f->out);
        assert_int_equal(ab_resource_logs_feed(&f->logs, ab_str_of(FIRST[i]), &f->out),
                         AB_ERR_CONFLICT);
        assert_int_equal(f->out.len, 0);
        assert_resumed(f, LOG "&sinceTime=2026-11-23T10:00:00Z");
        assert_resumed(f, LOG "&sinceTime=2026-11-23T10:00:00Z");
        assert_passed(f, T(7) "z\n" T(8) "a\n", T(7) "z\n" T(8) "a\n");
        assert_resumed(f, LOG "&sinceTime=2026-11-23T10:00:08Z");
        assert_passed(f, T(8) "a\n" T(9) "b\n", T(9) "b\n");
    }
}

static void a_line_without_a_timestamp_or_end_is_an_error(void **state)
{
    fixture *f = *state;
    assert_int_equal(ab_resource_logs_feed(&f->logs, AB_STR("oops\n"), &f->out), AB_ERR_PARSE);
    static char piece[AB_RESOURCE_LINE_MAX];
    open_log(f, LOG);
    for (size_t i = 0; i < sizeof(piece); i++)
        piece[i] = 'x';
    assert_int_equal(ab_resource_logs_feed(&f->logs, (ab_str){piece, sizeof(piece)}, &f->out),
                     AB_ERR_OK);
    assert_int_equal(ab_resource_logs_feed(&f->logs, AB_STR("x"), &f->out), AB_ERR_TOOBIG);
}

static void only_what_is_followed_with_timestamps_can_be_resumed(void **state)
{
    static const struct {
        const char *target;
        bool can;
    } CASES[] = {
        {LOG, true},
        {LOG "&limitBytes=9", false},
        {"/api/v1/namespaces/a/pods/p/log?follow=true", false},
        {"/api/v1/namespaces/a/pods/p/log?timestamps=true", false},
        {"/api/v1/namespaces/a/pods/p?follow=true&timestamps=true", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        ab_resource_map m;
        assert_int_equal(ab_resource_map_read(AB_STR("GET"), ab_str_of(CASES[i].target), &m, NULL),
                         AB_ERR_OK);
        assert_int_equal(ab_resource_logs_can_resume(&m), CASES[i].can);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lines_are_passed_on_when_they_are_whole),
        TEST(a_log_goes_on_after_its_last_line),
        TEST(lines_out_of_order_come_once),
        TEST(from_the_first_line_on_only_the_clock_of_the_node_counts),
        TEST(equal_lines_are_counted),
        TEST(a_log_without_its_last_line_goes_on_with_what_is_newer),
        TEST(what_counts_back_counts_from_when_a_log_was_opened),
        TEST(the_last_lines_of_now_are_passed_on_where_they_begin_before_the_opening),
        TEST(all_since_the_opening_is_asked_for_where_the_last_lines_of_now_are_newer),
        TEST(a_line_without_a_timestamp_or_end_is_an_error),
        TEST(only_what_is_followed_with_timestamps_can_be_resumed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
