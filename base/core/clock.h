/* SPDX-License-Identifier: Apache-2.0
 *
 * Time that tests can step. Decisions take an ab_clock; only main.c uses the real one directly.
 */
#pragma once

#include <stdint.h>

typedef struct ab_clock {
    /* Never goes back; for time-outs. Milliseconds. */
    int64_t (*mono_ms)(void *arg);
    /* Wall clock since 1970 in UTC; for versions and time stamps. Microseconds. */
    int64_t (*wall_us)(void *arg);
    void *arg;
} ab_clock;

/** The machine's clocks. Any thread. */
extern const ab_clock ab_clock_real;

int64_t ab_clock_mono_ms(const ab_clock *c);
int64_t ab_clock_wall_us(const ab_clock *c);

/* "2026-01-02T03:04:05.678901Z" and the NUL. */
#define AB_TIME_TEXT 28
/** RFC 3339 in UTC with microseconds. */
void ab_time_format(int64_t wall_us, char out[AB_TIME_TEXT]);
/** The same with milliseconds ("….678Z"). */
void ab_time_format_ms(int64_t wall_us, char out[AB_TIME_TEXT]);
/** RFC 3339 in UTC without fraction, as Kubernetes writes time stamps ("…:05Z"); 21 bytes are
 * enough. */
void ab_time_format_seconds(int64_t wall_us, char out[AB_TIME_TEXT]);

/* Retry delays: doubling from `first_ms` to `max_ms`, each drawn from the upper half of its range
 * so that many peers do not come back at once. */
typedef struct {
    int64_t first_ms;
    int64_t max_ms;
    int64_t next_ms;
} ab_backoff;
void ab_backoff_init(ab_backoff *b, int64_t first_ms, int64_t max_ms);
/** The delay to wait now, milliseconds; the next one is longer. */
int64_t ab_backoff_next(ab_backoff *b);
/** Begin again with the first delay. */
void ab_backoff_reset(ab_backoff *b);
