/* SPDX-License-Identifier: Apache-2.0
 *
 * Lets one of many equal messages a minute into the log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AB_LIMITER_SLOTS 64

/* Initialise with {0}. Keys share slots: a rare key may be held back by another, never more than a
 * minute. */
typedef struct {
    struct {
        uint64_t key;
        int64_t until_ms;
        int64_t held;
    } slots[AB_LIMITER_SLOTS];
} ab_limiter;

/**
 * May a message about `what` and `whom` go out at `now_ms`?
 * @param held  how many were held back since the last one; only set when true is returned
 */
bool ab_limiter_pass(ab_limiter *l, const char *what, const char *whom, int64_t now_ms,
                     int64_t *held);
