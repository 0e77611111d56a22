/* SPDX-License-Identifier: Apache-2.0 */
#include "store/directory/manifest/manifest.h"

#include "base/core/base64.h"
#include "store/op.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* kubectl's copy of the whole object. */
static const char last_applied[] = "kubectl.kubernetes.io/last-applied-configuration";

static bool same_node(ab_spanv a, ab_spanv b)
{
    return ab_span_present(a) && ab_span_present(b) && a.node == b.node;
}

/* Annotations without `left_out`; nothing at all when it was the only one. */
static void put_annotations(ab_spanw *w, ab_spanv annotations, const char *left_out)
{
    ab_spanv out = ab_span_get(annotations, left_out);
    if (!ab_span_present(out)) {
        ab_spanw_member(w, annotations);
        return;
    }
    if (ab_span_count(annotations) == 1)
        return;
    ab_spanw_key_object(w, "annotations");
    for (ab_spanv v = ab_span_first(annotations); ab_span_present(v); v = ab_span_next(v))
        if (!same_node(v, out))
            ab_spanw_member(w, v);
    ab_spanw_object_end(w);
}

static bool is_server_set(ab_spanv member, const ab_spanv set[AB_STORE_SERVER_SET_COUNT])
{
    for (size_t i = 0; i < AB_STORE_SERVER_SET_COUNT; i++)
        if (same_node(member, set[i]))
            return true;
    return false;
}

static void put_metadata(ab_spanw *w, ab_spanv metadata, ab_str ns)
{
    ab_spanv set[AB_STORE_SERVER_SET_COUNT];
    for (size_t i = 0; i < AB_STORE_SERVER_SET_COUNT; i++)
        set[i] = ab_span_get(metadata, ab_store_server_set[i]);
    ab_spanv annotations = ab_span_get(metadata, "annotations");
    ab_spanw_key_object(w, "metadata");
    for (ab_spanv v = ab_span_first(metadata); ab_span_present(v); v = ab_span_next(v)) {
        if (same_node(v, annotations))
            put_annotations(w, v, AB_STORE_STATUS_VERSION);
        else if (!is_server_set(v, set))
            ab_spanw_member(w, v);
    }
    if (!ab_span_present(ab_span_get(metadata, "namespace")))
        ab_spanw_key_str(w, "namespace", ns);
    ab_spanw_object_end(w);
}

static ab_err put_string(ab_spanw *w, ab_spanv string, ab_error *err)
{
    ab_str name = ab_span_plain_key(string);
    if (name.ptr == NULL || ab_span_typeof(string) != AB_SPAN_STRING)
        return ab_fail(err, AB_ERR_INVALID, "stringData: \"%.*s\" is not a string; quote it",
                       AB_STR_ARG(name));
    ab_buf content = ab_buf_secret_up_to(AB_SPAN_SIZE_MAX);
    ab_buf text = ab_buf_secret_up_to(AB_SPAN_SIZE_MAX);
    ab_err e = ab_span_copy(string, &content);
    ab_base64_encode(ab_buf_str(&content), &text);
    if (e == AB_ERR_OK)
        e = ab_buf_status(&text);
    ab_spanw_key(w, name);
    ab_spanw_str(w, ab_buf_str(&text));
    ab_buf_fini(&content);
    ab_buf_fini(&text);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "stringData: %s", ab_err_text(e));
}

/* As an API server stores it: stringData in place of data of the same names. */
static ab_err put_data(ab_spanw *w, ab_spanv data, ab_spanv strings, ab_error *err)
{
    ab_err e = AB_ERR_OK;
    ab_spanw_key_object(w, "data");
    for (ab_spanv v = ab_span_first(data); ab_span_present(v); v = ab_span_next(v))
        if (!ab_span_present(ab_span_get_str(strings, ab_span_plain_key(v))))
            ab_spanw_member(w, v);
    for (ab_spanv v = ab_span_first(strings); ab_span_present(v) && e == AB_ERR_OK;
         v = ab_span_next(v))
        e = put_string(w, v, err);
    ab_spanw_object_end(w);
    return e;
}

