/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/epoch.h"

bool ab_epoch_is_credible(uint64_t epoch, int64_t wall_us)
{
    uint64_t now_us = wall_us < 0 ? 0 : (uint64_t)wall_us;
    return epoch <= now_us + AB_EPOCH_AHEAD;
}
