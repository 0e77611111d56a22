/* SPDX-License-Identifier: Apache-2.0
 *
 * A new state from the principal: remembered before it is acted on.
 */
#include "sync/agent/agent_priv.h"

#include "schema/attributes.h"
#include "sync/object/merge.h"

#include <stdlib.h>
#include <string.h>

/* What the object's source will be when this is saved. */
static ab_err set_next(ab_agent_object *o, enum source source, const ab_received_state *received)
{
    o->next_source = source;
    o->next_remapped = received->remapped;
    o->next_orphan = received->orphan;
    o->next_approved = ab_agent_is_approved(received);
    o->next_hash = received->hash;
    o->next_principal = (ab_digest){0};
    ab_err e = ab_str_replace(&o->next_uid, received->uid);
    if (e == AB_ERR_OK)
        e = ab_str_replace(&o->next_hub_key, received->source);
    if (e == AB_ERR_OK && received->owner.len > 0)
        e = ab_digest_of(received->owner, &o->next_principal);
    return e;
}

static void save_next(ab_agent_object *o, ab_err e, const ab_received_state *received)
{
    if (e == AB_ERR_OK)
        ab_reconcile_save(&o->record, received);
    else
        ab_reconcile_fail(&o->record, e, NULL);
}

static void save(ab_agent_object *o, enum source source, const ab_received_state *received)
{
    save_next(o, set_next(o, source, received), received);
}

/* The names that the source's earlier desired states had, as far as they may still stand in the
 * local object. */
static void owned_before(ab_agent_object *o, ab_buf *out)
{
    const ab_received_state *old = o->record.row;
    ab_object *desired = NULL;
    ab_span *before = NULL;
    if (old == NULL || old->released ||
        (!old->ended && ab_object_parse(old->desired, &desired, NULL) != AB_ERR_OK))
        return;
    if (old->ended) { /* the next of its name may be written over what it left */
        ab_buf_put(out, old->owned);
        return;
    }
    bool differs = o->outdated || !ab_agent_is_up_to_date(o);
    if (differs && old->owned.len > 0 && ab_span_parse(old->owned, &before, NULL) != AB_ERR_OK)
        before = NULL;
    ab_merge_owned(desired, before == NULL ? (ab_spanv){0} : ab_span_root(before), out);
    ab_span_free(before);
    ab_object_unref(desired);
}

/* The principal gives it up: the object here stays. */
static void save_release(ab_agent_object *o, const ab_task *t)
{
    save(o, SOURCE_NONE, &(ab_received_state){.version = t->version, .released = true});
}

static void save_end(ab_agent_object *o, ab_task *t)
{
    ab_buf owned = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    owned_before(o, &owned);
    ab_received_state received = {.version = t->version,
                                  .ended = true,
                                  .orphan =
                                      ab_str_is(ab_event_attr(t->event, AB_CE_ORPHAN), "true"),
                                  .remapped = ab_agent_is_remapped(o->agent, t->event),
                                  .uid = ab_agent_source_uid(t->event),
                                  .owned = ab_buf_str(&owned),
                                  .source = ab_event_attr(t->event, AB_CE_PARTITIONKEY)};
    ab_err e = set_next(o, SOURCE_ENDED, &received);
    if (received.uid.len == 0 && o->record.row != NULL) /* it ends whatever is here; later, this */
        received.uid = o->record.row->uid;
    save_next(o, e, &received);
    ab_buf_fini(&owned);
}

static void save_desired(ab_agent_object *o, ab_task *t, const ab_object *desired)
{
    bool deleting = o->kind->reports && ab_object_deleting(desired);
    ab_buf owned = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    owned_before(o, &owned);
    ab_received_state received = {.version = t->version,
                                  .deleting = deleting,
                                  .orphan = deleting && !ab_app_deletes_resources(desired),
                                  .adoptable = t->type == AB_TYPE_CREATE,
                                  .remapped = ab_agent_is_remapped(o->agent, t->event),
                                  .uid = ab_source_uid(desired),
                                  .owner = ab_event_attr(t->event, AB_CE_PRINCIPALUID),
                                  .owned = ab_buf_str(&owned),
                                  .desired = ab_event_data(t->event),
                                  .source = ab_event_attr(t->event, AB_CE_PARTITIONKEY),
                                  .hash = ab_event_content_hash(t->event)};
    save(o, deleting ? SOURCE_DELETING : SOURCE_LIVE, &received);
    ab_buf_fini(&owned);
}

/* Takes the payload, if it is the object that the key names. */
static ab_err parse_desired(const ab_event *event, ab_object **out, ab_error *err)
{
    ab_object *desired;
    ab_err e = ab_object_parse(ab_event_data(event), &desired, err);
    if (e != AB_ERR_OK)
        return e;
    if (!ab_str_is(ab_event_attr(event, AB_CE_PARTITIONKEY), ab_object_key(desired)))
        e = ab_fail(err, AB_ERR_INVALID, "the object inside is %s", ab_object_key(desired));
    else if (!ab_kind_is_synchronised(desired))
        e = ab_fail(err, AB_ERR_INVALID, "this kind is not synchronised");
    if (e == AB_ERR_OK)
        *out = desired;
    else
        ab_object_unref(desired);
    return e;
}

