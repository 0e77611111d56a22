/* SPDX-License-Identifier: Apache-2.0
 *
 * What belongs to one agent is reached from there, so that nothing that concerns one agent passes
 * over the objects of all.
 */
#include "sync/principal/principal_priv.h"

#include <assert.h>

struct agent_records *ab_agent_records_use(ab_principal *p, ab_str agent)
{
    struct agent_records *r = ab_map_make(p->records_by_agent, agent, sizeof(*r));
    if (r == NULL || r->uses++ > 0)
        return r;
    r->principal = p;
    r->name = ab_map_at(r).key.ptr;
    ab_link_init(&r->apps);
    ab_link_init(&r->mirrors);
    return r;
}

void ab_agent_records_leave(struct agent_records *r)
{
    if (r == NULL || --r->uses > 0)
        return;
    assert(!ab_link_is_in_use(&r->apps) && !ab_link_is_in_use(&r->mirrors) && r->unfinished == 0);
    ab_map_drop(r->principal->records_by_agent, r);
}

void ab_agent_records_count(struct agent_records *r, bool *counted, bool has)
{
    if (*counted == has)
        return;
    *counted = has;
    if (has)
        r->unfinished++;
    else
        r->unfinished--;
    if (r->unfinished == 0 && r->peer != NULL)
        ab_resync_queue_sort(&r->peer->resync.turn);
}

void ab_principal_app_counts(const ab_principal *p, const char *agent, ab_app_counts *out)
{
    const struct agent_records *r = ab_map_find(p->records_by_agent, ab_str_of(agent));
    *out = r == NULL ? (ab_app_counts){0} : r->shown;
}

bool ab_agent_records_are_done(const struct agent_records *r)
{
    return r->unfinished == 0;
}
