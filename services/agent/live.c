/* SPDX-License-Identifier: Apache-2.0 */
#include "services/agent/live.h"

#include "services/agent/live_counts.h"
#include "services/agent/live_kubernetes.h"
#include "services/agent/live_redis.h"

#include <stdlib.h>

static const ab_option rows[] = {
    {.name = "live.enabled",
     .kind = AB_OPT_BOOL,
     .deflt = "true",
     .help = "Whether the control plane may look into this cluster through the agent: resources, "
             "logs, terminals, redis."},
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
};

ab_err ab_agent_live_check(const ab_config *config, ab_error *err)
{
    ab_err e = ab_service_live_check(config, true, err);
    if (e == AB_ERR_OK)
        e = ab_agent_live_kubernetes_check(config, err);
    return e == AB_ERR_OK ? ab_agent_live_redis_check(config, err) : e;
}

ab_err ab_agent_live_new(ab_service *service, const char *source, ab_agent_live **out,
                         ab_error *err)
{
    ab_agent_live *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    *out = l;
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
    return e == AB_ERR_OK ? e : ab_fail(err, e, "%s", ab_err_text(e));
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
    ab_live_spoke_free(l->spoke);
    ab_agent_live_counts_free(l->counts);
    ab_redis_spoke_close(l->redis);
    ab_agent_live_kubernetes_free(l->kubernetes);
    ab_service_live_fini(&l->base);
    free(l);
}

void ab_agent_live_connected(ab_agent_live *l)
{
    ab_agent_live_counts_connected(l->counts);
}

ab_live_spoke *ab_agent_live_spoke(ab_agent_live *l)
{
    return l->spoke;
}
