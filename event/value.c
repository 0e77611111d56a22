/* SPDX-License-Identifier: Apache-2.0 */
#include "event/value_priv.h"

#include "base/base64.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ----- text ----- */

/** CloudEvents §3.1: no control characters, neither ASCII's nor those of U+0080 to U+009F. */
static bool has_controls(ab_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c < 0x20 || c == 0x7f)
            return true;
        if (c == 0xc2 && i + 1 < s.len && (unsigned char)s.ptr[i + 1] < 0xa0)
            return true;
    }
    return false;
}

bool ab_value_integer_parse(ab_str text, int32_t *out)
{
    bool negative = text.len > 0 && text.ptr[0] == '-';
    ab_str digits = negative ? (ab_str){text.ptr + 1, text.len - 1} : text;
    uint64_t magnitude;
    if (ab_str_to_u64(digits, &magnitude) != AB_ERR_OK)
        return false;
    if (digits.ptr[0] == '0' && text.len > 1)
        return false;
    if (magnitude > (uint64_t)INT32_MAX + (negative ? 1 : 0))
        return false;
    *out = (int32_t)(negative ? -(int64_t)magnitude : (int64_t)magnitude);
    return true;
}

/* ----- time ----- */

/* 0001-01-01T00:00:00Z and the first second of year 10000. */
#define TIME_FIRST (-62135596800)
#define TIME_END   253402300800
/* From the first day of the year -399, so that the year 0 has whole years before it too. */
#define DAYS_TO_1970 865259

/** Take `count` digits from the front of `s`. */
static bool take_digits(ab_str *s, size_t count, int *out)
{
    *out = 0;
    if (s->len < count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (s->ptr[i] < '0' || s->ptr[i] > '9')
            return false;
        *out = *out * 10 + (s->ptr[i] - '0');
    }
    *s = (ab_str){s->ptr + count, s->len - count};
    return true;
}

/** Take one of the characters of `any` from the front of `s`. @return it, or '\0' */
static char take_char(ab_str *s, const char *any)
{
    if (s->len == 0 || s->ptr[0] == '\0' || strchr(any, s->ptr[0]) == NULL)
        return '\0';
    char c = s->ptr[0];
    *s = (ab_str){s->ptr + 1, s->len - 1};
    return c;
}

typedef struct {
    int year, month, day, hour, minute, second;
} date_time;

static bool take_date_time(ab_str *s, date_time *t)
{
    if (!take_digits(s, 4, &t->year) || !take_char(s, "-") || !take_digits(s, 2, &t->month) ||
        !take_char(s, "-") || !take_digits(s, 2, &t->day) || !take_char(s, "Tt") ||
        !take_digits(s, 2, &t->hour) || !take_char(s, ":") || !take_digits(s, 2, &t->minute) ||
        !take_char(s, ":") || !take_digits(s, 2, &t->second))
        return false;
    return t->hour <= 23 && t->minute <= 59 && t->second <= 60;
}

/** Digits past the ninth are dropped: no format has room for them. */
static bool take_fraction(ab_str *s, int32_t *nanos)
{
    *nanos = 0;
    if (!take_char(s, "."))
        return true;
    int32_t unit = 100000000;
    int digit;
    size_t before = s->len;
    while (take_digits(s, 1, &digit)) {
        *nanos += digit * unit;
        unit /= 10;
    }
    return s->len < before;
}

static bool take_offset(ab_str *s, int *seconds)
{
    int hours, minutes;
    *seconds = 0;
    if (take_char(s, "Zz"))
        return true;
    char sign = take_char(s, "+-");
    if (sign == '\0' || !take_digits(s, 2, &hours) || !take_char(s, ":") ||
        !take_digits(s, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *seconds = (hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
    return true;
}

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/** The day counted from 1970. timegm would lock and ask for the time zone. @return false when there
 * is no such day */
static bool day_of(const date_time *t, int64_t *day)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    if (t->month < 1 || t->month > 12)
        return false;
    bool leap = is_leap(t->year);
    int days = before[t->month] - before[t->month - 1] + (leap && t->month == 2);
    if (t->day < 1 || t->day > days)
        return false;
    int64_t y = t->year + 399; /* whole years before it */
    *day = y * 365 + y / 4 - y / 100 + y / 400 + before[t->month - 1] + (leap && t->month > 2) +
           t->day - 1 - DAYS_TO_1970;
    return true;
}

bool ab_value_time_parse(ab_str text, int64_t *seconds, int32_t *nanos)
{
    date_time t;
    int offset;
    if (!take_date_time(&text, &t) || !take_fraction(&text, nanos) ||
        !take_offset(&text, &offset) || text.len != 0)
        return false;
    int64_t day;
    if (!day_of(&t, &day))
        return false;
    *seconds = ((day * 24 + t.hour) * 60 + t.minute) * 60 + t.second - offset;
    return *seconds >= TIME_FIRST && *seconds < TIME_END;
}

/** ".5" is written ".500": as few groups of three digits as hold it, then "Z". */
static void format_fraction(int32_t nanos, char out[12])
{
    if (nanos == 0)
        snprintf(out, 12, "Z");
    else if (nanos % 1000000 == 0)
        snprintf(out, 12, ".%03dZ", nanos / 1000000);
    else if (nanos % 1000 == 0)
        snprintf(out, 12, ".%06dZ", nanos / 1000);
    else
        snprintf(out, 12, ".%09dZ", nanos);
}

bool ab_value_time_format(int64_t seconds, int32_t nanos, char out[AB_VALUE_TIME_MAX])
{
    if (seconds < TIME_FIRST || seconds >= TIME_END || nanos < 0 || nanos > 999999999)
        return false;
    struct tm tm;
    time_t when = (time_t)seconds;
    if (gmtime_r(&when, &tm) == NULL)
        return false;
    int len = snprintf(out, AB_VALUE_TIME_MAX, "%04d-%02d-%02dT%02d:%02d:%02d", tm.tm_year + 1900,
                       tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    if (len != (int)strlen("0001-01-01T00:00:00"))
        return false;
    format_fraction(nanos, out + len);
    return true;
}

bool ab_value_is_valid(ab_attr_type type, ab_str value)
{
    int32_t integer;
    int64_t seconds;
    int32_t nanos;
    switch (type) {
    case AB_ATTR_STRING:
    case AB_ATTR_URI:
    case AB_ATTR_URI_REF:
        return ab_str_is_printable(value) || (!has_controls(value) && ab_str_is_utf8(value));
    case AB_ATTR_BOOLEAN:
        return ab_str_is(value, "true") || ab_str_is(value, "false");
    case AB_ATTR_INTEGER:
        return ab_value_integer_parse(value, &integer);
    case AB_ATTR_BYTES:
        return ab_base64_is(value);
    case AB_ATTR_TIMESTAMP:
        return ab_value_time_parse(value, &seconds, &nanos);
    }
    return false;
}
