/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/rfc3339.h"

#include <string.h>

/* 0001-01-01T00:00:00Z and the first second of year 10000. */
#define TIME_FIRST  (-62135596800)
#define TIME_END    253402300800
#define DAY_SECONDS 86400
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

/** Take one of two characters from the front of `s`. @return it, or '\0' */
static char take_either(ab_str *s, char one, char other)
{
    if (s->len == 0 || (s->ptr[0] != one && s->ptr[0] != other))
        return '\0';
    char c = s->ptr[0];
    *s = (ab_str){s->ptr + 1, s->len - 1};
    return c;
}

static bool take_char(ab_str *s, char c)
{
    return take_either(s, c, c) != '\0';
}

typedef struct {
    int year, month, day, hour, minute, second;
} date_time;

/** @return below 0 when these are not two digits */
static int two_digits(const char *at)
{
    unsigned tens = (unsigned)at[0] - '0';
    unsigned ones = (unsigned)at[1] - '0';
    return tens <= 9 && ones <= 9 ? (int)(tens * 10 + ones) : -1;
}

/** Every event has a time, which is read up to four times on its way: all at once, where each part
 * must be. */
static bool take_date_time(ab_str *s, date_time *t)
{
    const size_t len = strlen("0001-01-01T00:00:00");
    const char *at = s->ptr;
    if (s->len < len || at[4] != '-' || at[7] != '-' || (at[10] != 'T' && at[10] != 't') ||
        at[13] != ':' || at[16] != ':')
        return false;
    int century = two_digits(at);
    int year = two_digits(at + 2);
    *t = (date_time){.year = century * 100 + year,
                     .month = two_digits(at + 5),
                     .day = two_digits(at + 8),
                     .hour = two_digits(at + 11),
                     .minute = two_digits(at + 14),
                     .second = two_digits(at + 17)};
    *s = (ab_str){at + len, s->len - len};
    /* One that is below 0 makes all of them so. */
    return (century | year | t->month | t->day | t->hour | t->minute | t->second) >= 0 &&
           t->hour <= 23 && t->minute <= 59 && t->second <= 60;
}

/** Digits past the ninth are dropped: no format has room for them. */
static bool take_fraction(ab_str *s, int32_t *nanos)
{
    *nanos = 0;
    if (!take_char(s, '.'))
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
    if (take_either(s, 'Z', 'z'))
        return true;
    char sign = take_either(s, '+', '-');
    if (sign == '\0' || !take_digits(s, 2, &hours) || !take_char(s, ':') ||
        !take_digits(s, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *seconds = (hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
    return true;
}

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/** Days of a year before its month 1 to 13. */
static int days_before(int year, int month)
{
    static const int common[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    return common[month - 1] + (month > 2 && is_leap(year));
}

static int64_t first_day_of(int year)
{
    int64_t y = year + 399; /* whole years before it */
    return y * 365 + y / 4 - y / 100 + y / 400 - DAYS_TO_1970;
}

/** The day counted from 1970. timegm would lock and ask for the time zone. @return false when there
 * is no such day */
static bool day_of(const date_time *t, int64_t *day)
{
    if (t->month < 1 || t->month > 12)
        return false;
    int before = days_before(t->year, t->month);
    if (t->day < 1 || t->day > days_before(t->year, t->month + 1) - before)
        return false;
    *day = first_day_of(t->year) + before + t->day - 1;
    return true;
}

bool ab_rfc3339_parse(ab_str text, int64_t *seconds, int32_t *nanos)
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

/** The inverse of day_of. */
static void date_of(int64_t day, date_time *t)
{
    /* 400 years have 146,097 days. Leap days come as late as they can: the year may be one too low,
     * never too high. */
    t->year = (int)((day + DAYS_TO_1970) * 400 / 146097) - 399;
    if (first_day_of(t->year + 1) <= day)
        t->year++;
    int rest = (int)(day - first_day_of(t->year));
    t->month = 1;
    while (rest >= days_before(t->year, t->month + 1))
        t->month++;
    t->day = rest - days_before(t->year, t->month) + 1;
}

static char *put_digits(char *to, int value, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        to[i] = (char)('0' + value % 10);
        value /= 10;
    }
    return to + count;
}

static char *put_part(char *to, int value, int count, char end)
{
    to = put_digits(to, value, count);
    *to = end;
    return to + 1;
}

/** ".5" is written ".500": as few groups of three digits as hold it. */
static char *put_fraction(char *to, int32_t nanos)
{
    int count = 9;
    if (nanos == 0)
        return to;
    for (; nanos % 1000 == 0; nanos /= 1000)
        count -= 3;
    *to = '.';
    return put_digits(to + 1, nanos, count);
}

bool ab_rfc3339_format(int64_t seconds, int32_t nanos, char out[AB_RFC3339_MAX])
{
    if (seconds < TIME_FIRST || seconds >= TIME_END || nanos < 0 || nanos > 999999999)
        return false;
    int64_t since = seconds - TIME_FIRST; /* not below 0, so that "/" rounds down */
    int left = (int)(since % DAY_SECONDS);
    date_time t;
    date_of(since / DAY_SECONDS + TIME_FIRST / DAY_SECONDS, &t);
    char *to = put_part(out, t.year, 4, '-');
    to = put_part(to, t.month, 2, '-');
    to = put_part(to, t.day, 2, 'T');
    to = put_part(to, left / 3600, 2, ':');
    to = put_part(to, left / 60 % 60, 2, ':');
    to = put_fraction(put_digits(to, left % 60, 2), nanos);
    memcpy(to, "Z", 2);
    return true;
}
