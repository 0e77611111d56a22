/* SPDX-License-Identifier: Apache-2.0
 *
 * Mirrors: what stands at the hub for the objects of autonomous agents. What was published is kept
 * durably before it is acted on; from it the mirror is made, changed, and brought back when
 * somebody else changes or deletes it.
 */
#include "sync/principal/mirror/mirror_priv.h"

#include "schema/attributes.h"
#include "sync/object/mirror.h"
#include "sync/principal/agent_records.h"
#include "sync/principal/mirror/owner.h"
#include "sync/principal/sweep.h"

#include <stdlib.h>

/* --- steps --- */

/* Its agent is not served, and nothing is here for it. If the agent comes again it is asked for
 * all that it has, so that what it published once need not be kept for ever. */
static bool is_left(const struct mirror *m)
{
    bool absent = m->principal->listed && m->known && !m->exists;
    return absent && m->records->peer == NULL && m->source == MIRROR_LIVE;
}

static bool is_up_to_date(const struct mirror *m)
{
    if (ab_mirror_is_handed_over(m))
        return false;
    if (ab_mirror_peer(m) == NULL)
        return !is_left(m);
    if (!m->recalled)
        return false;
    if (!ab_mirror_has_name(m))
        return m->known && (!m->exists || m->up_to_date);
    if (m->source == MIRROR_NONE)
        return true;
    if (m->source == MIRROR_ENDED)
        return m->known && (!m->exists || m->up_to_date);
    return m->exists && m->up_to_date;
}

/* --- facts --- */

/* Learn the object here. */
static void note(struct mirror *m, const ab_object *hub)
{
    ab_digest digest, status;
    bool readable = ab_mirror_digest(hub, &digest) == AB_ERR_OK &&
                    ab_span_digest(ab_object_field(hub, "status"), &status) == AB_ERR_OK;
    bool same = readable && m->exists && ab_digest_eq(&digest, &m->hub) &&
                ab_digest_eq(&status, &m->hub_status) && m->deleting == ab_object_deleting(hub);
    bool appears = !m->exists;
    if (!same)
        m->up_to_date = false;
    m->known = m->exists = true;
    m->is_mirror = ab_str_is(ab_mirror_owner(hub), m->agent);
    bool counts = m->is_mirror && m->kind == &ab_kind_application;
    ab_app_counts_set(&m->records->shown, &m->shown, counts ? hub : NULL);
    m->deleting = ab_object_deleting(hub);
    m->stamp = ab_mirror_stamp(m, hub);
    m->hub = readable ? digest : (ab_digest){0};
    m->hub_status = readable ? status : (ab_digest){0};
    if (appears)
        ab_mirror_project_changed(m->principal, ab_str_of(m->key));
}

/* A change that is told late may show a request that is over: what is asked for is read. */
static bool asks(const ab_object *hub)
{
    struct requests r = {0};
    ab_requests_note(&r, hub);
    return ab_requests_are_any(&r);
}

/* A mirror of which nothing is known may be one to hand over. */
static struct mirror *updated_mirror(ab_principal *p, const ab_object *object)
{
    ab_str key = ab_str_of(ab_object_key(object));
    ab_str owner = ab_mirror_owner(object);
    struct mirror *m = ab_map_find(p->mirrors, key);
    return m != NULL || owner.len == 0 ? m : ab_mirror_for(p, key, owner);
}

/* Nothing is done about it, but for its user it may look like a mirror. */
static void note_copy(const ab_principal *p, const ab_object *object, bool exists)
{
    ab_str key = ab_str_of(ab_object_key(object));
    bool noted = ab_map_find(p->copies, key) != NULL;
    if (noted == (exists && ab_mirror_is_renamed_copy(object)))
        return;
    if (noted) {
        (void)ab_map_take(p->copies, key);
        return;
    }
    AB_WARN(p->env.log, SYNC,
            "object is a copy that a user made of a mirror: it belongs to the control plane, and "
            "follows no agent",
            AB_KV("object", ab_object_key(object)),
            AB_KV("copy_of", ab_object_annotation(object, AB_ANN_NAME)));
    if (ab_map_put(p->copies, key, p->copies, NULL) != AB_ERR_OK)
        AB_ERROR(p->env.log, SYNC, "out of memory", AB_KV("object", ab_object_key(object)));
}

