/* SPDX-License-Identifier: Apache-2.0
 *
 * What comes from an agent: status, confirmed deletions, errors, answers to commands.
 */
#include "sync/principal/app/app_priv.h"

#include "schema/attributes.h"
#include "sync/feedback.h"
#include "sync/principal/deferral.h"
#include "sync/principal/inbound.h"
#include "sync/principal/lookup.h"
#include "sync/principal/request.h"
#include "sync/principal/route.h"

#include <stdlib.h>
#include <string.h>

/* --- the head task --- */

static bool has_data(const ab_task *t)
{
    return ab_event_data(t->event).ptr != NULL;
}

static ab_span *parse(const ab_task *t)
{
    ab_span *doc = NULL;
    return ab_span_parse(ab_event_data(t->event), &doc, NULL) == AB_ERR_OK ? doc : NULL;
}

static void clear_requests(ab_principal_app *app, const ab_object *hub, struct finished done)
{
    static const char *const of_refresh[] = {AB_ANN_REFRESH_ID, AB_ANN_REFRESH, AB_ANN_WITH_REFRESH,
                                             NULL};
    ab_app_edit edit = {.drop_operation = done.operation};
    if (done.operation)
        edit.annotations[edit.annotation_count++].name = AB_ANN_OPERATION_ID;
    for (const char *const *n = of_refresh; done.refresh && *n != NULL; n++)
        edit.annotations[edit.annotation_count++].name = *n;
    app->record.purpose = FOR_CLEAR;
    ab_reconcile_edit(&app->record, hub, &edit);
}

static void write_status(ab_principal_app *app, ab_str status, ab_str stamp)
{
    /* Another principal may have written a newer status, which the store has not told yet. */
    const ab_precondition must_be = {ab_str_of(app->uid), ab_principal_app_newest(app)};
    ab_reconcile_patch_status(&app->record, status, stamp, &must_be);
}

/* `status` with the error that stands, if one does. */
static void write_status_and_error(ab_principal_app *app, ab_spanv status, ab_str message,
                                   ab_str stamp)
{
    char time[AB_TIME_TEXT];
    ab_time_format_seconds(ab_clock_wall_us(app->principal->env.clock), time);
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = ab_app_status_with_error(status, message, ab_str_of(time), &text);
    if (e == AB_ERR_OK)
        write_status(app, ab_buf_str(&text), stamp);
    else
        ab_reconcile_fail(&app->record, e, NULL);
    ab_buf_fini(&text);
}

static struct finished finished_by(const ab_principal_app *app, ab_spanv report)
{
    return ab_requests_finished(ab_principal_requests(app), app->record.inbox.head->version,
                                report);
}

/* How the report is stamped on the object: with its hash, unless it has no status to be compared.
 */
static void format_stamp(const ab_principal_app *app, ab_spanv status, char out[AB_STAMP_TEXT])
{
    const ab_task *t = app->record.inbox.head;
    ab_stamp stamp = {.version = t->version, .agent = ab_str_of(app->agent)};
    if (ab_span_count(status) > 0)
        stamp.hash = ab_event_content_hash(t->event);
    ab_stamp_format(&stamp, out);
}

/* The object is stamped with this very report: an agent that has no log to read back says
 * everything again at its start. */
static bool is_sent_again(const ab_principal_app *app)
{
    ab_digest hash = ab_event_content_hash(app->record.inbox.head->event);
    return !ab_digest_is_none(&app->status_hash) && ab_digest_eq(&hash, &app->status_hash);
}

/* The status is written before a request is taken off: whoever waits for the end of a sync or
 * refresh takes the status that stands then for its result. */
