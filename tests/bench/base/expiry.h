/* SPDX-License-Identifier: Apache-2.0
 *
 * What time does to a compacted topic that nobody reads, done by the broker itself, but within
 * seconds: its settings are such that the cleaner takes out what is out of date and every
 * tombstone, and the reader's position is forgotten.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *broker; /* host:port */
    const char *topic;
    const char *group; /* the reader's, which must be away */
    size_t left;       /* records of objects that are to be left: one each */
} ab_bench_expiry;

/** Let it happen, and look that it has, in a process of its own. Somebody must go on writing to the
 * topic, as heartbeats do. @return false; said on stderr */
bool ab_bench_expire(const ab_bench_expiry *e);
