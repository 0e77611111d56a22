/* SPDX-License-Identifier: Apache-2.0
 *
 * Bringing one object to what the principal wants, one step at a time.
 */
#include "sync/agent/agent_priv.h"

#include "schema/attributes.h"

static ab_agent_object *object_of(ab_record *r)
{
    return (ab_agent_object *)r;
}

static void decide_ended(ab_agent_object *o, const ab_object *local)
{
    ab_str uid = ab_object_annotation(local, AB_ANN_SOURCE_UID);
    bool ours = uid.len > 0 && (o->uid == NULL || ab_str_is(uid, o->uid));
    if (!ours)
        o->reconciled = o->digest;
    else if (!o->orphan || !ab_agent_set_cascade(o, local, (ab_spanv){0}))
        ab_agent_remove(o, local, false);
}

/* The cascade is complete: from now on the object counts as deleted at the source. What is kept
 * does not say so, so that after a crash the principal is told again. */
static void end_cascade(ab_agent_object *o)
{
    if (!ab_writer_is_ready(o->agent->writer) || ab_agent_confirm_gone(o) != AB_ERR_OK)
        return;
    ab_agent_drop_source(o);
    o->source = SOURCE_ENDED;
}

/* A user approves the deletion at the principal. Argo CD asks whether that was after the deletion
 * here, which may have begun later, and by another clock. */
static void pass_approval(ab_agent_object *o, const ab_object *local)
{
    bool ours = o->uid != NULL && ab_str_is(ab_object_annotation(local, AB_ANN_SOURCE_UID), o->uid);
    ab_str deleted = ab_span_plain(ab_object_meta(local, "deletionTimestamp"));
    if (!ours || ab_app_is_deletion_approved(local)) {
        o->reconciled = o->digest;
        return;
    }
    ab_reconcile_edit(&o->record, local,
                      &(ab_app_edit){.annotations = {{AB_ANN_DELETION_APPROVED, deleted}},
                                     .annotation_count = 1});
}

/* Whether what it deployed goes, and how, is said at the principal just before the deletion, which
 * overtakes that. */
static void begin_cascade(ab_agent_object *o, ab_object *local)
{
    ab_object *desired;
    if (!ab_reconcile_received(&o->record, local, &desired))
        return;
    if (!ab_agent_set_cascade(o, local, ab_object_meta(desired, "finalizers")))
        ab_agent_remove(o, local, true);
    ab_object_unref(desired);
}

static void decide_deleting(ab_agent_object *o, ab_object *local)
{
    if (o->deleting) {
        pass_approval(o, local);
        return;
    }
    if (ab_object_annotation(local, AB_ANN_SOURCE_UID).len > 0) {
        begin_cascade(o, local);
        return;
    }
    o->reconciled = o->digest; /* not ours: ours is gone */
    end_cascade(o);
    if (o->source == SOURCE_DELETING)
        ab_reconcile_wait(&o->record);
}

/* It was the principal's while the agent was managed, or is a copy of what is. */
static void decide_was_managed(ab_agent_object *o, const ab_object *local)
{
    bool copied = !ab_agent_is_autonomous(o->agent);
    if (copied)
        AB_WARN(o->agent->env.log, SYNC,
                "object is a copy that a user made: removing the annotations of the original",
                AB_KV("object", o->key));
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = ab_agent_own(local, copied, &text);
    if (e == AB_ERR_OK)
        ab_reconcile_apply_text(&o->record, &text, ab_object_version(local));
    else
        ab_reconcile_fail(&o->record, e, NULL);
    ab_buf_wipe(&text);
}

void ab_agent_decide(ab_agent_object *o, ab_object *local)
{
    if (!o->recalled) {
        ab_reconcile_load(&o->record, NULL);
        return;
    }
    if (o->was_managed)
        decide_was_managed(o, local);
    bool waits = o->deleting && o->source != SOURCE_DELETING;
    if (o->was_managed || waits || ab_agent_is_outdated(o, local))
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
        ab_reconcile_get(&o->record);
    else
        ab_agent_apply_desired(o, snapshot);
    ab_object_unref(snapshot);
}

static void step_towards_live(ab_agent_object *o)
{
    if (o->deleting)
        ab_reconcile_await_change(&o->record, "deletion is stuck: check the object's finalizers");
    else if (o->exists)
        reconcile_local(o);
    else
        ab_agent_apply_desired(o, NULL);
}

/* What is not here may only not be listed yet. */
static bool is_known(const ab_agent_object *o)
{
    return o->exists || o->agent->listed;
}

static bool reconcile(ab_record *r)
{
    ab_agent_object *o = object_of(r);
    if (!is_known(o))
        return false;
    if (o->source == SOURCE_LIVE)
        step_towards_live(o);
    else if (o->source == SOURCE_DELETING && !o->exists)
        end_cascade(o);
    else
        ab_reconcile_get(r);
    return ab_agent_is_up_to_date(o);
}

static bool is_as_desired(const ab_record *r)
{
    return ab_agent_is_up_to_date((const ab_agent_object *)r);
}

static bool execute(ab_record *r)
{
    ab_agent_object *o = object_of(r);
    if (o->agent->replaying) { /* who asks for it still says so again in the resync that follows */
        ab_reconcile_finish_head(r);
        return true;
    }
    return ab_writer_is_ready(o->agent->writer) && is_known(o) && ab_agent_command(o);
}

static void rest(ab_record *r)
{
    const ab_agent_object *o = object_of(r);
    if (o->report_due && o->exists && ab_writer_is_ready(o->agent->writer))
        ab_reconcile_get(r);
}

