/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/object.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define KIND_MAX 63

struct ab_object {
    ab_span *doc;
    uint32_t refs;
    uint32_t meta; /* node of metadata: looked up often */
    uint8_t kind_len;
    uint8_t ns_len;
    uint8_t name_len;
    char key[]; /* "<kind>/<namespace>/<name>" and a NUL */
};

typedef struct {
    ab_str kind;
    ab_str ns;
    ab_str name;
} identity;

static bool is_kind(ab_str s)
{
    if (s.len == 0 || s.len > KIND_MAX)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(c >= '0' && c <= '9'))
            return false;
    }
    return true;
}

/* These rules leave no room for "/", "." or ".." as a part, so a key is safe as a path. */
static ab_err check_identity(const identity *id, ab_error *err)
{
    if (!is_kind(id->kind))
        return ab_fail(err, AB_ERR_INVALID, "kind must be 1 to %d letters and digits", KIND_MAX);
    if (!ab_str_is_dns_label(id->ns))
        return ab_fail(err, AB_ERR_INVALID, "metadata.namespace must be a DNS label");
    if (!ab_str_is_dns_subdomain(id->name))
        return ab_fail(err, AB_ERR_INVALID, "metadata.name must be a DNS subdomain");
    return AB_ERR_OK;
}

static char *put_part(char *at, ab_str part, char end)
{
    memcpy(at, part.ptr, part.len);
    at[part.len] = end;
    return at + part.len + 1;
}

static ab_object *new_object(ab_span *doc, ab_spanv meta, const identity *id)
{
    size_t key_size = id->kind.len + id->ns.len + id->name.len + 3;
    assert(key_size <= AB_OBJECT_KEY_MAX);
    ab_object *o = malloc(sizeof(*o) + key_size);
    if (o == NULL)
        return NULL;
    *o = (ab_object){.doc = doc,
                     .refs = 1,
                     .meta = meta.node,
                     .kind_len = (uint8_t)id->kind.len,
                     .ns_len = (uint8_t)id->ns.len,
                     .name_len = (uint8_t)id->name.len};
    char *at = put_part(o->key, id->kind, '/');
    at = put_part(at, id->ns, '/');
    (void)put_part(at, id->name, '\0');
    return o;
}

ab_err ab_object_from(ab_span *doc, ab_object **out, ab_error *err)
{
    ab_spanv root = ab_span_root(doc);
    ab_spanv meta = ab_span_get(root, "metadata");
    identity id = {.kind = ab_span_plain(ab_span_get(root, "kind")),
                   .ns = ab_span_plain(ab_span_get(meta, "namespace")),
                   .name = ab_span_plain(ab_span_get(meta, "name"))};
    ab_err e = check_identity(&id, err);
    if (e != AB_ERR_OK)
        return e;
    ab_object *o = new_object(doc, meta, &id);
    if (o == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for an object");
    *out = o;
    return AB_ERR_OK;
}

ab_err ab_object_parse(ab_str json, ab_object **out, ab_error *err)
{
    ab_span *doc = NULL;
    ab_err e = ab_span_parse(json, &doc, err);
    if (e != AB_ERR_OK)
        return e;
    e = ab_object_from(doc, out, err);
    if (e != AB_ERR_OK)
        ab_span_free(doc);
    return e;
}

ab_object *ab_object_ref(ab_object *o)
{
    assert(o->refs > 0 && o->refs < UINT32_MAX);
    o->refs++;
    return o;
}

void ab_object_unref(ab_object *o)
{
    if (o == NULL)
        return;
    assert(o->refs > 0);
    if (--o->refs > 0)
        return;
    if (ab_str_is(ab_object_kind(o), "Secret"))
        ab_span_wipe(o->doc);
    else
        ab_span_free(o->doc);
    free(o);
}

const char *ab_object_key(const ab_object *o)
{
    return o->key;
}

ab_str ab_object_kind(const ab_object *o)
{
    return (ab_str){o->key, o->kind_len};
}

ab_str ab_object_namespace(const ab_object *o)
{
    return (ab_str){o->key + o->kind_len + 1, o->ns_len};
}

ab_str ab_object_name(const ab_object *o)
{
    return (ab_str){o->key + o->kind_len + 1 + o->ns_len + 1, o->name_len};
}

ab_spanv ab_object_json(const ab_object *o)
{
    return ab_span_root(o->doc);
}

ab_spanv ab_object_field(const ab_object *o, const char *name)
{
    return ab_span_get(ab_object_json(o), name);
}

ab_spanv ab_object_meta(const ab_object *o, const char *name)
{
    return ab_span_get((ab_spanv){o->doc, o->meta}, name);
}

static ab_str meta_or_empty(const ab_object *o, const char *name)
{
    ab_str value = ab_span_plain(ab_object_meta(o, name));
    return value.ptr == NULL ? AB_STR("") : value;
}

ab_str ab_object_uid(const ab_object *o)
{
    return meta_or_empty(o, "uid");
}

ab_str ab_object_version(const ab_object *o)
{
    return meta_or_empty(o, "resourceVersion");
}

ab_str ab_object_annotation(const ab_object *o, const char *name)
{
    return ab_span_plain(ab_span_get(ab_object_meta(o, "annotations"), name));
}

bool ab_object_deleting(const ab_object *o)
{
    ab_span_type type = ab_span_typeof(ab_object_meta(o, "deletionTimestamp"));
    return type != AB_SPAN_NONE && type != AB_SPAN_NULL;
}

ab_err ab_object_key_split(ab_str key, ab_str *kind, ab_str *ns, ab_str *name)
{
    identity id = {.kind = ab_str_cut(&key, '/')};
    id.ns = ab_str_cut(&key, '/');
    id.name = key;
    ab_err e = check_identity(&id, NULL);
    if (e != AB_ERR_OK)
        return e;
    *kind = id.kind;
    *ns = id.ns;
    *name = id.name;
    return AB_ERR_OK;
}
