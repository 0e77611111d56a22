/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects on their way to the peer. What is not named here passes with its text unchanged.
 */
#include "schema/attributes.h"
#include "transport/grpc/compat/compat_priv.h"

#include <stdio.h>

static void write_annotations(ab_spanw *w, ab_spanv annotations)
{
    ab_spanw_key_object(w, "annotations");
    for (ab_spanv v = ab_span_first(annotations); ab_span_present(v); v = ab_span_next(v))
        if (!ab_str_starts(ab_span_plain_key(v), AB_ANN_PREFIX))
            ab_spanw_member(w, v);
    ab_spanw_object_end(w);
}

static void write_metadata(ab_spanw *w, ab_spanv metadata, const ab_compat_edit *edit)
{
    ab_spanw_key_object(w, "metadata");
    for (ab_spanv v = ab_span_first(metadata); ab_span_present(v); v = ab_span_next(v)) {
        ab_str name = ab_span_plain_key(v);
        if (ab_str_is(name, "annotations"))
            write_annotations(w, v);
        else if (ab_str_is(name, "namespace") && edit->namespace != NULL)
            ab_spanw_key_str(w, "namespace", ab_str_of(edit->namespace));
        else
            ab_spanw_member(w, v);
    }
    ab_spanw_object_end(w);
}

static bool is_left_out(ab_str name, const ab_compat_edit *edit)
{
    bool type = ab_str_is(name, "kind") || ab_str_is(name, "apiVersion");
    return (type && edit->kind != NULL) || (ab_str_is(name, "operation") && edit->drop_operation);
}

static ab_str api_version(ab_str kind)
{
    bool core = ab_str_is(kind, "Secret") || ab_str_is(kind, "ConfigMap");
    return core ? AB_STR("v1") : AB_STR("argoproj.io/v1alpha1");
}

static void write_kind(ab_spanw *w, ab_str kind)
{
    ab_spanw_key_str(w, "apiVersion", api_version(kind));
    ab_spanw_key_str(w, "kind", kind);
}

void ab_compat_payload(ab_spanv object, const ab_compat_edit *edit, ab_buf *out)
{
    ab_spanw w = ab_spanw_object_to(out);
    if (edit->kind != NULL)
        write_kind(&w, ab_str_of(edit->kind));
    for (ab_spanv v = ab_span_first(object); ab_span_present(v); v = ab_span_next(v)) {
        ab_str name = ab_span_plain_key(v);
        if (ab_str_is(name, "metadata"))
            write_metadata(&w, v, edit);
        else if (!is_left_out(name, edit))
            ab_spanw_member(&w, v);
    }
    ab_spanw_object_end(&w);
}

void ab_compat_snapshot(ab_str key, const char *uid, const char *namespace, ab_buf *out)
{
    ab_str kind, ns, name;
    if (ab_object_key_split(key, &kind, &ns, &name) != AB_ERR_OK)
        return;
    ab_spanw w = ab_spanw_object_to(out);
    write_kind(&w, kind);
    ab_spanw_key_object(&w, "metadata");
    ab_spanw_key_str(&w, "name", name);
    ab_spanw_key_str(&w, "namespace", namespace == NULL ? ns : ab_str_of(namespace));
    if (uid != NULL)
        ab_spanw_key_str(&w, "uid", ab_str_of(uid));
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
}

void ab_compat_name(ab_go_event *go, ab_str name, ab_str uid, ab_str version)
{
    snprintf(go->resourceid, sizeof(go->resourceid), "%.*s_%.*s", AB_STR_ARG(name),
             AB_STR_ARG(uid));
    snprintf(go->eventid, sizeof(go->eventid), "%s_%.*s", go->resourceid, AB_STR_ARG(version));
}
