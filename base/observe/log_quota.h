/* SPDX-License-Identifier: Apache-2.0
 *
 * For the lines that a peer causes by what it sends: so many of them go into the log in a minute,
 * and how many were left out is told with the next one that does. Each peer has a quota of its own,
 * so that one that fills its own leaves the lines about the others in the log. Loop thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define AB_LOG_QUOTA_LINES 10

/* Zero-initialised: nothing was logged yet. */
typedef struct {
    int64_t until_ms;  /* the end of the present minute */
    unsigned lines;    /* in it */
    int64_t held;      /* left out since the last line */
    int64_t held_back; /* left out before that line, which tells it */
} ab_log_quota;

/** May a line go into the log? It tells `held_back` then. @param now_ms  monotonic */
bool ab_log_quota_pass(ab_log_quota *q, int64_t now_ms);
