/* SPDX-License-Identifier: Apache-2.0
 *
 * From JSON to block-style YAML. A string stands plain where it reads back as itself, as a literal
 * block where it has lines, else in double quotes. The JSON parser bounds the nesting, so the stack
 * is fixed.
 */
#include "base/yaml.h"

#include "base/json_priv.h"
#include "base/utf8_priv.h"
#include "base/yaml_priv.h"

#include <string.h>

#define INDENT 2
/* libyaml takes no key of more than 1,024 characters before its ':'; longer ones are marked with
 * '?'. */
#define SIMPLE_KEY_MAX 1000

typedef struct {
    ab_jsonv at; /* next child */
    size_t indent;
    bool is_object;
    bool first_inline; /* the first child goes on the line that is already begun */
} frame;

typedef struct {
    ab_buf *out;
    ab_buf content; /* of the string being written */
    ab_buf scratch;
    frame stack[AB_JSON_DEPTH_MAX];
    size_t depth;
} writer;

/* What a YAML text may hold unescaped in any style, line breaks left out. */
static bool is_printable(uint32_t c)
{
    if (c < 0x80)
        return c >= 0x20 && c < 0x7F;
    if (c < 0xA0 || c == 0xFEFF || c == 0x2028 || c == 0x2029)
        return false;
    return c != 0xFFFE && c != 0xFFFF;
}

static bool all_printable(ab_str s, const char *also)
{
    while (s.len > 0) {
        uint32_t c = ab_utf8_decode(s);
        size_t length = ab_utf8_length(s);
        if (!is_printable(c) && (c == 0 || c >= 0x80 || strchr(also, (int)c) == NULL))
            return false;
        s.ptr += length;
        s.len -= length;
    }
    return true;
}

/* Other readers take these for dates, times or numbers of base 60. */
static bool looks_like_time(ab_str s)
{
    bool separated = false;
    if (s.ptr[0] < '0' || s.ptr[0] > '9')
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (memchr("0123456789:-+._TtZz ", s.ptr[i], 20) == NULL)
            return false;
        separated = separated || s.ptr[i] == ':' || s.ptr[i] == '-';
    }
    return separated;
}

static bool starts_like_syntax(ab_str s)
{
    char first = s.ptr[0];
    char second = s.len > 1 ? s.ptr[1] : ' ';
    if (strchr("-?:", first) != NULL)
        return second == ' ' || ab_str_starts(s, "---");
    return strchr(" ,[]{}#&*!|>'\"%@`=", first) != NULL || ab_str_starts(s, "...") ||
           ab_str_is(s, "<<");
}

static bool has_syntax_inside(ab_str s)
{
    for (size_t i = 1; i < s.len; i++) {
        if (s.ptr[i] == '#' && s.ptr[i - 1] == ' ')
            return true;
        if (s.ptr[i] == ' ' && s.ptr[i - 1] == ':')
            return true;
    }
    return s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == ':';
}

static bool may_stand_plain(writer *w, ab_str s)
{
    if (s.len == 0 || starts_like_syntax(s) || has_syntax_inside(s) || looks_like_time(s))
        return false;
    ab_buf_clear(&w->scratch);
    return all_printable(s, "") && ab_yaml_resolve(s, &w->scratch) == AB_YAML_STRING;
}

static void put_escape(ab_buf *out, uint32_t c)
{
    static const char values[] = "\"\\\n\t\r\b\f";
    static const char names[] = "\"\\ntrbf";
    const char *value = c == 0 || c >= 0x80 ? NULL : strchr(values, (int)c);
    if (value != NULL)
        ab_buf_printf(out, "\\%c", names[value - values]);
    else if (c <= 0xFF)
        ab_buf_printf(out, "\\x%02X", c);
    else
        ab_buf_printf(out, "\\u%04X", c);
}

void ab_yaml_put_quoted(ab_buf *out, ab_str text)
{
    ab_str s = text;
    if (!ab_str_is_utf8(text)) {
        out->status = out->status == AB_ERR_OK ? AB_ERR_INVALID : out->status;
        return;
    }
    ab_buf_putc(out, '"');
    while (s.len > 0) {
        size_t length = ab_utf8_length(s);
        uint32_t c = ab_utf8_decode(s);
        if (is_printable(c) && c != '"' && c != '\\')
            ab_buf_put(out, (ab_str){s.ptr, length});
        else
            put_escape(out, c);
        s.ptr += length;
        s.len -= length;
    }
    ab_buf_putc(out, '"');
}

static void put_indent(ab_buf *out, size_t indent)
{
    while (indent-- > 0)
        ab_buf_putc(out, ' ');
}

static bool may_be_literal(ab_str s)
{
    bool has_text = false;
    bool has_lines = false;
    for (size_t i = 0; i < s.len; i++) {
        has_lines = has_lines || s.ptr[i] == '\n';
        has_text = has_text || s.ptr[i] != '\n';
    }
    return has_lines && has_text && all_printable(s, "\n\t");
}

static void put_literal(ab_buf *out, ab_str s, size_t indent)
{
    ab_buf_putc(out, '|');
    if (memchr(" \t\n", s.ptr[0], 3) != NULL)
        ab_buf_printf(out, "%d", INDENT); /* the reader could not tell it from the first line */
    if (s.ptr[s.len - 1] != '\n')
        ab_buf_putc(out, '-');
    else if (s.ptr[s.len - 2] == '\n')
        ab_buf_putc(out, '+');
    while (s.len > 0) {
        const char *end = memchr(s.ptr, '\n', s.len);
        size_t length = end == NULL ? s.len : (size_t)(end - s.ptr);
        ab_buf_putc(out, '\n');
        if (length > 0)
            put_indent(out, indent + INDENT);
        ab_buf_put(out, (ab_str){s.ptr, length});
        s.ptr += length + (end != NULL);
        s.len -= length + (end != NULL);
    }
}

