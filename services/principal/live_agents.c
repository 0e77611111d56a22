/* SPDX-License-Identifier: Apache-2.0
 *
 * To which agent a key of the control plane's redis belongs.
 */
#include "services/principal/principal_priv.h"

#include <string.h>

static ab_str agent_of_namespace(void *arg, ab_str space)
{
    const service *s = arg;
    return ab_map_find(s->senders, space) == NULL ? AB_STR_NONE : space;
}

static ab_str agent_of_app(void *arg, ab_str space, ab_str app)
{
    const service *s = arg;
    const char *own = ab_config_str(s->base.daemon->config, "store.namespace");
    return ab_principal_agent_of(s->machine, space.ptr == NULL ? ab_str_of(own) : space, app);
}

ab_redis_agents ab_principal_live_agents(service *s)
{
    const char *mapping = ab_config_str(s->base.daemon->config, "mapping");
    bool by_destination = strcmp(mapping, "destination") == 0;
    return (ab_redis_agents){.agent_of_namespace = agent_of_namespace,
                             .agent_of_app = by_destination ? agent_of_app : NULL,
                             .arg = s};
}
