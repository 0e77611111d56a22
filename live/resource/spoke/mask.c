/* SPDX-License-Identifier: Apache-2.0
 *
 * A masked document is put together from the spans of the one that came. The depth of the calls is
 * fixed: an event holds an object, a list holds items, an item holds at most one annotation with
 * another Secret in it. See mask.h.
 */
#include "live/resource/spoke/mask.h"

#include "base/json/span.h"
#include "schema/attributes.h"

#include <string.h>

#define MASK "++++++++"

/* Annotations that hold the object once more. */
static const char *const COPIES[] = {AB_ANN_LAST_APPLIED, AB_ANN_COPIES, NULL};

/* {"a": "++++++++", ...} for the members of `values`; null and other types stay empty. */
static void put_masked(ab_spanw *w, ab_spanv values)
{
    ab_spanw_object(w);
    for (ab_spanv v = ab_span_first(values); ab_span_present(v); v = ab_span_next(v)) {
        ab_str raw = ab_span_raw_key(v);
        ab_buf name = ab_buf_up_to(raw.len + 1);
        (void)ab_span_unescape((ab_str){raw.ptr + 1, raw.len - 2}, &name);
        ab_spanw_key(w, ab_buf_str(&name));
        ab_spanw_str(w, AB_STR(MASK));
        ab_buf_fini(&name);
    }
    ab_spanw_object_end(w);
}

static void put_values(ab_spanw *w, ab_spanv secret)
{
    static const char *const HOLDERS[] = {"data", "stringData"};
    for (size_t i = 0; i < 2; i++) {
        ab_spanv values = ab_span_get(secret, HOLDERS[i]);
        if (!ab_span_present(values))
            continue;
        ab_spanw_key(w, ab_str_of(HOLDERS[i]));
        if (ab_span_typeof(values) == AB_SPAN_OBJECT)
            put_masked(w, values);
        else
            ab_spanw_raw(w, AB_STR("null"));
    }
}

static bool has_copy(ab_spanv annotations)
{
    bool found = false;
    for (size_t i = 0; COPIES[i] != NULL; i++)
        found = found || ab_span_present(ab_span_get(annotations, COPIES[i]));
    return found;
}

/* The Secret that was applied, with its values masked; "{}" when it cannot be read. */
static void put_last_applied(ab_spanw *w, ab_spanv value)
{
    ab_span *doc = NULL;
    ab_buf text = ab_buf_secret_up_to(AB_RESOURCE_MASK_MAX);
    ab_buf masked = ab_buf_up_to(2 * AB_RESOURCE_MASK_MAX);
    ab_spanw_key(w, AB_STR(AB_ANN_LAST_APPLIED));
    if (ab_span_copy(value, &text) == AB_ERR_OK &&
        ab_span_parse(ab_buf_str(&text), &doc, NULL) == AB_ERR_OK &&
        ab_span_typeof(ab_span_root(doc)) == AB_SPAN_OBJECT) {
        ab_spanw inner = ab_spanw_object_to(&masked);
        ab_spanw_members(&inner, ab_span_root(doc),
                         (const char *const[]){"data", "stringData", "metadata", NULL});
        if (!has_copy(ab_span_path(ab_span_root(doc), "metadata", "annotations", NULL)))
            ab_spanw_member(&inner, ab_span_get(ab_span_root(doc), "metadata"));
        put_values(&inner, ab_span_root(doc));
        ab_spanw_object_end(&inner);
    }
    if (masked.len > 0 && ab_buf_status(&masked) == AB_ERR_OK)
        ab_spanw_str(w, ab_buf_str(&masked));
    else
        ab_spanw_str(w, AB_STR("{}"));
    ab_span_wipe(doc);
    ab_buf_fini(&text);
    ab_buf_fini(&masked);
}

static void put_annotation(ab_spanw *w, ab_spanv annotation)
{
    const char *const *copy = COPIES;
    while (*copy != NULL && !ab_span_key_is(annotation, *copy))
        copy++;
    if (ab_span_key_is(annotation, AB_ANN_LAST_APPLIED))
        put_last_applied(w, annotation);
    else if (*copy != NULL)
        ab_spanw_key_str(w, *copy, AB_STR(MASK));
    else
        ab_spanw_member(w, annotation);
}

static void put_metadata(ab_spanw *w, ab_spanv metadata)
{
    ab_spanv annotations = ab_span_get(metadata, "annotations");
    if (!has_copy(annotations)) {
        ab_spanw_member(w, metadata);
        return;
    }
    ab_spanw_key_object(w, "metadata");
    ab_spanw_members(w, metadata, (const char *const[]){"annotations", NULL});
    ab_spanw_key_object(w, "annotations");
    for (ab_spanv v = ab_span_first(annotations); ab_span_present(v); v = ab_span_next(v))
        put_annotation(w, v);
    ab_spanw_object_end(w);
    ab_spanw_object_end(w);
}

