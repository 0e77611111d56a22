/* SPDX-License-Identifier: Apache-2.0
 *
 * How much the cache of a cluster holds, as the application-controller beside it keeps it in redis,
 * and as an agent reports it to its principal. Pure; any thread.
 */
#pragma once

#include "base/core/buf.h"

/* Bytes of a report, and of what a controller keeps. */
#define AB_REDIS_CLUSTER_REPORT_MAX 256u
#define AB_REDIS_CLUSTER_INFO_MAX   (1024u * 1024)

typedef struct {
    int64_t applications;
    int64_t resources;
    int64_t apis;
} ab_redis_cluster_counts;

/** Read the value that a controller keeps of its cluster. @param gzip  it is compressed
 *  @return PARSE, TOOBIG, NOMEM */
AB_MUST_USE ab_err ab_redis_cluster_counts_read_info(ab_str value, bool gzip,
                                                     ab_redis_cluster_counts *out);
/** Append a report: the data of argocd-agent's event cluster-cache-info-update. */
void ab_redis_cluster_counts_write(const ab_redis_cluster_counts *counts, ab_buf *out);
/** Read a report. @return PARSE, TOOBIG, NOMEM */
AB_MUST_USE ab_err ab_redis_cluster_counts_read(ab_str report, ab_redis_cluster_counts *out);
bool ab_redis_cluster_counts_are_same(const ab_redis_cluster_counts *a,
                                      const ab_redis_cluster_counts *b);
