/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/beat.h"

/* Of a thousandth of the interval, from one group to the next: multiples of the golden ratio lie
 * far apart, however many there are. */
#define STEP     618
#define THOUSAND 1000

int64_t ab_beat_next(unsigned group, int64_t interval_ms, int64_t now_ms)
{
    int64_t shift = (int64_t)group * STEP % THOUSAND * interval_ms / THOUSAND;
    return now_ms + interval_ms - (now_ms + shift) % interval_ms;
}