void ab_mirror_on_updated(ab_principal *p, ab_object *object)
{
    struct mirror *m = updated_mirror(p, object);
    note_copy(p, object, true);
    ab_mirror_note_own_project(p, object, true);
    if (m == NULL)
        return;
    m->record.changed_meanwhile = true;
    note(m, object);
    bool idle = m->record.inbox.head == NULL && ab_reconcile_may_advance(&m->record);
    if (idle && !is_up_to_date(m) && !asks(object))
        ab_mirror_decide(m, object);
    ab_reconcile_advance(&m->record);
}

/* No object exists here. What was to become the hub's own, and counted as that already, is missed
 * as such. */
static void note_absent(struct mirror *m, bool observed)
{
    bool was_own = ab_mirror_is_of_managed(m) && m->exists && m->is_mirror;
    m->exists = m->deleting = m->up_to_date = m->is_mirror = false;
    ab_app_counts_set(&m->records->shown, &m->shown, NULL);
    ab_mirror_set_conflict(m, m->source == MIRROR_LIVE && !ab_mirror_has_name(m));
    ab_mirror_project_changed(m->principal, ab_str_of(m->key));
    if (was_own)
        ab_principal_note_missing(m->principal, m->kind->shared ? NULL : m->records,
                                  ab_str_of(m->key), !m->principal->env.store_stays, observed);
}

void ab_mirror_on_deleted(ab_principal *p, const ab_object *object, bool observed)
{
    struct mirror *m = ab_map_find(p->mirrors, ab_str_of(ab_object_key(object)));
    note_copy(p, object, false);
    ab_mirror_note_own_project(p, object, false);
    if (m == NULL)
        return;
    m->record.changed_meanwhile = true;
    note_absent(m, observed);
    if (m->records->peer == NULL)
        ab_mirror_name_freed(m);
    m->requests = (struct requests){0};
    m->record.inbox.retry_at = 0;
    ab_reconcile_advance(&m->record);
}

static void requeue(struct mirror *m)
{
    if (ab_requests_are_any(&m->requests))
        m->up_to_date = false;
    ab_reconcile_advance(&m->record);
}

void ab_mirror_requeue_agent(const struct agent_records *r)
{
    for (ab_list_iter i = ab_list_first(&r->mirrors); i.link != NULL; ab_list_next(&i))
        requeue(AB_LINK_OF(i.link, struct mirror, in_records));
}

void ab_mirror_requeue_all(ab_principal *p)
{
    for (ab_map_iter i = ab_map_first(p->mirrors); i.entry != NULL; ab_map_next(&i))
        requeue(i.value);
}

/* --- the engine's questions --- */

static struct mirror *mirror_of(ab_record *r)
{
    return (struct mirror *)r;
}

static void begin(ab_record *r, ab_task *head)
{
    struct mirror *m = mirror_of(r);
    if (ab_mirror_peer(m) == NULL) /* said in another mode, or it is served no more */
        ab_reconcile_finish_head(r);
    else if (!m->recalled)
        ab_reconcile_load(r, NULL);
    else
        ab_mirror_begin(m, head);
}

static bool is_as_desired(const ab_record *r)
{
    return is_up_to_date((const struct mirror *)r);
}

static bool reconcile(ab_record *r)
{
    struct mirror *m = mirror_of(r);
    if (is_left(m))
        ab_mirror_release(m);
    else if (!m->recalled)
        ab_reconcile_load(r, NULL);
    else if (!m->exists && m->known)
        ab_mirror_create(m);
    else
        ab_reconcile_get(r);
    return is_up_to_date(m);
}

