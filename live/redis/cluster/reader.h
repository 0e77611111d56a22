/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads how much the cache of the agent's own cluster holds: every ten seconds, which is as often
 * as the application-controller writes it to the redis beside it. Loop thread.
 */
#pragma once

#include "live/redis/client.h"
#include "live/redis/cluster/counts.h"

typedef struct ab_redis_cluster_reader ab_redis_cluster_reader;

typedef struct {
    uv_loop_t *loop;
    ab_log *log;
    ab_redis_address redis; /* copied */
    const char *version;    /* of Argo CD's cache, as "1.8.3"; copied */
    bool gzip;              /* Argo CD compresses its values (its default) */
    /** The counts were read, the same as before or others. */
    void (*on_counts)(void *arg, const ab_redis_cluster_counts *counts);
    void *arg;
} ab_redis_cluster_reader_options;

/** @param out  owned by the caller; ab_redis_cluster_reader_close. @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_redis_cluster_reader_new(const ab_redis_cluster_reader_options *options,
                                               ab_redis_cluster_reader **out, ab_error *err);
/** Free it; the loop must be run afterwards. NULL is allowed. */
void ab_redis_cluster_reader_close(ab_redis_cluster_reader *r);
