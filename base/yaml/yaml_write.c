/* SPDX-License-Identifier: Apache-2.0
 *
 * From JSON to block-style YAML, written by libyaml's emitter. Here is only which style a string
 * has: it stands plain where it reads back as itself (for other readers too), as a literal block
 * where it has lines, else in double quotes. The JSON parser bounds the nesting, so the stack is
 * fixed.
 */
#include "base/yaml/yaml.h"

#include "base/core/utf8.h"
#include "base/json/span.h"
#include "base/yaml/yaml_priv.h"

#include <string.h>
#include <yaml.h>

#define INDENT 2
typedef struct {
    ab_spanv at; /* next child */
    bool is_object;
} frame;

typedef struct {
    yaml_emitter_t emitter;
    ab_buf *out;
    ab_buf content; /* of the string being written */
    ab_buf scratch;
    frame stack[AB_SPAN_DEPTH_MAX];
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

/* Put the content of a string, given with its quotes, into w->content. */
static ab_err load_content(writer *w, ab_str raw)
{
    ab_buf_clear(&w->content);
    bool exact = ab_span_unescape((ab_str){raw.ptr + 1, raw.len - 2}, &w->content);
    return exact ? ab_buf_status(&w->content) : AB_ERR_UNSUPPORTED;
}

static int on_output(void *arg, unsigned char *bytes, size_t len)
{
    const writer *w = arg;
    ab_buf_put(w->out, (ab_str){(const char *)bytes, len});
    return ab_buf_status(w->out) == AB_ERR_OK;
}

/* The event is the emitter's, made or not. */
static ab_err emit(writer *w, bool made, yaml_event_t *event)
{
    if (made && yaml_emitter_emit(&w->emitter, event) == 1)
        return AB_ERR_OK;
    return ab_buf_status(w->out) != AB_ERR_OK ? ab_buf_status(w->out) : AB_ERR_NOMEM;
}

static ab_err put_scalar(writer *w, ab_str text, yaml_scalar_style_t style)
{
    yaml_event_t event;
    const yaml_char_t *bytes = (const yaml_char_t *)text.ptr;
    bool made =
        yaml_scalar_event_initialize(&event, NULL, NULL, bytes, (int)text.len, 1, 1, style) == 1;
    return emit(w, made, &event);
}

static ab_err put_string(writer *w, ab_str raw, bool key)
{
    ab_err e = load_content(w, raw);
    if (e != AB_ERR_OK)
        return e;
    ab_str s = ab_buf_str(&w->content);
    if (may_stand_plain(w, s))
        return put_scalar(w, s, YAML_PLAIN_SCALAR_STYLE);
    bool literal = !key && may_be_literal(s);
    return put_scalar(w, s, literal ? YAML_LITERAL_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
}

static ab_err begin_container(writer *w, ab_spanv v)
{
    yaml_event_t event;
    bool is_object = ab_span_typeof(v) == AB_SPAN_OBJECT;
    int made = is_object ? yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
                                                               YAML_BLOCK_MAPPING_STYLE)
                         : yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
                                                                YAML_BLOCK_SEQUENCE_STYLE);
    w->stack[w->depth++] = (frame){ab_span_first(v), is_object};
    return emit(w, made == 1, &event);
}

static ab_err end_container(writer *w)
{
    yaml_event_t event;
    const frame *f = &w->stack[--w->depth];
    int made = f->is_object ? yaml_mapping_end_event_initialize(&event)
                            : yaml_sequence_end_event_initialize(&event);
    return emit(w, made == 1, &event);
}

static ab_err put_value(writer *w, ab_spanv v)
{
    ab_span_type type = ab_span_typeof(v);
    if (type == AB_SPAN_OBJECT || type == AB_SPAN_ARRAY)
        return begin_container(w, v);
    if (type == AB_SPAN_STRING)
        return put_string(w, ab_span_raw(v), false);
    return put_scalar(w, ab_span_raw(v), YAML_PLAIN_SCALAR_STYLE);
}

static ab_err put_next(writer *w)
{
    frame *f = &w->stack[w->depth - 1];
    ab_spanv v = f->at;
    if (!ab_span_present(v))
        return end_container(w);
    f->at = ab_span_next(v);
    ab_err e = f->is_object ? put_string(w, ab_span_raw_key(v), true) : AB_ERR_OK;
    return e == AB_ERR_OK ? put_value(w, v) : e;
}

static ab_err put_node(writer *w, ab_spanv root)
{
    ab_err e = put_value(w, root);
    while (w->depth > 0 && e == AB_ERR_OK)
        e = put_next(w);
    return e;
}

static ab_err put_document(writer *w, ab_spanv root)
{
    yaml_event_t event;
    yaml_emitter_set_output(&w->emitter, on_output, w);
    yaml_emitter_set_unicode(&w->emitter, 1);
    yaml_emitter_set_indent(&w->emitter, INDENT);
    yaml_emitter_set_width(&w->emitter, -1);
    ab_err e = emit(w, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) == 1, &event);
    if (e == AB_ERR_OK)
        e = emit(w, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) == 1, &event);
    if (e == AB_ERR_OK)
        e = put_node(w, root);
    if (e == AB_ERR_OK)
        e = emit(w, yaml_document_end_event_initialize(&event, 1) == 1, &event);
    if (e == AB_ERR_OK)
        e = emit(w, yaml_stream_end_event_initialize(&event) == 1, &event);
    return e;
}

ab_err ab_yaml_from_json(ab_str json, ab_buf *out, ab_error *err)
{
    ab_span *doc = NULL;
    ab_err e = ab_span_parse(json, &doc, err);
    if (e != AB_ERR_OK)
        return e;
    writer w = {.out = out};
    ab_buf_init_secret(&w.content, json.len);
    ab_buf_init_secret(&w.scratch, json.len + 8);
    e = yaml_emitter_initialize(&w.emitter) == 1 ? put_document(&w, ab_span_root(doc))
                                                 : AB_ERR_NOMEM;
    yaml_emitter_delete(&w.emitter);
    if (e == AB_ERR_UNSUPPORTED)
        (void)ab_fail(err, e, "YAML cannot represent the lone surrogate in a string");
    else if (e != AB_ERR_OK)
        (void)ab_fail(err, e, "writing YAML: %s", ab_err_text(e));
    ab_buf_fini(&w.content);
    ab_buf_fini(&w.scratch);
    ab_span_wipe(doc);
    return e;
}
