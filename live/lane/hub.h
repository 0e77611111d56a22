/* SPDX-License-Identifier: Apache-2.0
 *
 * The principal's end of live access: a session with an agent is begun by the first request to it,
 * and ends when there has been none for five minutes. Loop thread.
 */
#pragma once

#include "live/lane/session.h"

typedef struct ab_live_hub ab_live_hub;

/** @param out  owned by the caller; ab_live_hub_free. @return NOMEM */
AB_MUST_USE ab_err ab_live_hub_new(const ab_live_lane_env *env, ab_live_hub **out);
/** End every session; streams are told. Requests are refused from now on. */
void ab_live_hub_stop(ab_live_hub *hub);
/** After the transport was freed. NULL is allowed. The loop must be run afterwards. */
void ab_live_hub_free(ab_live_hub *hub);
/** An agent has come: it can be asked. @return NOMEM: it cannot */
AB_MUST_USE ab_err ab_live_hub_connected(ab_live_hub *hub, const char *agent);
/** It has gone: its session is over. */
void ab_live_hub_disconnected(ab_live_hub *hub, const char *agent);
/** A live event of an agent: of a session, or of none that is known, then nothing happens. */
void ab_live_hub_deliver(ab_live_hub *hub, const char *agent, const ab_event *event);
/** Other certificates are revoked now: end the sessions with agents that are not admitted any more.
 */
void ab_live_hub_recheck(ab_live_hub *hub);
/** The transport has room again for this agent. */
void ab_live_hub_writable(ab_live_hub *hub, const char *agent);
/**
 * Ask an agent; as ab_live_http2_begin.
 * @param err  on failure: the reason for people
 * @return UNAVAILABLE: it is not connected, or we are stopping; FULL; CONFIG; INVALID; NOMEM
 */
AB_MUST_USE ab_err ab_live_hub_request(ab_live_hub *hub, const char *agent,
                                       const ab_live_request *request,
                                       const ab_live_handler *handler, void *arg,
                                       ab_live_stream **out, ab_error *err);
