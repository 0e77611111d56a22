/* SPDX-License-Identifier: Apache-2.0 */
#include "store/directory/manifest.h"

#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of metadata; what the server sets and a manifest cannot. */
static const char *const server_set[] = {
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
};
#define SERVER_SET_COUNT (sizeof(server_set) / sizeof(server_set[0]))

/* kubectl's copy of the whole object. */
static const char last_applied[] = "kubectl.kubernetes.io/last-applied-configuration";

static bool same_node(ab_jsonv a, ab_jsonv b)
{
    return ab_json_present(a) && ab_json_present(b) && a.node == b.node;
}

/* Annotations without `left_out`; nothing at all when it was the only one. */
static void put_annotations(ab_jsonw *w, ab_jsonv annotations, const char *left_out)
{
    ab_jsonv out = ab_json_get(annotations, left_out);
    if (!ab_json_present(out)) {
        ab_jsonw_member(w, annotations);
        return;
    }
    if (ab_json_count(annotations) == 1)
        return;
    ab_jsonw_key(w, AB_STR("annotations"));
    ab_jsonw_object(w);
    for (ab_jsonv v = ab_json_first(annotations); ab_json_present(v); v = ab_json_next(v))
        if (!same_node(v, out))
            ab_jsonw_member(w, v);
    ab_jsonw_object_end(w);
}

static bool is_server_set(ab_jsonv member, const ab_jsonv set[SERVER_SET_COUNT])
{
    for (size_t i = 0; i < SERVER_SET_COUNT; i++)
        if (same_node(member, set[i]))
            return true;
    return false;
}

static void put_metadata(ab_jsonw *w, ab_jsonv metadata, ab_str ns)
{
    ab_jsonv set[SERVER_SET_COUNT];
    for (size_t i = 0; i < SERVER_SET_COUNT; i++)
        set[i] = ab_json_get(metadata, server_set[i]);
    ab_jsonv annotations = ab_json_get(metadata, "annotations");
    ab_jsonw_key(w, AB_STR("metadata"));
    ab_jsonw_object(w);
    for (ab_jsonv v = ab_json_first(metadata); ab_json_present(v); v = ab_json_next(v)) {
        if (same_node(v, annotations))
            put_annotations(w, v, AB_STORE_STATUS_VERSION);
        else if (!is_server_set(v, set))
            ab_jsonw_member(w, v);
    }
    if (!ab_json_present(ab_json_get(metadata, "namespace")))
        ab_jsonw_key_str(w, "namespace", ns);
    ab_jsonw_object_end(w);
}

static ab_err normalise(ab_jsonv root, ab_str ns, ab_json **out, ab_error *err)
{
    ab_buf text;
    ab_buf_init(&text, AB_JSON_SIZE_MAX);
    ab_jsonv status = ab_json_get(root, "status");
    ab_jsonv metadata = ab_json_get(root, "metadata");
    ab_jsonw w = ab_jsonw_to(&text);
    ab_jsonw_object(&w);
    for (ab_jsonv v = ab_json_first(root); ab_json_present(v); v = ab_json_next(v)) {
        if (same_node(v, metadata))
            put_metadata(&w, v, ns);
        else if (!same_node(v, status))
            ab_jsonw_member(&w, v);
    }
    ab_jsonw_object_end(&w);
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        e = ab_json_parse(ab_buf_str(&text), out, err);
    else
        (void)ab_fail(err, e, "cannot normalise the object");
    ab_buf_fini(&text);
    return e;
}

static ab_err check_place(ab_jsonv root, ab_str kind, ab_str ns, ab_error *err)
{
    if (ab_json_typeof(root) != AB_JSON_OBJECT)
        return ab_fail(
            err, AB_ERR_INVALID,
            "the document is not an object; write apiVersion, kind, metadata and spec as a map");
    ab_str own_kind = ab_json_plain(ab_json_get(root, "kind"));
    if (!ab_str_eq(own_kind, kind))
        return ab_fail(
            err, AB_ERR_INVALID,
            "kind is \"%.*s\", the folder is for \"%.*s\"; move the file or correct kind",
            AB_STR_ARG(own_kind), AB_STR_ARG(kind));
    ab_jsonv own_ns = ab_json_path(root, "metadata", "namespace", NULL);
    if (ab_json_present(own_ns) && !ab_str_eq(ab_json_plain(own_ns), ns))
        return ab_fail(err, AB_ERR_INVALID,
                       "metadata.namespace is \"%.*s\", the folder is for \"%.*s\"; move the file, "
                       "or leave the namespace out",
                       AB_STR_ARG(ab_json_plain(own_ns)), AB_STR_ARG(ns));
    ab_str name = ab_json_plain(ab_json_path(root, "metadata", "name", NULL));
    if (!ab_str_is_dns_subdomain(name))
        return ab_fail(err, AB_ERR_INVALID,
                       "metadata.name \"%.*s\" is not a DNS name (lower-case letters, digits, '-' "
                       "and '.'; at most 253)",
                       AB_STR_ARG(name));
    return AB_ERR_OK;
}

