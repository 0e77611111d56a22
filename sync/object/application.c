/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/application.h"

#include "schema/attributes.h"
#include "sync/object/copy.h"

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
    ab_copy_except(&w, root, top);
    ab_jsonw_key(&w, AB_STR("metadata"));
    ab_jsonw_object(&w);
    ab_copy_except(&w, metadata, meta);
    ab_copy_wish_annotations(&w, ab_json_get(metadata, "annotations"));
    ab_jsonw_object_end(&w);
    ab_jsonw_object_end(&w);
    return ab_buf_status(out);
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
