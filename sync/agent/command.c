/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands: executed at most once. What was executed is recorded on the object in the same write as
 * the effect; a terminate needs no record, since it names the run that it ends.
 */
#include "sync/agent/agent_priv.h"

#include "base/core/clock.h"
#include "schema/attributes.h"

#include <stdio.h>

static void answer(ab_agent_object *o, const char *why)
{
    ab_reconcile_succeeded(&o->record);
    bool shown = why != NULL && o->record.inbox.head->type == AB_TYPE_SET_OPERATION;
    if (shown && o->exists && !ab_agent_is_autonomous(o->agent)) /* a mirror shows its source */
        ab_agent_report_later(o);
    ab_agent_command_answer(o, why);
}

/* Answered, and the object said again behind the answer: the hub does not know how things stand
 * here. */
static void answer_and_report(ab_agent_object *o)
{
    ab_agent_report_again(o);
    answer(o, NULL);
}

bool ab_agent_command(ab_agent_object *o)
{
    bool ours = ab_agent_is_autonomous(o->agent) || o->source == SOURCE_LIVE;
    if (!ours || !o->exists || o->deleting) {
        answer(o, "the Application is not at the agent");
        return true;
    }
    o->record.purpose = FOR_COMMAND;
    ab_reconcile_get(&o->record);
    return false;
}

struct record {
    ab_version version; /* of the command that was executed last */
    ab_str id;
};

/* Recorded as "<epoch>.<version>/<id>". */
#define RECORD_TEXT (AB_VERSION_TEXT + AB_EVENT_ATTR_NAME_MAX)

static bool read_record(const ab_object *local, const char *annotation, struct record *out)
{
    ab_str text = ab_object_annotation(local, annotation);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '/')
            continue;
        out->id = (ab_str){text.ptr + i + 1, text.len - i - 1};
        return ab_version_parse((ab_str){text.ptr, i}, &out->version) == AB_ERR_OK;
    }
    return false;
}

static bool was_executed(const ab_task *t, const ab_object *local, const char *annotation)
{
    struct record last;
    return read_record(local, annotation, &last) &&
           (ab_version_cmp(t->version, last.version) <= 0 ||
            ab_str_eq(last.id, ab_event_attr(t->event, AB_CE_ID)));
}

/* From before the principal's start that asked for what was executed last. It comes again; or the
 * clock was set back and the log lost, and nobody knows of it. */
static bool is_uncertain(const ab_task *t, const ab_object *local, const char *annotation,
                         ab_version *last)
{
    struct record record;
    if (!read_record(local, annotation, &record) || t->version.epoch >= record.version.epoch ||
        ab_str_eq(record.id, ab_event_attr(t->event, AB_CE_ID)))
        return false;
    *last = record.version;
    return true;
}

/* Whoever asks for it still says so again, under a newer version than the one that we tell. */
static void leave_to_resync(ab_agent_object *o, ab_version last)
{
    ab_agent *a = o->agent;
    if (ab_version_cmp(last, a->resync.executed) > 0)
        a->resync.executed = last;
    ab_reconcile_succeeded(&o->record);
    ab_reconcile_finish_head(&o->record);
    ab_resync_ask(&a->resync.engine, "the command is older than the last one executed");
}

static void format_record(const ab_task *t, char out[RECORD_TEXT])
{
    char version[AB_VERSION_TEXT];
    ab_version_format(t->version, version);
    snprintf(out, RECORD_TEXT, "%s/%.*s", version, AB_STR_ARG(ab_event_attr(t->event, AB_CE_ID)));
}

static void write_edit(ab_agent_object *o, const ab_object *local, const ab_app_edit *edit)
{
    ab_error err = {0};
    ab_object *object;
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = ab_app_edited(local, edit, &text);
    if (e == AB_ERR_OK)
        e = ab_object_parse(ab_buf_str(&text), &object, &err);
    ab_buf_fini(&text);
    if (e != AB_ERR_OK) {
        answer(o, err.text[0] != '\0' ? err.text : ab_err_text(e));
        return;
    }
    o->record.purpose = FOR_COMMAND;
    ab_reconcile_apply(&o->record, object, ab_object_version(local));
    ab_object_unref(object);
}

