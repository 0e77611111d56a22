/* SPDX-License-Identifier: Apache-2.0
 *
 * Bringing one object to what the principal wants, one step at a time.
 */
#include "sync/agent/agent_priv.h"

#include "schema/attributes.h"

static const ab_agent_effects *effects(const ab_agent_object *o)
{
    return &o->agent->env.effects;
}

bool ab_agent_is_refused(const ab_agent_object *o)
{
    return o->source == SOURCE_LIVE && !o->allowed;
}

bool ab_agent_is_up_to_date(const ab_agent_object *o)
{
    bool reconciled =
        !ab_digest_is_none(&o->reconciled) && ab_digest_eq(&o->reconciled, &o->digest);
    switch (o->source) {
    case SOURCE_NONE:
        return !o->was_managed || reconciled;
    case SOURCE_LIVE:
        return ab_agent_is_refused(o) || (o->exists && !o->deleting && reconciled);
    case SOURCE_DELETING:
        return o->exists && o->deleting;
    case SOURCE_ENDED:
        return o->exists ? o->deleting || reconciled : o->agent->listed;
    }
    return true;
}

void ab_agent_get(ab_agent_object *o)
{
    o->step = STEP_GET;
    o->changed_meanwhile = false;
    effects(o)->get(effects(o)->arg, ab_str_of(o->key), o);
}

void ab_agent_load(ab_agent_object *o, ab_object *local)
{
    o->step = STEP_LOAD;
    o->changed_meanwhile = false;
    if (local != NULL && o->snapshot == NULL) /* else the snapshot serves */
        o->after_load = ab_object_ref(local);
    effects(o)->load(effects(o)->arg, ab_str_of(o->key), o);
}

static void decide_ended(ab_agent_object *o, const ab_object *local)
{
    ab_str uid = ab_object_annotation(local, AB_ANN_SOURCE_UID);
    bool ours = uid.len > 0 && (o->uid == NULL || ab_str_is(uid, o->uid));
    if (ours)
        ab_agent_remove(o, ab_object_uid(local), false);
    else
        o->reconciled = o->digest;
}

/* The cascade is complete: from now on the object counts as deleted at the source. What is kept
 * does not say so, so that after a crash the principal is told again. */
static void end_cascade(ab_agent_object *o)
{
    if (ab_writer_is_ready(o->agent->writer) && ab_agent_confirm_gone(o) == AB_ERR_OK)
        o->source = SOURCE_ENDED;
}

static void decide_deleting(ab_agent_object *o, const ab_object *local)
{
    if (ab_object_annotation(local, AB_ANN_SOURCE_UID).len > 0) {
        ab_agent_remove(o, ab_object_uid(local), true);
        return;
    }
    o->reconciled = o->digest; /* not ours: ours is gone */
    end_cascade(o);
    if (o->source == SOURCE_DELETING)
        ab_inbox_back_off(&o->inbox, ab_clock_mono_ms(o->agent->env.clock));
}

/* It was the principal's while the agent was managed. */
static void decide_was_managed(ab_agent_object *o, const ab_object *local)
{
    ab_buf text;
    ab_buf_init(&text, AB_SPAN_SIZE_MAX);
    ab_err e = ab_agent_own(local, &text);
    if (e == AB_ERR_OK)
        ab_agent_write_text(o, &text, ab_object_version(local));
    else
        ab_agent_fail(o, e, NULL);
    ab_buf_wipe(&text);
}

void ab_agent_decide(ab_agent_object *o, ab_object *local)
{
    if (o->was_managed)
        decide_was_managed(o, local);
    if (o->was_managed || o->deleting)
        return;
    if (o->source == SOURCE_LIVE)
        ab_agent_apply_desired(o, local);
    else if (o->source == SOURCE_DELETING)
        decide_deleting(o, local);
    else if (o->source == SOURCE_ENDED)
        decide_ended(o, local);
}

/* A write on a snapshot that is no longer true is refused, and the object is read then. */
static void reconcile_local(ab_agent_object *o)
{
    ab_object *snapshot = ab_agent_snapshot(o);
    if (snapshot == NULL)
        ab_agent_get(o);
    else
        ab_agent_apply_desired(o, snapshot);
    ab_object_unref(snapshot);
}

void ab_agent_reconcile(ab_agent_object *o)
{
    if (!o->exists && !o->agent->listed)
        return; /* it may only not be listed yet */
    switch (o->source) {
    case SOURCE_NONE:
        ab_agent_get(o);
        return;
    case SOURCE_LIVE:
        if (o->deleting)
            ab_agent_await_change(o);
        else if (o->exists)
            reconcile_local(o);
        else
            ab_agent_apply_desired(o, NULL);
        return;
    case SOURCE_DELETING:
        if (o->exists)
            ab_agent_get(o);
        else
            end_cascade(o);
        return;
    case SOURCE_ENDED:
        ab_agent_get(o);
        return;
    }
}

/* --- answers --- */

