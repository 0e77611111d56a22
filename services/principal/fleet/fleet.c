/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/fleet/fleet.h"

#include "base/core/edit_distance.h"

#include <stdio.h>
#include <stdlib.h>

/* More edits than these make another name. */
#define EDITS_MAX 3

struct ab_fleet {
    const ab_clock *clock;
    int64_t started_us;
    ab_map *agents; /* name -> ab_fleet_agent */
};

ab_fleet *ab_fleet_new(const ab_clock *clock)
{
    ab_fleet *f = calloc(1, sizeof(*f));
    if (f == NULL)
        return NULL;
    *f = (ab_fleet){clock, ab_clock_wall_us(clock), ab_map_new()};
    if (f->agents != NULL)
        return f;
    free(f);
    return NULL;
}

static void agent_fini(void *value)
{
    ab_fleet_agent *a = value;
    free(a->refused);
}

void ab_fleet_free(ab_fleet *f)
{
    if (f == NULL)
        return;
    ab_map_free(f->agents, agent_fini);
    free(f);
}

ab_err ab_fleet_add(ab_fleet *f, const char *agent)
{
    return ab_map_make(f->agents, ab_str_of(agent), sizeof(ab_fleet_agent)) == NULL ? AB_ERR_NOMEM
                                                                                    : AB_ERR_OK;
}

void ab_fleet_remove(ab_fleet *f, const char *agent)
{
    ab_fleet_agent *a = ab_map_find(f->agents, ab_str_of(agent));
    if (a == NULL)
        return;
    agent_fini(a);
    ab_map_drop(f->agents, a);
}

void ab_fleet_note_peer(ab_fleet *f, const char *agent, const ab_peer *peer)
{
    ab_fleet_agent *a = ab_map_find(f->agents, ab_str_of(agent));
    if (a == NULL)
        return;
    if (a->connected != (peer != NULL) || a->since_us == 0)
        a->since_us = ab_clock_wall_us(f->clock);
    a->connected = peer != NULL;
    if (peer != NULL && ab_str_is_printable(ab_str_of(peer->version)))
        snprintf(a->version, sizeof(a->version), "%s", peer->version);
}

void ab_fleet_note_mode(ab_fleet *f, const char *agent, const char *mode, const char *claimed,
                        const char *refused)
{
    ab_fleet_agent *a = ab_map_find(f->agents, ab_str_of(agent));
    if (a == NULL)
        return;
    a->mode = mode;
    a->claimed = claimed;
    free(a->refused);
    a->refused = refused == NULL ? NULL : ab_str_dup(ab_str_of(refused));
}

const ab_fleet_agent *ab_fleet_find(const ab_fleet *f, ab_str agent)
{
    return ab_map_find(f->agents, agent);
}

const ab_map *ab_fleet_agents(const ab_fleet *f)
{
    return f->agents;
}

int64_t ab_fleet_started_us(const ab_fleet *f)
{
    return f->started_us;
}

/* Names of other lengths need not be compared. */
static bool may_be_near(ab_str a, ab_str b)
{
    return a.len <= b.len + EDITS_MAX && b.len <= a.len + EDITS_MAX;
}

ab_str ab_fleet_nearest(const ab_fleet *f, ab_str name)
{
    ab_str nearest = AB_STR_NONE;
    size_t best = EDITS_MAX + 1;
    for (ab_map_iter i = ab_map_first(f->agents); i.entry != NULL; ab_map_next(&i)) {
        size_t edits = may_be_near(name, i.key) ? ab_edit_distance(name, i.key) : best;
        if (edits < best && edits < name.len) {
            best = edits;
            nearest = i.key;
        }
    }
    return nearest;
}