/* Frees `status`, which `e` is about. */
static void write_status(ab_agent_object *o, const ab_object *local, ab_err e, ab_buf *status)
{
    if (e == AB_ERR_OK) {
        o->record.purpose = FOR_COMMAND;
        ab_reconcile_patch_status(&o->record, ab_buf_str(status), AB_STR_NONE,
                                  &(ab_precondition){.version = ab_object_version(local)});
    } else {
        answer(o, e == AB_ERR_NOTFOUND ? "no operation is running" : ab_err_text(e));
    }
    ab_buf_fini(status);
}

static bool is_in_phase(const ab_object *local, const char *phase)
{
    return ab_span_is(
        ab_span_path(ab_object_field(local, "status"), "operationState", "phase", NULL), phase);
}

static bool has_former_run(const ab_object *local)
{
    ab_spanv state = ab_span_get(ab_object_field(local, "status"), "operationState");
    return ab_span_typeof(state) == AB_SPAN_OBJECT && !is_in_phase(local, "Running");
}

static bool is_same_operation(const ab_object *asked, const ab_object *local)
{
    ab_spanv operation = ab_object_field(local, "operation");
    return ab_span_present(operation) &&
           ab_span_same(ab_object_field(asked, "operation"), operation);
}

/* Argo CD takes any .operation away at the end of its run: another one would never run, and the end
 * of this run would count as its own. */
static bool is_running_another(const ab_object *asked, const ab_object *local)
{
    return ab_span_present(ab_object_field(local, "operation")) && is_in_phase(local, "Running") &&
           !is_same_operation(asked, local);
}

/* As argocd-server does. Argo CD merges what it says of a run into what is there: resources and
 * retries of the former run would count as those of the new one. */
static void drop_former_run(ab_agent_object *o, const ab_object *local)
{
    ab_buf status = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = ab_app_status_without_run(local, &status);
    write_status(o, local, e, &status);
}

static void set_operation(ab_agent_object *o, const ab_object *asked, const ab_object *local)
{
    char record[RECORD_TEXT];
    ab_spanv operation = ab_object_field(asked, "operation");
    if (was_executed(o->record.inbox.head, local, AB_ANN_LAST_OPERATION)) {
        answer_and_report(o);
    } else if (!ab_span_present(operation)) {
        answer(o, "the command carries no .operation");
    } else if (is_in_phase(local, "Terminating")) {
        answer(o, "an operation is being terminated: try again when it has ended");
    } else if (is_running_another(asked, local)) {
        answer(o, "another operation is in progress: try again when it has ended");
    } else if (has_former_run(local)) {
        drop_former_run(o, local);
    } else {
        format_record(o->record.inbox.head, record);
        write_edit(o, local,
                   &(ab_app_edit){.annotations = {{AB_ANN_LAST_OPERATION, ab_str_of(record)}},
                                  .annotation_count = 1,
                                  .operation = ab_span_raw(operation)});
    }
}

/* What was asked for with the refresh; what stands here from another one stays. */
static void add_with_refresh(const ab_object *asked, ab_app_edit *edit)
{
    static const char *const names[] = {AB_ANN_WITH_REFRESH, NULL};
    for (const char *const *n = names; *n != NULL; n++) {
        ab_str value = ab_object_annotation(asked, *n);
        if (value.len == 0)
            continue;
        edit->annotations[edit->annotation_count].name = *n;
        edit->annotations[edit->annotation_count++].value = value;
    }
}

static void refresh(ab_agent_object *o, const ab_object *asked, const ab_object *local)
{
    char record[RECORD_TEXT];
    ab_str how = ab_object_annotation(asked, AB_ANN_REFRESH);
    if (was_executed(o->record.inbox.head, local, AB_ANN_LAST_REFRESH)) {
        answer_and_report(o);
        return;
    }
    format_record(o->record.inbox.head, record);
    ab_app_edit edit = {.annotations = {{AB_ANN_LAST_REFRESH, ab_str_of(record)},
                                        {AB_ANN_REFRESH, how.len > 0 ? how : AB_STR("normal")}},
                        .annotation_count = 2};
    add_with_refresh(asked, &edit);
    write_edit(o, local, &edit);
}