static void got(ab_agent_object *o, ab_err code, ab_object *local, const ab_error *err)
{
    if (o->changed_meanwhile && (code == AB_ERR_OK || code == AB_ERR_NOTFOUND))
        return; /* which of the two is newer is not known: it is read again if need be */
    if (code == AB_ERR_NOTFOUND) {
        o->exists = o->was_managed = o->report_due = false;
        if (ab_agent_publishes(o))
            ab_agent_note_missing(o, false); /* the store is about to tell how it went */
        return;
    }
    if (code != AB_ERR_OK) {
        ab_agent_fail(o, code, err);
        return;
    }
    o->exists = true;
    o->deleting = ab_object_deleting(local);
    ab_agent_note_own(o, local);
    if (ab_desired_digest(local, &o->digest) != AB_ERR_OK)
        o->digest = (ab_digest){0};
    if (o->report_due)
        ab_agent_report_state(o, local);
    if (!ab_agent_is_up_to_date(o))
        ab_agent_decide(o, local);
}

static void applied(ab_agent_object *o, ab_err code, ab_object *object, const ab_error *err)
{
    if (code == AB_ERR_EXISTS)
        o->exists = true; /* the store knows it before we have seen it */
    if (code != AB_ERR_OK) {
        ab_agent_fail(o, code, err);
        return;
    }
    o->lost = false;
    ab_inbox_succeeded(&o->inbox);
    ab_agent_report_error(o, NULL);
    if (object == NULL || ab_desired_digest(object, &o->reconciled) != AB_ERR_OK) {
        o->reconciled = (ab_digest){0};
        return;
    }
    if (o->changed_meanwhile)
        return; /* what was seen may be newer than what we wrote */
    ab_agent_note_own(o, object);
    o->exists = true;
    o->deleting = ab_object_deleting(object);
    o->digest = o->reconciled;
    ab_agent_take_snapshot(o, object);
    if (o->report_due)
        ab_agent_report_state(o, object);
}

/* Whoever wrote to it meanwhile knows better what its status is. */
static void restored(ab_agent_object *o, ab_err code, const ab_object *object, const ab_error *err)
{
    if (code != AB_ERR_OK)
        AB_INFO(o->agent->env.log, SYNC, "its previous status was not restored",
                AB_KV("object", (const char *)o->key),
                AB_KV("why", err == NULL ? ab_err_text(code) : (const char *)err->text));
    else if (object != NULL && !o->changed_meanwhile)
        ab_agent_take_snapshot(o, object);
}

static void removed(ab_agent_object *o, ab_err code, const ab_error *err)
{
    if (code != AB_ERR_OK && code != AB_ERR_NOTFOUND) {
        ab_agent_fail(o, code, err);
        return;
    }
    ab_inbox_succeeded(&o->inbox);
    /* Deleted or being deleted: the store's change says which. Until then there is nothing to do.
     */
    o->removing = o->exists;
    if (!o->changed_meanwhile)
        o->deleting = o->exists;
}

void ab_agent_done(ab_agent_object *o, ab_err code, ab_object *object, const ab_error *err)
{
    enum step step = o->step;
    o->step = STEP_IDLE;
    switch (step) {
    case STEP_IDLE:
        break;
    case STEP_SAVE: /* by ab_agent_row_done */
    case STEP_LOAD:
        break;
    case STEP_GET:
        got(o, code, object, err);
        break;
    case STEP_APPLY:
        applied(o, code, object, err);
        if (code == AB_ERR_OK && object != NULL)
            ab_agent_restore_status(o, object);
        break;
    case STEP_RESTORE:
        restored(o, code, object, err);
        break;
    case STEP_REMOVE:
        removed(o, code, err);
        break;
    case STEP_COMMAND_GET:
        ab_agent_command_got(o, code, object, err);
        break;
    case STEP_COMMAND_WRITE:
        ab_agent_command_written(o, code, object, err);
        break;
    }
    ab_agent_advance(o);
}

static void loaded(ab_agent_object *o, ab_err code, const ab_error *err)
{
    ab_object *local = o->after_load;
    o->after_load = NULL;
    if (code != AB_ERR_OK) {
        ab_error why = err == NULL ? (ab_error){.code = code} : *err;
        ab_error_prefix(&why, "last received state");
        ab_agent_fail(o, code, &why);
    } else if (local != NULL && !o->changed_meanwhile && o->source == SOURCE_LIVE) {
        ab_agent_apply_desired(o, local);
    }
    ab_object_unref(local);
}

void ab_agent_row_done(ab_agent_object *o, ab_err code, const ab_received_state *row,
                       const ab_error *err)
{
    static const ab_received_state nothing = {.released = true};
    enum step step = o->step;
    o->step = STEP_IDLE;
    o->row = code == AB_ERR_NOTFOUND ? &nothing : row;
    if (step == STEP_SAVE)
        ab_agent_saved(o, code, err);
    else
        loaded(o, code == AB_ERR_NOTFOUND ? AB_ERR_OK : code, err);
    ab_agent_advance(o);
    o->row = NULL;
}