static void got(ab_record *r, ab_object *hub)
{
    struct mirror *m = mirror_of(r);
    if (hub == NULL) {
        note_absent(m, false);
        m->known = true;
        return;
    }
    note(m, hub);
    if (!is_up_to_date(m))
        ab_mirror_decide(m, hub);
}

/* What was written now stands as the store has made it. */
static void note_written(struct mirror *m, ab_step step, ab_object *hub)
{
    ab_digest digest = {0};
    ab_err e = m->source == MIRROR_NONE ? AB_ERR_OK : ab_str_replace(&m->made, ab_object_uid(hub));
    if (e == AB_ERR_OK)
        e = step == AB_STEP_APPLY ? ab_mirror_digest(hub, &digest)
                                  : ab_span_digest(ab_object_field(hub, "status"), &digest);
    if (e != AB_ERR_OK) {
        ab_reconcile_fail(&m->record, e, NULL);
        return;
    }
    *(step == AB_STEP_APPLY ? &m->applied : &m->applied_status) = digest;
    if (m->record.changed_meanwhile)
        return; /* what was seen may be newer than what we wrote */
    note(m, hub);
    ab_mirror_decide(m, hub);
}

static void wrote(ab_record *r, ab_step step, ab_object *hub)
{
    struct mirror *m = mirror_of(r);
    if (step != AB_STEP_REMOVE && hub != NULL) /* else its last finalizer went, and it is gone */
        note_written(m, step, hub);
    else if (step == AB_STEP_REMOVE && !r->changed_meanwhile)
        m->up_to_date = true; /* deleted or being deleted: the store's change says which */
}

static void reverted(const ab_record *r, const char *change)
{
    AB_INFO(r->reconciler->log, SYNC, change, AB_KV("agent", ((const struct mirror *)r)->agent),
            AB_KV("object", r->key));
}

/* The store knows another truth than we: it will tell, or is asked. */
static bool refused(ab_record *r, ab_step step, ab_err code, const ab_error *err)
{
    struct mirror *m = mirror_of(r);
    bool outdated = code == AB_ERR_EXISTS || (code == AB_ERR_NOTFOUND && m->exists);
    (void)err;
    if (step != AB_STEP_REMOVE && outdated && !r->changed_meanwhile)
        m->exists = code == AB_ERR_EXISTS;
    return false;
}

static void note_released(struct mirror *m)
{
    m->source = MIRROR_NONE;
    free(m->made);
    m->made = NULL;
}

static void saved(ab_record *r)
{
    if (r->answering == FOR_RELEASE)
        note_released(mirror_of(r));
    else
        ab_mirror_take_effect(mirror_of(r));
}

static void loaded(ab_record *r, ab_object *hub)
{
    struct mirror *m = mirror_of(r);
    ab_err e = m->recalled ? AB_ERR_OK : ab_mirror_recall(m, r->row);
    if (e != AB_ERR_OK)
        ab_reconcile_fail(r, e, NULL);
    else if (hub != NULL && !is_up_to_date(m))
        ab_mirror_decide(m, hub);
}

static void look_again(ab_record *r)
{
    mirror_of(r)->up_to_date = false;
}

static void count(ab_record *r)
{
    struct mirror *m = mirror_of(r);
    ab_agent_records_count(m->records, &m->unfinished, !ab_mirror_is_done(m));
}

static bool is_over(const ab_record *r)
{
    return ab_mirror_is_over((const struct mirror *)r);
}

static void forget(ab_record *r)
{
    ab_mirror_set_conflict(mirror_of(r), false);
    ab_mirror_forget(mirror_of(r));
}

const ab_record_type ab_mirror_type = {.begin = begin,
                                       .is_as_desired = is_as_desired,
                                       .reconcile = reconcile,
                                       .got = got,
                                       .wrote = wrote,
                                       .reverted = reverted,
                                       .refused = refused,
                                       .saved = saved,
                                       .loaded = loaded,
                                       .look_again = look_again,
                                       .count = count,
                                       .is_over = is_over,
                                       .free = forget};
