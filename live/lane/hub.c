/* SPDX-License-Identifier: Apache-2.0 */
#include "live/lane/hub.h"

#include "base/core/map.h"

#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>

/* Kept for as long as the agent is connected. */
typedef struct {
    ab_live_hub *hub;
    ab_live_session *session; /* NULL: none */
    char name[64];
} spoke;

struct ab_live_hub {
    ab_live_lane lane;
    ab_map *spokes; /* made, by name */
    bool stopping;
};

static void count_session(const ab_live_hub *hub, double by)
{
    ab_metric_add(ab_metric_get(hub->lane.env.metrics, AB_METRIC_GAUGE, "argobus_live_sessions",
                                "Sessions of live access.", NULL, 0),
                  by);
}

ab_err ab_live_hub_new(const ab_live_lane_env *env, ab_live_hub **out)
{
    ab_live_hub *hub = calloc(1, sizeof(*hub));
    if (hub == NULL)
        return AB_ERR_NOMEM;
    hub->spokes = ab_map_new();
    if (hub->spokes == NULL || ab_live_lane_init(&hub->lane, env) != AB_ERR_OK) {
        ab_live_hub_free(hub);
        return AB_ERR_NOMEM;
    }
    count_session(hub, 0);
    *out = hub;
    return AB_ERR_OK;
}

static void end_session(const spoke *p, const char *why)
{
    ab_error err = {0};
    (void)ab_fail(&err, AB_ERR_UNAVAILABLE, "%s", why);
    if (p->session != NULL)
        ab_live_session_end(p->session, &err, false);
}

void ab_live_hub_stop(ab_live_hub *hub)
{
    hub->stopping = true;
    for (ab_map_iter i = ab_map_first(hub->spokes); i.entry != NULL; ab_map_next(&i))
        end_session(i.value, "the principal is stopping");
}

void ab_live_hub_free(ab_live_hub *hub)
{
    if (hub == NULL)
        return;
    if (hub->lane.loop != NULL) {
        ab_live_hub_stop(hub);
        ab_live_session_forget_all(&hub->lane);
    }
    ab_live_lane_fini(&hub->lane);
    ab_map_free(hub->spokes, NULL);
    free(hub);
}

ab_err ab_live_hub_connected(ab_live_hub *hub, const char *agent)
{
    spoke *p = ab_map_make(hub->spokes, ab_str_of(agent), sizeof(*p));
    if (p == NULL)
        return AB_ERR_NOMEM;
    p->hub = hub;
    snprintf(p->name, sizeof(p->name), "%s", agent);
    return AB_ERR_OK;
}

void ab_live_hub_disconnected(ab_live_hub *hub, const char *agent)
{
    spoke *p = ab_map_find(hub->spokes, ab_str_of(agent));
    if (p == NULL)
        return;
    end_session(p, "the agent disconnected");
    ab_map_drop(hub->spokes, p);
}

void ab_live_hub_deliver(ab_live_hub *hub, const char *agent, const ab_event *event)
{
    const spoke *p = ab_map_find(hub->spokes, ab_str_of(agent));
    /* Another principal may have sessions with the agent, too. */
    if (p != NULL && p->session != NULL &&
        ab_str_eq(ab_live_session_id(p->session), ab_live_session_of(event)))
        ab_live_session_receive(p->session, event);
}

void ab_live_hub_recheck(ab_live_hub *hub)
{
    ab_live_session_recheck_all(&hub->lane);
}

void ab_live_hub_writable(ab_live_hub *hub, const char *agent)
{
    const spoke *p = ab_map_find(hub->spokes, ab_str_of(agent));
    if (p != NULL && p->session != NULL)
        ab_live_session_writable(p->session);
}

/* ----- requests ----- */

static void on_over(void *arg, ab_live_session *s, const ab_error *err)
{
    spoke *p = arg;
    AB_INFO(p->hub->lane.env.log, LIVE, "live session ended", AB_KV("agent", p->name),
            AB_KV("session", ab_live_session_id(s)), AB_KV("reason", err->text));
    p->session = NULL;
    count_session(p->hub, -1);
}

static ab_err make_id(char out[AB_LIVE_SESSION_ID + 1], ab_error *err)
{
    unsigned char random[AB_LIVE_SESSION_ID / 2];
    if (RAND_bytes(random, sizeof(random)) != 1)
        return ab_fail(err, AB_ERR_FATAL, "no randomness");
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(out + 2 * i, 3, "%02x", random[i]);
    return AB_ERR_OK;
}

static ab_err open_session(spoke *p, ab_error *err)
{
    char id[AB_LIVE_SESSION_ID + 1];
    const ab_live_session_events events = {.on_over = on_over, .arg = p};
    ab_err e = make_id(id, err);
    if (e == AB_ERR_OK)
        e = ab_live_session_new(&p->hub->lane, true, p->name, ab_str_of(id), &events, &p->session,
                                err);
    if (e != AB_ERR_OK)
        return e;
    count_session(p->hub, 1);
    AB_INFO(p->hub->lane.env.log, LIVE, "live session started", AB_KV("agent", p->name),
            AB_KV("session", id));
    return AB_ERR_OK;
}

ab_err ab_live_hub_request(ab_live_hub *hub, const char *agent, const ab_live_request *request,
                           const ab_live_handler *handler, void *arg, ab_live_stream **out,
                           ab_error *err)
{
    spoke *p = ab_map_find(hub->spokes, ab_str_of(agent));
    if (hub->lane.env.off != NULL)
        return ab_fail(err, AB_ERR_UNAVAILABLE, "%s", hub->lane.env.off);
    if (hub->stopping)
        return ab_fail(err, AB_ERR_UNAVAILABLE, "the principal is stopping; ask again");
    if (p == NULL)
        return ab_fail(err, AB_ERR_UNAVAILABLE, "agent %s is not connected", agent);
    if (p->session == NULL) {
        ab_err e = open_session(p, err);
        if (e != AB_ERR_OK)
            return e;
    }
    ab_err e = ab_live_session_begin(p->session, request, handler, arg, out);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "agent %s: %s", agent, ab_err_text(e));
}
