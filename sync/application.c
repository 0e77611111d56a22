/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/application.h"

#include "schema/attributes.h"
#include "sync/merge.h"

static bool is_one_of(ab_str name, const char *const *list)
{
    for (; *list != NULL; list++)
        if (ab_str_is(name, *list))
            return true;
    return false;
}

static void copy_except(ab_jsonw *w, ab_jsonv object, const char *const *left_out)
{
    for (ab_jsonv v = ab_json_first(object); ab_json_present(v); v = ab_json_next(v))
        if (!is_one_of(ab_json_plain_key(v), left_out))
            ab_jsonw_member(w, v);
}

/* Annotations that carry requests and bookkeeping, not the user's wish. */
static bool is_bookkeeping(ab_str annotation)
{
    static const char *const names[] = {AB_ANN_REFRESH, AB_ANN_LAST_APPLIED, AB_ANN_LAST_UPDATED,
                                        NULL};
    return is_one_of(annotation, names) || ab_str_starts(annotation, AB_ANN_PREFIX);
}

/* Without any there is no "annotations" either: bookkeeping that comes first must not look like a
 * change of the wish. */
static void wish_annotations(ab_jsonw *w, ab_jsonv annotations)
{
    bool open = false;
    for (ab_jsonv v = ab_json_first(annotations); ab_json_present(v); v = ab_json_next(v)) {
        if (is_bookkeeping(ab_json_plain_key(v)))
            continue;
        if (!open) {
            ab_jsonw_key(w, AB_STR("annotations"));
            ab_jsonw_object(w);
        }
        open = true;
        ab_jsonw_member(w, v);
    }
    if (open)
        ab_jsonw_object_end(w);
}

ab_err ab_app_wish(const ab_object *hub, ab_buf *out)
{
    static const char *const top[] = {"metadata", "status", "operation", NULL};
    static const char *const meta[] = {"annotations", "resourceVersion",
                                       "generation",  "managedFields",
                                       "selfLink",    "deletionGracePeriodSeconds",
                                       NULL};
    ab_jsonv root = ab_object_json(hub);
    ab_jsonv metadata = ab_json_get(root, "metadata");
    ab_jsonw w = ab_jsonw_to(out);
    ab_jsonw_object(&w);
    copy_except(&w, root, top);
    ab_jsonw_key(&w, AB_STR("metadata"));
    ab_jsonw_object(&w);
    copy_except(&w, metadata, meta);
    wish_annotations(&w, ab_json_get(metadata, "annotations"));
    ab_jsonw_object_end(&w);
    ab_jsonw_object_end(&w);
    return ab_buf_status(out);
}

ab_str ab_app_source_uid(const ab_object *o)
{
    ab_str uid = ab_object_annotation(o, AB_ANN_SOURCE_UID);
    return uid.len > 0 ? uid : ab_object_uid(o);
}

static void place_destination(ab_jsonw *w, ab_jsonv destination)
{
    static const char *const replaced[] = {"name", "server", NULL};
    ab_jsonw_key(w, AB_STR("destination"));
    ab_jsonw_object(w);
    copy_except(w, destination, replaced);
    ab_jsonw_key_str(w, "name", AB_STR("in-cluster"));
    ab_jsonw_key_str(w, "server", AB_STR(""));
    ab_jsonw_object_end(w);
}

static void place_spec(ab_jsonw *w, ab_jsonv spec)
{
    if (ab_json_typeof(spec) != AB_JSON_OBJECT)
        return;
    ab_jsonw_key(w, AB_STR("spec"));
    ab_jsonw_object(w);
    for (ab_jsonv v = ab_json_first(spec); ab_json_present(v); v = ab_json_next(v)) {
        if (ab_str_is(ab_json_plain_key(v), "destination"))
            place_destination(w, v);
        else
            ab_jsonw_member(w, v);
    }
    ab_jsonw_object_end(w);
}

static ab_jsonv local_meta(const ab_object *local, const char *name)
{
    return local == NULL ? (ab_jsonv){0} : ab_object_meta(local, name);
}

static void place_annotations(ab_jsonw *w, const ab_object *wish, const ab_object *local,
                              const ab_app_placing *p)
{
    const ab_merge_rule rules[] = {
        {AB_ANN_SOURCE_UID, p->source_uid},
        {AB_ANN_PRINCIPAL_UID, p->principal_uid},
        {AB_ANN_REFRESH, AB_STR_NONE},
        {AB_ANN_LAST_APPLIED, AB_STR_NONE},
    };
    ab_jsonw_key(w, AB_STR("annotations"));
    ab_merge_map(w, local_meta(local, "annotations"), ab_object_meta(wish, "annotations"),
                 ab_json_get(p->owned, "annotations"), rules, sizeof(rules) / sizeof(rules[0]),
                 AB_ANN_PREFIX);
}

