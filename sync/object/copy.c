/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/object/copy.h"

#include "schema/attributes.h"

/* Annotations that carry requests and bookkeeping, not what the user wants. */
static bool is_bookkeeping(ab_str annotation)
{
    static const char *const names[] = {AB_ANN_REFRESH,
                                        AB_ANN_WITH_REFRESH,
                                        AB_ANN_LAST_APPLIED,
                                        AB_ANN_LAST_UPDATED,
                                        AB_ANN_NOTIFIED,
                                        AB_ANN_COPIES,
                                        NULL};
    return ab_str_is_one_of(annotation, names) || ab_str_starts(annotation, AB_ANN_PREFIX);
}

static bool is_ownership(ab_str annotation)
{
    static const char *const names[] = {AB_ANN_SOURCE_UID, AB_ANN_PRINCIPAL_UID, AB_ANN_REMAPPED,
                                        AB_ANN_TRACKING_ID, NULL};
    return ab_str_is_one_of(annotation, names);
}

static void copy(ab_spanw *w, ab_spanv annotations, bool sent)
{
    bool open = false;
    for (ab_spanv v = ab_span_first(annotations); ab_span_present(v); v = ab_span_next(v)) {
        ab_str name = ab_span_plain_key(v);
        if (is_bookkeeping(name) || (sent && is_ownership(name)))
            continue;
        if (!open) {
            ab_spanw_key_object(w, "annotations");
        }
        open = true;
        ab_spanw_member(w, v);
    }
    if (open)
        ab_spanw_object_end(w);
}

void ab_copy_desired_annotations(ab_spanw *w, ab_spanv annotations)
{
    copy(w, annotations, false);
}

void ab_copy_sent_annotations(ab_spanw *w, ab_spanv annotations)
{
    copy(w, annotations, true);
}

void ab_copy_labels(ab_spanw *w, ab_spanv labels)
{
    static const char *const left_out[] = {AB_LABEL_INSTANCE, NULL};
    if (!ab_span_present(labels))
        return;
    ab_spanw_key_object(w, "labels");
    ab_spanw_members(w, labels, left_out);
    ab_spanw_object_end(w);
}
