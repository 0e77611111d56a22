/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/clock.h"

#include <assert.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

#define US_PER_S    1000000
#define WALL_US_MAX INT64_C(253402300799999999) /* the end of year 9999 */

static int64_t real_mono_ms(void *arg)
{
    (void)arg;
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t real_wall_us(void *arg)
{
    (void)arg;
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * US_PER_S + t.tv_nsec / 1000;
}

const ab_clock ab_clock_real = {.mono_ms = real_mono_ms, .wall_us = real_wall_us};

int64_t ab_clock_mono_ms(const ab_clock *c)
{
    return c->mono_ms(c->arg);
}

int64_t ab_clock_wall_us(const ab_clock *c)
{
    return c->wall_us(c->arg);
}

/* RFC 3339 has no years but 0000 to 9999, and no clock of ours is before 1970. */
static int64_t clamp_wall(int64_t wall_us)
{
    if (wall_us < 0)
        return 0;
    return wall_us > WALL_US_MAX ? WALL_US_MAX : wall_us;
}

static size_t format_date(int64_t wall_us, char out[AB_TIME_TEXT])
{
    time_t seconds = (time_t)(wall_us / US_PER_S);
    struct tm parts = {0};
    (void)gmtime_r(&seconds, &parts);
    return strftime(out, AB_TIME_TEXT, "%Y-%m-%dT%H:%M:%S", &parts);
}

void ab_time_format(int64_t wall_us, char out[AB_TIME_TEXT])
{
    wall_us = clamp_wall(wall_us);
    size_t used = format_date(wall_us, out);
    (void)snprintf(out + used, AB_TIME_TEXT - used, ".%06uZ", (unsigned)(wall_us % US_PER_S));
}

void ab_time_format_ms(int64_t wall_us, char out[AB_TIME_TEXT])
{
    wall_us = clamp_wall(wall_us);
    size_t used = format_date(wall_us, out);
    (void)snprintf(out + used, AB_TIME_TEXT - used, ".%03uZ",
                   (unsigned)(wall_us % US_PER_S / 1000));
}

void ab_time_format_seconds(int64_t wall_us, char out[AB_TIME_TEXT])
{
    size_t used = format_date(clamp_wall(wall_us), out);
    (void)snprintf(out + used, AB_TIME_TEXT - used, "Z");
}

void ab_backoff_init(ab_backoff *b, int64_t first_ms, int64_t max_ms)
{
    assert(first_ms > 0 && first_ms <= max_ms);
    *b = (ab_backoff){.first_ms = first_ms, .max_ms = max_ms, .next_ms = first_ms};
}

int64_t ab_backoff_next(ab_backoff *b)
{
    int64_t upper = b->next_ms;
    b->next_ms = upper > b->max_ms / 2 ? b->max_ms : upper * 2;
    uint32_t random = 0;
    /* Without randomness the delay is the same for all, but still grows. */
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
        random = 0;
    return upper - (int64_t)(random % (uint64_t)(upper / 2 + 1));
}

void ab_backoff_reset(ab_backoff *b)
{
    b->next_ms = b->first_ms;
}
