/* SPDX-License-Identifier: Apache-2.0
 *
 * A document of a stream is found again in its text by the lines that begin with "---": YAML
 * forbids such a line inside any scalar, so cutting there is exact. A changed text is read back and
 * compared before it is given out, whatever libyaml thinks of the rest.
 */
#include "store/directory/manifest/stream.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    ab_stream *stream;
    ab_str kind;
    ab_str ns;
} reader;

static ab_err add_fault(ab_stream *s, const ab_error *fault)
{
    ab_error *faults = realloc(s->faults, (s->fault_count + 1) * sizeof(*faults));
    if (faults == NULL)
        return AB_ERR_NOMEM;
    s->faults = faults;
    faults[s->fault_count++] = *fault;
    return AB_ERR_OK;
}

static ab_err add_item(ab_stream *s, ab_manifest *m)
{
    ab_manifest *items = realloc(s->items, (s->count + 1) * sizeof(*items));
    if (items == NULL)
        return AB_ERR_NOMEM;
    s->items = items;
    items[s->count++] = *m;
    return AB_ERR_OK;
}

static ab_err take_document(reader *r, ab_span *doc, size_t line, ab_error *err)
{
    ab_manifest m = {0};
    ab_err e = ab_manifest_take(ab_span_root(doc), r->kind, r->ns, &m, err);
    if (e == AB_ERR_OK && ab_stream_find(r->stream, m.name) != NULL)
        e = ab_fail(err, AB_ERR_EXISTS, "%s is in this file twice; the first one is used", m.name);
    if (e != AB_ERR_OK) {
        ab_manifest_fini(&m);
        return e;
    }
    m.line = line;
    e = add_item(r->stream, &m);
    if (e != AB_ERR_OK)
        ab_manifest_fini(&m);
    return e;
}

static ab_err on_document(void *arg, ab_str json, size_t line)
{
    reader *r = arg;
    ab_span *doc = NULL;
    ab_error fault = {0};
    r->stream->documents++;
    ab_err e = ab_span_parse(json, &doc, &fault);
    if (e == AB_ERR_OK)
        e = take_document(r, doc, line, &fault);
    ab_span_free(doc);
    if (e == AB_ERR_OK || e == AB_ERR_NOMEM)
        return e;
    ab_error_prefix(&fault, "line %zu", line);
    return add_fault(r->stream, &fault);
}

ab_err ab_stream_read(ab_str text, ab_str kind, ab_str ns, ab_stream *out, ab_error *err)
{
    ab_stream s = {0};
    ab_error fault = {0};
    reader r = {&s, kind, ns};
    ab_err e = ab_yaml_to_json(text, &ab_yaml_default_limits, on_document, &r, &fault);
    s.readable = e == AB_ERR_OK;
    if (e != AB_ERR_OK && e != AB_ERR_NOMEM)
        e = add_fault(&s, &fault);
    if (e != AB_ERR_OK) {
        ab_stream_fini(&s);
        return ab_fail(err, e, "out of memory for the manifests of a file");
    }
    *out = s;
    return AB_ERR_OK;
}

void ab_stream_fini(ab_stream *s)
{
    for (size_t i = 0; i < s->count; i++)
        ab_manifest_fini(&s->items[i]);
    free(s->items);
    free(s->faults);
    *s = (ab_stream){0};
}

const ab_manifest *ab_stream_find(const ab_stream *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->items[i].name, name) == 0)
            return &s->items[i];
    return NULL;
}

ab_err ab_stream_write(ab_str json, bool as_json, ab_buf *out, ab_error *err)
{
    if (!as_json) {
        ab_err e = ab_yaml_from_json(json, out, err);
        if (e != AB_ERR_UNSUPPORTED)
            return e;
        /* A reader of YAML reads JSON too, and JSON has an escape for everything. */
        ab_buf_clear(out);
    }
    ab_buf_put(out, json);
    ab_buf_putc(out, '\n');
    ab_err e = ab_buf_status(out);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "the manifest: %s", ab_err_text(e));
}

/* What a text holds, to find a document in it and to compare before and after. */
typedef struct {
    const ab_stream_edit *edit; /* says which one is sought */
    ab_digest *digests;
    size_t *lines;
    size_t count;
    size_t found; /* index of the sought one, == count when it is not there */
} snapshot;

static bool is_sought(ab_spanv root, const ab_stream_edit *edit)
{
    ab_spanv ns = ab_span_path(root, "metadata", "namespace", NULL);
    return ab_str_eq(ab_span_plain(ab_span_get(root, "kind")), edit->kind) &&
           ab_span_is(ab_span_path(root, "metadata", "name", NULL), edit->name) &&
           (!ab_span_present(ns) || ab_str_eq(ab_span_plain(ns), edit->ns));
}

static ab_err snapshot_digest(snapshot *o, ab_str json)
{
    ab_span *doc = NULL;
    ab_err e = ab_span_parse(json, &doc, NULL);
    if (e != AB_ERR_OK)
        return e;
    ab_spanv root = ab_span_root(doc);
    e = ab_span_digest(root, &o->digests[o->count]);
    if (o->found == SIZE_MAX && is_sought(root, o->edit))
        o->found = o->count;
    ab_span_free(doc);
    return e;
}

