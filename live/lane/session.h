/* SPDX-License-Identifier: Apache-2.0
 *
 * One session: HTTP/2 between the principal and one agent, in TLS where a broker lies between, in
 * events of the live lane. Its events are numbered at each end, and one that is missing ends it:
 * what is lost is told, and never repaired. Loop thread.
 */
#pragma once

#include "live/lane/http2.h"
#include "live/lane/lane.h"

typedef struct ab_live_session ab_live_session;

#define AB_LIVE_SESSION_ID 32 /* hexadecimal digits, random */

typedef struct {
    /** AGENT: a request has come; as ab_live_http2_env. */
    void (*on_request)(void *arg, ab_live_stream *s, const ab_live_request *request);
    /** It is over, and its streams were told: forget it. */
    void (*on_over)(void *arg, ab_live_session *s, const ab_error *err);
    void *arg;
} ab_live_session_events;

/**
 * Begin a session; the principal's end says so to the agent at once.
 * @param agent  the other end, copied; AGENT: NULL
 * @param id     AB_LIVE_SESSION_ID digits; copied
 * @param out    borrowed until on_over
 * @return CONFIG: certificate or key cannot be read; NOMEM
 */
AB_MUST_USE ab_err ab_live_session_new(ab_live_lane *lane, bool client, const char *agent,
                                       ab_str id, const ab_live_session_events *events,
                                       ab_live_session **out, ab_error *err);
/** End it, on_over included. @param err  why; the other end is told its text unless `silent` */
void ab_live_session_end(ab_live_session *s, const ab_error *err, bool silent);
/** Whom the other ends may be has changed: end the sessions whose other end is not admitted any
 * more. A session whose other end is not known yet asks by itself. */
void ab_live_session_recheck_all(ab_live_lane *lane);
/** An event of this session has come: a frame, or the other end's word that it is over. */
void ab_live_session_receive(ab_live_session *s, const ab_event *event);
/** PRINCIPAL: as ab_live_http2_begin. */
AB_MUST_USE ab_err ab_live_session_begin(ab_live_session *s, const ab_live_request *request,
                                         const ab_live_handler *handler, void *arg,
                                         ab_live_stream **out);
/** The transport has room again for what is sent to this agent. */
void ab_live_session_writable(ab_live_session *s);
/** Its number, AB_LIVE_SESSION_ID digits. */
ab_str ab_live_session_id(const ab_live_session *s);
/** Since when it has had no stream, monotonic ms; INT64_MAX: it has one. */
int64_t ab_live_session_idle_since(const ab_live_session *s);
/** The attribute of an event that names its session. */
ab_str ab_live_session_of(const ab_event *event);
/** Tell the other end of a session that is not known here that it is over. @param agent  AGENT:
 * NULL */
void ab_live_session_reject(ab_live_lane *lane, const char *agent, ab_str id, const char *why);
/** The transport is gone: free what it has not given back. */
void ab_live_session_forget_all(ab_live_lane *lane);
