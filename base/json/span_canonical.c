/* SPDX-License-Identifier: Apache-2.0
 *
 * The canonical text. The parser bounds the nesting, so a fixed stack of open containers is enough.
 */
#include "base/json/span_priv.h"

#include <stdlib.h>

typedef struct {
    uint32_t *members; /* of an object: nodes ordered by name */
    size_t count;
    size_t at;
    ab_spanv element; /* of an array: the next one */
    bool is_object;
} open_container;

typedef struct {
    ab_buf *out;
    open_container stack[AB_SPAN_DEPTH_MAX];
    size_t depth;
} canonical_writer;

static void put_content(ab_buf *out, ab_str raw, bool escaped)
{
    if (!escaped) {
        ab_buf_put(out, raw);
        return;
    }
    ab_buf content = ab_buf_up_to(raw.len);
    (void)ab_span_unescape((ab_str){raw.ptr + 1, raw.len - 2}, &content);
    if (ab_buf_status(&content) == AB_ERR_OK)
        ab_span_put_string(out, ab_buf_str(&content));
    else
        out->status = AB_ERR_NOMEM;
    ab_buf_fini(&content);
}

static ab_err open_here(canonical_writer *w, ab_spanv v)
{
    open_container top = {.is_object = ab_span_typeof(v) == AB_SPAN_OBJECT};
    if (top.is_object) {
        top.count = ab_span_count(v);
        top.members = ab_span_sorted_members(v, top.count);
        if (top.members == NULL)
            return AB_ERR_NOMEM;
    } else {
        top.element = ab_span_first(v);
    }
    ab_buf_putc(w->out, top.is_object ? '{' : '[');
    w->stack[w->depth++] = top;
    return AB_ERR_OK;
}

/* Write a scalar whole; of a container only the beginning. */
static ab_err put_value(canonical_writer *w, ab_spanv v)
{
    ab_span_type type = ab_span_typeof(v);
    if (type == AB_SPAN_OBJECT || type == AB_SPAN_ARRAY)
        return open_here(w, v);
    put_content(w->out, ab_span_raw(v), ab_span_node_of(v)->escaped);
    return ab_buf_status(w->out);
}

/* The child to write next, absent when there are no more. */
static ab_spanv next_child(open_container *top, const ab_span *doc)
{
    ab_spanv v = top->element;
    if (!top->is_object) {
        top->element = ab_span_next(v);
        top->at++;
    } else if (top->at < top->count) {
        v = (ab_spanv){doc, top->members[top->at++]};
    }
    return v;
}

static ab_err step(canonical_writer *w, const ab_span *doc)
{
    open_container *top = &w->stack[w->depth - 1];
    bool first = top->at == 0;
    ab_spanv v = next_child(top, doc);
    if (!ab_span_present(v)) {
        ab_buf_putc(w->out, top->is_object ? '}' : ']');
        free(top->members);
        w->depth--;
        return ab_buf_status(w->out);
    }
    if (!first)
        ab_buf_putc(w->out, ',');
    if (top->is_object) {
        put_content(w->out, ab_span_raw_key(v), ab_span_node_of(v)->key_escaped);
        ab_buf_putc(w->out, ':');
    }
    return put_value(w, v);
}

ab_err ab_span_canonical(ab_spanv v, ab_buf *out)
{
    if (!ab_span_present(v))
        return ab_buf_status(out);
    canonical_writer w = {.out = out};
    ab_err e = put_value(&w, v);
    while (e == AB_ERR_OK && w.depth > 0)
        e = step(&w, v.doc);
    while (w.depth > 0)
        free(w.stack[--w.depth].members);
    return e;
}

/* Canonical text is never longer than the original. */
static ab_err canonical_text(ab_spanv v, ab_buf *out)
{
    ab_buf_init(out, ab_span_raw(v).len);
    return ab_span_canonical(v, out);
}

ab_err ab_span_digest(ab_spanv v, ab_digest *out)
{
    ab_buf text;
    ab_err e = canonical_text(v, &text);
    if (e == AB_ERR_OK)
        e = ab_digest_of(ab_buf_str(&text), out);
    ab_buf_fini(&text);
    return e;
}

ab_err ab_span_digest_text(ab_str text, ab_digest *out)
{
    ab_span *doc = NULL;
    ab_err e = ab_span_parse(text, &doc, NULL);
    if (e == AB_ERR_OK)
        e = ab_span_digest(ab_span_root(doc), out);
    ab_span_free(doc);
    return e;
}

bool ab_span_same(ab_spanv a, ab_spanv b)
{
    if (ab_str_eq(ab_span_raw(a), ab_span_raw(b)))
        return true;
    if (!ab_span_present(a) || !ab_span_present(b))
        return false;
    ab_buf text_a;
    ab_buf text_b;
    ab_err ea = canonical_text(a, &text_a);
    ab_err eb = canonical_text(b, &text_b);
    bool same =
        ea == AB_ERR_OK && eb == AB_ERR_OK && ab_str_eq(ab_buf_str(&text_a), ab_buf_str(&text_b));
    ab_buf_fini(&text_a);
    ab_buf_fini(&text_b);
    return same;
}
