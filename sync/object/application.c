/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/application.h"

#include "base/core/rfc3339.h"
#include "schema/attributes.h"
#include "sync/object/copy.h"

/* In the order of the hub's: the text is hashed. */
static void desired_metadata(ab_spanw *w, ab_spanv metadata)
{
    static const char *const left_out[] = {"annotations", "resourceVersion",
                                           "generation",  "managedFields",
                                           "selfLink",    "deletionGracePeriodSeconds",
                                           NULL};
    for (ab_spanv v = ab_span_first(metadata); ab_span_present(v); v = ab_span_next(v)) {
        if (ab_span_key_is(v, "labels"))
            ab_copy_labels(w, v);
        else if (!ab_str_is_one_of(ab_span_plain_key(v), left_out))
            ab_spanw_member(w, v);
    }
    ab_copy_sent_annotations(w, ab_span_get(metadata, "annotations"));
}

ab_err ab_app_desired(const ab_object *hub, ab_buf *out)
{
    static const char *const top[] = {"metadata", "status", "operation", NULL};
    ab_spanv root = ab_object_json(hub);
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_members(&w, root, top);
    ab_spanw_key_object(&w, "metadata");
    desired_metadata(&w, ab_span_get(root, "metadata"));
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}

static void report_annotations(ab_spanw *w, const ab_object *o)
{
    static const char *const names[] = {AB_ANN_SOURCE_UID,     AB_ANN_PRINCIPAL_UID, AB_ANN_REFRESH,
                                        AB_ANN_LAST_OPERATION, AB_ANN_LAST_REFRESH,  NULL};
    ab_spanv annotations = ab_object_meta(o, "annotations");
    ab_spanw_key_object(w, "annotations");
    for (const char *const *n = names; *n != NULL; n++)
        ab_spanw_member(w, ab_span_get(annotations, *n));
    ab_spanw_object_end(w);
}

ab_err ab_app_report(const ab_object *local, ab_buf *out)
{
    ab_spanv root = ab_object_json(local);
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_member(&w, ab_span_get(root, "apiVersion"));
    ab_spanw_member(&w, ab_span_get(root, "kind"));
    ab_spanw_key_object(&w, "metadata");
    ab_spanw_key_str(&w, "name", ab_object_name(local));
    ab_spanw_key_str(&w, "namespace", ab_object_namespace(local));
    ab_spanw_key_str(&w, "uid", ab_object_uid(local));
    report_annotations(&w, local);
    ab_spanw_object_end(&w);
    ab_spanw_member(&w, ab_span_get(root, "operation"));
    ab_spanw_member(&w, ab_span_get(root, "status"));
    ab_spanw_object_end(&w);
    return ab_buf_status(out);
}

bool ab_app_is_deletion_approved(const ab_object *o)
{
    int64_t deleted, approved;
    int32_t fraction; /* the API server's times have none */
    return ab_rfc3339_parse(ab_span_plain(ab_object_meta(o, "deletionTimestamp")), &deleted,
                            &fraction) &&
           ab_rfc3339_parse(ab_object_annotation(o, AB_ANN_DELETION_APPROVED), &approved,
                            &fraction) &&
           approved >= deleted;
}
