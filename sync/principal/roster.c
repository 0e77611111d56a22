/* SPDX-License-Identifier: Apache-2.0
 *
 * What belongs to one agent is reached from there, so that nothing that concerns one agent passes
 * over the objects of all.
 */
#include "sync/principal/principal_priv.h"

#include <assert.h>
#include <stdlib.h>

static struct roster *make(ab_principal *p, ab_str agent)
{
    struct roster *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return NULL;
    r->principal = p;
    ab_link_init(&r->apps);
    ab_link_init(&r->mirrors);
    r->name = ab_str_dup(agent);
    if (r->name == NULL || ab_map_put(p->rosters, agent, r, NULL) != AB_ERR_OK) {
        free(r->name);
        free(r);
        return NULL;
    }
    return r;
}

struct roster *ab_registry_use(ab_principal *p, ab_str agent)
{
    struct roster *r = ab_map_find(p->rosters, agent);
    if (r == NULL)
        r = make(p, agent);
    if (r != NULL)
        r->uses++;
    return r;
}

void ab_registry_leave(struct roster *r)
{
    if (r == NULL || --r->uses > 0)
        return;
    assert(!ab_link_is_in_use(&r->apps) && !ab_link_is_in_use(&r->mirrors) && r->unfinished == 0);
    (void)ab_map_take(r->principal->rosters, ab_str_of(r->name));
    free(r->name);
    free(r);
}

void ab_registry_count(struct roster *r, bool *counted, bool has)
{
    if (*counted == has)
        return;
    *counted = has;
    if (has)
        r->unfinished++;
    else
        r->unfinished--;
    if (r->unfinished == 0 && r->peer != NULL)
        ab_principal_resync_sort(r->peer);
}

bool ab_registry_is_dealt_with(const struct roster *r)
{
    return r->unfinished == 0;
}
