/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's end of live access: principals begin sessions, and their requests go to the service
 * that they name. Loop thread.
 */
#pragma once

#include "live/lane/session.h"

typedef struct ab_live_spoke ab_live_spoke;

#define AB_LIVE_SESSIONS_MAX 16 /* at a time: principals, and what they left behind */

/* Who answers requests. */
typedef struct {
    const char *name; /* as in ab_live_request */
    /** A request: ab_live_stream_serve it; what is not served is refused. */
    void (*serve)(void *arg, ab_live_stream *s, const ab_live_request *request);
    void *arg;
} ab_live_service;

/**
 * @param services  ends with a zeroed one; borrowed
 * @param out       owned by the caller; ab_live_spoke_free
 * @return NOMEM
 */
AB_MUST_USE ab_err ab_live_spoke_new(const ab_live_lane_env *env, const ab_live_service *services,
                                     ab_live_spoke **out);
/** End every session; the principals are told. */
void ab_live_spoke_stop(ab_live_spoke *spoke);
/** The principal is not there any more: end every session of it, and what it had begun here. */
void ab_live_spoke_disconnected(ab_live_spoke *spoke);
/** After the transport was freed. NULL is allowed. The loop must be run afterwards. */
void ab_live_spoke_free(ab_live_spoke *spoke);
/** A live event of a principal. */
void ab_live_spoke_deliver(ab_live_spoke *spoke, const ab_event *event);
/** Other certificates are revoked now: end the sessions of principals that are not admitted any
 * more. */
void ab_live_spoke_recheck(ab_live_spoke *spoke);
/** The transport has room again. */
void ab_live_spoke_writable(ab_live_spoke *spoke);
