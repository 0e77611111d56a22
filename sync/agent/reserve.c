/* SPDX-License-Identifier: Apache-2.0
 *
 * In destination mapping two sources may have one name here, and the first keeps it. agent.data
 * says which one was first. Where agent.data is lost, or from a backup, the annotations of the
 * object here say it: at the start the name is reserved for the source that they name. The
 * reservation ends when the log was read to its end and said what became of it. If the log says
 * nothing of it, the principal does, in the resync that lists the object here.
 */
#include "sync/agent/agent_priv.h"

#include "schema/attributes.h"

#include <stdlib.h>

bool ab_agent_is_reserved(const ab_agent_object *o)
{
    return !ab_digest_is_none(&o->reserved);
}

static bool is_digest_of(const ab_digest *digest, ab_str text)
{
    ab_digest other;
    return ab_digest_of(text, &other) == AB_ERR_OK && ab_digest_eq(digest, &other);
}

static bool is_anothers(const ab_agent_object *o, const ab_digest *principal)
{
    return ab_agent_has_source(o) && !ab_digest_eq(&o->principal, principal);
}

/* Is what is known of the object about the source that is remapped so? */
static bool is_about(const ab_agent_object *o, bool remapped)
{
    return o->remapped == remapped &&
           (ab_agent_has_source(o) || (o->source == SOURCE_ENDED && !o->restored));
}

/* It is not the one that is here. Nothing older than its version takes effect all the same. */
static void drop_source(ab_agent_object *o)
{
    bool had_source = ab_agent_has_source(o);
    ab_agent_drop_source(o);
    ab_agent_forget_lost(o);
    free(o->uid);
    free(o->hub_key);
    o->uid = o->hub_key = NULL;
    o->hash = o->reconciled = (ab_digest){0};
    o->source = SOURCE_NONE;
    o->restored = o->outdated = o->orphan = o->report_due = false;
    if (had_source)
        ab_agent_note_conflict(o, o->remapped);
}

void ab_agent_reserve(ab_agent_object *o, const ab_object *local)
{
    const ab_agent_policy *p = &o->agent->env.policy;
    bool remapped = ab_str_is(ab_object_annotation(local, AB_ANN_REMAPPED), "true");
    ab_str uid = ab_object_annotation(local, AB_ANN_SOURCE_UID);
    ab_str owner = ab_object_annotation(local, AB_ANN_PRINCIPAL_UID);
    ab_digest source, principal;
    if (!p->by_destination || p->autonomous || o->kind->shared || uid.len == 0 || owner.len == 0)
        return;
    if (ab_digest_of(uid, &source) != AB_ERR_OK || ab_digest_of(owner, &principal) != AB_ERR_OK ||
        is_anothers(o, &principal))
        return;
    o->reserved = source;
    if (is_about(o, remapped)) {
        ab_agent_note_log_read(o);
        return;
    }
    drop_source(o);
    o->principal = principal;
    o->remapped = remapped;
}

bool ab_agent_is_reserved_for(const ab_agent_object *o, const ab_event *event, ab_str uid)
{
    ab_str principal = ab_event_attr(event, AB_CE_PRINCIPALUID);
    return ab_agent_is_remapped(o->agent, event) == o->remapped ||
           (uid.len > 0 && is_digest_of(&o->reserved, uid)) ||
           (principal.len > 0 && !ab_digest_is_none(&o->principal) &&
            !is_digest_of(&o->principal, principal));
}

static void request_conflicting(ab_agent_object *o)
{
    if (!o->conflict.waits)
        return;
    o->conflict.waits = false;
    ab_resync_ask(&o->agent->resync.engine,
                  "the conflicting object is gone; applying the object that was refused");
}

void ab_agent_request_conflicting(ab_agent_object *o)
{
    if (!ab_agent_has_source(o) && !ab_agent_is_reserved(o))
        request_conflicting(o);
}

static void end_reservation(ab_agent_object *o)
{
    o->reserved = (ab_digest){0};
    ab_agent_request_conflicting(o);
}

/* What is restored may be long over, also when it is of the source that is here: that may have
 * ended and come again. */
void ab_agent_note_log_read(ab_agent_object *o)
{
    bool known = o->source != SOURCE_NONE && !o->restored && o->agent->caught_up;
    if (ab_agent_is_reserved(o) && known)
        end_reservation(o);
}

void ab_agent_check_reservation(ab_agent_object *o, const ab_object *local)
{
    ab_str uid = local == NULL ? AB_STR_NONE : ab_object_annotation(local, AB_ANN_SOURCE_UID);
    if (ab_agent_is_reserved(o) && !is_digest_of(&o->reserved, uid))
        end_reservation(o);
}

void ab_agent_note_went(ab_agent_object *o)
{
    bool known = o->uid != NULL && !ab_digest_is_none(&o->local_uid);
    ab_agent_check_reservation(o, NULL);
    if (known && !is_digest_of(&o->local_uid, ab_str_of(o->uid)))
        request_conflicting(o);
}

bool ab_agent_is_elsewhere(const ab_agent_object *o, ab_str uid)
{
    bool known = o->agent->listed && !o->restored && !o->outdated && o->record.inbox.head == NULL;
    if (!known || uid.len == 0 || o->uid == NULL || ab_str_is(uid, o->uid))
        return false;
    return !o->exists || (!ab_digest_is_none(&o->local_uid) && !is_digest_of(&o->local_uid, uid));
}