static ab_err fill(ab_manifest *m, ab_jsonv root, ab_str ns, ab_error *err)
{
    ab_err e = normalise(root, ns, &m->json, err);
    if (e != AB_ERR_OK)
        return e;
    ab_jsonv normal = ab_json_root(m->json);
    e = ab_json_digest(normal, &m->content);
    if (e == AB_ERR_OK)
        e = ab_json_digest(ab_json_get(normal, "spec"), &m->spec);
    if (e != AB_ERR_OK)
        return ab_fail(err, e, "cannot compute the digest");
    m->finalizers = ab_json_count(ab_json_path(normal, "metadata", "finalizers", NULL)) > 0;
    ab_str name = ab_json_plain(ab_json_path(normal, "metadata", "name", NULL));
    memcpy(m->name, name.ptr, name.len);
    m->name[name.len] = '\0';
    ab_jsonv status = ab_json_get(root, "status");
    if (ab_json_typeof(status) != AB_JSON_OBJECT)
        return AB_ERR_OK;
    m->status = ab_str_dup(ab_json_raw(status));
    return m->status != NULL ? AB_ERR_OK
                             : ab_fail(err, AB_ERR_NOMEM, "out of memory for the status");
}

ab_err ab_manifest_take(ab_jsonv root, ab_str kind, ab_str ns, ab_manifest *out, ab_error *err)
{
    ab_err e = check_place(root, kind, ns, err);
    if (e != AB_ERR_OK)
        return e;
    ab_manifest m = {0};
    e = fill(&m, root, ns, err);
    if (e != AB_ERR_OK) {
        ab_manifest_fini(&m);
        return e;
    }
    *out = m;
    return AB_ERR_OK;
}

void ab_manifest_fini(ab_manifest *m)
{
    ab_json_free(m->json);
    free(m->status);
    *m = (ab_manifest){0};
}

static void put_view_annotations(ab_jsonw *w, ab_jsonv annotations, const char *status_version)
{
    if (status_version == NULL) {
        if (ab_json_present(annotations))
            ab_jsonw_member(w, annotations);
        return;
    }
    ab_jsonw_key(w, AB_STR("annotations"));
    ab_jsonw_object(w);
    if (ab_json_typeof(annotations) == AB_JSON_OBJECT)
        for (ab_jsonv v = ab_json_first(annotations); ab_json_present(v); v = ab_json_next(v))
            ab_jsonw_member(w, v);
    ab_jsonw_key_str(w, AB_STORE_STATUS_VERSION, ab_str_of(status_version));
    ab_jsonw_object_end(w);
}

static void put_view_metadata(ab_jsonw *w, ab_jsonv metadata, const ab_sidecar *s)
{
    ab_jsonv annotations = ab_json_get(metadata, "annotations");
    char version[24];
    (void)snprintf(version, sizeof(version), "%" PRIu64, s->version);
    ab_jsonw_key(w, AB_STR("metadata"));
    ab_jsonw_object(w);
    for (ab_jsonv v = ab_json_first(metadata); ab_json_present(v); v = ab_json_next(v))
        if (!same_node(v, annotations))
            ab_jsonw_member(w, v);
    put_view_annotations(w, annotations, s->status_version);
    ab_jsonw_key_str(w, "uid", ab_str_of(s->uid));
    ab_jsonw_key_str(w, "resourceVersion", ab_str_of(version));
    ab_jsonw_key(w, AB_STR("generation"));
    ab_jsonw_int(w, (int64_t)s->generation);
    ab_jsonw_key_str(w, "creationTimestamp", ab_str_of(s->created));
    if (s->deleted[0] != '\0')
        ab_jsonw_key_str(w, "deletionTimestamp", ab_str_of(s->deleted));
    ab_jsonw_object_end(w);
}

ab_err ab_manifest_view(const ab_manifest *m, const ab_sidecar *s, ab_object **out, ab_error *err)
{
    ab_buf text;
    ab_buf_init(&text, AB_JSON_SIZE_MAX);
    ab_jsonv root = ab_json_root(m->json);
    ab_jsonv metadata = ab_json_get(root, "metadata");
    ab_jsonw w = ab_jsonw_to(&text);
    ab_jsonw_object(&w);
    for (ab_jsonv v = ab_json_first(root); ab_json_present(v); v = ab_json_next(v)) {
        if (same_node(v, metadata))
            put_view_metadata(&w, v, s);
        else
            ab_jsonw_member(&w, v);
    }
    ab_jsonw_key_raw(&w, "status", ab_str_of(s->status));
    ab_jsonw_object_end(&w);
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        e = ab_object_parse(ab_buf_str(&text), out, err);
    else
        (void)ab_fail(err, e, "cannot build the object");
    ab_buf_fini(&text);
    return e;
}

ab_err ab_manifest_head(const ab_object *object, char **out)
{
    ab_buf text;
    ab_buf_init(&text, AB_JSON_SIZE_MAX);
    ab_jsonw w = ab_jsonw_to(&text);
    ab_jsonw_object(&w);
    ab_jsonw_key_raw(&w, "apiVersion", ab_json_raw(ab_object_field(object, "apiVersion")));
    ab_jsonw_key_str(&w, "kind", ab_object_kind(object));
    ab_jsonv metadata = ab_object_field(object, "metadata");
    ab_jsonv annotations = ab_json_get(metadata, "annotations");
    ab_jsonw_key(&w, AB_STR("metadata"));
    ab_jsonw_object(&w);
    for (ab_jsonv v = ab_json_first(metadata); ab_json_present(v); v = ab_json_next(v)) {
        if (same_node(v, annotations))
            put_annotations(&w, v, last_applied);
        else
            ab_jsonw_member(&w, v);
    }
    ab_jsonw_object_end(&w);
    ab_jsonw_object_end(&w);
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        *out = ab_buf_take(&text);
    ab_buf_fini(&text);
    return e;
}
