/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects on their way to the peer. What is not named here passes with its text unchanged.
 */
#include "schema/attributes.h"
#include "transport/grpc/dialect/dialect_priv.h"

#include <stdio.h>

static void write_annotations(ab_jsonw *w, ab_jsonv annotations)
{
    ab_jsonw_key(w, AB_STR("annotations"));
    ab_jsonw_object(w);
    for (ab_jsonv v = ab_json_first(annotations); ab_json_present(v); v = ab_json_next(v))
        if (!ab_str_starts(ab_json_plain_key(v), AB_ANN_PREFIX))
            ab_jsonw_member(w, v);
    ab_jsonw_object_end(w);
}

static void write_metadata(ab_jsonw *w, ab_jsonv metadata, const ab_dialect_edit *edit)
{
    ab_jsonw_key(w, AB_STR("metadata"));
    ab_jsonw_object(w);
    for (ab_jsonv v = ab_json_first(metadata); ab_json_present(v); v = ab_json_next(v)) {
        ab_str name = ab_json_plain_key(v);
        if (ab_str_is(name, "annotations"))
            write_annotations(w, v);
        else if (ab_str_is(name, "namespace") && edit->namespace != NULL)
            ab_jsonw_key_str(w, "namespace", ab_str_of(edit->namespace));
        else
            ab_jsonw_member(w, v);
    }
    ab_jsonw_object_end(w);
}

static bool is_left_out(ab_str name, const ab_dialect_edit *edit)
{
    bool type = ab_str_is(name, "kind") || ab_str_is(name, "apiVersion");
    return (type && edit->kind != NULL) || (ab_str_is(name, "operation") && edit->drop_operation);
}

static ab_str api_version(ab_str kind)
{
    bool core = ab_str_is(kind, "Secret") || ab_str_is(kind, "ConfigMap");
    return core ? AB_STR("v1") : AB_STR("argoproj.io/v1alpha1");
}

static void write_kind(ab_jsonw *w, ab_str kind)
{
    ab_jsonw_key_str(w, "apiVersion", api_version(kind));
    ab_jsonw_key_str(w, "kind", kind);
}

void ab_dialect_payload(ab_jsonv object, const ab_dialect_edit *edit, ab_buf *out)
{
    ab_jsonw w = ab_jsonw_to(out);
    ab_jsonw_object(&w);
    if (edit->kind != NULL)
        write_kind(&w, ab_str_of(edit->kind));
    for (ab_jsonv v = ab_json_first(object); ab_json_present(v); v = ab_json_next(v)) {
        ab_str name = ab_json_plain_key(v);
        if (ab_str_is(name, "metadata"))
            write_metadata(&w, v, edit);
        else if (!is_left_out(name, edit))
            ab_jsonw_member(&w, v);
    }
    ab_jsonw_object_end(&w);
}

void ab_dialect_outline(ab_str key, const char *uid, const char *namespace, ab_buf *out)
{
    ab_str kind, ns, name;
    if (ab_object_key_split(key, &kind, &ns, &name) != AB_ERR_OK)
        return;
    ab_jsonw w = ab_jsonw_to(out);
    ab_jsonw_object(&w);
    write_kind(&w, kind);
    ab_jsonw_key(&w, AB_STR("metadata"));
    ab_jsonw_object(&w);
    ab_jsonw_key_str(&w, "name", name);
    ab_jsonw_key_str(&w, "namespace", namespace == NULL ? ns : ab_str_of(namespace));
    if (uid != NULL)
        ab_jsonw_key_str(&w, "uid", ab_str_of(uid));
    ab_jsonw_object_end(&w);
    ab_jsonw_object_end(&w);
}

void ab_dialect_name(ab_go_event *go, ab_str name, ab_str uid, ab_str version)
{
    snprintf(go->resourceid, sizeof(go->resourceid), "%.*s_%.*s", AB_STR_ARG(name),
             AB_STR_ARG(uid));
    snprintf(go->eventid, sizeof(go->eventid), "%s_%.*s", go->resourceid, AB_STR_ARG(version));
}
