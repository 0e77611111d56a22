/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/desired.h"

#include "schema/attributes.h"
#include "sync/kind/kind.h"
#include "sync/object/copy.h"
#include "sync/object/merge.h"

ab_str ab_source_uid(const ab_object *o)
{
    ab_str uid = ab_object_annotation(o, AB_ANN_SOURCE_UID);
    return uid.len > 0 ? uid : ab_object_uid(o);
}

bool ab_is_renamed_copy(const ab_object *o)
{
    ab_str name = ab_object_annotation(o, AB_ANN_NAME);
    return name.len > 0 && !ab_str_eq(name, ab_object_name(o));
}

bool ab_names_itself(const ab_object *o)
{
    return ab_object_annotation(o, AB_ANN_NAME).len > 0;
}

static void render_destination(ab_spanw *w, ab_spanv destination)
{
    static const char *const replaced[] = {"name", "server", NULL};
    ab_spanw_key_object(w, "destination");
    ab_spanw_members(w, destination, replaced);
    ab_spanw_key_str(w, "name", AB_STR(AB_NAME_LOCAL_CLUSTER));
    ab_spanw_key_str(w, "server", AB_STR(""));
    ab_spanw_object_end(w);
}

static void render_spec(ab_spanw *w, ab_spanv spec)
{
    if (ab_span_typeof(spec) != AB_SPAN_OBJECT)
        return;
    ab_spanw_key_object(w, "spec");
    for (ab_spanv v = ab_span_first(spec); ab_span_present(v); v = ab_span_next(v)) {
        if (ab_str_is(ab_span_plain_key(v), "destination"))
            render_destination(w, v);
        else
            ab_spanw_member(w, v);
    }
    ab_spanw_object_end(w);
}

static ab_spanv local_meta(const ab_object *local, const char *name)
{
    return local == NULL ? (ab_spanv){0} : ab_object_meta(local, name);
}

static void render_annotations(ab_spanw *w, const ab_object *desired, const ab_object *local,
                               const ab_desired_params *p)
{
    const ab_merge_rule rules[] = {
        {.name = AB_ANN_SOURCE_UID, .value = p->source_uid},
        {.name = AB_ANN_PRINCIPAL_UID, .value = p->principal_uid},
        {.name = AB_ANN_NAME, .value = ab_object_name(desired)},
        {.name = AB_ANN_REMAPPED,
         .value = p->remapped ? AB_STR("true") : AB_STR_NONE,
         .dropped = !p->remapped},
        {.name = AB_ANN_REFRESH},
        {.name = AB_ANN_HYDRATE},
        {.name = AB_ANN_HYDRATE_TIMESTAMP},
        {.name = AB_ANN_REFRESH_TIMESTAMP},
        {.name = AB_ANN_LAST_APPLIED},
        {.name = AB_ANN_NOTIFIED},
    };
    ab_spanw_key(w, AB_STR("annotations"));
    ab_merge_map(w, local_meta(local, "annotations"), ab_object_meta(desired, "annotations"),
                 ab_span_get(p->owned, "annotations"), rules, sizeof(rules) / sizeof(rules[0]),
                 AB_ANN_PREFIX);
}

static void render_metadata(ab_spanw *w, const ab_object *desired, const ab_object *local,
                            const ab_desired_params *p)
{
    static const char *const merged[] = {"labels", "annotations", "finalizers", NULL};
    ab_spanw_key_object(w, "metadata");
    if (local != NULL) {
        ab_spanw_members(w, ab_span_get(ab_object_json(local), "metadata"), merged);
    } else {
        ab_spanw_key_str(w, "name", ab_object_name(desired));
        ab_spanw_key_str(w, "namespace", p->namespace);
    }
    ab_spanv labels = ab_object_meta(desired, "labels");
    if (ab_span_present(labels) || ab_span_present(local_meta(local, "labels"))) {
        ab_spanw_key(w, AB_STR("labels"));
        ab_merge_map(w, local_meta(local, "labels"), labels, ab_span_get(p->owned, "labels"), NULL,
                     0, NULL);
    }
    render_annotations(w, desired, local, p);
    ab_spanv finalizers = ab_object_meta(desired, "finalizers");
    if (ab_span_present(finalizers) || ab_span_present(local_meta(local, "finalizers"))) {
        ab_spanw_key(w, AB_STR("finalizers"));
        ab_merge_list(w, local_meta(local, "finalizers"), finalizers,
                      ab_span_get(p->owned, "finalizers"));
    }
    ab_spanw_object_end(w);
}

