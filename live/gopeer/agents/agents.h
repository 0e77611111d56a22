/* SPDX-License-Identifier: Apache-2.0
 *
 * Live access to argocd-agents, at the principal. To the hub such an agent is an argobus agent: its
 * end of the session is here, and what is asked there becomes argocd-agent's requests, which the
 * transport carries as events, its responses the answers. So the fronts know nothing of it, and
 * credits, deadlines and cancels are the session's.
 *
 *   hub <-- session, by loop.h --> agents --request--> transport --> argocd-agent
 *                                         <-response--
 *
 * Logs and terminals are answered by a side call of the agent. A response, and a side call, counts
 * only for a request that this agent was asked and that still waits. Loop thread.
 */
#pragma once

#include "base/core/clock.h"
#include "base/observe/log.h"
#include "base/observe/metrics.h"
#include "live/lane/hub.h"

typedef struct ab_gopeer_agents ab_gopeer_agents;

/* All borrowed, must outlive it. */
typedef struct {
    uv_loop_t *loop;
    ab_log *log;
    ab_metrics *metrics;
    const ab_clock *clock;
    ab_live_hub *hub;
    bool by_destination; /* Applications have the same namespace at the agent */
    /** Send an event of live access to an argocd-agent. @return as ab_transport_send */
    ab_err (*send)(void *arg, const char *agent, ab_event *event);
    void *arg;
} ab_gopeer_agents_env;

/** @param out  owned by the caller; ab_gopeer_agents_free. @return NOMEM */
AB_MUST_USE ab_err ab_gopeer_agents_new(const ab_gopeer_agents_env *env, ab_gopeer_agents **out);
/** Before the hub is freed. The loop must be run afterwards. NULL is allowed. */
void ab_gopeer_agents_free(ab_gopeer_agents *a);
/** An argocd-agent has connected; again does no harm. @param mode  "managed", "autonomous"
 *  @return NOMEM: it cannot be asked */
AB_MUST_USE ab_err ab_gopeer_agents_add(ab_gopeer_agents *a, const char *agent, const char *mode);
/** It has gone, or is an argobus agent from now on. One that is not known does no harm. */
void ab_gopeer_agents_remove(ab_gopeer_agents *a, const char *agent);
/** Take an event of the hub's session with this agent; as ab_live_lane_env.send.
 *  @return NOTFOUND: it is not an argocd-agent; NOMEM */
AB_MUST_USE ab_err ab_gopeer_agents_send(ab_gopeer_agents *a, const char *agent, ab_event *event,
                                         ab_sent done, void *arg);
/** A side call of this agent; as ab_transport_events.on_side. */
AB_MUST_USE ab_err ab_gopeer_agents_take_side(ab_gopeer_agents *a, const char *agent,
                                              ab_side_kind kind, ab_side *side, ab_str first);
/** An event of live access came from this agent. One that nobody waits for is dropped. */
void ab_gopeer_agents_deliver(ab_gopeer_agents *a, const char *agent, const ab_event *event);