/* Has it what may only come sealed in the clear? */
static bool is_unsealed(const ab_object *desired)
{
    return ab_span_typeof(ab_object_field(desired, "sealed")) != AB_SPAN_STRING ||
           ab_span_present(ab_object_field(desired, "data")) ||
           ab_span_present(ab_object_field(desired, "stringData"));
}

static void begin_desired(ab_agent_object *o, ab_task *t)
{
    ab_error err = {0};
    ab_object *desired;
    if (parse_desired(t->event, &desired, &err) != AB_ERR_OK) {
        ab_agent_refuse_head(o, "payload", &err);
        return;
    }
    if (o->kind->sealed && o->agent->env.policy.sealed_only && is_unsealed(desired)) {
        (void)ab_fail(&err, AB_ERR_DENIED,
                      "it is not sealed, and this agent accepts only sealed ones: check "
                      "secrets.protection on both sides");
        ab_agent_refuse_head(o, "unsealed", &err);
    } else {
        if (!o->allowed) /* saved all the same, for the day when it is */
            ab_agent_refuse_namespace(o, t->event);
        save_desired(o, t, desired);
    }
    ab_object_unref(desired);
}

/* It was saved, and is said again: so it is, whatever is here. */
static void confirm_restored(ab_agent_object *o, const ab_task *t)
{
    if (!o->restored || ab_version_cmp(t->version, o->version) != 0)
        return;
    o->restored = o->outdated = false;
    if (o->source == SOURCE_ENDED) {
        ab_err e = ab_str_replace(&o->uid, ab_agent_source_uid(t->event));
        (void)e; /* without memory for it, it is not known */
    }
    ab_agent_note_log_read(o);
}

void ab_agent_begin(ab_record *r, ab_task *t)
{
    ab_agent_object *o = (ab_agent_object *)r;
    if (!o->recalled) {
        ab_reconcile_load(r, NULL);
        return;
    }
    confirm_restored(o, t);
    if (!ab_reconcile_is_newer(r, o->version))
        return;
    if (t->type == AB_TYPE_RELEASE)
        save_release(o, t);
    else if (r->row == NULL && o->source != SOURCE_NONE)
        ab_reconcile_load(r, NULL); /* for owned_before */
    else if (t->type == AB_TYPE_DELETE || ab_event_data(t->event).ptr == NULL)
        save_end(o, t);
    else
        begin_desired(o, t);
}

static void take_effect(ab_agent_object *o)
{
    bool same = o->uid != NULL && o->next_uid != NULL && strcmp(o->uid, o->next_uid) == 0;
    if (!same || o->next_source != SOURCE_LIVE)
        ab_agent_forget_lost(o);
    ab_agent_drop_source(o);
    if (o->source == SOURCE_NONE) /* the principal may have refused what came meanwhile */
        ab_writer_repeat(o->agent->writer, ab_str_of(o->key));
    o->version = o->record.inbox.head->version;
    o->source = o->next_source;
    o->remapped = o->next_remapped;
    o->orphan = o->next_orphan;
    o->approved = o->next_approved;
    o->restored = ab_version_cmp(o->version, o->agent->gone) <= 0;
    o->outdated = false;
    free(o->uid);
    o->uid = o->next_uid;
    o->next_uid = NULL;
    ab_agent_add_source(o);
    free(o->hub_key);
    o->hub_key = o->next_hub_key;
    o->next_hub_key = NULL;
    o->hash = o->next_hash;
    if (o->source != SOURCE_NONE) /* what is no longer followed still has its annotations */
        o->principal = o->next_principal;
    o->reconciled = (ab_digest){0};
    o->report_due = o->kind->reports && ab_agent_has_source(o);
    o->report_waits = o->record.inbox.head->type == AB_TYPE_CREATE &&
                      !ab_writer_has_key(o->agent->writer, ab_str_of(o->key));
    o->record.rest_at = 0;
    o->record.inbox.failing_since = 0;
}

/* It came before what is here was seen, for which the name is reserved. What is kept of it is not
 * followed after a restart either. */
static bool came_too_early(const ab_agent_object *o)
{
    const ab_event *event = o->record.inbox.head->event;
    return ab_agent_is_reserved(o) &&
           !ab_agent_is_reserved_for(o, event, ab_agent_source_uid(event));
}

static void pass_over(ab_agent_object *o)
{
    o->version = o->record.inbox.head->version;
    if (o->next_source == SOURCE_LIVE || o->next_source == SOURCE_DELETING)
        ab_agent_note_conflict(o, o->next_remapped);
}

void ab_agent_saved(ab_record *r)
{
    ab_agent_object *o = (ab_agent_object *)r;
    if (came_too_early(o)) {
        pass_over(o);
        return;
    }
    take_effect(o);
    ab_agent_note_log_read(o);
    ab_agent_request_conflicting(o);
}
