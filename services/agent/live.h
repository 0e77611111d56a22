/* SPDX-License-Identifier: Apache-2.0
 *
 * The workload cluster's half of live access: what answers the principal's requests.
 */
#pragma once

#include "live/lane/spoke.h"
#include "services/live.h"

typedef struct ab_agent_live ab_agent_live;

/** The options live.* that only the agent has. */
extern const ab_options ab_agent_live_options;

/** Whether the options live.* are good. @return CONFIG naming the option, NOMEM */
AB_MUST_USE ab_err ab_agent_live_check(const ab_config *config, ab_error *err);
/** After store and transport were made. @param source  borrowed
 *  @param out  owned by the caller; ab_agent_live_free. @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_agent_live_new(ab_service *service, const char *source, ab_agent_live **out,
                                     ab_error *err);
/** In each tick: end the sessions of principals whose certificate has been revoked. */
void ab_agent_live_tick(ab_agent_live *l);
/** Before the transport is closed: end what is open. NULL is allowed. */
void ab_agent_live_stop(ab_agent_live *l);
/** After the transport was freed. NULL is allowed. The loop must be run afterwards. */
void ab_agent_live_free(ab_agent_live *l);
/** A principal has come or gone. @param version  as of ab_peer; NULL when it has gone
 *  @return NOMEM: it cannot ask */
AB_MUST_USE ab_err ab_agent_live_presence(ab_agent_live *l, const char *version);
/** An event of live access came from the principal. */
void ab_agent_live_deliver(ab_agent_live *l, const ab_event *event);
/** The transport has room again. */
void ab_agent_live_writable(ab_agent_live *l);
