/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/attributes.h"
#include "sync/object/application.h"

static bool is_edited(const ab_app_edit *edit, ab_str annotation)
{
    for (size_t i = 0; i < edit->annotation_count; i++)
        if (ab_str_is(annotation, edit->annotations[i].name))
            return true;
    return false;
}

static void edit_annotations(ab_spanw *w, ab_spanv annotations, const ab_app_edit *edit)
{
    ab_spanw_key_object(w, "annotations");
    for (ab_spanv v = ab_span_first(annotations); ab_span_present(v); v = ab_span_next(v))
        if (!is_edited(edit, ab_span_plain_key(v)))
            ab_spanw_member(w, v);
    for (size_t i = 0; i < edit->annotation_count; i++)
        ab_spanw_key_str(w, edit->annotations[i].name, edit->annotations[i].value);
    ab_spanw_object_end(w);
}

static bool is_of_resources(ab_spanv finalizer)
{
    return ab_str_starts(ab_span_plain(finalizer), AB_FINALIZER_RESOURCES);
}

ab_str ab_app_cascade(ab_spanv finalizers)
{
    for (ab_spanv v = ab_span_first(finalizers); ab_span_present(v); v = ab_span_next(v))
        if (is_of_resources(v))
            return ab_span_plain(v);
    return AB_STR_NONE;
}

bool ab_app_deletes_resources(const ab_object *o)
{
    return ab_app_cascade(ab_object_meta(o, "finalizers")).len > 0;
}

static void put_some(ab_spanw *w, ab_spanv finalizers, bool of_resources)
{
    for (ab_spanv v = ab_span_first(finalizers); ab_span_present(v); v = ab_span_next(v))
        if (is_of_resources(v) == of_resources)
            ab_spanw_value(w, v);
}

static void put_finalizers(ab_spanw *w, ab_spanv own, ab_spanv cascade)
{
    ab_spanw_key_array(w, "finalizers");
    put_some(w, own, false);
    put_some(w, cascade, true);
    ab_spanw_array_end(w);
}

static void edit_metadata(ab_spanw *w, ab_spanv metadata, const ab_app_edit *edit)
{
    ab_spanv annotations = ab_span_get(metadata, "annotations");
    ab_spanw_key_object(w, "metadata");
    for (ab_spanv v = ab_span_first(metadata); ab_span_present(v); v = ab_span_next(v)) {
        ab_str name = ab_span_plain_key(v);
        bool finalizers = ab_str_is(name, "finalizers");
        bool replaced = finalizers && (edit->drop_finalizers || edit->set_cascade);
        if (!ab_str_is(name, "annotations") && !replaced)
            ab_spanw_member(w, v);
    }
    if (edit->set_cascade)
        put_finalizers(w, ab_span_get(metadata, "finalizers"), edit->cascade);
    if (ab_span_present(annotations) || edit->annotation_count > 0)
        edit_annotations(w, annotations, edit);
    ab_spanw_object_end(w);
}

ab_err ab_app_edited(const ab_object *o, const ab_app_edit *edit, ab_buf *out)
{
    bool new_operation = edit->operation.ptr != NULL;
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanv root = ab_object_json(o);
    for (ab_spanv v = ab_span_first(root); ab_span_present(v); v = ab_span_next(v)) {
        ab_str name = ab_span_plain_key(v);
        if (ab_str_is(name, "metadata"))
            edit_metadata(&w, v, edit);
        else if (!ab_str_is(name, "operation") || !(edit->drop_operation || new_operation))
            ab_spanw_member(&w, v);
    }
    if (new_operation)
        ab_spanw_key_raw(&w, "operation", edit->operation);
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}

static const char *const run[] = {"operationState", NULL};

static void terminating_run(ab_spanw *w, ab_spanv state, ab_spanv operation, ab_str time)
{
    static const char *const replaced[] = {"phase", NULL};
    ab_spanw_key_object(w, run[0]);
    if (ab_span_typeof(state) == AB_SPAN_OBJECT) {
        ab_spanw_members(w, state, replaced);
    } else {
        ab_spanw_member(w, operation);
        ab_spanw_key_str(w, "startedAt", time);
    }
    ab_spanw_key_str(w, "phase", AB_STR("Terminating"));
    ab_spanw_object_end(w);
}

ab_err ab_app_status_terminating(const ab_object *o, ab_str time, ab_buf *out)
{
    ab_spanv status = ab_object_field(o, "status");
    ab_spanv state = ab_span_get(status, run[0]);
    ab_spanv operation = ab_object_field(o, "operation");
    if (ab_span_typeof(state) != AB_SPAN_OBJECT && !ab_span_present(operation))
        return AB_ERR_NOTFOUND;
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_members(&w, status, run);
    terminating_run(&w, state, operation, time);
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}

ab_err ab_app_status_refused(const ab_object *o, ab_str why, ab_str time, ab_buf *out)
{
    ab_spanv status = ab_object_field(o, "status");
    ab_str reconciled = ab_span_plain(ab_span_get(status, "reconciledAt"));
    if (reconciled.len > 0)
        time = reconciled;
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_members(&w, status, run);
    ab_spanw_key_object(&w, run[0]);
    ab_spanw_member(&w, ab_object_field(o, "operation"));
    ab_spanw_key_str(&w, "phase", AB_STR("Error"));
    ab_spanw_key_str(&w, "message", why);
    ab_spanw_key_str(&w, "startedAt", time);
    ab_spanw_key_str(&w, "finishedAt", time);
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}

ab_err ab_app_status_without_run(const ab_object *o, ab_buf *out)
{
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_members(&w, ab_object_field(o, "status"), run);
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}

static void error_condition(ab_spanw *w, ab_str message, ab_str time)
{
    ab_spanw_object(w);
    ab_spanw_key_str(w, "type", AB_STR("AgentError"));
    ab_spanw_key_str(w, "message", message);
    ab_spanw_key_str(w, "lastTransitionTime", time);
    ab_spanw_object_end(w);
}

static bool is_ours(ab_spanv condition)
{
    return ab_span_is(ab_span_get(condition, "type"), "AgentError");
}

static bool has_other_conditions(ab_spanv conditions)
{
    for (ab_spanv v = ab_span_first(conditions); ab_span_present(v); v = ab_span_next(v))
        if (!is_ours(v))
            return true;
    return false;
}

static void conditions_with_error(ab_spanw *w, ab_spanv conditions, ab_str message, ab_str time)
{
    if (message.ptr == NULL && !has_other_conditions(conditions))
        return;
    ab_spanw_key_array(w, "conditions");
    for (ab_spanv v = ab_span_first(conditions); ab_span_present(v); v = ab_span_next(v))
        if (!is_ours(v))
            ab_spanw_value(w, v);
    if (message.ptr != NULL)
        error_condition(w, message, time);
    ab_spanw_array_end(w);
}

ab_err ab_app_status_with_error(ab_spanv status, ab_str message, ab_str time, ab_buf *out)
{
    ab_str health = ab_span_plain(ab_span_path(status, "health", "status", NULL));
    bool degraded = message.ptr != NULL && health.len == 0;
    const char *const replaced[] = {"conditions", degraded ? "health" : NULL, NULL};
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_members(&w, status, replaced);
    if (degraded)
        ab_spanw_key_raw(&w, "health", AB_STR("{\"status\":\"Degraded\"}"));
    conditions_with_error(&w, ab_span_get(status, "conditions"), message, time);
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}
