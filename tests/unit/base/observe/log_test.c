/* SPDX-License-Identifier: Apache-2.0 */
#include "base/observe/log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t fixed_wall(void *arg)
{
    (void)arg;
    return 1767323045678901; /* 2026-01-02T03:04:05.678901Z */
}

static const ab_clock fixed_clock = {.mono_ms = fixed_wall, .wall_us = fixed_wall};

/* A log that writes into a pipe. */
typedef struct {
    int fds[2];
    ab_log *log;
} fixture;

static void open_log(fixture *f, const char *levels, ab_log_format format)
{
    assert_int_equal(pipe(f->fds), 0);
    assert_int_equal(ab_log_new(f->fds[1], levels, format, &fixed_clock, &f->log, NULL), AB_ERR_OK);
}

/* Everything written so far, NUL-terminated; closes the log. */
static const char *written(fixture *f)
{
    static char text[65536];
    close(f->fds[1]);
    size_t len = 0;
    ssize_t n = 0;
    while ((n = read(f->fds[0], text + len, sizeof(text) - 1 - len)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    close(f->fds[0]);
    ab_log_free(f->log);
    return text;
}

static void a_line_has_time_level_area_message_and_fields(void **state)
{
    (void)state;
    fixture f;
    open_log(&f, "info", AB_LOG_TEXT);
    AB_INFO(f.log, KAFKA, "event sent", AB_KV("agent", "w1"), AB_KV("bytes", 312),
            AB_KV("first", (bool)true), AB_KV("size", sizeof(int64_t)));
    AB_ERROR(f.log, MAIN, "no fields");
    assert_string_equal(
        written(&f),
        "2026-01-02T03:04:05.678Z INFO  kafka: event sent agent=w1 bytes=312 first=true size=8\n"
        "2026-01-02T03:04:05.678Z ERROR main: no fields\n");
}

static void values_with_blanks_quotes_or_nothing_are_quoted(void **state)
{
    (void)state;
    fixture f;
    open_log(&f, "info", AB_LOG_TEXT);
    AB_INFO(f.log, MAIN, "m", AB_KV("a", "two words"), AB_KV("b", "say \"x\""), AB_KV("c", ""),
            AB_KV("d", "k=v"), AB_KV("e", "back\\slash"));
    assert_string_equal(
        written(&f),
        "2026-01-02T03:04:05.678Z INFO  main: m a=\"two words\" b=\"say \\\"x\\\"\" c=\"\" "
        "d=\"k=v\" e=\"back\\\\slash\"\n");
}

static void no_value_can_begin_a_line_or_speak_to_the_terminal(void **state)
{
    (void)state;
    fixture f;
    open_log(&f, "info", AB_LOG_TEXT);
    AB_INFO(f.log, MAIN, "m\nx", AB_KV("a", "one\n2026 ERROR main: forged\r\x1b[2J\x7f"),
            AB_KV("b", "\xc2\x9b"), AB_KV("c", "\xff\xc3\xa9"), AB_KV("d", AB_STR("a\0b")));
    assert_string_equal(
        written(&f),
        "2026-01-02T03:04:05.678Z INFO  main: m\\nx a=\"one\\n2026 ERROR main: "
        "forged\\u000d\\u001b[2J\\u007f\" b=\"\\u009b\" c=\"\\xff\xc3\xa9\" d=\"a\\u0000b\"\n");
}

static void a_json_line_is_one_object(void **state)
{
    (void)state;
    fixture f;
    open_log(&f, "info", AB_LOG_JSON);
    AB_WARN(f.log, STORE, "say \"x\"", AB_KV("text", "a\nb\xff"), AB_KV("n", -5),
            AB_KV("yes", (bool)false), AB_KV("none", AB_STR_NONE));
    assert_string_equal(
        written(&f), "{\"time\":\"2026-01-02T03:04:05.678Z\",\"level\":\"warn\",\"area\":\"store\","
                     "\"msg\":\"say \\\"x\\\"\",\"text\":\"a\\nb\\ufffd\",\"n\":-5,\"yes\":false,"
                     "\"none\":null}\n");
}

static int evaluated;

static int count_evaluation(void)
{
    return ++evaluated;
}

static void what_is_off_is_neither_written_nor_evaluated(void **state)
{
    (void)state;
    fixture f;
    open_log(&f, "warn,kafka=debug", AB_LOG_TEXT);
    evaluated = 0;
    AB_INFO(f.log, MAIN, "hidden", AB_KV("n", count_evaluation()));
    assert_int_equal(evaluated, 0);
    AB_DEBUG(f.log, KAFKA, "shown", AB_KV("n", count_evaluation()));
    assert_int_equal(evaluated, 1);
    AB_INFO((ab_log *)NULL, MAIN, "nowhere", AB_KV("n", count_evaluation()));
    assert_int_equal(evaluated, 1);
    assert_string_equal(written(&f), "2026-01-02T03:04:05.678Z DEBUG kafka: shown n=1\n");
}

static void levels_change_while_running(void **state)
{
    (void)state;
    fixture f;
    open_log(&f, "error", AB_LOG_TEXT);
    assert_false(ab_log_on(f.log, AB_AREA_SYNC, AB_LOG_WARN));
    assert_int_equal(ab_log_set_levels(f.log, "sync=debug,warn", NULL), AB_ERR_OK);
    assert_true(ab_log_on(f.log, AB_AREA_SYNC, AB_LOG_DEBUG));
    assert_true(ab_log_on(f.log, AB_AREA_MAIN, AB_LOG_WARN));
    assert_false(ab_log_on(f.log, AB_AREA_MAIN, AB_LOG_INFO));
    (void)written(&f);
}

static void unknown_words_are_named_and_change_nothing(void **state)
{
    (void)state;
    fixture f;
    ab_error err = {0};
    open_log(&f, "error", AB_LOG_TEXT);
    assert_int_equal(ab_log_set_levels(f.log, "debug,kafka=loud", &err), AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, "\"loud\""));
    assert_int_equal(ab_log_set_levels(f.log, "debug,kafak=info", &err), AB_ERR_CONFIG);
    assert_non_null(strstr(err.text, "\"kafak\""));
    assert_non_null(strstr(err.text, "kafka"));
    assert_int_equal(ab_log_set_levels(f.log, "", &err), AB_ERR_CONFIG);
    assert_int_equal(ab_log_set_levels(f.log, "info,", &err), AB_ERR_CONFIG);
    assert_false(ab_log_on(f.log, AB_AREA_MAIN, AB_LOG_WARN));
    ab_log *none = NULL;
    assert_int_equal(ab_log_new(1, "verbose", AB_LOG_TEXT, &fixed_clock, &none, &err),
                     AB_ERR_CONFIG);
    assert_null(none);
    (void)written(&f);
}

/* Who logs is about to return it, or has just seen it. */
static void errno_stays_as_it_was(void **state)
{
    (void)state;
    ab_log *log = NULL;
    assert_int_equal(ab_log_new(-1, "info", AB_LOG_TEXT, &ab_clock_real, &log, NULL), AB_ERR_OK);
    errno = ENOENT;
    AB_INFO(log, MAIN, "it cannot be written");
    assert_int_equal(errno, ENOENT);
    ab_log_free(log);
}

static void a_long_value_is_cut(void **state)
{
    (void)state;
    fixture f;
    static char value[100000];
    memset(value, 'x', sizeof(value));
    open_log(&f, "info", AB_LOG_TEXT);
    AB_INFO(f.log, MAIN, "m", AB_KV("a", ((ab_str){value, sizeof(value)})), AB_KV("b", 1));
    const char *line = written(&f);
    assert_true(strlen(line) < 4096);
    assert_non_null(strstr(line, "xxx...\" b=1\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_time_level_area_message_and_fields),
        cmocka_unit_test(values_with_blanks_quotes_or_nothing_are_quoted),
        cmocka_unit_test(no_value_can_begin_a_line_or_speak_to_the_terminal),
        cmocka_unit_test(a_json_line_is_one_object),
        cmocka_unit_test(what_is_off_is_neither_written_nor_evaluated),
        cmocka_unit_test(levels_change_while_running),
        cmocka_unit_test(unknown_words_are_named_and_change_nothing),
        cmocka_unit_test(errno_stays_as_it_was),
        cmocka_unit_test(a_long_value_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