/* Put the content of a string, given with its quotes, into w->content. */
static ab_err load_content(writer *w, ab_str raw)
{
    ab_buf_clear(&w->content);
    bool exact = ab_json_unescape((ab_str){raw.ptr + 1, raw.len - 2}, &w->content);
    return exact ? ab_buf_status(&w->content) : AB_ERR_UNSUPPORTED;
}

static ab_err put_key(writer *w, ab_str raw)
{
    ab_err e = load_content(w, raw);
    if (e != AB_ERR_OK)
        return e;
    ab_str key = ab_buf_str(&w->content);
    size_t indent = w->stack[w->depth - 1].indent;
    bool simple = key.len <= SIMPLE_KEY_MAX / 6; /* an escape has up to six bytes */
    if (!simple)
        ab_buf_puts(w->out, "? ");
    if (simple && may_stand_plain(w, key))
        ab_buf_put(w->out, key);
    else
        ab_yaml_put_quoted(w->out, key);
    if (!simple) {
        ab_buf_putc(w->out, '\n');
        put_indent(w->out, indent);
    }
    ab_buf_putc(w->out, ':');
    return ab_buf_status(w->out);
}

static ab_err put_string(writer *w, ab_str raw, size_t indent)
{
    ab_err e = load_content(w, raw);
    if (e != AB_ERR_OK)
        return e;
    ab_str s = ab_buf_str(&w->content);
    if (may_stand_plain(w, s))
        ab_buf_put(w->out, s);
    else if (may_be_literal(s))
        put_literal(w->out, s, indent);
    else
        ab_yaml_put_quoted(w->out, s);
    return ab_buf_status(w->out);
}

/* A value that ends on the line it begins on, or a literal. `indent` is that of its container. */
static ab_err put_leaf(writer *w, ab_jsonv v, size_t indent)
{
    ab_err e = AB_ERR_OK;
    if (ab_json_typeof(v) == AB_JSON_STRING)
        e = put_string(w, ab_json_raw(v), indent);
    else if (ab_json_typeof(v) == AB_JSON_OBJECT)
        ab_buf_puts(w->out, "{}");
    else if (ab_json_typeof(v) == AB_JSON_ARRAY)
        ab_buf_puts(w->out, "[]");
    else
        ab_buf_put(w->out, ab_json_raw(v));
    ab_buf_putc(w->out, '\n');
    return e;
}

/* The frame of a container with children that stands under `parent` (NULL: the root). */
static frame frame_of(ab_jsonv v, const frame *parent)
{
    frame f = {.at = ab_json_first(v), .is_object = ab_json_typeof(v) == AB_JSON_OBJECT};
    if (parent == NULL)
        return f;
    /* A list under a key stands at the key's own column, as kubectl writes it. */
    f.indent = parent->indent + (parent->is_object && !f.is_object ? 0 : INDENT);
    f.first_inline = !parent->is_object;
    return f;
}

static ab_err put_child(writer *w, frame *f)
{
    ab_jsonv v = f->at;
    bool leaf = !ab_json_present(ab_json_first(v));
    f->at = ab_json_next(v);
    if (!f->first_inline)
        put_indent(w->out, f->indent);
    f->first_inline = false;
    ab_err e = AB_ERR_OK;
    if (f->is_object)
        e = put_key(w, ab_json_raw_key(v));
    else
        ab_buf_putc(w->out, '-');
    if (e != AB_ERR_OK)
        return e;
    ab_buf_putc(w->out, leaf || !f->is_object ? ' ' : '\n');
    if (leaf)
        return put_leaf(w, v, f->indent);
    w->stack[w->depth++] = frame_of(v, f);
    return ab_buf_status(w->out);
}

static ab_err put_document(writer *w, ab_jsonv root)
{
    if (!ab_json_present(ab_json_first(root)))
        return put_leaf(w, root, 0);
    w->stack[w->depth++] = frame_of(root, NULL);
    while (w->depth > 0) {
        frame *f = &w->stack[w->depth - 1];
        if (!ab_json_present(f->at)) {
            w->depth--;
            continue;
        }
        ab_err e = put_child(w, f);
        if (e != AB_ERR_OK)
            return e;
    }
    return ab_buf_status(w->out);
}

ab_err ab_yaml_from_json(ab_str json, ab_buf *out, ab_error *err)
{
    ab_json *doc = NULL;
    ab_err e = ab_json_parse(json, &doc, err);
    if (e != AB_ERR_OK)
        return e;
    writer w = {.out = out};
    ab_buf_init(&w.content, json.len);
    ab_buf_init(&w.scratch, json.len + 8);
    e = put_document(&w, ab_json_root(doc));
    if (e == AB_ERR_UNSUPPORTED)
        (void)ab_fail(err, e, "YAML cannot hold the lone surrogate that a string has");
    else if (e != AB_ERR_OK)
        (void)ab_fail(err, e, "writing YAML: %s", ab_err_text(e));
    ab_buf_fini(&w.content);
    ab_buf_fini(&w.scratch);
    ab_json_free(doc);
    return e;
}