static ab_spanv run_of(const ab_object *o)
{
    return ab_span_path(ab_object_field(o, "status"), "operationState", "startedAt", NULL);
}

static void terminate(ab_agent_object *o, const ab_object *asked, const ab_object *local)
{
    /* Terminated before the hub could show its run: what it shows is the run before. */
    bool same = is_same_operation(asked, local);
    if (!same && !ab_span_same(run_of(asked), run_of(local))) {
        answer(o, "the operation to terminate is no longer running");
        return;
    }
    /* Argo CD that has not begun with it yet takes the end of the run before for its own. */
    bool to_begin = same && !is_in_phase(local, "Terminating");
    if (!is_in_phase(local, "Running") && !to_begin) { /* it is ending, or has ended by itself */
        answer_and_report(o);
        return;
    }
    char time[AB_TIME_TEXT];
    ab_time_format_seconds(ab_clock_wall_us(o->agent->env.clock), time);
    ab_buf status = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = ab_app_status_terminating(local, ab_str_of(time), &status);
    write_status(o, local, e, &status);
}

/* NULL: it names the run that it ends. */
static const char *record_of(ab_type type)
{
    if (type == AB_TYPE_SET_OPERATION)
        return AB_ANN_LAST_OPERATION;
    return type == AB_TYPE_REFRESH ? AB_ANN_LAST_REFRESH : NULL;
}

static void execute(ab_agent_object *o, const ab_object *asked, const ab_object *local)
{
    ab_str uid = ab_source_uid(asked);
    ab_str own = ab_agent_is_autonomous(o->agent) ? ab_object_uid(local)
                                                  : ab_object_annotation(local, AB_ANN_SOURCE_UID);
    if (uid.len > 0 && !ab_str_eq(uid, own)) {
        answer(o, "the Application at the agent has another source-uid");
        return;
    }
    ab_version last;
    const char *record = record_of(o->record.inbox.head->type);
    if (record != NULL && is_uncertain(o->record.inbox.head, local, record, &last)) {
        leave_to_resync(o, last);
        return;
    }
    switch (o->record.inbox.head->type) {
    case AB_TYPE_SET_OPERATION:
        set_operation(o, asked, local);
        return;
    case AB_TYPE_REFRESH:
        refresh(o, asked, local);
        return;
    default: /* agent_is_command lets no other type in */
        terminate(o, asked, local);
        return;
    }
}

void ab_agent_command_got(ab_agent_object *o, ab_object *local)
{
    if (local == NULL) {
        answer(o, "the Application is not at the agent");
        return;
    }
    if (ab_object_deleting(local)) { /* it is made again first, or is to go */
        o->deleting = true;
        return;
    }
    ab_error why = {0};
    ab_object *asked;
    if (ab_object_parse(ab_event_data(o->record.inbox.head->event), &asked, &why) != AB_ERR_OK) {
        answer(o, why.text);
        return;
    }
    execute(o, asked, local);
    ab_object_unref(asked);
}

void ab_agent_command_written(ab_agent_object *o, ab_step step, const ab_object *object)
{
    if (step == AB_STEP_STATUS && o->record.inbox.head->type == AB_TYPE_SET_OPERATION)
        return; /* without the former run, the operation is set now */
    ab_metric_add(o->agent->metrics.commands, 1);
    /* The next of its name, which has no record of it, may have been said already. */
    if (object != NULL && ab_agent_is_another(o, object))
        answer_and_report(o);
    else
        answer(o, NULL);
}

bool ab_agent_command_refused(ab_agent_object *o, ab_err code, const ab_error *err)
{
    bool permanent = ab_err_class_of(code) == AB_CLASS_PERMANENT;
    if (permanent)
        answer(o, err == NULL ? ab_err_text(code) : err->text);
    return permanent;
}
