/* SPDX-License-Identifier: Apache-2.0
 *
 * Random histories: what is drawn by lot, so that a seed gives the same history again.
 */
#pragma once

#include "base/core/clock.h"

#include <stddef.h>
#include <stdint.h>

/** One of 0 to below - 1; moves `*random` on, which a seed begins. */
size_t lot_draw(uint64_t *random, size_t below);
/** What ab_backoff_next returns, with `random` in place of what it draws itself: for a model that
 * wraps it, so that a history can be had again. */
int64_t lot_delay(ab_backoff *b, uint64_t random);
/** Seeds 1 to `seeds`, or SYNC_MODEL_SEEDS of them from SYNC_MODEL_SEED. */
void lot_each_seed(uint64_t seeds, void (*run)(uint64_t seed));
