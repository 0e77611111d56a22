/* SPDX-License-Identifier: Apache-2.0 */
#include "live/gopeer/agents_priv.h"
#include "live/resource/spoke.h"

#include <stdio.h>
#include <stdlib.h>

#define TICK_MS 5000

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

ab_err ab_gopeer_agents_add(ab_gopeer_agents *a, const char *name)
{
    if (ab_map_find(a->agents, ab_str_of(name)) != NULL)
        return AB_ERR_OK;
    ab_gopeer_agent *agent = calloc(1, sizeof(*agent));
    if (agent == NULL)
        return AB_ERR_NOMEM;
    agent->all = a;
    snprintf(agent->name, sizeof(agent->name), "%s", name);
    snprintf(agent->source, sizeof(agent->source), "%s%s", AB_SOURCE_AGENT, name);
    ab_link_init(&agent->channels);
    agent->calls = ab_map_new();
    ab_err e = agent->calls == NULL ? AB_ERR_NOMEM : make_spoke(agent);
    if (e == AB_ERR_OK)
        e = ab_map_put(a->agents, ab_str_of(name), agent, NULL);
    if (e != AB_ERR_OK)
        free_agent(agent);
    return e;
}

void ab_gopeer_agents_remove(ab_gopeer_agents *a, const char *name)
{
    ab_gopeer_agent *agent = ab_map_take(a->agents, ab_str_of(name));
    if (agent != NULL)
        free_agent(agent);
}

void ab_gopeer_agents_deliver(ab_gopeer_agents *a, const char *name, const ab_event *event)
{
    const ab_gopeer_agent *agent = ab_map_find(a->agents, ab_str_of(name));
    ab_str id = ab_event_attr(event, AB_CE_EVENTID);
    ab_gopeer_call *call = agent == NULL ? NULL : ab_map_find(agent->calls, id);
    if (call != NULL)
        call->on_response(call, ab_event_data(event));
    else
        AB_DEBUG(a->env.log, LIVE, "response of an argocd-agent dropped: nobody waits for it",
                 AB_KV("agent", name), AB_KV("id", id));
}

/* ----- all of them ----- */

static void on_tick(uv_timer_t *timer)
{
    const ab_gopeer_agents *a = timer->data;
    int64_t now_ms = ab_clock_mono_ms(a->env.clock);
    bool any = false;
    for (ab_map_iter i = ab_map_first(a->agents); i.entry != NULL; ab_map_next(&i))
        any = ab_gopeer_redis_tick(i.value, now_ms) || any;
    if (!any)
        (void)uv_timer_stop(timer);
}

void ab_gopeer_agents_tick(ab_gopeer_agents *a)
{
    if (!uv_is_active((uv_handle_t *)a->tick))
        (void)uv_timer_start(a->tick, on_tick, TICK_MS, TICK_MS); /* of an open handle */
}

static ab_err make_tick(ab_gopeer_agents *a)
{
    uv_timer_t *tick = calloc(1, sizeof(*tick));
    if (tick == NULL)
        return AB_ERR_NOMEM;
    (void)uv_timer_init(a->env.loop, tick); /* cannot fail */
    tick->data = a;
    a->tick = tick;
    return AB_ERR_OK;
}

ab_err ab_gopeer_agents_new(const ab_gopeer_agents_env *env, ab_gopeer_agents **out)
{
    ab_gopeer_agents *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return AB_ERR_NOMEM;
    a->env = *env;
    a->agents = ab_map_new();
    if (a->agents == NULL || ab_gopeer_loop_new(env->loop, &a->loop) != AB_ERR_OK ||
        make_tick(a) != AB_ERR_OK) {
        ab_gopeer_agents_free(a);
        return AB_ERR_NOMEM;
    }
    *out = a;
    return AB_ERR_OK;
}

static void free_timer(uv_handle_t *timer)
{
    free(timer);
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
    if (a->tick != NULL)
        uv_close((uv_handle_t *)a->tick, free_timer);
    ab_gopeer_loop_free(a->loop);
    free(a);
}
