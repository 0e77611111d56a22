/* SPDX-License-Identifier: Apache-2.0
 *
 * Topics as their administrator sees them.
 */
#pragma once

#include <stdbool.h>

typedef struct {
    const char *broker; /* host:port */
    const char *prefix; /* of a site: its topics are <prefix>.<...> */
} ab_bench_topics;

/** Delete them all, in a process of its own. @return false when the broker did not; said on
 * stderr */
bool ab_bench_topics_delete(const ab_bench_topics *t);
