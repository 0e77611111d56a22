/* SPDX-License-Identifier: Apache-2.0
 *
 * The control plane's half of live access: the sessions with agents, and who uses them.
 */
#pragma once

#include "base/crypto/revoked.h"
#include "live/lane/hub.h"
#include "services/live.h"
#include "services/principal/live/redis.h"

typedef struct ab_principal_live ab_principal_live;

/** Whether the options live.* are good. @return CONFIG naming the option, NOMEM */
AB_MUST_USE ab_err ab_principal_live_check(const ab_config *config, ab_error *err);
/** After the transport was made. @param agents  copied. @param revoked  certificates of clients
 *  @param blocked  certificates of agents, beside live.revoked
 *  @param out  owned by the caller; ab_principal_live_free
 *  @return CONFIG, UNAVAILABLE (an address cannot be bound), NOMEM */
AB_MUST_USE ab_err ab_principal_live_new(ab_service *service, const ab_redis_agents *agents,
                                         ab_revoked_ask revoked, ab_revoked_ask blocked,
                                         ab_principal_live **out, ab_error *err);
/** Others are blocked than before: end the sessions with agents that are. */
void ab_principal_live_recheck(ab_principal_live *l);
/** In each tick: end the sessions with agents whose certificate has been revoked, or is trusted no
 * more. */
void ab_principal_live_tick(ab_principal_live *l);
/** Before the transport is closed: refuse what is asked from now on, and end what is open. NULL is
 * allowed. */
void ab_principal_live_stop(ab_principal_live *l);
/** Clients have been told of the end, or a quarter of stop.timeout has passed since. NULL is
 * allowed. */
bool ab_principal_live_is_drained(const ab_principal_live *l);
/** After the transport was freed. NULL is allowed. The loop must be run afterwards. */
void ab_principal_live_free(ab_principal_live *l);
/** As ab_principal_live_redis_named. */
void ab_principal_live_named(ab_principal_live *l, ab_str agent, const ab_object *secret);
/** An agent has come or gone. @param peer  NULL when it has gone
 *  @return NOMEM: it cannot be asked */
AB_MUST_USE ab_err ab_principal_live_presence(ab_principal_live *l, const char *agent,
                                              const ab_peer *peer);
/** A side call of an argocd-agent; as ab_transport_events.on_side. */
AB_MUST_USE ab_err ab_principal_live_side(ab_principal_live *l, const char *agent,
                                          ab_side_kind kind, ab_side *side, ab_str first);
/** An event of live access came from an agent. */
void ab_principal_live_deliver(ab_principal_live *l, const char *agent, const ab_event *event);
/** It is not served any more. */
void ab_principal_live_removed(ab_principal_live *l, const char *agent);
/** The sessions with agents; borrowed. */
ab_live_hub *ab_principal_live_hub(ab_principal_live *l);
