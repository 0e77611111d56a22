/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sync/world/fleet.h"

#include <string.h>

#define MEND_S 70

static const struct hub_agent *find(const hub *h, const char *agent)
{
    const struct hub_agent *a = h->agents;
    while (strcmp(a->name, agent) != 0)
        a++;
    return a;
}

void fleet_cut_or_mend(hub *h, const char *agent)
{
    const struct hub_agent *a = find(h, agent);
    if (a->served)
        hub_connect(h, agent, !a->connected);
}

void fleet_take_or_bring(hub *h, const char *agent)
{
    if (find(h, agent)->served)
        hub_remove(h, agent);
    else
        hub_add(h, agent);
}

void fleet_lose_log(hub *h, const char *agent)
{
    const struct hub_agent *a = find(h, agent);
    if (a->served && a->connected)
        hub_lose_log(h, agent);
}

void fleet_mend(hub *h)
{
    for (size_t i = 0; i < HUB_AGENTS_MAX && h->agents[i].name != NULL; i++) {
        const struct hub_agent *a = &h->agents[i];
        if (!a->served)
            hub_add(h, a->name);
        else if (!a->connected)
            hub_connect(h, a->name, true);
    }
    hub_settle(h);
    for (int i = 0; i < MEND_S; i++)
        hub_tick(h, 1000);
}
