/* SPDX-License-Identifier: Apache-2.0
 *
 * Topics as their administrator sees them.
 */
#pragma once

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

typedef struct {
    const char *broker; /* host:port */
    const char *prefix; /* of a site: its topics are <prefix>.<...> */
    unsigned agents;    /* to make topics for: w0, w1, ... */
} ab_bench_topics;

/** A client for their administrator, owned by the caller: rd_kafka_destroy. @return NULL when it
 * cannot be made; said on stderr */
rd_kafka_t *ab_bench_open_client(const char *broker);
/** Make them as the principal makes them, and wait until all can be used, in a process of its own.
 * @return false when the broker did not; said on stderr */
bool ab_bench_topics_make(const ab_bench_topics *t);
/** Delete them all, in a process of its own. @return false when the broker did not; said on
 * stderr */
bool ab_bench_topics_delete(const ab_bench_topics *t);
