/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sync/world/fleet.h"

#include <stdlib.h>
#include <string.h>

#define MEND_S 70

size_t fleet_draw(uint64_t *random, size_t below)
{
    *random = *random * 6364136223846793005U + 1442695040888963407U;
    return (size_t)(*random >> 33) % below;
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

void fleet_each_seed(uint64_t seeds, void (*run)(uint64_t seed))
{
    bool all = getenv("SYNC_MODEL_SEED") == NULL;
    uint64_t first = setting("SYNC_MODEL_SEED", 1);
    uint64_t count = setting("SYNC_MODEL_SEEDS", all ? seeds : 1);
    for (uint64_t seed = first; seed < first + count; seed++)
        run(seed);
}

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
