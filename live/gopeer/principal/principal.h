/* SPDX-License-Identifier: Apache-2.0
 *
 * Live access at an agent whose principal is argocd-agent's. To the agent's spoke such a principal
 * is an argobus principal: its end of the session, a hub, is here. What argocd-agent's principal
 * asks by an event is asked of the spoke by a request, and the answer becomes the response. So
 * policy, masks and what may be read of redis are the same whoever asks.
 *
 * Loop thread.
 */
#pragma once

#include "base/core/clock.h"
#include "base/observe/log.h"
#include "base/observe/metrics.h"
#include "live/lane/spoke.h"

typedef struct ab_gopeer_principal ab_gopeer_principal;

/* All borrowed, must outlive it. */
typedef struct {
    uv_loop_t *loop;
    ab_log *log;
    ab_metrics *metrics;
    const ab_clock *clock;
    ab_live_spoke *spoke;
    const char *source;  /* of our events */
    bool by_destination; /* Applications have the same namespace at the principal */
    /** Send an event of live access to argocd-agent's principal. @return as ab_transport_send */
    ab_err (*send)(void *arg, ab_event *event);
    /** Begin a side call. @return as ab_transport_open_side */
    ab_err (*open_side)(void *arg, ab_side_kind kind, const ab_side_handler *handler,
                        void *handler_arg, ab_side **out);
    void *arg;
} ab_gopeer_principal_env;

/** @param out  owned by the caller; ab_gopeer_principal_free. @return NOMEM */
AB_MUST_USE ab_err ab_gopeer_principal_new(const ab_gopeer_principal_env *env,
                                           ab_gopeer_principal **out);
/** Before the spoke is freed. The loop must be run afterwards. NULL is allowed. */
void ab_gopeer_principal_free(ab_gopeer_principal *p);
/** A principal has come, which is argocd-agent's. @return NOMEM: it cannot ask */
AB_MUST_USE ab_err ab_gopeer_principal_connect(ab_gopeer_principal *p);
/** It has gone: requests end. Its subscriptions stay for as long as it pings when it is back. */
void ab_gopeer_principal_disconnect(ab_gopeer_principal *p);
/** Take an event of the spoke's session; as ab_live_lane_env.send.
 *  @return NOTFOUND: the principal is an argobus; NOMEM */
AB_MUST_USE ab_err ab_gopeer_principal_send(ab_gopeer_principal *p, ab_event *event, ab_sent done,
                                            void *arg);
/** A request came from the principal. One that is known already is dropped. */
void ab_gopeer_principal_deliver(ab_gopeer_principal *p, const ab_event *event);
/** The transport has room again. */
void ab_gopeer_principal_writable(ab_gopeer_principal *p);
