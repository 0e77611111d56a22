/* SPDX-License-Identifier: Apache-2.0
 *
 * Moments at which many do something together, again and again, and groups of them in turns.
 */
#pragma once

#include <stdint.h>

/**
 * The next moment of a group.
 * @param group        its number, from 0 on: groups of any count are spread over the interval
 * @param interval_ms  between two moments of one group; positive
 * @param now_ms       by a clock that all members of the group share
 * @return later than now, by an interval at most. Any thread.
 */
int64_t ab_beat_next(unsigned group, int64_t interval_ms, int64_t now_ms);
