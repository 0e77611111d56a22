/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/live.h"

#include "schema/attributes.h"
#include "services/principal/live_kubernetes.h"

#include <stdlib.h>

struct ab_principal_live {
    ab_service_live base;
    ab_live_hub *hub;
    ab_resource_front *kubernetes;  /* NULL: nothing is listened on */
    ab_principal_live_redis *redis; /* likewise */
};

ab_err ab_principal_live_check(const ab_config *config, ab_error *err)
{
    ab_err e = ab_service_live_check(config, false, err);
    if (e == AB_ERR_OK)
        e = ab_principal_live_kubernetes_check(config, err);
    return e == AB_ERR_OK ? ab_principal_live_redis_check(config, err) : e;
}

ab_err ab_principal_live_new(ab_service *service, const ab_redis_agents *agents,
                             ab_principal_live **out, ab_error *err)
{
    ab_principal_live *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    *out = l;
    ab_err e = ab_service_live_init(&l->base, service, NULL, err);
    if (e != AB_ERR_OK)
        return e;
    const ab_live_lane_env env = ab_service_live_env(&l->base, AB_SOURCE_PRINCIPAL);
    e = ab_live_hub_new(&env, &l->hub);
    if (e != AB_ERR_OK)
        return ab_fail(err, e, "%s", ab_err_text(e));
    e = ab_principal_live_kubernetes_start(service->daemon, l->hub, &l->kubernetes, err);
    return e == AB_ERR_OK
               ? ab_principal_live_redis_start(service->daemon, l->hub, agents, &l->redis, err)
               : e;
}

static void stop_fronts(ab_principal_live *l)
{
    ab_resource_front_free(l->kubernetes);
    ab_principal_live_redis_free(l->redis);
    l->kubernetes = NULL;
    l->redis = NULL;
}

void ab_principal_live_stop(ab_principal_live *l)
{
    if (l == NULL)
        return;
    stop_fronts(l);
    ab_live_hub_stop(l->hub);
}

void ab_principal_live_free(ab_principal_live *l)
{
    if (l == NULL)
        return;
    stop_fronts(l);
    ab_live_hub_free(l->hub);
    ab_service_live_fini(&l->base);
    free(l);
}

void ab_principal_live_named(ab_principal_live *l, ab_str agent, const ab_object *secret)
{
    ab_principal_live_redis_named(l->redis, agent, secret);
}

ab_err ab_principal_live_presence(ab_principal_live *l, const char *agent, bool up)
{
    ab_principal_live_redis_presence(l->redis, agent, up);
    if (up)
        return ab_live_hub_connected(l->hub, agent);
    ab_live_hub_disconnected(l->hub, agent);
    return AB_ERR_OK;
}

void ab_principal_live_removed(ab_principal_live *l, const char *agent)
{
    ab_live_hub_disconnected(l->hub, agent);
    ab_principal_live_redis_removed(l->redis, agent);
}

ab_live_hub *ab_principal_live_hub(ab_principal_live *l)
{
    return l->hub;
}
