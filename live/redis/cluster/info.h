/* SPDX-License-Identifier: Apache-2.0
 *
 * What the UI of Argo CD shows of a cluster: connection state, last contact, and how much its cache
 * holds. argocd-server reads it from redis, under "cluster|info|SERVER-URL|VERSION", where an
 * application-controller would write it for a cluster that it can reach. The principal writes it
 * for each agent's cluster: when it changes, and again every three minutes, because it expires
 * after ten.
 *
 * Writes are spread over time, so that thousands of agents that come at once, or a redis that comes
 * back empty, make no burst. A change costs the same however many agents there are. Loop thread.
 */
#pragma once

#include "live/redis/client.h"
#include "live/redis/cluster/counts.h"

typedef struct ab_redis_cluster_info ab_redis_cluster_info;

typedef struct {
    uv_loop_t *loop;
    ab_log *log;
    const ab_clock *clock;
    ab_redis_address redis; /* the control plane's own; copied */
    const char *version;    /* of Argo CD's cache, as "1.8.3"; copied */
    bool gzip;              /* Argo CD compresses its values (its default) */
} ab_redis_cluster_info_options;

/** @param out  owned by the caller; ab_redis_cluster_info_close. @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_redis_cluster_info_new(const ab_redis_cluster_info_options *options,
                                             ab_redis_cluster_info **out, ab_error *err);
/** Free it; the loop must be run afterwards. What was written expires. NULL is allowed. */
void ab_redis_cluster_info_close(ab_redis_cluster_info *c);

/**
 * An agent is connected or not, since now.
 *
 * @param agent   its name, a DNS label
 * @param server  URL in its cluster Secret; what was written under another one is deleted
 * @return INVALID: not a name, or a server that no key can have; NOMEM
 */
AB_MUST_USE ab_err ab_redis_cluster_info_set(ab_redis_cluster_info *c, ab_str agent, ab_str server,
                                             bool connected);
/** An agent has reported its counts; ignored for one that was never set. */
void ab_redis_cluster_info_count(ab_redis_cluster_info *c, ab_str agent,
                                 const ab_redis_cluster_counts *counts);
/** The agent is not served any more: delete what was written. While the redis is away, that
 * expires. */
void ab_redis_cluster_info_remove(ab_redis_cluster_info *c, ab_str agent);