static void take_report(ab_principal_app *app, ab_spanv report)
{
    char stamp[AB_STAMP_TEXT];
    ab_spanv status = ab_span_get(report, "status");
    bool former = !ab_span_is(
        ab_span_path(report, "metadata", "annotations", AB_ANN_SOURCE_UID, NULL), app->uid);
    bool nothing =
        !ab_span_present(status) && !app->has_status && ab_version_is_none(app->status_version);
    struct finished done = finished_by(app, report);
    bool ends = !app->cleared && (done.operation || done.refresh);
    app->written = app->written || nothing;
    if (former || (app->written && !ends)) { /* former: of an object that was here before */
        ab_reconcile_finish_head(&app->record);
        return;
    }
    if (app->written || (!app->cleared && is_sent_again(app))) {
        ab_reconcile_get(&app->record);
        return;
    }
    format_stamp(app, status, stamp);
    if (app->error != NULL)
        write_status_and_error(app, status, ab_str_of(app->error), ab_str_of(stamp));
    else
        write_status(app, ab_span_present(status) ? ab_span_raw(status) : AB_STR("{}"),
                     ab_str_of(stamp));
}

static bool is_stale(const ab_principal_app *app, const ab_task *t)
{
    return !app->written && ab_version_cmp(t->version, app->status_version) <= 0;
}

/* Of what the agent had before the status that the hub shows. */
static bool is_old_end(const ab_principal_app *app, const ab_task *t)
{
    return t->type == AB_TYPE_DELETE && ab_version_cmp(t->version, app->status_version) < 0;
}

static void drop_stale(ab_principal_app *app)
{
    ab_metric_add(app->principal->reconciler.metrics.stale, 1);
    ab_reconcile_finish_head(&app->record);
}

/* The status would take the request away before it is sent. */
static bool must_send_terminate(const ab_principal_app *app)
{
    return !app->cleared && ab_principal_is_open(app) &&
           ab_requests_is_terminate_unsent(ab_principal_requests(app), app->peer);
}

static void begin_report(ab_principal_app *app, ab_task *t)
{
    if (ab_principal_requests(app)->terminate.asked && !ab_principal_is_open(app)) {
        ab_reconcile_wait(&app->record); /* it cannot be sent yet */
        return;
    }
    if (is_stale(app, t)) {
        drop_stale(app);
        return;
    }
    if (app->outdated || must_send_terminate(app)) {
        ab_reconcile_get(&app->record);
        return;
    }
    ab_span *report = parse(t);
    if (report == NULL) {
        if (app->peer != NULL && ab_principal_may_log(app->peer))
            AB_WARN(app->principal->env.log, SYNC, "unreadable status dropped",
                    AB_KV("object", app->key), AB_KV("held_back", app->peer->lines.held_back));
        ab_reconcile_finish_head(&app->record);
        return;
    }
    take_report(app, ab_span_root(report));
    ab_span_free(report);
}

static void note_error(ab_principal_app *app, const ab_task *t)
{
    bool says = has_data(t);
    char *message = says ? ab_feedback_text(t->event, "message", "") : NULL;
    if (says && message == NULL)
        message = ab_str_dup(AB_STR("error at the agent"));
    bool other = message != NULL && (app->error == NULL || strcmp(message, app->error) != 0);
    if (other && app->peer != NULL && ab_principal_may_log(app->peer))
        AB_WARN(app->principal->env.log, SYNC, "agent reported an error",
                AB_KV("agent", app->agent), AB_KV("object", app->key), AB_KV("why", message),
                AB_KV("held_back", app->peer->lines.held_back));
    free(app->error);
    app->error = message;
    app->error_ours = false;
    ab_principal_defer(app, DEFERRED_BY_AGENT, says);
    app->error_hash = says ? ab_event_content_hash(t->event) : (ab_digest){0};
}

/* The agent answers a command; its delivery is acknowledged once the command is ended in our log.
 */
static void finish_answer(ab_principal_app *app)
{
    if (!ab_principal_is_open(app)) {
        ab_reconcile_wait(&app->record);
        return;
    }
    ab_task *t = app->record.inbox.head;
    ab_str id = ab_principal_answered_id(t->event);
    if (app->requests != NULL)
        (void)ab_requests_answered(app->requests, id, t->version);
    if (ab_principal_end_command(app->peer, ab_str_of(app->key), id, t->delivery) == AB_ERR_OK)
        t->delivery = NULL;
    ab_reconcile_finish_head(&app->record);
}

