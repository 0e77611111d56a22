/* SPDX-License-Identifier: Apache-2.0
 *
 * An Application of the hub: what it says goes down to its agent, what the agent reports comes into
 * its status.
 */
#include "sync/principal/app/app_priv.h"

#include "sync/principal/agent_records.h"
#include "sync/principal/deferral.h"
#include "sync/principal/lookup.h"
#include "sync/principal/request.h"
#include "sync/principal/route.h"
#include "sync/principal/sweep.h"

#include <stdlib.h>
#include <string.h>

static const ab_record_type app_type;

void ab_principal_app_fini(void *value)
{
    ab_principal_app *app = value;
    ab_record_fini(&app->record);
    ab_link_remove(&app->in_found);
    while (ab_principal_is_moving(app))
        ab_agent_records_leave(ab_principal_pop_former(app));
    ab_link_remove(&app->in_records);
    if (app->records != NULL) {
        ab_agent_records_count(app->records, &app->unfinished, false);
        ab_app_counts_set(&app->records->shown, &app->shown, NULL);
    }
    ab_agent_records_leave(app->records);
    ab_principal_forget_requests(app);
    free(app->error);
    free(app->newest);
    free(app->version);
    free(app->uid);
}

static void app_drop(ab_principal_app *app)
{
    ab_principal_app_fini(app);
    ab_map_drop(app->principal->apps, app);
}

static void app_init(ab_principal_app *app, ab_principal *p)
{
    app->principal = p;
    app->key = ab_map_at(app).key.ptr;
    ab_record_init(&app->record, &app_type, &p->reconciler, app->key);
    ab_link_init(&app->in_records);
    ab_link_init(&app->formers);
    ab_link_init(&app->in_found);
}

/* This agent's from now on. @return NULL when out of memory */
static ab_principal_app *app_of(ab_principal *p, ab_str key, ab_str agent)
{
    ab_principal_app *app = ab_map_make(p->apps, key, sizeof(*app));
    if (app == NULL)
        return NULL;
    if (app->principal == NULL)
        app_init(app, p);
    if (ab_principal_assign(app, agent) == AB_ERR_OK)
        return app;
    if (app->records == NULL)
        app_drop(app);
    return NULL;
}

/* --- facts --- */

static ab_err note_updated(ab_principal_app *app, const ab_object *object)
{
    char *uid = ab_str_dup(ab_object_uid(object));
    char *version = ab_str_dup(ab_object_version(object));
    if (uid == NULL || version == NULL) {
        free(uid);
        free(version);
        return AB_ERR_NOMEM;
    }
    ab_principal_app_note_status(app, object);
    bool other = app->uid != NULL && strcmp(app->uid, uid) != 0;
    if (other)
        ab_principal_forget_requests(app);
    if (other || (app->newest != NULL && strcmp(app->newest, version) == 0))
        ab_principal_app_forget_newest(app);
    free(app->uid);
    free(app->version);
    app->uid = uid;
    app->version = version;
    app->exists = app->record.changed_meanwhile = true;
    app->deleting = ab_object_deleting(object);
    app->has_status = ab_span_count(ab_object_field(object, "status")) > 0;
    ab_app_counts_set(&app->records->shown, &app->shown, object);
    ab_principal_note_requests(app, object);
    return AB_ERR_OK;
}

static void note_missing(ab_principal *p, const ab_object *object, bool orphan, bool observed)
{
    ab_principal_app *app = ab_principal_find(p, ab_str_of(ab_object_key(object)));
    if (app == NULL || !app->exists)
        return;
    bool requested = app->deleting; /* its user said so on the object */
    ab_app_counts_set(&app->records->shown, &app->shown, NULL);
    app->exists = app->deleting = app->requeued = false;
    app->record.changed_meanwhile = true;
    ab_principal_app_forget_newest(app);
    ab_principal_note_missing_app(app, orphan, requested, observed);
    ab_principal_finish_move(app);
    ab_principal_forget_requests(app);
    ab_reconcile_advance(&app->record);
}

/* In Kubernetes nothing goes while a finalizer of Argo CD holds it: somebody took it off, or it is
 * there, and only selected no more. */
void ab_principal_app_on_deleted(ab_principal *p, const ab_object *object, bool observed)
{
    note_missing(p, object, !p->env.store_stays || !ab_app_deletes_resources(object), observed);
}

/* Nothing else would bring what its agent said of it while it could not be read. */
static void make_up_for_dropped(const ab_principal_app *app)
{
    if (app->peer == NULL || !app->peer->resync.dropped)
        return;
    app->peer->resync.dropped = false;
    ab_resync_queue_again(&app->peer->resync.turn, "an Application can be read now");
}

