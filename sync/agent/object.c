/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of one object here.
 */
#include "sync/agent/agent_priv.h"

#include "schema/attributes.h"
#include "sync/object/application.h"

#include <assert.h>
#include <stdlib.h>

void ab_agent_ack(const ab_agent *a, void *delivery)
{
    a->env.effects.ack(a->env.effects.arg, delivery);
}

bool ab_agent_may_log(ab_agent *a)
{
    return ab_log_quota_pass(&a->lines, ab_clock_mono_ms(a->env.clock));
}

void ab_agent_wake(const ab_agent *a)
{
    a->env.effects.wake(a->env.effects.arg, a->env.policy.name);
}

/* --- life --- */

void ab_agent_object_fini(void *value)
{
    ab_agent_object *o = value;
    ab_record_fini(&o->record);
    free(o->snapshot);
    free(o->lost_status);
    free(o->next_uid);
    free(o->next_hub_key);
    free(o->hub_key);
    free(o->error);
    free(o->uid);
}

bool ab_agent_allows_namespace(const ab_agent *a, const ab_kind *kind, ab_str ns)
{
    const ab_agent_policy *p = &a->env.policy;
    if (ab_str_is(ns, p->namespace))
        return true;
    return !kind->shared && p->by_destination && p->namespaces != NULL &&
           ab_patterns_match(p->namespaces, ns);
}

ab_agent_object *ab_agent_object_for(ab_agent *a, ab_str key)
{
    ab_str kind, ns, name;
    ab_agent_object *o = ab_object_key_split(key, &kind, &ns, &name) == AB_ERR_OK
                             ? ab_map_make(a->objects, key, sizeof(*o))
                             : NULL;
    if (o == NULL || o->agent != NULL)
        return o;
    o->agent = a;
    o->key = ab_map_at(o).key.ptr;
    o->kind = ab_kind_of(kind);
    assert(o->kind != NULL);
    o->allowed = ab_agent_allows_namespace(a, o->kind, ns);
    o->recalled = ab_agent_is_autonomous(a) || ab_version_is_none(a->over);
    ab_record_init(&o->record, a->object_type, &a->reconciler, o->key);
    return o;
}

bool ab_agent_is_approved(const ab_received_state *row)
{
    ab_object *desired = NULL;
    if (!row->deleting || row->orphan || ab_object_parse(row->desired, &desired, NULL) != AB_ERR_OK)
        return false;
    bool approved = ab_app_is_deletion_approved(desired);
    ab_object_unref(desired);
    return approved;
}

ab_err ab_agent_recall(ab_agent_object *o, const ab_received_state *row)
{
    ab_digest principal = {0};
    ab_err e = ab_str_replace(&o->uid, row->uid);
    if (e == AB_ERR_OK)
        e = ab_str_replace(&o->hub_key, row->source);
    if (e == AB_ERR_OK && row->owner.len > 0 && !row->ended)
        e = ab_digest_of(row->owner, &principal);
    if (e != AB_ERR_OK)
        return e;
    o->recalled = true;
    o->version = row->version;
    if (row->released)
        return AB_ERR_OK;
    o->source = row->ended ? SOURCE_ENDED : row->deleting ? SOURCE_DELETING : SOURCE_LIVE;
    o->principal = principal;
    o->hash = row->hash;
    o->remapped = row->remapped;
    o->orphan = row->orphan;
    o->approved = ab_agent_is_approved(row);
    ab_agent_add_source(o);
    return AB_ERR_OK;
}

/* Something of it stands in our log, or is to. */
static bool is_reported(const ab_agent_object *o)
{
    const ab_writer *w = o->agent->writer;
    return o->error != NULL || !ab_writer_is_ready(w) || ab_writer_has_key(w, ab_str_of(o->key));
}

bool ab_agent_is_over(const ab_agent_object *o)
{
    return o->agent->listed && !o->exists && !ab_agent_has_source(o) && !o->owed && !is_reported(o);
}

void ab_agent_forget(ab_agent_object *o)
{
    ab_agent *a = o->agent;
    if (ab_version_cmp(o->version, a->over) > 0)
        a->over = o->version;
    ab_agent_object_fini(o);
    ab_map_drop(a->objects, o);
}

