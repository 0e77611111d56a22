/* SPDX-License-Identifier: Apache-2.0 */
#include "services/agent/live.h"

#include "live/gopeer/principal/principal.h"
#include "schema/attributes.h"
#include "schema/catalogue.h"
#include "services/agent/live_counts.h"
#include "services/agent/live_kubernetes.h"
#include "services/agent/live_redis.h"

#include <stdlib.h>
#include <string.h>

static const ab_option rows[] = {
    {.name = "live.enabled",
     .kind = AB_OPT_BOOL,
     .deflt = "false",
     .help = "Whether the control plane may look into this cluster through the agent, and change "
             "what Argo CD manages: resources, logs, terminals, redis."},
    {.name = "live.principal",
     .kind = AB_OPT_STRING,
     .deflt = "principal",
     .help = "Over Kafka, the name that the principal's certificate must have for live access, "
             "read as grpc.auth.mtls.identity says: its common name by default."},
};
const ab_options ab_agent_live_options = {rows, sizeof(rows) / sizeof(rows[0])};

struct ab_agent_live {
    ab_service_live base;
    ab_agent_live_kubernetes *kubernetes;
    ab_redis_spoke *redis;        /* NULL: none may be read */
    ab_agent_live_counts *counts; /* likewise */
    ab_live_service services[4];  /* the last is zeroed */
    ab_live_spoke *spoke;
    ab_gopeer_principal *gopeer; /* who asks where the principal is argocd-agent's */
};

ab_err ab_agent_live_check(const ab_config *config, ab_error *err)
{
    ab_err e = ab_service_live_check(config, true, err);
    if (e == AB_ERR_OK)
        e = ab_agent_live_kubernetes_check(config, err);
    return e == AB_ERR_OK ? ab_agent_live_redis_check(config, err) : e;
}

/* ----- argocd-agent's principal ----- */

static ab_err divert(void *arg, const char *agent, ab_event *event, ab_sent done, void *done_arg)
{
    const ab_agent_live *l = arg;
    (void)agent;
    return ab_gopeer_principal_send(l->gopeer, event, done, done_arg);
}

static ab_err send_to_gopeer(void *arg, ab_event *event)
{
    ab_agent_live *l = arg;
    return ab_service_live_send(&l->base, NULL, event);
}

static ab_err open_side(void *arg, ab_side_kind kind, const ab_side_handler *handler,
                        void *handler_arg, ab_side **out)
{
    const ab_agent_live *l = arg;
    return ab_transport_open_side(l->base.service->transport, kind, handler, handler_arg, out);
}

static ab_err make_gopeer(ab_agent_live *l, const ab_daemon *d, const char *source)
{
    const ab_gopeer_principal_env env = {.loop = d->loop,
                                         .log = d->log,
                                         .metrics = d->metrics,
                                         .clock = d->clock,
                                         .spoke = l->spoke,
                                         .source = source,
                                         .by_destination =
                                             ab_config_is(d->config, "mapping", "destination"),
                                         .send = send_to_gopeer,
                                         .open_side = open_side,
                                         .arg = l};
    ab_err e = ab_gopeer_principal_new(&env, &l->gopeer);
    l->base.divert = divert;
    l->base.divert_arg = l;
    return e;
}

/* ----- life ----- */

/* What would open something, if it were on. */
static void warn_of_unused(const ab_daemon *d)
{
    bool exec = ab_config_bool(d->config, "live.exec");
    bool redis = ab_config_str(d->config, "live.redis.address") != NULL;
    if (ab_config_bool(d->config, "live.enabled") || (!exec && !redis))
        return;
    AB_WARN(d->log, LIVE,
            "options of live access have no effect: set live.enabled to true, or take them out",
            AB_KV("options", exec && redis ? "live.exec, live.redis.address"
                             : exec        ? "live.exec"
                                           : "live.redis.address"));
}

ab_err ab_agent_live_new(ab_service *service, const char *source, ab_agent_live **out,
                         ab_error *err)
{
    ab_agent_live *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    *out = l;
    warn_of_unused(service->daemon);
    ab_err e = ab_service_live_init(&l->base, service,
                                    ab_config_str(service->daemon->config, "live.principal"), err);
    if (e == AB_ERR_OK)
        e = ab_agent_live_kubernetes_new(service->daemon, &l->kubernetes, err);
    if (e == AB_ERR_OK)
        e = ab_agent_live_redis_new(service->daemon, &l->redis, err);
    if (e == AB_ERR_OK && l->base.off[0] == '\0')
        e = ab_agent_live_counts_new(service, source, &l->counts, err);
    if (e != AB_ERR_OK)
        return e;
    l->services[0] =
        (ab_live_service){AB_RESOURCE_SERVICE, ab_agent_live_kubernetes_serve, l->kubernetes};
    l->services[1] = (ab_live_service){AB_RESOURCE_EXEC_SERVICE,
                                       ab_agent_live_kubernetes_serve_terminal, l->kubernetes};
    if (l->redis != NULL)
        l->services[2] = (ab_live_service){"redis", ab_redis_spoke_serve, l->redis};
    const ab_live_lane_env env = ab_service_live_env(&l->base, source);
    e = ab_live_spoke_new(&env, l->services, &l->spoke);
    if (e == AB_ERR_OK)
        e = make_gopeer(l, service->daemon, source);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "%s", ab_err_text(e));
}

void ab_agent_live_tick(ab_agent_live *l)
{
    if (ab_service_live_renew(&l->base))
        ab_live_spoke_recheck(l->spoke);
}

void ab_agent_live_stop(ab_agent_live *l)
{
    if (l == NULL)
        return;
    ab_agent_live_counts_stop(l->counts);
    ab_live_spoke_stop(l->spoke);
}

void ab_agent_live_free(ab_agent_live *l)
{
    if (l == NULL)
        return;
    ab_gopeer_principal_free(l->gopeer);
    l->base.divert = NULL;
    ab_live_spoke_free(l->spoke);
    ab_agent_live_counts_free(l->counts);
    ab_redis_spoke_close(l->redis);
    ab_agent_live_kubernetes_free(l->kubernetes);
    ab_service_live_fini(&l->base);
    free(l);
}

ab_err ab_agent_live_presence(ab_agent_live *l, const char *version)
{
    if (version == NULL)
        ab_live_spoke_disconnected(l->spoke);
    else
        ab_agent_live_counts_connected(l->counts);
    if (version != NULL && strcmp(version, AB_PEER_ARGOCD_AGENT) == 0)
        return ab_gopeer_principal_connect(l->gopeer);
    ab_gopeer_principal_disconnect(l->gopeer);
    return AB_ERR_OK;
}

void ab_agent_live_deliver(ab_agent_live *l, const ab_event *event)
{
    if (ab_str_is(ab_event_attr(event, AB_CE_DATASCHEMA), ab_target_name(AB_TARGET_LIVE)))
        ab_live_spoke_deliver(l->spoke, event);
    else
        ab_gopeer_principal_deliver(l->gopeer, event);
}

void ab_agent_live_writable(ab_agent_live *l)
{
    ab_live_spoke_writable(l->spoke);
    ab_gopeer_principal_writable(l->gopeer);
}
