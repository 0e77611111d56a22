/* SPDX-License-Identifier: Apache-2.0
 *
 * Which object here stands for which of the principal's. In destination mapping two of those may
 * meet in one: a remapped one, and one whose namespace has the name of the agent's own.
 */
#include "sync/agent/agent_priv.h"

#include "schema/attributes.h"

#include <stdio.h>

ab_err ab_agent_local_key(const ab_agent *a, ab_str key, ab_target target, bool remapped,
                          char out[AB_OBJECT_KEY_MAX])
{
    ab_str name, ns, kind_name;
    if (ab_object_key_split(key, &kind_name, &ns, &name) != AB_ERR_OK)
        return AB_ERR_INVALID;
    const ab_kind *kind = ab_kind_of(kind_name);
    if (kind == NULL || kind->target != target)
        return AB_ERR_INVALID;
    if (kind->shared || remapped || !a->env.policy.by_destination)
        ns = ab_str_of(a->env.policy.namespace);
    int n = snprintf(out, AB_OBJECT_KEY_MAX, "%s/%.*s/%.*s", kind->kind, AB_STR_ARG(ns),
                     AB_STR_ARG(name));
    return n > 0 && n < AB_OBJECT_KEY_MAX ? AB_ERR_OK : AB_ERR_INVALID;
}

/* The newest state that waits, NULL when none does. */
static const ab_event *waiting_state(const ab_agent_object *o)
{
    const ab_event *newest = NULL;
    for (const ab_task *t = o->record.inbox.head; t != NULL; t = t->next)
        if (!ab_task_is_command(t->type) && ab_version_cmp(t->version, o->version) >= 0)
            newest = t->event;
    return newest;
}

static bool has_newer(const ab_agent_object *o)
{
    const ab_task *t = o->record.inbox.head;
    while (t != NULL &&
           (ab_task_is_command(t->type) || ab_version_cmp(t->version, o->version) <= 0))
        t = t->next;
    return t != NULL;
}

/* Two desired states are of one source when they are remapped alike: a hub's own namespace may
 * change. */
static bool is_conflicting(const ab_agent_object *o, bool remapped)
{
    const ab_event *waiting = waiting_state(o);
    if (waiting == NULL)
        return ab_agent_has_source(o) && o->remapped != remapped;
    return ab_event_data(waiting).ptr != NULL &&
           ab_agent_is_remapped(o->agent, waiting) != remapped;
}

static bool ends_another(const ab_agent_object *o, ab_str key)
{
    const ab_event *waiting = waiting_state(o);
    if (waiting != NULL)
        return !ab_str_eq(ab_event_attr(waiting, AB_CE_PARTITIONKEY), key);
    return ab_agent_has_source(o) && o->hub_key != NULL && !ab_str_is(key, o->hub_key);
}

bool ab_agent_is_anothers(const ab_agent_object *o, const ab_event *event)
{
    if (ab_agent_is_reserved(o) && !ab_agent_is_reserved_for(o, event, ab_agent_source_uid(event)))
        return true;
    if (ab_event_data(event).ptr == NULL)
        return ends_another(o, ab_event_attr(event, AB_CE_PARTITIONKEY));
    return is_conflicting(o, ab_agent_is_remapped(o->agent, event));
}

void ab_agent_note_start(ab_agent_object *o, const ab_object *local)
{
    ab_str uid = ab_object_annotation(local, AB_ANN_SOURCE_UID);
    ab_digest digest;
    if (o->agent->listed || o->start != START_UNKNOWN)
        return;
    bool fits = uid.len == 0 ||
                (ab_digest_of(uid, &digest) == AB_ERR_OK && ab_digest_eq(&digest, &o->kept_uid));
    o->start = fits ? START_FITS : START_DIFFERS;
    if (!fits)
        ab_agent_reserve(o, local);
}

/* Where all is read before anything is done, the newest is known. */
static bool may_be_over(const ab_agent_object *o)
{
    return o->start == START_DIFFERS && !o->agent->replaying &&
           (!o->agent->caught_up || has_newer(o));
}

void ab_agent_end_wait(ab_agent_object *o)
{
    if (!o->outdated || o->restored || has_newer(o))
        return;
    o->outdated = false;
    ab_reconcile_advance(&o->record);
}

bool ab_agent_is_outdated(ab_agent_object *o, const ab_object *local)
{
    ab_str uid = ab_object_annotation(local, AB_ANN_SOURCE_UID);
    ab_str principal = ab_object_annotation(local, AB_ANN_PRINCIPAL_UID);
    ab_agent_note_start(o, local);
    bool ended = o->source == SOURCE_ENDED;
    bool same = o->uid == NULL ? !ended : ab_str_is(uid, o->uid);
    bool over = o->restored || may_be_over(o);
    if (!over || o->source == SOURCE_NONE || uid.len == 0)
        return false;
    if (same) {
        o->restored = false;
        return false;
    }
    o->outdated = true;
    if (!o->restored)
        return true;          /* the rest of the log tells */
    o->hash = (ab_digest){0}; /* the principal is to say it again */
    if (ended && ab_digest_of(principal, &o->principal) != AB_ERR_OK)
        o->principal = (ab_digest){0};
    if (ab_agent_may_log(o->agent))
        AB_WARN(o->agent->env.log, SYNC,
                "object left as it is: its source-uid is not the one in agent.data, which may be "
                "from a backup; asking the principal",
                AB_KV("object", o->key), AB_KV("held_back", o->agent->lines.held_back));
    ab_resync_ask(&o->agent->resync.engine, "objects differ from agent.data");
    return true;
}
