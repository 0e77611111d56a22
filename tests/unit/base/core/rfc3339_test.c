/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/rfc3339.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void a_time_is_read_with_any_offset_and_fraction(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds;
        int32_t nanos;
    } good[] = {
        {"1970-01-01T00:00:00Z", 0, 0},
        {"1970-01-01t00:00:00z", 0, 0},
        {"1970-01-01T01:00:00+01:00", 0, 0},
        {"1969-12-31T19:30:00-04:30", 0, 0},
        {"1969-12-31T23:59:59.999999999Z", -1, 999999999},
        {"2026-11-21T08:00:00.5Z", 1795248000, 500000000},
        {"2026-11-21T08:00:00.1234567891Z", 1795248000, 123456789},
        {"2024-02-29T00:00:00Z", 1709164800, 0},
        {"2000-02-29T00:00:00Z", 951782400, 0},
        {"1900-03-01T00:00:00Z", -2203891200, 0},
        {"0000-12-31T23:59:59-23:59", -62135510461, 0},
        {"2016-12-31T23:59:60Z", 1483228800, 0},
        {"0001-01-01T00:00:00Z", -62135596800, 0},
        {"9999-12-31T23:59:59Z", 253402300799, 0},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        int64_t seconds = 1;
        int32_t nanos = -1;
        assert_true(ab_rfc3339_parse(ab_str_of(good[i].text), &seconds, &nanos));
        assert_int_equal(seconds, good[i].seconds);
        assert_int_equal(nanos, good[i].nanos);
    }
}

static void each_place_of_a_time_takes_what_belongs_there_only(void **state)
{
    (void)state;
    static const char good[] = "2021-11-21T08:00:00Z";
    static const char others[] = {'/', ':', '-', 'T', 'Z', ' ', '+', '\0', '\x80'};
    int64_t seconds = 0;
    int32_t nanos = 0;
    for (size_t at = 0; at + 1 < sizeof(good); at++) {
        for (size_t i = 0; i < sizeof(others); i++) {
            char text[sizeof(good)];
            memcpy(text, good, sizeof(good));
            text[at] = others[i];
            assert_int_equal(ab_rfc3339_parse((ab_str){text, sizeof(good) - 1}, &seconds, &nanos),
                             good[at] == others[i]);
        }
        assert_false(ab_rfc3339_parse((ab_str){good, at}, &seconds, &nanos));
    }
}

static void what_is_no_time_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "2026-11-21",
        "2026-11-21T08:00:00",
        "2026-11-21 08:00:00Z",
        "2026-11-21T08:00Z",
        "2026-11-21T08:00:00.Z",
        "2026-11-21T08:00:00Z ",
        " 2026-11-21T08:00:00Z",
        "2026-11-21T08:00:00+0100",
        "2026-11-21T08:00:00+24:00",
        "2026-11-21T08:00:00+00:60",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-11-21T24:00:00Z",
        "2026-11-21T08:60:00Z",
        "2026-11-21T08:00:61Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "+026-11-21T08:00:00Z",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t seconds;
        int32_t nanos;
        if (ab_rfc3339_parse(ab_str_of(bad[i]), &seconds, &nanos))
            fail_msg("\"%s\" was taken for a time", bad[i]);
    }
}

static void a_time_is_written_with_as_few_groups_of_digits_as_hold_it(void **state)
{
    (void)state;
    static const struct {
        int64_t seconds;
        int32_t nanos;
        const char *text;
    } good[] = {
        {0, 0, "1970-01-01T00:00:00Z"},
        {0, 500000000, "1970-01-01T00:00:00.500Z"},
        {0, 1000, "1970-01-01T00:00:00.000001Z"},
        {-1, 999999999, "1969-12-31T23:59:59.999999999Z"},
        {-62135596800, 0, "0001-01-01T00:00:00Z"},
        {253402300799, 999999999, "9999-12-31T23:59:59.999999999Z"},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        char text[AB_RFC3339_MAX];
        assert_true(ab_rfc3339_format(good[i].seconds, good[i].nanos, text));
        assert_string_equal(text, good[i].text);
    }
}

static void assert_written_as_libc_does(int64_t seconds)
{
    char text[AB_RFC3339_MAX];
    char expected[64];
    struct tm tm;
    time_t when = (time_t)seconds;
    assert_non_null(gmtime_r(&when, &tm));
    snprintf(expected, sizeof(expected), "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900,
             tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    assert_true(ab_rfc3339_format(seconds, 0, text));
    assert_string_equal(text, expected);
}

static void the_days_about_the_ends_of_february_and_of_any_year_are_written(void **state)
{
    (void)state;
    static const int days[] = {0, 30, 31, 58, 59, 60, 180, 364};
    for (int year = 1; year <= 9999; year++) {
        struct tm first = {.tm_year = year - 1900, .tm_mday = 1};
        int64_t seconds = timegm(&first);
        for (size_t i = 0; i < sizeof(days) / sizeof(days[0]); i++) {
            assert_written_as_libc_does(seconds + days[i] * 86400);
            assert_written_as_libc_does(seconds + days[i] * 86400 + 86399);
        }
    }
}

static void a_time_out_of_range_is_not_written(void **state)
{
    (void)state;
    char text[AB_RFC3339_MAX];
    assert_false(ab_rfc3339_format(-62135596801, 0, text));
    assert_false(ab_rfc3339_format(253402300800, 0, text));
    assert_false(ab_rfc3339_format(INT64_MAX, 0, text));
    assert_false(ab_rfc3339_format(INT64_MIN, 0, text));
    assert_false(ab_rfc3339_format(0, -1, text));
    assert_false(ab_rfc3339_format(0, 1000000000, text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_is_read_with_any_offset_and_fraction),
        cmocka_unit_test(each_place_of_a_time_takes_what_belongs_there_only),
        cmocka_unit_test(what_is_no_time_is_refused),
        cmocka_unit_test(a_time_is_written_with_as_few_groups_of_digits_as_hold_it),
        cmocka_unit_test(the_days_about_the_ends_of_february_and_of_any_year_are_written),
        cmocka_unit_test(a_time_out_of_range_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