static ab_err normalise(ab_spanv root, ab_str ns, ab_span **out, ab_error *err)
{
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_spanv status = ab_span_get(root, "status");
    ab_spanv metadata = ab_span_get(root, "metadata");
    bool secret = ab_span_is(ab_span_get(root, "kind"), "Secret");
    ab_spanv strings = secret ? ab_span_get(root, "stringData") : (ab_spanv){0};
    ab_spanv data = ab_span_present(strings) ? ab_span_get(root, "data") : (ab_spanv){0};
    ab_err e = AB_ERR_OK;
    ab_spanw w = ab_spanw_object_to(&text);
    for (ab_spanv v = ab_span_first(root); ab_span_present(v) && e == AB_ERR_OK;
         v = ab_span_next(v)) {
        if (same_node(v, metadata))
            put_metadata(&w, v, ns);
        else if (same_node(v, strings))
            e = put_data(&w, data, v, err);
        else if (!same_node(v, status) && !same_node(v, data))
            ab_spanw_member(&w, v);
    }
    ab_spanw_object_end(&w);
    if (e == AB_ERR_OK && (e = ab_buf_status(&text)) != AB_ERR_OK)
        (void)ab_fail(err, e, "cannot normalise the object");
    if (e == AB_ERR_OK)
        e = ab_span_parse(ab_buf_str(&text), out, err);
    ab_buf_fini(&text);
    return e;
}

static ab_err check_place(ab_spanv root, ab_str kind, ab_str ns, ab_error *err)
{
    if (ab_span_typeof(root) != AB_SPAN_OBJECT)
        return ab_fail(
            err, AB_ERR_INVALID,
            "the document is not an object; write apiVersion, kind, metadata and spec as a map");
    ab_str own_kind = ab_span_plain(ab_span_get(root, "kind"));
    if (!ab_str_eq(own_kind, kind))
        return ab_fail(
            err, AB_ERR_INVALID,
            "kind is \"%.*s\", the folder is for \"%.*s\"; move the file or correct kind",
            AB_STR_ARG(own_kind), AB_STR_ARG(kind));
    ab_spanv own_ns = ab_span_path(root, "metadata", "namespace", NULL);
    if (ab_span_present(own_ns) && !ab_str_eq(ab_span_plain(own_ns), ns))
        return ab_fail(err, AB_ERR_INVALID,
                       "metadata.namespace is \"%.*s\", the folder is for \"%.*s\"; move the file, "
                       "or leave the namespace out",
                       AB_STR_ARG(ab_span_plain(own_ns)), AB_STR_ARG(ns));
    ab_str name = ab_span_plain(ab_span_path(root, "metadata", "name", NULL));
    if (!ab_str_is_dns_subdomain(name))
        return ab_fail(err, AB_ERR_INVALID,
                       "metadata.name \"%.*s\" is not a DNS name (lower-case letters, digits, '-' "
                       "and '.'; at most 253)",
                       AB_STR_ARG(name));
    return AB_ERR_OK;
}

static ab_err fill(ab_manifest *m, ab_spanv root, ab_str ns, ab_error *err)
{
    ab_err e = normalise(root, ns, &m->json, err);
    if (e != AB_ERR_OK)
        return e;
    ab_spanv normal = ab_span_root(m->json);
    e = ab_span_digest(normal, &m->content);
    if (e == AB_ERR_OK)
        e = ab_span_digest(ab_span_get(normal, "spec"), &m->spec);
    if (e != AB_ERR_OK)
        return ab_fail(err, e, "cannot compute the digest");
    m->finalizers = ab_span_count(ab_span_path(normal, "metadata", "finalizers", NULL)) > 0;
    ab_str name = ab_span_plain(ab_span_path(normal, "metadata", "name", NULL));
    memcpy(m->name, name.ptr, name.len);
    m->name[name.len] = '\0';
    ab_spanv status = ab_span_get(root, "status");
    if (ab_span_typeof(status) != AB_SPAN_OBJECT)
        return AB_ERR_OK;
    m->status = ab_str_dup(ab_span_raw(status));
    return m->status != NULL ? AB_ERR_OK
                             : ab_fail(err, AB_ERR_NOMEM, "out of memory for the status");
}