/* What only an Application has. */
static void render_application(ab_spanw *w, const ab_object *desired, const ab_object *local,
                               const ab_desired_params *p)
{
    render_spec(w, ab_object_field(desired, "spec"));
    if (p->operation.ptr != NULL)
        ab_spanw_key_raw(w, "operation", p->operation);
    else if (local != NULL)
        ab_spanw_member(w, ab_object_field(local, "operation"));
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The text between the braces of a JSON object. It is not parsed by itself: a parsed document
 * keeps a copy that cannot be wiped. */
static ab_err inside_braces(ab_str object, ab_str *out)
{
    while (object.len > 0 && is_space(object.ptr[0]))
        object = (ab_str){object.ptr + 1, object.len - 1};
    while (object.len > 0 && is_space(object.ptr[object.len - 1]))
        object.len--;
    if (object.len < 2 || object.ptr[0] != '{' || object.ptr[object.len - 1] != '}')
        return AB_ERR_INVALID;
    *out = (ab_str){object.ptr + 1, object.len - 2};
    return AB_ERR_OK;
}

ab_err ab_desired_render(const ab_object *desired, const ab_object *local,
                         const ab_desired_params *p, ab_buf *out)
{
    static const char *const application[] = {"metadata", "spec", "status", "operation", NULL};
    static const char *const other[] = {"metadata", "status", NULL};
    static const char *const sealed[] = {"metadata", "status", "sealed", NULL};
    const ab_kind *kind = ab_kind_of(ab_object_kind(desired));
    bool is_application = kind != NULL && kind->reports;
    ab_str opened = AB_STR_NONE;
    if (p->opened.ptr != NULL && inside_braces(p->opened, &opened) != AB_ERR_OK)
        return AB_ERR_INVALID;
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_members(&w, ab_object_json(desired),
                     is_application          ? application
                     : p->opened.ptr != NULL ? sealed
                                             : other);
    render_metadata(&w, desired, local, p);
    if (is_application)
        render_application(&w, desired, local, p);
    if (opened.len > 0)
        ab_spanw_raw(&w, opened);
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}

ab_err ab_desired_snapshot(const ab_object *local, ab_buf *out)
{
    static const char *const server_side[] = {"managedFields", NULL};
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_key_str(&w, "apiVersion", ab_span_plain(ab_object_field(local, "apiVersion")));
    ab_spanw_key_str(&w, "kind", ab_object_kind(local));
    ab_spanw_key_object(&w, "metadata");
    ab_spanw_members(&w, ab_span_get(ab_object_json(local), "metadata"), server_side);
    ab_spanw_object_end(&w);
    ab_spanw_member(&w, ab_object_field(local, "operation"));
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}

/* The governed part as one JSON text. An empty map or list counts as an absent one. */
static ab_err governed_text(const ab_object *o, ab_buf *out)
{
    static const char *const top[] = {"apiVersion", "kind",      "metadata",
                                      "status",     "operation", NULL};
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_members(&w, ab_object_json(o), top);
    ab_spanv labels = ab_object_meta(o, "labels");
    ab_spanv finalizers = ab_object_meta(o, "finalizers");
    ab_spanw_key_object(&w, "metadata");
    if (ab_span_count(labels) > 0)
        ab_spanw_member(&w, labels);
    if (ab_span_count(finalizers) > 0)
        ab_spanw_member(&w, finalizers);
    ab_copy_desired_annotations(&w, ab_object_meta(o, "annotations"));
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}

ab_err ab_desired_digest(const ab_object *o, ab_digest *out)
{
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = governed_text(o, &text);
    if (e == AB_ERR_OK)
        e = ab_span_digest_text(ab_buf_str(&text), out);
    ab_buf_fini(&text);
    return e;
}
