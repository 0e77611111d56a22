/* SPDX-License-Identifier: Apache-2.0 */
#include "live/gopeer/agents/agents_priv.h"
#include "live/resource/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ----- sessions with the hub ----- */

static void deliver_to_spoke(void *to, const ab_event *event)
{
    const ab_gopeer_agent *agent = to;
    ab_live_spoke_deliver(agent->spoke, event);
}

static void deliver_to_hub(void *to, const ab_event *event)
{
    const ab_gopeer_agent *agent = to;
    ab_live_hub_deliver(agent->all->env.hub, agent->name, event);
}

static ab_err send_to_hub(void *arg, const char *principal, ab_event *event, ab_sent done,
                          void *done_arg)
{
    ab_gopeer_agent *agent = arg;
    (void)principal;
    return ab_gopeer_loop_put(agent->all->loop, agent, deliver_to_hub, event, done, done_arg);
}

ab_err ab_gopeer_agents_send(ab_gopeer_agents *a, const char *agent, ab_event *event, ab_sent done,
                             void *arg)
{
    ab_gopeer_agent *to = ab_map_find(a->agents, ab_str_of(agent));
    return to == NULL ? AB_ERR_NOTFOUND
                      : ab_gopeer_loop_put(a->loop, to, deliver_to_spoke, event, done, arg);
}

/* ----- agents ----- */

static ab_err make_spoke(ab_gopeer_agent *agent)
{
    const ab_gopeer_agents_env *env = &agent->all->env;
    const ab_live_lane_env lane = {.loop = env->loop,
                                   .log = env->log,
                                   .metrics = env->metrics,
                                   .clock = env->clock,
                                   .source = agent->source,
                                   .send = send_to_hub,
                                   .arg = agent};
    agent->services[0] = (ab_live_service){AB_RESOURCE_SERVICE, ab_gopeer_resource_serve, agent};
    agent->services[1] =
        (ab_live_service){AB_RESOURCE_EXEC_SERVICE, ab_gopeer_resource_serve, agent};
    agent->services[2] = (ab_live_service){"redis", ab_gopeer_redis_serve, agent};
    return ab_live_spoke_new(&lane, agent->services, &agent->spoke);
}

/* What its session has queued goes first, since it gives back to the spoke. */
static void free_agent(ab_gopeer_agent *agent)
{
    if (agent->spoke != NULL)
        ab_live_spoke_stop(agent->spoke);
    ab_gopeer_loop_drop(agent->all->loop, agent);
    ab_live_spoke_free(agent->spoke);
    ab_map_free(agent->calls, NULL);
    free(agent);
}

ab_err ab_gopeer_agents_add(ab_gopeer_agents *a, const char *agent, const char *mode)
{
    if (ab_map_find(a->agents, ab_str_of(agent)) != NULL)
        return AB_ERR_OK;
    ab_gopeer_agent *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return AB_ERR_NOMEM;
    made->all = a;
    made->managed = strcmp(mode, "managed") == 0;
    snprintf(made->name, sizeof(made->name), "%s", agent);
    snprintf(made->source, sizeof(made->source), "%s%s", AB_SOURCE_AGENT, agent);
    made->calls = ab_map_new();
    ab_err e = made->calls == NULL ? AB_ERR_NOMEM : make_spoke(made);
    if (e == AB_ERR_OK)
        e = ab_map_put(a->agents, ab_str_of(agent), made, NULL);
    if (e != AB_ERR_OK)
        free_agent(made);
    return e;
}

void ab_gopeer_agents_remove(ab_gopeer_agents *a, const char *agent)
{
    ab_gopeer_agent *gone = ab_map_take(a->agents, ab_str_of(agent));
    if (gone != NULL)
        free_agent(gone);
}

void ab_gopeer_agents_deliver(ab_gopeer_agents *a, const char *agent, const ab_event *event)
{
    const ab_gopeer_agent *from = ab_map_find(a->agents, ab_str_of(agent));
    ab_str id = ab_event_attr(event, AB_CE_EVENTID);
    ab_gopeer_call *call = from == NULL ? NULL : ab_map_find(from->calls, id);
    if (call != NULL && call->on_response != NULL)
        call->on_response(call, ab_event_data(event));
    else
        AB_DEBUG(a->env.log, LIVE, "response of an argocd-agent dropped: nobody waits for it",
                 AB_KV("agent", agent), AB_KV("id", id));
}

/* Requests are found by agent, then by id: no agent can answer another's. */
ab_err ab_gopeer_agents_take_side(ab_gopeer_agents *a, const char *agent, ab_side_kind kind,
                                  ab_side *side, ab_str first)
{
    ab_pb_arena arena;
    ab_gopeer_side_message m;
    const ab_gopeer_agent *from = ab_map_find(a->agents, ab_str_of(agent));
    ab_err e = ab_gopeer_wire_read_side(kind, first, &arena, &m);
    ab_gopeer_call *call = e != AB_ERR_OK || from == NULL ? NULL : ab_map_find(from->calls, m.uuid);
    ab_pb_arena_fini(&arena);
    return call == NULL || call->on_side == NULL ? AB_ERR_NOTFOUND
                                                 : call->on_side(call, kind, side);
}

/* ----- all of them ----- */

ab_err ab_gopeer_agents_new(const ab_gopeer_agents_env *env, ab_gopeer_agents **out)
{
    ab_gopeer_agents *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return AB_ERR_NOMEM;
    a->env = *env;
    ab_link_init(&a->channels);
    a->agents = ab_map_new();
    if (a->agents == NULL || ab_gopeer_loop_new(env->loop, &a->loop) != AB_ERR_OK ||
        ab_gopeer_redis_init(a) != AB_ERR_OK) {
        ab_gopeer_agents_free(a);
        return AB_ERR_NOMEM;
    }
    *out = a;
    return AB_ERR_OK;
}

static void free_value(void *agent)
{
    free_agent(agent);
}

void ab_gopeer_agents_free(ab_gopeer_agents *a)
{
    if (a == NULL)
        return;
    ab_map_free(a->agents, free_value);
    ab_gopeer_redis_fini(a);
    ab_gopeer_loop_free(a->loop);
    free(a);
}