static ab_err snapshot_document(void *arg, ab_str json, size_t line)
{
    snapshot *o = arg;
    ab_digest *digests = realloc(o->digests, (o->count + 1) * sizeof(*digests));
    if (digests == NULL)
        return AB_ERR_NOMEM;
    o->digests = digests;
    size_t *lines = realloc(o->lines, (o->count + 1) * sizeof(*lines));
    if (lines == NULL)
        return AB_ERR_NOMEM;
    o->lines = lines;
    lines[o->count] = line;
    ab_err e = snapshot_digest(o, json);
    o->count++;
    return e;
}

static void snapshot_fini(snapshot *o)
{
    free(o->digests);
    free(o->lines);
}

static ab_err snapshot_of(ab_str text, const ab_stream_edit *edit, snapshot *out, ab_error *err)
{
    snapshot o = {.edit = edit, .found = SIZE_MAX};
    ab_err e = ab_yaml_to_json(text, &ab_yaml_default_limits, snapshot_document, &o, err);
    if (e != AB_ERR_OK) {
        snapshot_fini(&o);
        ab_error_prefix(err,
                        "the file is broken and holds, or may hold, other objects; correct it");
        return e == AB_ERR_NOMEM ? e : AB_ERR_INVALID;
    }
    if (o.found == SIZE_MAX)
        o.found = o.count;
    *out = o;
    return AB_ERR_OK;
}

static size_t next_line(ab_str text, size_t at)
{
    const char *end = at < text.len ? memchr(text.ptr + at, '\n', text.len - at) : NULL;
    return end == NULL ? text.len : (size_t)(end - text.ptr) + 1;
}

static bool is_marker(ab_str text, size_t at)
{
    if (text.len - at < 3 || memcmp(text.ptr + at, "---", 3) != 0)
        return false;
    return text.len - at == 3 || strchr(" \t\r\n", text.ptr[at + 3]) != NULL;
}

/* The bytes [*begin, *end) between document markers that hold `line`, the marker before it
 * included. */
static void find_range(ab_str text, size_t line, size_t *begin, size_t *end)
{
    size_t number = 1;
    *begin = 0;
    for (size_t at = 0; at < text.len; at = next_line(text, at), number++) {
        if (!is_marker(text, at))
            continue;
        if (number > line) {
            *end = at;
            return;
        }
        *begin = at;
    }
    *end = text.len;
}

static void put_separate(ab_buf *out, ab_str part)
{
    ab_str before = ab_buf_str(out);
    if (before.len > 0 && before.ptr[before.len - 1] != '\n')
        ab_buf_putc(out, '\n');
    ab_buf_puts(out, "---\n");
    ab_buf_put(out, part);
}

static void splice(ab_str text, const snapshot *o, ab_str part, ab_buf *out)
{
    size_t begin = text.len;
    size_t end = text.len;
    if (o->found < o->count)
        find_range(text, o->lines[o->found], &begin, &end);
    ab_buf_put(out, (ab_str){text.ptr, begin});
    if (part.ptr != NULL && begin == 0 && !is_marker(text, 0))
        ab_buf_put(out, part);
    else if (part.ptr != NULL)
        put_separate(out, part);
    ab_buf_put(out, (ab_str){text.ptr + end, text.len - end});
}

static bool as_intended(const snapshot *before, const snapshot *after, const ab_digest *wanted)
{
    size_t added = wanted != NULL && before->found == before->count ? 1 : 0;
    size_t removed = wanted == NULL && before->found < before->count ? 1 : 0;
    if (after->count != before->count + added - removed)
        return false;
    for (size_t i = 0, j = 0; i < before->count + added; i++) {
        if (i == before->found && wanted == NULL)
            continue;
        const ab_digest *expected = i == before->found ? wanted : &before->digests[i];
        if (!ab_digest_eq(&after->digests[j++], expected))
            return false;
    }
    return true;
}

static ab_err verify(ab_str text, const snapshot *before, ab_error *err)
{
    snapshot after = {0};
    snapshot wanted = {.edit = before->edit, .found = SIZE_MAX};
    ab_str json = before->edit->json;
    ab_err e = json.ptr == NULL ? AB_ERR_OK : snapshot_document(&wanted, json, 1);
    if (e == AB_ERR_OK)
        e = snapshot_of(text, before->edit, &after, err);
    if (e == AB_ERR_OK && !as_intended(before, &after, wanted.digests))
        e = ab_fail(err, AB_ERR_INVALID,
                    "one document of this file cannot be changed without the "
                    "others; split it into one file each");
    snapshot_fini(&after);
    snapshot_fini(&wanted);
    return e;
}

ab_err ab_stream_change(ab_str text, const ab_stream_edit *edit, ab_buf *out, ab_error *err)
{
    ab_buf part = ab_buf_up_to(out->cap);
    snapshot before = {0};
    ab_err e = snapshot_of(text, edit, &before, err);
    if (e == AB_ERR_OK && edit->json.ptr != NULL)
        e = ab_stream_write(edit->json, edit->as_json, &part, err);
    if (e == AB_ERR_OK) {
        splice(text, &before, edit->json.ptr == NULL ? AB_STR_NONE : ab_buf_str(&part), out);
        e = ab_buf_status(out);
    }
    if (e == AB_ERR_OK)
        e = verify(ab_buf_str(out), &before, err);
    snapshot_fini(&before);
    ab_buf_fini(&part);
    return e;
}