static void begin_answer(ab_principal_app *app, const ab_task *t)
{
    if (!ab_principal_is_open(app)) {
        ab_reconcile_wait(&app->record);
        return;
    }
    char *why = ab_feedback_text(t->event, "error", "");
    bool refused = why != NULL;
    free(why);
    if (refused && app->exists)
        ab_reconcile_get(&app->record);
    else
        finish_answer(app);
}

/* The agent has refused it for another one of its name, and so never had it. */
static bool is_end_of_refused(const ab_task *t)
{
    return t->type == AB_TYPE_ERROR && !has_data(t) &&
           ab_str_is(ab_event_attr(t->event, AB_CE_TYPE), ab_type_name(AB_TYPE_STATUS_UPDATE));
}

void ab_principal_app_work(ab_principal_app *app, ab_task *head)
{
    if (app->deleting && is_end_of_refused(head))
        head->type = AB_TYPE_DELETE;
    if (head->type == AB_TYPE_PROCESSED) {
        begin_answer(app, head);
    } else if (!app->exists) {
        ab_reconcile_finish_head(&app->record);
    } else if (head->type == AB_TYPE_STATUS_UPDATE) {
        begin_report(app, head);
    } else if (is_old_end(app, head)) {
        drop_stale(app);
    } else if (head->type == AB_TYPE_DELETE && !app->deleting) {
        ab_reconcile_finish_head(
            &app->record); /* the agent lost it by itself and brings it back by itself */
    } else {
        if (head->type == AB_TYPE_ERROR)
            note_error(app, head);
        ab_reconcile_get(&app->record);
    }
}

/* --- the head task, with the object in hand --- */

/* Nothing would change by writing it. */
static bool is_shown(const ab_principal_app *app, ab_spanv report, const ab_object *hub)
{
    return is_sent_again(app) && app->error == NULL && !app->error_due &&
           ab_span_same(ab_span_get(report, "status"), ab_object_field(hub, "status"));
}

/* Another principal may have written a newer status. */
static void learn_status(ab_principal_app *app, const ab_object *hub)
{
    if (ab_str_is(ab_object_uid(hub), app->uid))
        ab_principal_app_note_status(app, hub);
}

static void with_report(ab_principal_app *app, const ab_object *hub)
{
    learn_status(app, hub);
    if (is_stale(app, app->record.inbox.head)) {
        drop_stale(app);
        return;
    }
    ab_span *report = parse(app->record.inbox.head);
    ab_principal_note_requests(app, hub); /* they may be other ones by now */
    if (must_send_terminate(app) && ab_str_is(ab_object_uid(hub), app->uid))
        ab_requests_send_terminate(ab_principal_requests(app), app->peer, ab_str_of(app->key), hub);
    struct finished done = finished_by(app, ab_span_root(report));
    if (!app->written && is_shown(app, ab_span_root(report), hub)) {
        app->written = true;
        app->status_version = app->record.inbox.head->version;
    }
    ab_span_free(report);
    if (app->written && (done.operation || done.refresh)) {
        clear_requests(app, hub, done);
    } else if (app->written) {
        ab_reconcile_finish_head(&app->record);
    } else {
        app->cleared = true;
    }
}

/* The agent has nothing left of an object that is being deleted. */
static void with_end(ab_principal_app *app, const ab_object *hub)
{
    learn_status(app, hub);
    if (app->cleared) {
        ab_reconcile_finish_head(&app->record);
    } else if (is_old_end(app, app->record.inbox.head)) {
        drop_stale(app);
    } else {
        app->record.purpose = FOR_CLEAR;
        ab_reconcile_edit(&app->record, hub, &(ab_app_edit){.drop_finalizers = true});
    }
}

static char *refusal_of(const ab_principal_app *app)
{
    return ab_feedback_text(app->record.inbox.head->event, "error",
                            "the agent refused the request: ");
}

/* Whoever waits for the end of the operation, which goes next, is told how it ended. */
static void write_refused_run(ab_principal_app *app, const ab_object *hub)
{
    char time[AB_TIME_TEXT];
    char *why = refusal_of(app);
    ab_time_format_seconds(ab_clock_wall_us(app->principal->env.clock), time);
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = ab_app_status_refused(hub, ab_str_of(why), ab_str_of(time), &text);
    if (e == AB_ERR_OK)
        write_status(app, ab_buf_str(&text), AB_STR_NONE);
    else
        ab_reconcile_fail(&app->record, e, NULL);
    ab_buf_fini(&text);
    free(why);
}

