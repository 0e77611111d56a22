/* SPDX-License-Identifier: Apache-2.0 */
#include "live/lane/spoke.h"

#include "schema/attributes.h"

#include <stdlib.h>
#include <string.h>

struct ab_live_spoke {
    ab_live_lane lane;
    const ab_live_service *services;
    bool stopping;
    ab_live_session *sessions[AB_LIVE_SESSIONS_MAX]; /* NULL: none here */
};

ab_err ab_live_spoke_new(const ab_live_lane_env *env, const ab_live_service *services,
                         ab_live_spoke **out)
{
    ab_live_spoke *spoke = calloc(1, sizeof(*spoke));
    if (spoke == NULL)
        return AB_ERR_NOMEM;
    spoke->services = services;
    if (ab_live_lane_init(&spoke->lane, env) != AB_ERR_OK) {
        free(spoke);
        return AB_ERR_NOMEM;
    }
    *out = spoke;
    return AB_ERR_OK;
}

static void end_all(ab_live_spoke *spoke, const char *why)
{
    ab_error err = {0};
    (void)ab_fail(&err, AB_ERR_UNAVAILABLE, "%s", why);
    for (size_t i = 0; i < AB_LIVE_SESSIONS_MAX; i++) {
        if (spoke->sessions[i] != NULL)
            ab_live_session_end(spoke->sessions[i], &err, false);
    }
}

void ab_live_spoke_stop(ab_live_spoke *spoke)
{
    spoke->stopping = true;
    end_all(spoke, "the agent is stopping");
}

void ab_live_spoke_disconnected(ab_live_spoke *spoke)
{
    end_all(spoke, "the principal disconnected");
}

void ab_live_spoke_free(ab_live_spoke *spoke)
{
    if (spoke == NULL)
        return;
    ab_live_spoke_stop(spoke);
    ab_live_session_forget_all(&spoke->lane);
    ab_live_lane_fini(&spoke->lane);
    free(spoke);
}

static void on_request(void *arg, ab_live_stream *s, const ab_live_request *request)
{
    const ab_live_spoke *spoke = arg;
    for (const ab_live_service *service = spoke->services; service->name != NULL; service++) {
        if (ab_str_is(request->service, service->name)) {
            service->serve(service->arg, s, request);
            return;
        }
    }
}

static void on_over(void *arg, ab_live_session *s, const ab_error *err)
{
    ab_live_spoke *spoke = arg;
    AB_INFO(spoke->lane.env.log, LIVE, "live session ended",
            AB_KV("session", ab_live_session_id(s)), AB_KV("reason", err->text));
    for (size_t i = 0; i < AB_LIVE_SESSIONS_MAX; i++) {
        if (spoke->sessions[i] == s)
            spoke->sessions[i] = NULL;
    }
}

static ab_live_session **find(ab_live_spoke *spoke, ab_str id)
{
    for (size_t i = 0; i < AB_LIVE_SESSIONS_MAX; i++) {
        if (spoke->sessions[i] != NULL && ab_str_eq(ab_live_session_id(spoke->sessions[i]), id))
            return &spoke->sessions[i];
    }
    return NULL;
}

/* Room for a session; the one that was not used for longest has to go, since principals that were
 * killed leave theirs behind. NULL: all are in use. */
static ab_live_session **make_room(ab_live_spoke *spoke)
{
    ab_live_session **oldest = NULL;
    int64_t since = INT64_MAX;
    for (size_t i = 0; i < AB_LIVE_SESSIONS_MAX; i++) {
        if (spoke->sessions[i] == NULL)
            return &spoke->sessions[i];
        if (ab_live_session_idle_since(spoke->sessions[i]) < since) {
            oldest = &spoke->sessions[i];
            since = ab_live_session_idle_since(spoke->sessions[i]);
        }
    }
    ab_error err = {0};
    (void)ab_fail(&err, AB_ERR_UNAVAILABLE, "the agent has too many live sessions");
    if (oldest != NULL)
        ab_live_session_end(*oldest, &err, false);
    return oldest;
}

static bool is_id(ab_str id)
{
    for (size_t i = 0; i < id.len; i++) {
        if (strchr("0123456789abcdef", id.ptr[i]) == NULL)
            return false;
    }
    return id.len == AB_LIVE_SESSION_ID;
}

static const char *begin(ab_live_spoke *spoke, ab_str id, const ab_event *event, ab_error *err)
{
    uint64_t sequence = 0;
    const ab_live_session_events events = {on_request, on_over, spoke};
    if (spoke->lane.env.off != NULL)
        return spoke->lane.env.off;
    if (spoke->stopping)
        return "the agent is stopping";
    if (ab_event_attr_u64(event, AB_CE_SEQUENCE, &sequence) != AB_ERR_OK || sequence != 0)
        return "the agent was restarted";
    ab_live_session **room = make_room(spoke);
    if (room == NULL)
        return "the agent has too many live sessions";
    if (ab_live_session_new(&spoke->lane, false, NULL, id, &events, room, err) != AB_ERR_OK)
        return err->text;
    AB_INFO(spoke->lane.env.log, LIVE, "live session started", AB_KV("session", id));
    ab_live_session_receive(*room, event);
    return NULL;
}

static bool is_frame(const ab_event *event)
{
    return ab_str_is(ab_event_attr(event, AB_CE_TYPE), ab_type_name(AB_TYPE_FRAME));
}

void ab_live_spoke_deliver(ab_live_spoke *spoke, const ab_event *event)
{
    ab_error err = {0};
    ab_str id = ab_live_session_of(event);
    ab_live_session **known = find(spoke, id);
    if (known != NULL) {
        ab_live_session_receive(*known, event);
        return;
    }
    if (!is_id(id) || !is_frame(event))
        return;
    const char *why = begin(spoke, id, event, &err);
    if (why != NULL)
        ab_live_session_reject(&spoke->lane, NULL, id, why);
}

void ab_live_spoke_recheck(ab_live_spoke *spoke)
{
    ab_live_session_recheck_all(&spoke->lane);
}

void ab_live_spoke_writable(ab_live_spoke *spoke)
{
    for (size_t i = 0; i < AB_LIVE_SESSIONS_MAX; i++) {
        if (spoke->sessions[i] != NULL)
            ab_live_session_writable(spoke->sessions[i]);
    }
}
