/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/live/live.h"

#include "live/gopeer/agents/agents.h"
#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "services/principal/live/kubernetes.h"

#include <stdlib.h>
#include <string.h>

struct ab_principal_live {
    ab_service_live base;
    ab_live_hub *hub;
    ab_gopeer_agents *gopeers;      /* those of the agents that are argocd-agents */
    ab_resource_front *kubernetes;  /* NULL: nothing is listened on */
    ab_principal_live_redis *redis; /* likewise */
    bool stopping;
    int64_t give_up_ms; /* when stopping: until then clients may take their ends */
};

/* What is left of stop.timeout is for the store and the transport. */
#define DRAIN_PARTS 4

ab_err ab_principal_live_check(const ab_config *config, ab_error *err)
{
    ab_err e = ab_service_live_check(config, false, err);
    if (e == AB_ERR_OK)
        e = ab_principal_live_kubernetes_check(config, err);
    return e == AB_ERR_OK ? ab_principal_live_redis_check(config, err) : e;
}

/* ----- argocd-agents ----- */

static ab_err divert(void *arg, const char *agent, ab_event *event, ab_sent done, void *done_arg)
{
    const ab_principal_live *l = arg;
    return ab_gopeer_agents_send(l->gopeers, agent, event, done, done_arg);
}

static ab_err send_to_gopeer(void *arg, const char *agent, ab_event *event)
{
    ab_principal_live *l = arg;
    return ab_service_live_send(&l->base, agent, event);
}

static ab_err make_gopeers(ab_principal_live *l, const ab_daemon *d)
{
    const ab_gopeer_agents_env env = {.loop = d->loop,
                                      .log = d->log,
                                      .metrics = d->metrics,
                                      .clock = d->clock,
                                      .hub = l->hub,
                                      .by_destination =
                                          ab_config_is(d->config, "mapping", "destination"),
                                      .send = send_to_gopeer,
                                      .arg = l};
    ab_err e = ab_gopeer_agents_new(&env, &l->gopeers);
    l->base.divert = divert;
    l->base.divert_arg = l;
    return e;
}

/* ----- life ----- */

static ab_err make_sessions(ab_principal_live *l, const ab_daemon *d, ab_error *err)
{
    const ab_live_lane_env env = ab_service_live_env(&l->base, AB_SOURCE_PRINCIPAL);
    ab_err e = ab_live_hub_new(&env, &l->hub);
    if (e == AB_ERR_OK)
        e = make_gopeers(l, d);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "%s", ab_err_text(e));
}

ab_err ab_principal_live_new(ab_service *service, const ab_redis_agents *agents,
                             ab_revoked_ask revoked, ab_revoked_ask blocked,
                             ab_principal_live **out, ab_error *err)
{
    ab_principal_live *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    *out = l;
    ab_err e = ab_service_live_init(&l->base, service, NULL, err);
    if (e != AB_ERR_OK)
        return e;
    l->base.blocked = blocked;
    e = make_sessions(l, service->daemon, err);
    if (e == AB_ERR_OK)
        e = ab_principal_live_kubernetes_start(service->daemon, l->hub, revoked, &l->kubernetes,
                                               err);
    return e == AB_ERR_OK
               ? ab_principal_live_redis_start(service->daemon, l->hub, agents, &l->redis, err)
               : e;
}

void ab_principal_live_recheck(ab_principal_live *l)
{
    ab_live_hub_recheck(l->hub);
}

void ab_principal_live_tick(ab_principal_live *l)
{
    if (ab_service_live_renew(&l->base))
        ab_live_hub_recheck(l->hub);
}

void ab_principal_live_stop(ab_principal_live *l)
{
    if (l == NULL)
        return;
    const ab_daemon *d = l->base.service->daemon;
    l->stopping = true;
    l->give_up_ms =
        ab_clock_mono_ms(d->clock) + ab_config_int(d->config, "stop.timeout") / DRAIN_PARTS;
    ab_resource_front_stop(l->kubernetes);
    ab_principal_live_redis_stop(l->redis);
    ab_live_hub_stop(l->hub);
}

bool ab_principal_live_is_drained(const ab_principal_live *l)
{
    return l == NULL || ab_clock_mono_ms(l->base.service->daemon->clock) >= l->give_up_ms ||
           (ab_resource_front_is_drained(l->kubernetes) &&
            ab_principal_live_redis_is_drained(l->redis));
}

void ab_principal_live_free(ab_principal_live *l)
{
    if (l == NULL)
        return;
    ab_resource_front_free(l->kubernetes);
    ab_principal_live_redis_free(l->redis);
    ab_gopeer_agents_free(l->gopeers);
    l->base.divert = NULL;
    ab_live_hub_free(l->hub);
    ab_service_live_fini(&l->base);
    free(l);
}

/* Once this one stops, the state of clusters is another principal's to write. */
static ab_principal_live_redis *redis_of(const ab_principal_live *l)
{
    return l->stopping ? NULL : l->redis;
}

void ab_principal_live_named(ab_principal_live *l, ab_str agent, const ab_object *secret)
{
    ab_principal_live_redis_named(redis_of(l), agent, secret);
}

/* ----- agents ----- */

static void disconnect(ab_principal_live *l, const char *agent)
{
    ab_live_hub_disconnected(l->hub, agent);
    ab_gopeer_agents_remove(l->gopeers, agent);
}

static ab_err connect_agent(ab_principal_live *l, const char *agent, const ab_peer *peer)
{
    ab_err e = AB_ERR_OK;
    if (strcmp(peer->version, AB_PEER_ARGOCD_AGENT) == 0)
        e = ab_gopeer_agents_add(l->gopeers, agent, peer->mode);
    else
        ab_gopeer_agents_remove(l->gopeers, agent);
    return e == AB_ERR_OK ? ab_live_hub_connected(l->hub, agent) : e;
}

ab_err ab_principal_live_presence(ab_principal_live *l, const char *agent, const ab_peer *peer)
{
    ab_principal_live_redis_presence(redis_of(l), agent, peer != NULL);
    if (peer != NULL)
        return connect_agent(l, agent, peer);
    disconnect(l, agent);
    return AB_ERR_OK;
}

void ab_principal_live_deliver(ab_principal_live *l, const char *agent, const ab_event *event)
{
    ab_str about = ab_event_attr(event, AB_CE_DATASCHEMA);
    if (ab_str_is(about, ab_target_name(AB_TARGET_LIVE)))
        ab_live_hub_deliver(l->hub, agent, event);
    else if (ab_str_is(about, ab_target_name(AB_TARGET_CLUSTER_CACHE_INFO)))
        ab_principal_live_redis_counted(redis_of(l), agent, ab_event_data(event));
    else
        ab_gopeer_agents_deliver(l->gopeers, agent, event);
}

ab_err ab_principal_live_side(ab_principal_live *l, const char *agent, ab_side_kind kind,
                              ab_side *side, ab_str first)
{
    return ab_gopeer_agents_take_side(l->gopeers, agent, kind, side, first);
}

void ab_principal_live_removed(ab_principal_live *l, const char *agent)
{
    disconnect(l, agent);
    ab_principal_live_redis_removed(redis_of(l), agent);
}

ab_live_hub *ab_principal_live_hub(ab_principal_live *l)
{
    return l->hub;
}