ab_err ab_manifest_take(ab_spanv root, ab_str kind, ab_str ns, ab_manifest *out, ab_error *err)
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
    ab_span_free(m->json);
    free(m->status);
    *m = (ab_manifest){0};
}

static void put_view_annotations(ab_spanw *w, ab_spanv annotations, const char *status_version)
{
    if (status_version == NULL) {
        if (ab_span_present(annotations))
            ab_spanw_member(w, annotations);
        return;
    }
    ab_spanw_key_object(w, "annotations");
    if (ab_span_typeof(annotations) == AB_SPAN_OBJECT)
        for (ab_spanv v = ab_span_first(annotations); ab_span_present(v); v = ab_span_next(v))
            ab_spanw_member(w, v);
    ab_spanw_key_str(w, AB_STORE_STATUS_VERSION, ab_str_of(status_version));
    ab_spanw_object_end(w);
}

static void put_view_metadata(ab_spanw *w, ab_spanv metadata, const ab_sidecar *s)
{
    ab_spanv annotations = ab_span_get(metadata, "annotations");
    char version[24];
    (void)snprintf(version, sizeof(version), "%" PRIu64, s->version);
    ab_spanw_key_object(w, "metadata");
    for (ab_spanv v = ab_span_first(metadata); ab_span_present(v); v = ab_span_next(v))
        if (!same_node(v, annotations))
            ab_spanw_member(w, v);
    put_view_annotations(w, annotations, s->status_version);
    ab_spanw_key_str(w, "uid", ab_str_of(s->uid));
    ab_spanw_key_str(w, "resourceVersion", ab_str_of(version));
    ab_spanw_key_int(w, "generation", (int64_t)s->generation);
    ab_spanw_key_str(w, "creationTimestamp", ab_str_of(s->created));
    if (s->deleted[0] != '\0')
        ab_spanw_key_str(w, "deletionTimestamp", ab_str_of(s->deleted));
    ab_spanw_object_end(w);
}

ab_err ab_manifest_view(const ab_manifest *m, const ab_sidecar *s, ab_object **out, ab_error *err)
{
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_spanv root = ab_span_root(m->json);
    ab_spanv metadata = ab_span_get(root, "metadata");
    ab_spanw w = ab_spanw_object_to(&text);
    for (ab_spanv v = ab_span_first(root); ab_span_present(v); v = ab_span_next(v)) {
        if (same_node(v, metadata))
            put_view_metadata(&w, v, s);
        else
            ab_spanw_member(&w, v);
    }
    ab_spanw_key_raw(&w, "status", ab_str_of(s->status));
    ab_spanw_object_end(&w);
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
    ab_buf text = ab_buf_up_to(AB_SPAN_SIZE_MAX);
    ab_spanw w = ab_spanw_object_to(&text);
    ab_spanw_key_raw(&w, "apiVersion", ab_span_raw(ab_object_field(object, "apiVersion")));
    ab_spanw_key_str(&w, "kind", ab_object_kind(object));
    ab_spanv metadata = ab_object_field(object, "metadata");
    ab_spanv annotations = ab_span_get(metadata, "annotations");
    ab_spanw_key_object(&w, "metadata");
    for (ab_spanv v = ab_span_first(metadata); ab_span_present(v); v = ab_span_next(v)) {
        if (same_node(v, annotations))
            put_annotations(&w, v, last_applied);
        else
            ab_spanw_member(&w, v);
    }
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
    ab_err e = ab_buf_status(&text);
    if (e == AB_ERR_OK)
        *out = ab_buf_take(&text);
    ab_buf_fini(&text);
    return e;
}
