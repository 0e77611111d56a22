/* SPDX-License-Identifier: Apache-2.0
 *
 * The autonomous agent's part in a resync: what the principal holds are its own objects, mirrored.
 * What the principal has and the agent has not is ended as if its log said it, when it is proved.
 */
#include "sync/agent/agent_priv.h"

#include "schema/attributes.h"
#include "sync/object/mirror.h"

#include <stdlib.h>

/* The key at the hub of the mirror of the object that is `key` here. @return false: it has none */
static bool mirror_key(const ab_agent *a, ab_str key, char out[AB_OBJECT_KEY_MAX])
{
    ab_str kind, ns, name;
    return ab_object_key_split(key, &kind, &ns, &name) == AB_ERR_OK && ab_kind_of(kind) != NULL &&
           ab_mirror_key(ab_kind_of(kind)->target, a->env.policy.name, name, a->resync.namespace,
                         out) == AB_ERR_OK;
}

static ab_err name_mirror(ab_agent_object *o)
{
    char key[AB_OBJECT_KEY_MAX];
    if (!mirror_key(o->agent, ab_str_of(o->key), key) ||
        (o->hub_key != NULL && ab_str_is(ab_str_of(key), o->hub_key)))
        return AB_ERR_OK;
    free(o->hub_key);
    o->hub_key = ab_str_dup(ab_str_of(key));
    return o->hub_key == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

ab_err ab_agent_name_mirrors(ab_agent *a)
{
    ab_err e = AB_ERR_OK;
    for (ab_map_iter i = ab_map_first(a->objects); i.entry != NULL && e == AB_ERR_OK;
         ab_map_next(&i))
        if (ab_agent_publishes(i.value))
            e = name_mirror(i.value);
    return e;
}

static bool is_on_its_way(const ab_agent *a, ab_str key)
{
    return ab_resync_is_on_its_way(&a->resync.engine, key, key);
}

static void suppose(void *arg, const ab_inventory_entry *theirs)
{
    ab_agent *a = arg;
    char key[AB_OBJECT_KEY_MAX];
    if (ab_mirror_source_key(theirs->key, a->env.policy.name, a->resync.namespace,
                             a->env.policy.namespace, key) != AB_ERR_OK ||
        ab_writer_has_key(a->writer, ab_str_of(key)) || is_on_its_way(a, ab_str_of(key)))
        return;
    if (ab_writer_suppose(a->writer, ab_str_of(key), &theirs->hash) != AB_ERR_OK)
        AB_ERROR(a->env.log, SYNC, "out of memory", AB_KV("object", (const char *)key));
}

/* The principal does not have it either: there is nothing that a guard could save. */
static void drop_unheld(void *arg, ab_str key)
{
    ab_agent *a = arg;
    char mirror[AB_OBJECT_KEY_MAX];
    if (ab_agent_is_missing(a, key) && !is_on_its_way(a, key) && mirror_key(a, key, mirror) &&
        ab_resync_find(&a->resync.engine, ab_str_of(mirror)) == NULL)
        ab_agent_end_missing(a, key);
}

void ab_agent_suppose_mirrors(ab_agent *a)
{
    ab_resync_each(&a->resync.engine, suppose, a);
    if (a->synced)
        ab_writer_each(a->writer, "", drop_unheld, a);
    a->sweep.done = false;
    if (a->resync.engine.theirs->confirm)
        ab_sweep_again(&a->sweep);
    a->sweep.guard.confirmed = a->resync.engine.theirs->confirm;
    ab_agent_sweep(a);
    a->sweep.guard.confirmed = false;
}
