/* SPDX-License-Identifier: Apache-2.0 */
#include "store/directory/manifest/sidecar.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The counters are strings: a reader that keeps numbers as doubles would round them. */
static void put_counter(ab_spanw *w, const char *name, uint64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    ab_spanw_key_str(w, name, ab_str_of(text));
}

static void put_digest(ab_spanw *w, const char *name, const ab_digest *digest)
{
    char text[AB_DIGEST_HEX];
    ab_digest_format(digest, text);
    ab_spanw_key_str(w, name, ab_str_of(text));
}

ab_err ab_sidecar_format(const ab_sidecar *s, ab_buf *out)
{
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_key_str(&w, "uid", ab_str_of(s->uid));
    ab_spanw_key_str(&w, "creationTimestamp", ab_str_of(s->created));
    ab_spanw_key_str(&w, "file", ab_str_of(s->file));
    if (s->deleted[0] != '\0')
        ab_spanw_key_str(&w, "deletionTimestamp", ab_str_of(s->deleted));
    put_counter(&w, "generation", s->generation);
    put_counter(&w, "resourceVersion", s->version);
    put_digest(&w, "contentDigest", &s->content);
    put_digest(&w, "specDigest", &s->spec);
    if (!ab_digest_is_none(&s->taken))
        put_digest(&w, "takenStatusDigest", &s->taken);
    ab_spanw_key_str(&w, "statusVersion", ab_str_of(s->status_version));
    ab_spanw_key_raw(&w, "status", ab_str_of(s->status));
    ab_spanw_object_end(&w);
    ab_buf_putc(out, '\n');
    return ab_buf_status(out);
}

static ab_err take_text(ab_spanv root, const char *name, char *out, size_t room, ab_error *err)
{
    ab_str text = ab_span_plain(ab_span_get(root, name));
    if (text.ptr == NULL || text.len == 0 || text.len >= room)
        return ab_fail(err, AB_ERR_INVALID, "%s is missing or wrong", name);
    memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
    return AB_ERR_OK;
}

static ab_err take_counter(ab_spanv root, const char *name, uint64_t *out, ab_error *err)
{
    ab_str text = ab_span_plain(ab_span_get(root, name));
    if (text.ptr == NULL || ab_str_to_u64(text, out) != AB_ERR_OK)
        return ab_fail(err, AB_ERR_INVALID, "%s is missing or not a number", name);
    return AB_ERR_OK;
}

static ab_err take_digest(ab_spanv root, const char *name, ab_digest *out, ab_error *err)
{
    ab_str text = ab_span_plain(ab_span_get(root, name));
    if (text.ptr == NULL || ab_digest_parse(text, out) != AB_ERR_OK)
        return ab_fail(err, AB_ERR_INVALID, "%s is missing or not a digest", name);
    return AB_ERR_OK;
}

static ab_err take_status(ab_spanv root, ab_sidecar *s, ab_error *err)
{
    ab_spanv status = ab_span_get(root, "status");
    if (ab_span_present(status)) {
        s->status = ab_str_dup(ab_span_raw(status));
        if (s->status == NULL)
            return ab_fail(err, AB_ERR_NOMEM, "out of memory for the status");
    }
    ab_spanv version = ab_span_get(root, "statusVersion");
    if (!ab_span_present(version))
        return AB_ERR_OK;
    ab_buf text = ab_buf_up_to(4096);
    ab_err e = ab_span_copy(version, &text);
    if (e != AB_ERR_OK) {
        ab_buf_fini(&text);
        return ab_fail(err, e, "statusVersion is wrong");
    }
    ab_buf_putc(&text, '\0');
    s->status_version = ab_buf_take(&text);
    if (s->status_version == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for the status version");
    return AB_ERR_OK;
}

static ab_err take_all(ab_spanv root, ab_sidecar *s, ab_error *err)
{
    ab_err e = take_text(root, "uid", s->uid, sizeof(s->uid), err);
    if (e == AB_ERR_OK)
        e = take_text(root, "creationTimestamp", s->created, sizeof(s->created), err);
    if (e == AB_ERR_OK)
        e = take_text(root, "file", s->file, sizeof(s->file), err);
    if (e == AB_ERR_OK && ab_span_present(ab_span_get(root, "deletionTimestamp")))
        e = take_text(root, "deletionTimestamp", s->deleted, sizeof(s->deleted), err);
    if (e == AB_ERR_OK)
        e = take_counter(root, "generation", &s->generation, err);
    if (e == AB_ERR_OK)
        e = take_counter(root, "resourceVersion", &s->version, err);
    if (e == AB_ERR_OK)
        e = take_digest(root, "contentDigest", &s->content, err);
    if (e == AB_ERR_OK)
        e = take_digest(root, "specDigest", &s->spec, err);
    if (e == AB_ERR_OK && ab_span_present(ab_span_get(root, "takenStatusDigest")))
        e = take_digest(root, "takenStatusDigest", &s->taken, err);
    return e == AB_ERR_OK ? take_status(root, s, err) : e;
}

ab_err ab_sidecar_parse(ab_str text, ab_sidecar *out, ab_error *err)
{
    ab_span *doc = NULL;
    ab_err e = ab_span_parse(text, &doc, err);
    if (e != AB_ERR_OK)
        return e;
    ab_sidecar s = {0};
    e = take_all(ab_span_root(doc), &s, err);
    ab_span_free(doc);
    if (e != AB_ERR_OK) {
        ab_sidecar_fini(&s);
        return e;
    }
    *out = s;
    return AB_ERR_OK;
}

void ab_sidecar_fini(ab_sidecar *s)
{
    free(s->status);
    free(s->status_version);
    *s = (ab_sidecar){0};
}
