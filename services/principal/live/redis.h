/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the principal stands for the control plane's redis (live/redis/front/front.h), and what it
 * writes there of agents' clusters (live/redis/cluster/info.h): the options live.redis.*. Loop
 * thread.
 */
#pragma once

#include "base/json/object.h"
#include "live/lane/hub.h"
#include "live/redis/cluster/info.h"
#include "live/redis/front/front.h"
#include "services/service.h"

typedef struct ab_principal_live_redis ab_principal_live_redis;

/** The options live.redis.*. */
extern const ab_options ab_principal_live_redis_options;

/** Whether the proxy could be started: options and certificates. @return CONFIG naming the option,
 * NOMEM */
AB_MUST_USE ab_err ab_principal_live_redis_check(const ab_config *config, ab_error *err);
/**
 * Listen, where live.redis.listen says so.
 *
 * @param hub     borrowed; must outlive it
 * @param agents  copied; its argument is borrowed
 * @param out     NULL when it is not set; ab_principal_live_redis_free
 * @return CONFIG, UNAVAILABLE (the address cannot be bound), NOMEM
 */
AB_MUST_USE ab_err ab_principal_live_redis_start(const ab_daemon *daemon, ab_live_hub *hub,
                                                 const ab_redis_agents *agents,
                                                 ab_principal_live_redis **out, ab_error *err);
/** As ab_redis_front_stop; before the hub is stopped. NULL is allowed, here and below. */
void ab_principal_live_redis_stop(ab_principal_live_redis *l);
/** As ab_redis_front_is_drained. */
bool ab_principal_live_redis_is_drained(const ab_principal_live_redis *l);
/** Before the hub is freed; the loop must be run afterwards. */
void ab_principal_live_redis_free(ab_principal_live_redis *l);
/** The cluster Secret of an agent that is served: its server is the cluster's address in Argo CD.
 */
void ab_principal_live_redis_named(ab_principal_live_redis *l, ab_str agent,
                                   const ab_object *secret);
/** An agent has come or gone. */
void ab_principal_live_redis_presence(ab_principal_live_redis *l, const char *agent, bool up);
/** It has reported how much the cache of its cluster holds. @param report  as from the peer */
void ab_principal_live_redis_counted(ab_principal_live_redis *l, const char *agent, ab_str report);
/** It is not served any more. */
void ab_principal_live_redis_removed(ab_principal_live_redis *l, const char *agent);
