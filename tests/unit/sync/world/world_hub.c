/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sync/world/world_hub.h"

void world_hub_change(void *arg, fake_change change, ab_object *object)
{
    world *w = arg;
    if (object != NULL && w->hidden != NULL &&
        ab_str_is(ab_str_of(ab_object_key(object)), w->hidden))
        return;
    if (change == FAKE_SYNCED)
        (w->hidden == NULL ? ab_principal_on_synced : ab_principal_on_list_done)(w->principal);
    else if (change == FAKE_SEEN)
        ab_principal_on_updated(w->principal, object);
    else
        ab_principal_on_deleted(w->principal, object, change == FAKE_GONE);
}

void world_interrupt_hub(world *w)
{
    if (w->principal == NULL || w->hub_interrupted)
        return;
    w->hub_interrupted = true;
    ab_principal_on_interrupted(w->principal);
}

void world_replace_hub(world *w)
{
    world_interrupt_hub(w);
    w->hub_replaced = w->hub_interrupted;
}

bool world_hub_can_resume(const world *w)
{
    return w->hub_interrupted && (w->hub_replaced || !fake_store_has_changes(w->hub));
}

void world_resume_hub(world *w)
{
    w->hub_interrupted = false;
    (w->hub_replaced ? ab_principal_on_replaced : ab_principal_on_resumed)(w->principal);
}

void world_unhide(world *w)
{
    const char *key = w->hidden;
    w->hidden = NULL;
    if (key == NULL || w->principal == NULL)
        return;
    ab_object *object = fake_store_find(w->hub, key);
    if (object != NULL)
        ab_principal_on_updated(w->principal, object);
    if (fake_store_has_listed(w->hub))
        ab_principal_on_synced(w->principal);
}
