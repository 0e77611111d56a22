/* SPDX-License-Identifier: Apache-2.0
 *
 * Deadlines of many, of which few are near: to set one costs the same however many there are, and a
 * look at what is due touches only that, and now and then what is far. Not thread-safe.
 *
 * A timer lies in the slot of its deadline; one that is more than a turn of the wheel away is
 * passed over once a turn.
 */
#pragma once

#include "base/core/list.h"

#include <stdint.h>

#define AB_WHEEL_SLOTS 512

typedef struct {
    ab_link at;
    int64_t due_ms;
} ab_wheel_timer;

typedef struct {
    ab_link slots[AB_WHEEL_SLOTS];
    int64_t width_ms; /* of a slot */
    int64_t turned;   /* all slots before this one, counted from time 0, were looked at */
} ab_wheel;

/** An empty wheel. `now_ms` is of the clock that all deadlines are of. */
void ab_wheel_init(ab_wheel *w, int64_t width_ms, int64_t now_ms);
/** A timer that is not set; needed before all else. */
void ab_wheel_timer_init(ab_wheel_timer *t);
/** Let it be due then, at the latest: a timer that is due before stays as it is. */
void ab_wheel_set(ab_wheel *w, ab_wheel_timer *t, int64_t due_ms);
/** Take it off the wheel, or out of a list that ab_wheel_turn filled. */
void ab_wheel_timer_stop(ab_wheel_timer *t);
/** Move all that are due to the end of this list, by `at`; none of them is set any more once it
 * has left the list. */
void ab_wheel_turn(ab_wheel *w, int64_t now_ms, ab_link *due);