static void place_metadata(ab_jsonw *w, const ab_object *wish, const ab_object *local,
                           const ab_app_placing *p)
{
    static const char *const merged[] = {"labels", "annotations", "finalizers", NULL};
    ab_jsonw_key(w, AB_STR("metadata"));
    ab_jsonw_object(w);
    if (local != NULL) {
        copy_except(w, ab_json_get(ab_object_json(local), "metadata"), merged);
    } else {
        ab_jsonw_key_str(w, "name", ab_object_name(wish));
        ab_jsonw_key_str(w, "namespace", ab_str_of(p->namespace));
    }
    ab_jsonv labels = ab_object_meta(wish, "labels");
    if (ab_json_present(labels) || ab_json_present(local_meta(local, "labels"))) {
        ab_jsonw_key(w, AB_STR("labels"));
        ab_merge_map(w, local_meta(local, "labels"), labels, ab_json_get(p->owned, "labels"), NULL,
                     0, NULL);
    }
    place_annotations(w, wish, local, p);
    ab_jsonv finalizers = ab_object_meta(wish, "finalizers");
    if (ab_json_present(finalizers) || ab_json_present(local_meta(local, "finalizers"))) {
        ab_jsonw_key(w, AB_STR("finalizers"));
        ab_merge_list(w, local_meta(local, "finalizers"), finalizers,
                      ab_json_get(p->owned, "finalizers"));
    }
    ab_jsonw_object_end(w);
}

ab_err ab_app_place(const ab_object *wish, const ab_object *local, const ab_app_placing *p,
                    ab_buf *out)
{
    static const char *const top[] = {"metadata", "spec", "status", "operation", NULL};
    ab_jsonw w = ab_jsonw_to(out);
    ab_jsonw_object(&w);
    copy_except(&w, ab_object_json(wish), top);
    place_metadata(&w, wish, local, p);
    place_spec(&w, ab_object_field(wish, "spec"));
    ab_jsonv operation = local == NULL ? (ab_jsonv){0} : ab_object_field(local, "operation");
    if (p->operation.ptr != NULL)
        ab_jsonw_key_raw(&w, "operation", p->operation);
    else if (ab_json_present(operation))
        ab_jsonw_member(&w, operation);
    ab_jsonw_object_end(&w);
    return ab_buf_status(out);
}

/* The governed part as one JSON text. An empty map or list counts as an absent one. */
static ab_err governed_text(const ab_object *o, ab_buf *out)
{
    static const char *const top[] = {"apiVersion", "kind",      "metadata",
                                      "status",     "operation", NULL};
    ab_jsonw w = ab_jsonw_to(out);
    ab_jsonw_object(&w);
    copy_except(&w, ab_object_json(o), top);
    ab_jsonv labels = ab_object_meta(o, "labels");
    ab_jsonv finalizers = ab_object_meta(o, "finalizers");
    ab_jsonw_key(&w, AB_STR("metadata"));
    ab_jsonw_object(&w);
    if (ab_json_count(labels) > 0)
        ab_jsonw_member(&w, labels);
    if (ab_json_count(finalizers) > 0)
        ab_jsonw_member(&w, finalizers);
    wish_annotations(&w, ab_object_meta(o, "annotations"));
    ab_jsonw_object_end(&w);
    ab_jsonw_object_end(&w);
    return ab_buf_status(out);
}

ab_err ab_app_digest(const ab_object *o, ab_digest *out)
{
    ab_buf text;
    ab_buf_init(&text, AB_JSON_SIZE_MAX);
    ab_json *doc = NULL;
    ab_err e = governed_text(o, &text);
    if (e == AB_ERR_OK)
        e = ab_json_parse(ab_buf_str(&text), &doc, NULL);
    if (e == AB_ERR_OK)
        e = ab_json_digest(ab_json_root(doc), out);
    ab_json_free(doc);
    ab_buf_fini(&text);
    return e;
}

static void report_annotations(ab_jsonw *w, const ab_object *o)
{
    static const char *const names[] = {AB_ANN_SOURCE_UID,     AB_ANN_PRINCIPAL_UID, AB_ANN_REFRESH,
                                        AB_ANN_LAST_OPERATION, AB_ANN_LAST_REFRESH,  NULL};
    ab_jsonv annotations = ab_object_meta(o, "annotations");
    ab_jsonw_key(w, AB_STR("annotations"));
    ab_jsonw_object(w);
    for (const char *const *n = names; *n != NULL; n++) {
        ab_jsonv v = ab_json_get(annotations, *n);
        if (ab_json_present(v))
            ab_jsonw_member(w, v);
    }
    ab_jsonw_object_end(w);
}

ab_err ab_app_report(const ab_object *local, ab_buf *out)
{
    static const char *const names[] = {"operation", "status", NULL};
    ab_jsonv root = ab_object_json(local);
    ab_jsonw w = ab_jsonw_to(out);
    ab_jsonw_object(&w);
    ab_jsonw_member(&w, ab_json_get(root, "apiVersion"));
    ab_jsonw_member(&w, ab_json_get(root, "kind"));
    ab_jsonw_key(&w, AB_STR("metadata"));
    ab_jsonw_object(&w);
    ab_jsonw_key_str(&w, "name", ab_object_name(local));
    ab_jsonw_key_str(&w, "namespace", ab_object_namespace(local));
    ab_jsonw_key_str(&w, "uid", ab_object_uid(local));
    report_annotations(&w, local);
    ab_jsonw_object_end(&w);
    for (const char *const *n = names; *n != NULL; n++)
        if (ab_json_present(ab_json_get(root, *n)))
            ab_jsonw_member(&w, ab_json_get(root, *n));
    ab_jsonw_object_end(&w);
    return ab_buf_status(out);
}