void ab_agent_forget_lost(ab_agent_object *o)
{
    free(o->lost_status);
    o->lost_status = NULL;
    o->lost = false;
}

/* --- what it is --- */

bool ab_agent_has_source(const ab_agent_object *o)
{
    return o->source == SOURCE_LIVE || o->source == SOURCE_DELETING;
}

bool ab_agent_is_autonomous(const ab_agent *a)
{
    return a->env.policy.autonomous;
}

bool ab_agent_publishes(const ab_agent_object *o)
{
    return ab_agent_is_autonomous(o->agent) && o->kind->mirroring != AB_NOT_MIRRORED;
}

bool ab_agent_is_refused(const ab_agent_object *o)
{
    return o->source == SOURCE_LIVE && !o->allowed;
}

bool ab_agent_is_up_to_date(const ab_agent_object *o)
{
    if (!o->recalled && o->exists)
        return false;
    bool reconciled =
        !ab_digest_is_none(&o->reconciled) && ab_digest_eq(&o->reconciled, &o->digest);
    bool waits = o->agent->replaying || o->outdated; /* what it is to be may be long over */
    if (waits && o->exists)
        return true;
    switch (o->source) {
    case SOURCE_NONE:
        return !o->was_managed || reconciled;
    case SOURCE_LIVE:
        return ab_agent_is_refused(o) || (o->exists && !o->deleting && reconciled);
    case SOURCE_DELETING:
        return o->exists && o->deleting && (!o->approved || reconciled);
    case SOURCE_ENDED:
        return o->exists ? o->deleting || reconciled : o->agent->listed;
    }
    return true;
}

/* --- an autonomous agent's own --- */

/* What was the principal's while the agent was managed, and is the agent's own now. */
bool ab_agent_has_managed_annotations(const ab_object *local)
{
    return ab_object_annotation(local, AB_ANN_SOURCE_UID).len > 0;
}

/* --- copies --- */

/* Where the agent's namespace was another one, what is here is what was there. */
static bool counts(const ab_agent_object *o)
{
    return o->uid != NULL && o->allowed && ab_agent_has_source(o);
}

void ab_agent_add_source(ab_agent_object *o)
{
    /* Without memory for it, its copies are not recognised. */
    size_t *count =
        !counts(o) ? NULL : ab_map_make(o->agent->sources, ab_str_of(o->uid), sizeof(*count));
    if (count != NULL)
        ++*count;
}

void ab_agent_drop_source(ab_agent_object *o)
{
    size_t *count = !counts(o) ? NULL : ab_map_find(o->agent->sources, ab_str_of(o->uid));
    if (count != NULL && --*count == 0)
        ab_map_drop(o->agent->sources, count);
}

/* It names another object, or the source of one: a user has copied that one with its annotations.
 * Nobody has sent this one, and nobody will end it. */
static bool is_copy(const ab_agent_object *o, const ab_object *local)
{
    if (ab_agent_has_source(o))
        return false;
    return ab_is_renamed_copy(local) ||
           (o->source == SOURCE_NONE &&
            ab_map_find(o->agent->sources, ab_object_annotation(local, AB_ANN_SOURCE_UID)) != NULL);
}

static ab_digest uid_digest(const ab_agent_object *o, const ab_object *local)
{
    ab_digest digest;
    ab_str uid = ab_agent_publishes(o) ? ab_object_uid(local)
                                       : ab_object_annotation(local, AB_ANN_SOURCE_UID);
    return uid.len > 0 && ab_digest_of(uid, &digest) == AB_ERR_OK ? digest : (ab_digest){0};
}

void ab_agent_note_own(ab_agent_object *o, const ab_object *local)
{
    o->was_managed = ab_agent_has_managed_annotations(local) &&
                     (ab_agent_is_autonomous(o->agent) || is_copy(o, local));
    o->local_uid = uid_digest(o, local);
}

bool ab_agent_is_another(const ab_agent_object *o, const ab_object *changed)
{
    if (!ab_agent_publishes(o) || !o->exists || ab_digest_is_none(&o->local_uid))
        return false;
    ab_digest uid = uid_digest(o, changed);
    return !ab_digest_eq(&uid, &o->local_uid);
}
