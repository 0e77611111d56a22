/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's redis, which the principal may read trees and differences from: the options
 * live.redis.*. Loop thread.
 */
#pragma once

#include "live/redis/cluster/reader.h"
#include "live/redis/spoke/spoke.h"
#include "services/daemon/daemon.h"

/** The options live.redis.*. */
extern const ab_options ab_agent_live_redis_options;

/** Whether the options are good. @return CONFIG naming the option, NOMEM */
AB_MUST_USE ab_err ab_agent_live_redis_check(const ab_config *config, ab_error *err);
/** @param out  owned by the caller: ab_redis_spoke_close; NULL when live.redis.address is not set
 *  @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_agent_live_redis_new(const ab_daemon *daemon, ab_redis_spoke **out,
                                           ab_error *err);
/** What reads the counts of the cluster's cache there. @param on_counts  as in
 *  ab_redis_cluster_reader_options
 *  @param out  owned by the caller: ab_redis_cluster_reader_close; NULL as above
 *  @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_agent_live_redis_reader_new(
    const ab_daemon *daemon, void (*on_counts)(void *arg, const ab_redis_cluster_counts *counts),
    void *arg, ab_redis_cluster_reader **out, ab_error *err);
