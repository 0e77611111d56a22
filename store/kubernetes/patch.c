/* SPDX-License-Identifier: Apache-2.0 */
#include "store/kubernetes/patch.h"

#include "store/op.h"

#include <stdio.h>
#include <string.h>

/* AB_STORE_STATUS_VERSION as a JSON pointer has it. */
#define STATUS_VERSION_PATH "/metadata/annotations/argobus.io~1status-version"

/* Members of metadata that a write replaces; the server refuses or ignores changes of the rest. */
static const char *const replaced[] = {"labels", "annotations", "finalizers", "ownerReferences",
                                       NULL};
/* Members of an object that a patch does not replace. */
static const char *const kept[] = {"apiVersion", "kind", "metadata", "status", NULL};

void ab_kube_put_new(const ab_object *object, ab_buf *out)
{
    static const char *const apart[] = {"metadata", "status", NULL};
    ab_spanw w = ab_spanw_to(out);
    ab_spanv root = ab_object_json(object);
    ab_spanw_object(&w);
    ab_spanw_members(&w, root, apart);
    ab_spanw_key_object(&w, "metadata");
    ab_spanw_members(&w, ab_span_get(root, "metadata"), ab_store_server_set);
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
}

/* `value` is JSON, absent for "remove". */
static void put_op(ab_spanw *w, const char *op, const char *path, ab_str value)
{
    ab_spanw_object(w);
    ab_spanw_key_str(w, "op", ab_str_of(op));
    ab_spanw_key_str(w, "path", ab_str_of(path));
    ab_spanw_key_raw(w, "value", value);
    ab_spanw_object_end(w);
}

static void put_op_text(ab_spanw *w, const char *op, const char *path, ab_str text)
{
    if (text.ptr == NULL)
        return;
    ab_spanw_object(w);
    ab_spanw_key_str(w, "op", ab_str_of(op));
    ab_spanw_key_str(w, "path", ab_str_of(path));
    ab_spanw_key_str(w, "value", text);
    ab_spanw_object_end(w);
}

/* The server answers 409 to another resourceVersion; a uid cannot be told to it but by a test. */
static void put_guard(ab_spanw *w, const ab_kube_guard *guard)
{
    put_op_text(w, "test", "/metadata/uid", guard->uid);
    put_op_text(w, "add", "/metadata/resourceVersion", guard->version);
}

static void put_absent(ab_spanw *w, const char *path)
{
    put_op(w, "add", path, AB_STR("null"));
    put_op(w, "remove", path, AB_STR_NONE);
}

static void put_metadata(ab_spanw *w, const ab_object *object)
{
    for (const char *const *name = replaced; *name != NULL; name++) {
        char path[64];
        ab_spanv value = ab_object_meta(object, *name);
        (void)snprintf(path, sizeof(path), "/metadata/%s", *name);
        if (ab_span_count(value) > 0)
            put_op(w, "add", path, ab_span_raw(value));
        else
            put_absent(w, path);
    }
}

/* A name with an escape or one that JSON pointers write differently is none that the API knows. */
static bool is_pointer(ab_str name)
{
    return name.len > 0 && memchr(name.ptr, '/', name.len) == NULL &&
           memchr(name.ptr, '~', name.len) == NULL;
}

static void put_members(ab_spanw *w, const ab_object *object)
{
    ab_spanv first = ab_span_first(ab_object_json(object));
    for (ab_spanv m = first; ab_span_present(m); m = ab_span_next(m)) {
        char path[128];
        ab_str name = ab_span_plain_key(m);
        if (!is_pointer(name) || ab_str_is_one_of(name, kept) || name.len + 2 > sizeof(path))
            continue;
        (void)snprintf(path, sizeof(path), "/%.*s", AB_STR_ARG(name));
        put_op(w, "add", path, ab_span_raw(m));
    }
}

void ab_kube_put_patch(const ab_kube_resource *r, const ab_object *object,
                       const ab_kube_guard *guard, ab_buf *out)
{
    ab_spanw w = ab_spanw_to(out);
    ab_spanw_array(&w);
    put_guard(&w, guard);
    put_metadata(&w, object);
    put_members(&w, object);
    for (const char *const *name = r->optional; *name != NULL; name++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "/%s", *name);
        if (!ab_span_present(ab_object_field(object, *name)))
            put_absent(&w, path);
    }
    ab_spanw_array_end(&w);
}

static void put_first_annotation(ab_spanw *w, ab_str version)
{
    /* An absent member equals null here. */
    put_op(w, "test", "/metadata/annotations", AB_STR("null"));
    ab_spanw_object(w);
    ab_spanw_key_str(w, "op", AB_STR("add"));
    ab_spanw_key_str(w, "path", AB_STR("/metadata/annotations"));
    ab_spanw_key_object(w, "value");
    ab_spanw_key_str(w, AB_STORE_STATUS_VERSION, version);
    ab_spanw_object_end(w);
    ab_spanw_object_end(w);
}

void ab_kube_put_status(ab_str status, ab_str version, bool first_annotation,
                        const ab_kube_guard *guard, ab_buf *out)
{
    ab_spanw w = ab_spanw_to(out);
    ab_spanw_array(&w);
    put_guard(&w, guard);
    if (first_annotation)
        put_first_annotation(&w, version);
    else
        put_op_text(&w, "add", STATUS_VERSION_PATH, version);
    put_op(&w, "add", "/status", status);
    ab_spanw_array_end(&w);
}

void ab_kube_put_delete(const char *policy, const ab_kube_guard *guard, ab_buf *out)
{
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_key_str(&w, "kind", AB_STR("DeleteOptions"));
    ab_spanw_key_str(&w, "apiVersion", AB_STR("v1"));
    ab_spanw_key_str(&w, "propagationPolicy", ab_str_of(policy));
    ab_spanw_key_object(&w, "preconditions");
    ab_spanw_key_str(&w, "uid", guard->uid);
    ab_spanw_key_str(&w, "resourceVersion", guard->version);
    ab_spanw_object_end(&w);
    ab_spanw_object_end(&w);
}
