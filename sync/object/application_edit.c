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

static void edit_annotations(ab_jsonw *w, ab_jsonv annotations, const ab_app_edit *edit)
{
    ab_jsonw_key(w, AB_STR("annotations"));
    ab_jsonw_object(w);
    for (ab_jsonv v = ab_json_first(annotations); ab_json_present(v); v = ab_json_next(v))
        if (!is_edited(edit, ab_json_plain_key(v)))
            ab_jsonw_member(w, v);
    for (size_t i = 0; i < edit->annotation_count; i++)
        ab_jsonw_key_str(w, edit->annotations[i].name, edit->annotations[i].value);
    ab_jsonw_object_end(w);
}

static void edit_metadata(ab_jsonw *w, ab_jsonv metadata, const ab_app_edit *edit)
{
    ab_jsonv annotations = ab_json_get(metadata, "annotations");
    ab_jsonw_key(w, AB_STR("metadata"));
    ab_jsonw_object(w);
    for (ab_jsonv v = ab_json_first(metadata); ab_json_present(v); v = ab_json_next(v)) {
        ab_str name = ab_json_plain_key(v);
        if (ab_str_is(name, "annotations") ||
            (edit->drop_finalizers && ab_str_is(name, "finalizers")))
            continue;
        ab_jsonw_member(w, v);
    }
    if (ab_json_present(annotations) || edit->annotation_count > 0)
        edit_annotations(w, annotations, edit);
    ab_jsonw_object_end(w);
}

ab_err ab_app_edited(const ab_object *o, const ab_app_edit *edit, ab_buf *out)
{
    bool new_operation = edit->operation.ptr != NULL;
    ab_jsonw w = ab_jsonw_to(out);
    ab_jsonw_object(&w);
    ab_jsonv root = ab_object_json(o);
    for (ab_jsonv v = ab_json_first(root); ab_json_present(v); v = ab_json_next(v)) {
        ab_str name = ab_json_plain_key(v);
        if (ab_str_is(name, "metadata"))
            edit_metadata(&w, v, edit);
        else if (!ab_str_is(name, "operation") || !(edit->drop_operation || new_operation))
            ab_jsonw_member(&w, v);
    }
    if (new_operation)
        ab_jsonw_key_raw(&w, "operation", edit->operation);
    ab_jsonw_object_end(&w);
    return ab_buf_status(out);
}

static void copy_replacing(ab_jsonw *w, ab_jsonv object, const char *name, const char *value)
{
    ab_jsonw_object(w);
    for (ab_jsonv v = ab_json_first(object); ab_json_present(v); v = ab_json_next(v))
        if (!ab_str_is(ab_json_plain_key(v), name))
            ab_jsonw_member(w, v);
    ab_jsonw_key_str(w, name, ab_str_of(value));
    ab_jsonw_object_end(w);
}

ab_err ab_app_status_terminating(const ab_object *o, ab_buf *out)
{
    ab_jsonv status = ab_object_field(o, "status");
    ab_jsonv state = ab_json_get(status, "operationState");
    if (ab_json_typeof(state) != AB_JSON_OBJECT)
        return AB_ERR_NOTFOUND;
    ab_jsonw w = ab_jsonw_to(out);
    ab_jsonw_object(&w);
    for (ab_jsonv v = ab_json_first(status); ab_json_present(v); v = ab_json_next(v)) {
        if (!ab_str_is(ab_json_plain_key(v), "operationState")) {
            ab_jsonw_member(&w, v);
            continue;
        }
        ab_jsonw_key(&w, AB_STR("operationState"));
        copy_replacing(&w, state, "phase", "Terminating");
    }
    ab_jsonw_object_end(&w);
    return ab_buf_status(out);
}

static void error_condition(ab_jsonw *w, ab_str message, ab_str time)
{
    ab_jsonw_object(w);
    ab_jsonw_key_str(w, "type", AB_STR("AgentError"));
    ab_jsonw_key_str(w, "message", message);
    ab_jsonw_key_str(w, "lastTransitionTime", time);
    ab_jsonw_object_end(w);
}

static bool is_ours(ab_jsonv condition)
{
    return ab_json_is(ab_json_get(condition, "type"), "AgentError");
}

static bool has_other_conditions(ab_jsonv conditions)
{
    for (ab_jsonv v = ab_json_first(conditions); ab_json_present(v); v = ab_json_next(v))
        if (!is_ours(v))
            return true;
    return false;
}

static void conditions_with_error(ab_jsonw *w, ab_jsonv conditions, ab_str message, ab_str time)
{
    if (message.ptr == NULL && !has_other_conditions(conditions))
        return;
    ab_jsonw_key(w, AB_STR("conditions"));
    ab_jsonw_array(w);
    for (ab_jsonv v = ab_json_first(conditions); ab_json_present(v); v = ab_json_next(v))
        if (!is_ours(v))
            ab_jsonw_value(w, v);
    if (message.ptr != NULL)
        error_condition(w, message, time);
    ab_jsonw_array_end(w);
}

ab_err ab_app_status_with_error(ab_jsonv status, ab_str message, ab_str time, ab_buf *out)
{
    ab_str health = ab_json_plain(ab_json_path(status, "health", "status", NULL));
    bool degraded = message.ptr != NULL && health.len == 0;
    ab_jsonw w = ab_jsonw_to(out);
    ab_jsonw_object(&w);
    for (ab_jsonv v = ab_json_first(status); ab_json_present(v); v = ab_json_next(v)) {
        ab_str name = ab_json_plain_key(v);
        if (!ab_str_is(name, "conditions") && !(degraded && ab_str_is(name, "health")))
            ab_jsonw_member(&w, v);
    }
    if (degraded)
        ab_jsonw_key_raw(&w, "health", AB_STR("{\"status\":\"Degraded\"}"));
    conditions_with_error(&w, ab_json_get(status, "conditions"), message, time);
    ab_jsonw_object_end(&w);
    return ab_buf_status(out);
}