static void finished(ab_record *r)
{
    ab_agent_object *o = object_of(r);
    if (!ab_agent_is_refused(o))
        ab_agent_report_error(o, NULL);
}

/* --- answers --- */

static void note_gone(ab_agent_object *o)
{
    o->exists = o->was_managed = o->report_due = false;
    if (ab_agent_publishes(o))
        ab_agent_note_missing(o, false); /* the store is about to tell how it went */
}

static void got(ab_record *r, ab_object *local)
{
    ab_agent_object *o = object_of(r);
    if (r->answering == FOR_COMMAND) {
        ab_agent_command_got(o, local);
        return;
    }
    if (local == NULL) {
        note_gone(o);
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

static void note_applied(ab_agent_object *o, ab_object *object)
{
    o->lost = false;
    ab_agent_report_error(o, NULL);
    if (object == NULL || ab_desired_digest(object, &o->reconciled) != AB_ERR_OK) {
        o->reconciled = (ab_digest){0};
        return;
    }
    if (o->record.changed_meanwhile)
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
static void note_restored(ab_agent_object *o, const ab_object *object)
{
    if (object != NULL && !o->record.changed_meanwhile)
        ab_agent_take_snapshot(o, object);
}

/* Deleted or being deleted: the store's change says which. Until then there is nothing to do. */
static void note_removed(ab_agent_object *o)
{
    o->removing = o->exists;
    if (!o->record.changed_meanwhile)
        o->deleting = o->exists;
}

static void wrote(ab_record *r, ab_step step, ab_object *object)
{
    ab_agent_object *o = object_of(r);
    if (r->answering == FOR_COMMAND) {
        ab_agent_command_written(o, step, object);
    } else if (r->answering == FOR_STATUS) {
        note_restored(o, object);
    } else if (step == AB_STEP_REMOVE) {
        note_removed(o);
    } else {
        note_applied(o, object);
        if (r->answering == FOR_REMOVAL)
            o->reconciled = (ab_digest){0};
        if (object != NULL)
            ab_agent_restore_status(o, object);
    }
}

static void reverted(const ab_record *r, const char *change)
{
    AB_INFO(r->reconciler->log, SYNC, "local change reverted", AB_KV("object", r->key),
            AB_KV("change", change));
}

static bool refused(ab_record *r, ab_step step, ab_err code, const ab_error *err)
{
    ab_agent_object *o = object_of(r);
    if (r->answering == FOR_COMMAND)
        return ab_agent_command_refused(o, code, err);
    if (r->answering == FOR_STATUS)
        AB_INFO(o->agent->env.log, SYNC, "cannot restore the previous status",
                AB_KV("object", o->key),
                AB_KV("why", err == NULL ? ab_err_text(code) : (const char *)err->text));
    else if (step == AB_STEP_APPLY && code == AB_ERR_EXISTS)
        o->exists = true; /* the store knows it before we have seen it */
    return r->answering == FOR_STATUS;
}

static void loaded(ab_record *r, ab_object *local)
{
    ab_agent_object *o = object_of(r);
    ab_err e = o->recalled ? AB_ERR_OK : ab_agent_recall(o, r->row);
    if (e != AB_ERR_OK)
        ab_reconcile_fail(r, e, NULL);
    else if (local != NULL)
        ab_agent_decide(o, local);
}

static void look_again(ab_record *r)
{
    ab_agent_object *o = object_of(r);
    o->reconciled = (ab_digest){0};
    ab_agent_drop_snapshot(o);
}

static void deferred(ab_record *r, const ab_error *err)
{
    ab_agent_object *o = object_of(r);
    const ab_task *head = r->inbox.head;
    ab_agent_report_error(o, err);
    if (head != NULL && ab_task_is_command(head->type))
        ab_agent_command_answer(o, err->text);
}

/* A state may wait behind a command, too. */
static bool has_unsaved(const ab_record *r)
{
    const ab_task *t = r->inbox.head;
    while (t != NULL && (ab_task_is_command(t->type) || (t->begun && r->step != AB_STEP_SAVE)))
        t = t->next;
    return t != NULL;
}

static void count(ab_record *r)
{
    ab_agent_object *o = object_of(r);
    ab_agent *a = o->agent;
    const ab_task *head = r->inbox.head;
    bool out_of_date = head != NULL || !ab_agent_is_up_to_date(o) || (a->replaying && o->owed);
    bool unsaved = has_unsaved(r);
    a->out_of_date += (size_t)out_of_date - (size_t)o->out_of_date;
    a->unsaved += (size_t)unsaved - (size_t)o->unsaved;
    if (out_of_date != o->out_of_date)
        ab_metric_set(a->metrics.out_of_date, (double)a->out_of_date);
    o->out_of_date = out_of_date;
    o->unsaved = unsaved;
    ab_agent_note_read(o);
    ab_resync_go(&a->resync.engine);
}

static bool is_over(const ab_record *r)
{
    return ab_agent_is_over((const ab_agent_object *)r);
}

static void forget(ab_record *r)
{
    ab_agent_forget(object_of(r));
}

const ab_record_type ab_agent_object_type = {.begin = ab_agent_begin,
                                             .finished = finished,
                                             .is_as_desired = is_as_desired,
                                             .reconcile = reconcile,
                                             .execute = execute,
                                             .rest = rest,
                                             .got = got,
                                             .wrote = wrote,
                                             .reverted = reverted,
                                             .refused = refused,
                                             .saved = ab_agent_saved,
                                             .loaded = loaded,
                                             .look_again = look_again,
                                             .deferred = deferred,
                                             .count = count,
                                             .is_over = is_over,
                                             .free = forget};