void ab_principal_app_on_updated(ab_principal *p, ab_object *object)
{
    ab_str agent = ab_principal_route(p, object);
    if (agent.len == 0) {
        note_missing(p, object, true, true); /* it is there, and says itself that it is nobody's */
        return;
    }
    ab_principal_app *app = app_of(p, ab_str_of(ab_object_key(object)), agent);
    bool was_shown = app != NULL && app->exists;
    if (app == NULL || note_updated(app, object) != AB_ERR_OK) {
        AB_ERROR(p->env.log, SYNC, "out of memory", AB_KV("object", ab_object_key(object)));
        return;
    }
    ab_principal_app_state(app, object);
    bool busy = app->record.step != AB_STEP_IDLE || app->record.inbox.head != NULL;
    bool unmarked = !app->deleting && ab_requests_need_ids(ab_principal_requests(app));
    app->requeued = app->peer == NULL || (busy && unmarked);
    ab_principal_app_ask(app, object, !busy && app->peer != NULL);
    ab_reconcile_advance(&app->record);
    if (!was_shown && !p->synced) /* else it is new */
        make_up_for_dropped(app);
}

/* --- the engine's questions --- */

static ab_principal_app *app_of_record(ab_record *r)
{
    return (ab_principal_app *)r;
}

static void begin(ab_record *r, ab_task *head)
{
    ab_principal_app *app = app_of_record(r);
    app->written = app->cleared = false;
    head->begun = true;
}

static bool is_due(const ab_principal_app *app)
{
    return app->error_due || (app->requeued && ab_principal_is_open(app));
}

static bool is_as_desired(const ab_record *r)
{
    const ab_principal_app *app = (const ab_principal_app *)r;
    return ab_reconcile_head(r) == NULL && !(app->exists && is_due(app));
}

static bool reconcile(ab_record *r)
{
    ab_task *head = ab_reconcile_head(r);
    if (head != NULL)
        ab_principal_app_work(app_of_record(r), head);
    else
        ab_reconcile_get(r);
    return true;
}

static void got(ab_record *r, ab_object *hub)
{
    ab_principal_app *app = app_of_record(r);
    if (hub != NULL) {
        ab_principal_app_note_newest(app, hub);
        ab_principal_app_with(app, hub);
        return;
    }
    app->requeued = app->error_due = false;
    if (ab_reconcile_head(r) != NULL)
        ab_principal_app_without(app);
}

static void note_status_written(ab_principal_app *app)
{
    const ab_task *head = ab_reconcile_head(&app->record);
    app->error_due = false;
    if (head == NULL)
        return;
    bool reported = head->type == AB_TYPE_STATUS_UPDATE;
    if (reported)
        app->status_version = head->version;
    app->written = true;
    bool may_end_request = head->type == AB_TYPE_PROCESSED ||
                           (reported && ab_requests_are_any(ab_principal_requests(app)));
    if (!may_end_request)
        ab_reconcile_finish_head(&app->record);
}

static void wrote(ab_record *r, ab_step step, ab_object *hub)
{
    ab_principal_app *app = app_of_record(r);
    if (hub != NULL) {
        ab_principal_app_note_newest(app, hub);
        if (app->requests != NULL)
            ab_requests_note_written(app->requests, hub);
    }
    app->cleared = r->answering == FOR_CLEAR;
    if (step == AB_STEP_STATUS)
        note_status_written(app);
}

static bool refused(ab_record *r, ab_step step, ab_err code, const ab_error *err)
{
    ab_principal_app *app = app_of_record(r);
    (void)step;
    (void)err;
    app->outdated = app->outdated || ab_err_class_of(code) == AB_CLASS_STALE;
    return false;
}

static void look_again(ab_record *r)
{
    ab_principal_app *app = app_of_record(r);
    app->cleared = false;
    if (ab_reconcile_head(r) == NULL)
        app->requeued = app->exists;
}

static void count(ab_record *r)
{
    ab_principal_app *app = app_of_record(r);
    const ab_task *head = r->inbox.head;
    ab_agent_records_count(app->records, &app->unfinished, head != NULL && head->delivery != NULL);
}

static bool is_over(const ab_record *r)
{
    return !((const ab_principal_app *)r)->exists;
}

static void forget(ab_record *r)
{
    ab_principal_app *app = app_of_record(r);
    ab_principal_defer(app, DEFERRED_BY_AGENT, false);
    ab_principal_defer(app, DEFERRED_UNSENDABLE, false);
    app_drop(app);
}

static const ab_record_type app_type = {.begin = begin,
                                        .is_as_desired = is_as_desired,
                                        .reconcile = reconcile,
                                        .got = got,
                                        .wrote = wrote,
                                        .refused = refused,
                                        .look_again = look_again,
                                        .count = count,
                                        .is_over = is_over,
                                        .free = forget};
