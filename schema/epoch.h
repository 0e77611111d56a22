/* SPDX-License-Identifier: Apache-2.0
 *
 * What an epoch may be. An epoch is never taken back: who has followed one can only be followed by
 * a higher one. So an agent that says one near the end of the numbers, which is 2^53 in the JSON of
 * a hello, would leave none for whoever comes after it, be it itself once it is repaired. The
 * principal believes no agent whose epoch is that far ahead; agents believe their principal.
 *
 * The bound moves with the clock, as fast as honest writers do, who begin at the clock's
 * microseconds (former ones over gRPC: at its seconds) or one step above what they know of. So
 * whoever follows the highest epoch that was believed is believed, too. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* In microseconds: 142 years, so that a clock that begins in 1970 is no reason to refuse. */
#define AB_EPOCH_AHEAD (UINT64_C(1) << 52)

/** May this be the epoch of an honest writer? @param wall_us  our clock, microseconds since 1970 */
bool ab_epoch_is_credible(uint64_t epoch, int64_t wall_us);
