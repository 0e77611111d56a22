/* SPDX-License-Identifier: Apache-2.0
 *
 * Records are made here, and answers come in here.
 */
#include "sync/reconcile/trace_priv.h"

static ab_metric *counter(ab_metrics *m, const char *name, const char *help)
{
    return ab_metric_get(m, AB_METRIC_COUNTER, name, help, NULL, 0);
}

void ab_reconciler_init(ab_reconciler *r, const ab_effects *effects, const ab_clock *clock,
                        ab_log *log, ab_metrics *metrics, int64_t defer_after_ms,
                        ab_direction direction)
{
    ab_label label = {"direction", ab_str_of(direction == AB_DOWN ? "down" : "up")};
    *r = (ab_reconciler){
        .effects = effects, .clock = clock, .log = log, .defer_after_ms = defer_after_ms};
    ab_link_init(&r->due);
    r->metrics.writes =
        counter(metrics, "argobus_store_writes_total", "Writes sent to the local store.");
    r->metrics.deferred =
        counter(metrics, "argobus_set_aside_total",
                "Events whose object cannot be written at the moment; it is retried later.");
    r->metrics.stale =
        counter(metrics, "argobus_events_stale_total", "Events older than the state in effect.");
    r->metrics.reverts = counter(metrics, "argobus_reverts_total",
                                 "Local changes and deletions that were reverted.");
    r->metrics.latency = ab_metric_get(
        metrics, AB_METRIC_HISTOGRAM, "argobus_change_latency_seconds",
        "Time from the moment a sender queued a change until the receiver had written it.", &label,
        1);
}

/* --- answers of the store --- */

static void got(ab_record *r, ab_err code, ab_object *object, const ab_error *err)
{
    bool known = code == AB_ERR_OK || code == AB_ERR_NOTFOUND;
    if (known && r->changed_meanwhile)
        return; /* which of the two is newer is not known: it is read again if need be */
    if (known)
        r->type->got(r, code == AB_ERR_OK ? object : NULL);
    else
        ab_reconcile_fail(r, code, err);
}

static void end_revert(ab_record *r)
{
    const char *change = r->reverting;
    r->reverting = NULL;
    if (change == NULL)
        return;
    ab_metric_add(r->reconciler->metrics.reverts, 1);
    r->type->reverted(r, change);
}

static void wrote(ab_record *r, ab_step step, ab_err code, ab_object *object, const ab_error *err)
{
    ab_reconcile_trace_answered(r);
    bool gone = step == AB_STEP_REMOVE && code == AB_ERR_NOTFOUND;
    if (code == AB_ERR_OK || gone) {
        ab_task *head = ab_reconcile_head(r);
        ab_reconcile_succeeded(r);
        if (head != NULL)
            head->wrote = true;
        if (step == AB_STEP_APPLY)
            end_revert(r);
        if (r->type->wrote != NULL)
            r->type->wrote(r, step, object);
    } else if (r->type->refused == NULL || !r->type->refused(r, step, code, err)) {
        ab_reconcile_fail(r, code, err);
    }
}

/* @return what was awaited */
static ab_step end_step(ab_record *r)
{
    ab_step step = r->step;
    r->step = AB_STEP_IDLE;
    r->answering = r->purpose;
    r->purpose = 0;
    return step;
}

static void done(ab_asker *asker, ab_err code, ab_object *object, const ab_error *err)
{
    ab_record *r = (ab_record *)asker;
    ab_step step = end_step(r);
    if (r->is_abandoned) {
        r->is_abandoned = false;
        r->type->look_again(r);
    } else if (step == AB_STEP_GET) {
        got(r, code, object, err);
    } else {
        wrote(r, step, code, object, err);
    }
    ab_reconcile_advance(r);
}

/* --- answers of the state database --- */

static void saved(ab_record *r, ab_err code, const ab_error *err)
{
    if (code == AB_ERR_OK) {
        r->type->saved(r);
        return;
    }
    if (r->inbox.head != NULL)
        r->inbox.head->begun = false;
    ab_reconcile_fail(r, code, err);
}

static void loaded(ab_record *r, ab_err code, const ab_error *err)
{
    ab_object *object = r->after_load;
    r->after_load = NULL;
    if (code == AB_ERR_OK) {
        r->type->loaded(r, r->changed_meanwhile ? NULL : object);
    } else {
        ab_error why = err == NULL ? (ab_error){.code = code} : *err;
        ab_error_prefix(&why, "last received state");
        ab_reconcile_fail(r, code, &why);
    }
    ab_object_unref(object);
}

static void row_done(ab_asker *asker, ab_err code, const ab_received_state *row,
                     const ab_error *err)
{
    static const ab_received_state nothing = {.released = true};
    ab_record *r = (ab_record *)asker;
    ab_step step = end_step(r);
    bool none = step == AB_STEP_LOAD && code == AB_ERR_NOTFOUND;
    r->row = none ? &nothing : row;
    if (step == AB_STEP_SAVE)
        saved(r, code, err);
    else
        loaded(r, none ? AB_ERR_OK : code, err);
    ab_reconcile_advance(r);
    r->row = NULL;
}

/* --- records --- */

void ab_record_init(ab_record *r, const ab_record_type *type, ab_reconciler *reconciler,
                    const char *key)
{
    *r = (ab_record){.asker = {.done = done, .row_done = row_done},
                     .type = type,
                     .reconciler = reconciler,
                     .key = key};
    ab_inbox_init(&r->inbox);
    ab_link_init(&r->in_due);
}

void ab_record_fini(ab_record *r)
{
    ab_inbox_fini(&r->inbox);
    ab_link_remove(&r->in_due);
    ab_object_unref(r->after_load);
}
