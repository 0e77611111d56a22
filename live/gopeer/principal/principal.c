/* SPDX-License-Identifier: Apache-2.0 */
#include "live/gopeer/principal/principal_priv.h"
#include "net/timer.h"

#include <stdio.h>
#include <stdlib.h>

#define NAME    AB_GOPEER_PRINCIPAL_NAME
#define TICK_MS 5000
#define ID_MAX  64

/* ----- the session with the spoke ----- */

static void deliver_to_spoke(void *to, const ab_event *event)
{
    const ab_gopeer_principal *p = to;
    ab_live_spoke_deliver(p->env.spoke, event);
}

static void deliver_to_hub(void *to, const ab_event *event)
{
    const ab_gopeer_principal *p = to;
    ab_live_hub_deliver(p->hub, NAME, event);
}

static ab_err send_to_spoke(void *arg, const char *agent, ab_event *event, ab_sent done,
                            void *done_arg)
{
    ab_gopeer_principal *p = arg;
    (void)agent;
    return ab_gopeer_loop_put(p->loop, p, deliver_to_spoke, event, done, done_arg);
}

ab_err ab_gopeer_principal_send(ab_gopeer_principal *p, ab_event *event, ab_sent done, void *arg)
{
    return p->connected ? ab_gopeer_loop_put(p->loop, p, deliver_to_hub, event, done, arg)
                        : AB_ERR_NOTFOUND;
}

/* ----- from the principal ----- */

void ab_gopeer_principal_deliver(ab_gopeer_principal *p, const ab_event *event)
{
    char id[ID_MAX];
    ab_str about = ab_event_attr(event, AB_CE_DATASCHEMA);
    ab_str uuid = ab_event_attr(event, AB_CE_EVENTID);
    bool good = uuid.len > 0 && uuid.len < sizeof(id);
    if (!good || !p->connected || ab_gopeer_principal_knows(p, uuid))
        return;
    snprintf(id, sizeof(id), "%.*s", AB_STR_ARG(uuid));
    if (ab_str_is(about, ab_target_name(AB_TARGET_RESOURCE)))
        ab_gopeer_principal_take_resource(p, id, ab_event_data(event));
    else if (ab_str_is(about, ab_target_name(AB_TARGET_REDIS)))
        ab_gopeer_principal_take_redis(p, id, ab_event_data(event));
    else if (ab_str_is(about, ab_target_name(AB_TARGET_CONTAINER_LOG)))
        ab_gopeer_principal_take_logs(p, id, ab_event_data(event));
    else if (ab_str_is(about, ab_target_name(AB_TARGET_TERMINAL)))
        ab_gopeer_principal_take_terminal(p, id, ab_event_data(event));
    else
        AB_DEBUG(p->env.log, LIVE, "request of argocd-agent's principal is not served",
                 AB_KV("target", about));
}

/* ----- life ----- */

ab_err ab_gopeer_principal_connect(ab_gopeer_principal *p)
{
    p->connected = true;
    ab_err e = ab_live_hub_connected(p->hub, NAME);
    if (e == AB_ERR_OK)
        ab_gopeer_principal_resume_logs(p);
    return e;
}

void ab_gopeer_principal_disconnect(ab_gopeer_principal *p)
{
    p->connected = false;
    ab_live_hub_disconnected(p->hub, NAME);
    ab_gopeer_loop_drop(p->loop, p);
    ab_gopeer_principal_forget(p);
}

static void on_tick(uv_timer_t *timer)
{
    ab_gopeer_principal_check_channels(timer->data);
    ab_gopeer_principal_resume_logs(timer->data);
}

static ab_err make_tick(ab_gopeer_principal *p)
{
    p->tick = ab_timer_new(p->env.loop, p);
    if (p->tick == NULL)
        return AB_ERR_NOMEM;
    (void)uv_timer_start(p->tick, on_tick, TICK_MS, TICK_MS);
    return AB_ERR_OK;
}

static ab_err make_hub(ab_gopeer_principal *p)
{
    const ab_live_lane_env lane = {.loop = p->env.loop,
                                   .log = p->env.log,
                                   .metrics = p->env.metrics,
                                   .clock = p->env.clock,
                                   .source = AB_SOURCE_PRINCIPAL,
                                   .send = send_to_spoke,
                                   .arg = p};
    return ab_live_hub_new(&lane, &p->hub);
}

ab_err ab_gopeer_principal_new(const ab_gopeer_principal_env *env, ab_gopeer_principal **out)
{
    ab_gopeer_principal *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return AB_ERR_NOMEM;
    p->env = *env;
    ab_link_init(&p->channels);
    ab_link_init(&p->held);
    ab_link_init(&p->waiting);
    p->asked = ab_map_new();
    p->answered = ab_map_new();
    ab_err e = p->asked == NULL || p->answered == NULL ? AB_ERR_NOMEM
                                                       : ab_gopeer_loop_new(env->loop, &p->loop);
    if (e == AB_ERR_OK)
        e = make_hub(p);
    if (e == AB_ERR_OK)
        e = make_tick(p);
    if (e == AB_ERR_OK)
        *out = p;
    else
        ab_gopeer_principal_free(p);
    return e;
}

void ab_gopeer_principal_free(ab_gopeer_principal *p)
{
    if (p == NULL)
        return;
    if (p->hub != NULL)
        ab_gopeer_principal_disconnect(p);
    ab_gopeer_principal_drop_logs(p);
    ab_gopeer_principal_end_channels(p);
    ab_live_hub_free(p->hub);
    ab_timer_free(p->tick);
    ab_gopeer_loop_free(p->loop);
    ab_map_free(p->asked, NULL);
    ab_map_free(p->answered, NULL);
    free(p);
}