static void put_secret(ab_spanw *w, ab_spanv secret)
{
    ab_spanw_object(w);
    ab_spanw_members(w, secret, (const char *const[]){"data", "stringData", "metadata", NULL});
    put_metadata(w, ab_span_get(secret, "metadata"));
    put_values(w, secret);
    ab_spanw_object_end(w);
}

static bool put_list(ab_spanw *w, ab_spanv list)
{
    bool known = true;
    ab_spanw_object(w);
    ab_spanw_members(w, list, (const char *const[]){"items", NULL});
    ab_spanw_key_array(w, "items");
    ab_spanv items = ab_span_get(list, "items");
    for (ab_spanv v = ab_span_first(items); known && ab_span_present(v); v = ab_span_next(v)) {
        known = ab_span_typeof(v) == AB_SPAN_OBJECT;
        if (known)
            put_secret(w, v);
    }
    ab_spanw_array_end(w);
    ab_spanw_object_end(w);
    return known;
}

static bool put_object(ab_spanw *w, ab_spanv object)
{
    ab_spanv kind = ab_span_get(object, "kind");
    if (ab_span_is(kind, "SecretList"))
        return put_list(w, object);
    if (ab_span_is(kind, "Secret"))
        put_secret(w, object);
    else if (ab_span_is(kind, "Status"))
        ab_spanw_value(w, object);
    else
        return false;
    return true;
}

static bool put_event(ab_spanw *w, ab_spanv event)
{
    ab_spanw_object(w);
    ab_spanw_member(w, ab_span_get(event, "type"));
    ab_spanw_key(w, AB_STR("object"));
    bool known = put_object(w, ab_span_get(event, "object"));
    if (known)
        ab_spanw_object_end(w);
    return known;
}

static ab_err put_document(ab_str json, bool event, ab_buf *out, ab_error *err)
{
    ab_span *doc = NULL;
    ab_buf masked = ab_buf_up_to(2 * AB_RESOURCE_MASK_MAX);
    if (ab_span_parse(json, &doc, NULL) != AB_ERR_OK)
        return ab_fail(err, AB_ERR_DENIED, "an answer with Secrets that is not JSON");
    ab_spanw w = ab_spanw_to(&masked);
    bool known = event ? put_event(&w, ab_span_root(doc)) : put_object(&w, ab_span_root(doc));
    ab_err e = ab_buf_status(&masked);
    if (!known)
        e = ab_fail(err, AB_ERR_DENIED, "an answer that is not a Secret where one is expected");
    else if (e != AB_ERR_OK)
        e = ab_fail(err, e, "an answer with Secrets: %s", ab_err_text(e));
    if (e == AB_ERR_OK) {
        ab_buf_put(out, ab_buf_str(&masked));
        if (event)
            ab_buf_putc(out, '\n');
        e = ab_buf_status(out);
    }
    ab_span_wipe(doc);
    ab_buf_fini(&masked);
    return e;
}

void ab_resource_mask_init(ab_resource_mask *m, bool events)
{
    m->events = events;
    ab_buf_init_secret(&m->held, AB_RESOURCE_MASK_MAX);
}

void ab_resource_mask_fini(ab_resource_mask *m)
{
    ab_buf_fini(&m->held);
}

static ab_err hold(ab_resource_mask *m, ab_str piece, ab_error *err)
{
    ab_buf_put(&m->held, piece);
    ab_err e = ab_buf_status(&m->held);
    if (e == AB_ERR_TOOBIG)
        return ab_fail(err, e, "an answer with Secrets of more than %u bytes cannot be masked",
                       AB_RESOURCE_MASK_MAX);
    return e;
}

ab_err ab_resource_mask_feed(ab_resource_mask *m, ab_str piece, ab_buf *out, ab_error *err)
{
    ab_err e = AB_ERR_OK;
    while (e == AB_ERR_OK && piece.len > 0) {
        const char *end = m->events ? memchr(piece.ptr, '\n', piece.len) : NULL;
        ab_str part = {piece.ptr, end == NULL ? piece.len : (size_t)(end - piece.ptr)};
        e = hold(m, part, err);
        piece.ptr += part.len + (end != NULL);
        piece.len -= part.len + (end != NULL);
        if (e == AB_ERR_OK && end != NULL && m->held.len > 0)
            e = put_document(ab_buf_str(&m->held), true, out, err);
        if (end != NULL)
            ab_buf_clear(&m->held);
    }
    return e;
}

ab_err ab_resource_mask_end(ab_resource_mask *m, ab_buf *out, ab_error *err)
{
    if (m->held.len == 0) /* an empty answer, or the last event was complete */
        return AB_ERR_OK;
    ab_err e = put_document(ab_buf_str(&m->held), m->events, out, err);
    ab_buf_clear(&m->held);
    return e;
}