/* A refused command: the request is taken off the object, and the object says why. */
static void with_refusal(ab_principal_app *app, const ab_object *hub)
{
    ab_str id = ab_principal_answered_id(app->record.inbox.head->event);
    ab_principal_note_requests(app, hub);
    struct finished refused = {.operation = ab_str_is(id, ab_principal_requests(app)->operation.id),
                               .refresh = ab_str_is(id, ab_principal_requests(app)->refresh.id)};
    if (!app->written && refused.operation) {
        write_refused_run(app, hub);
        return;
    }
    if (!app->cleared && (refused.operation || refused.refresh)) {
        clear_requests(app, hub, refused);
        return;
    }
    free(app->error);
    app->error = refusal_of(app);
    app->error_ours = true; /* gone with the next change of the object */
    app->error_due = app->error != NULL;
    finish_answer(app);
}

/* Give new requests their id: a write is under way then. */
static void write_request_ids(ab_principal_app *app, const ab_object *hub)
{
    struct request_ids ids;
    ab_app_edit edit = {0};
    if (app->deleting || !ab_requests_need_ids(ab_principal_requests(app)))
        return;
    ab_err e = ab_requests_make_ids(ab_principal_requests(app), hub, &ids);
    if (e != AB_ERR_OK) {
        ab_reconcile_fail(&app->record, e, NULL);
        return;
    }
    if (ids.operation[0] != '\0') {
        edit.annotations[edit.annotation_count].name = AB_ANN_OPERATION_ID;
        edit.annotations[edit.annotation_count++].value = ab_str_of(ids.operation);
    }
    if (ids.refresh[0] != '\0') {
        edit.annotations[edit.annotation_count].name = AB_ANN_REFRESH_ID;
        edit.annotations[edit.annotation_count++].value = ab_str_of(ids.refresh);
    }
    app->record.purpose = FOR_REQUEST_ID;
    ab_reconcile_edit(&app->record, hub, &edit);
}

void ab_principal_app_ask(ab_principal_app *app, const ab_object *hub, bool may_write)
{
    if (!app->deleting && ab_principal_is_open(app))
        ab_requests_send(ab_principal_requests(app), app->peer, ab_str_of(app->key), hub);
    if (may_write)
        write_request_ids(app, hub);
}

static void look(ab_principal_app *app, const ab_object *hub)
{
    if (app->error_due) {
        write_status_and_error(app, ab_object_field(hub, "status"), ab_str_of(app->error),
                               AB_STR_NONE);
        return;
    }
    app->requeued = false;
    if (!ab_str_is(ab_principal_route(app->principal, hub), app->agent) ||
        !ab_principal_app_is_as_watched(app, hub))
        return; /* another by now, or another's, or a mirror: the store will tell */
    ab_principal_note_requests(app, hub);
    ab_principal_app_state(app, hub);
    ab_principal_app_ask(app, hub, true);
}

void ab_principal_app_without(ab_principal_app *app)
{
    if (ab_reconcile_head(&app->record)->type == AB_TYPE_PROCESSED)
        finish_answer(app);
    else
        ab_reconcile_finish_head(&app->record);
}

void ab_principal_app_with(ab_principal_app *app, ab_object *hub)
{
    ab_task *t = ab_reconcile_head(&app->record);
    if (t == NULL) {
        look(app, hub);
        return;
    }
    switch (t->type) {
    case AB_TYPE_STATUS_UPDATE:
        with_report(app, hub);
        return;
    case AB_TYPE_PROCESSED:
        with_refusal(app, hub);
        return;
    case AB_TYPE_DELETE:
        with_end(app, hub);
        return;
    default: /* error: deliver lets no other type in */
        write_status_and_error(app, ab_object_field(hub, "status"), ab_str_of(app->error),
                               AB_STR_NONE);
        return;
    }
}
