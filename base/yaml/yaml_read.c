/* SPDX-License-Identifier: Apache-2.0
 *
 * From YAML to JSON, document by document: libyaml's events become a tree (yaml_tree.c), the tree
 * is written as JSON (yaml_unfold.c).
 */
#include "base/json/span.h"
#include "base/yaml/yaml_priv.h"

#include <string.h>

const ab_yaml_limits ab_yaml_default_limits = {.bytes_max = 4u * 1024 * 1024,
                                               .nodes_max = 100000,
                                               .depth_max = AB_SPAN_DEPTH_MAX,
                                               .documents_max = 1000};

typedef struct {
    ab_str text;
    const ab_yaml_limits *limits;
    yaml_parser_t parser;
    size_t documents;
    ab_yaml_document on_document;
    void *arg;
    ab_error *err;
} stream;

/* The reader knows only the offset of what it cannot decode. */
static void locate(ab_str text, size_t offset, yaml_mark_t *mark)
{
    *mark = (yaml_mark_t){0};
    for (size_t i = 0; i < offset && i < text.len; i++) {
        mark->column++;
        if (text.ptr[i] == '\n')
            *mark = (yaml_mark_t){.line = mark->line + 1};
    }
}

/* YAML takes no tabs there, and libyaml does not name them. */
static bool is_indented_by_tab(ab_str text, size_t line)
{
    size_t at = 0;
    for (; line > 0 && at < text.len; at++)
        line -= text.ptr[at] == '\n';
    while (at < text.len && text.ptr[at] == ' ')
        at++;
    return at < text.len && text.ptr[at] == '\t';
}

static ab_err parser_failed(const stream *s)
{
    const yaml_parser_t *p = &s->parser;
    yaml_mark_t mark = p->problem_mark;
    if (p->error == YAML_MEMORY_ERROR)
        return ab_fail(s->err, AB_ERR_NOMEM, "out of memory for YAML");
    if (p->error == YAML_READER_ERROR)
        locate(s->text, p->problem_offset, &mark);
    const char *problem = p->problem == NULL ? "not YAML" : p->problem;
    bool tab = p->error == YAML_SCANNER_ERROR && is_indented_by_tab(s->text, mark.line);
    return ab_fail(s->err, AB_ERR_PARSE, "YAML line %zu, column %zu: %s%s%s%s", mark.line + 1,
                   mark.column + 1, problem, p->context == NULL ? "" : " ",
                   p->context == NULL ? "" : p->context,
                   tab ? ": indent with spaces, not with a tab" : "");
}

/* Read events up to the end of the document into `t`. */
static ab_err read_tree(stream *s, ab_yaml_tree *t)
{
    bool done = false;
    while (!done) {
        yaml_event_t event;
        if (!yaml_parser_parse(&s->parser, &event))
            return parser_failed(s);
        done = event.type == YAML_DOCUMENT_END_EVENT;
        ab_err e = done ? AB_ERR_OK : ab_yaml_tree_add(t, &event);
        yaml_event_delete(&event);
        if (e != AB_ERR_OK)
            return e;
    }
    return AB_ERR_OK;
}

static ab_err give_document(const stream *s, const ab_yaml_tree *t, size_t line)
{
    ab_buf json = ab_buf_secret_up_to(s->limits->bytes_max);
    ab_err e = ab_yaml_tree_unfold(t, &json);
    if (e == AB_ERR_OK)
        e = s->on_document(s->arg, ab_buf_str(&json), line);
    ab_buf_fini(&json);
    return e;
}

static bool is_empty(const ab_yaml_tree *t)
{
    return t->count == 1 && t->nodes[0].empty;
}

static ab_err read_document(stream *s, size_t line)
{
    ab_yaml_tree t;
    ab_err e = ab_yaml_tree_init(&t, s->limits, s->err);
    if (e == AB_ERR_OK)
        e = read_tree(s, &t);
    if (e == AB_ERR_OK && !is_empty(&t)) {
        if (s->documents++ == s->limits->documents_max)
            e = ab_fail(s->err, AB_ERR_TOOBIG, "YAML line %zu: more than %zu documents", line,
                        s->limits->documents_max);
        else
            e = give_document(s, &t, line);
    }
    ab_yaml_tree_fini(&t);
    return e;
}

static ab_err read_stream(stream *s)
{
    for (;;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&s->parser, &event))
            return parser_failed(s);
        yaml_event_type_t type = event.type;
        size_t line = event.start_mark.line + 1;
        yaml_event_delete(&event);
        ab_err e = AB_ERR_OK;
        if (type == YAML_DOCUMENT_START_EVENT)
            e = read_document(s, line);
        if (e != AB_ERR_OK || type == YAML_STREAM_END_EVENT)
            return e;
    }
}

/* Copy JSON without the white space between its tokens. */
static ab_err compact(ab_str json, size_t depth_max, ab_buf *out)
{
    bool in_string = false;
    size_t depth = 0;
    for (size_t i = 0; i < json.len; i++) {
        char c = json.ptr[i];
        if (in_string && c == '\\') {
            ab_buf_putc(out, c);
            c = json.ptr[++i];
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && strchr(" \t\r\n", c) != NULL) {
            continue;
        } else if (!in_string && (c == '{' || c == '[')) {
            if (depth++ == depth_max)
                return AB_ERR_TOOBIG;
        } else if (!in_string && (c == '}' || c == ']')) {
            depth--;
        }
        ab_buf_putc(out, c);
    }
    return ab_buf_status(out);
}

static ab_err give_json(const stream *s, const ab_span *doc, size_t line)
{
    ab_buf out = ab_buf_secret_up_to(s->limits->bytes_max);
    ab_err e = ab_span_node_count(doc) > s->limits->nodes_max
                   ? AB_ERR_TOOBIG
                   : compact(ab_span_raw(ab_span_root(doc)), s->limits->depth_max, &out);
    if (e != AB_ERR_OK)
        (void)ab_fail(s->err, e, "JSON document: %s", ab_err_text(e));
    else
        e = s->on_document(s->arg, ab_buf_str(&out), line);
    ab_buf_fini(&out);
    return e;
}

/* `*is_json` tells whether the text was one JSON object and the result is that of the stream. */
static ab_err try_json(const stream *s, bool *is_json)
{
    size_t start = 0;
    size_t line = 1;
    while (start < s->text.len && memchr(" \t\r\n", s->text.ptr[start], 4) != NULL)
        line += s->text.ptr[start++] == '\n';
    if (start == s->text.len || s->text.ptr[start] != '{')
        return AB_ERR_OK;
    ab_span *doc = NULL;
    ab_err e = ab_span_parse(s->text, &doc, NULL);
    *is_json = e != AB_ERR_PARSE;
    if (e != AB_ERR_OK)
        return ab_fail(*is_json ? s->err : NULL, e, "JSON document: %s", ab_err_text(e));
    e = give_json(s, doc, line);
    ab_span_wipe(doc);
    return e;
}

/* As editors of Windows write it. libyaml would count it as a column of the first line, which would
 * then be indented more than the others. */
static ab_str without_byte_order_mark(ab_str text)
{
    bool marked = text.len >= 3 && memcmp(text.ptr, "\xef\xbb\xbf", 3) == 0;
    return marked ? (ab_str){text.ptr + 3, text.len - 3} : text;
}

ab_err ab_yaml_to_json(ab_str text, const ab_yaml_limits *limits, ab_yaml_document on_document,
                       void *arg, ab_error *err)
{
    if (text.len > limits->bytes_max || text.len > UINT32_MAX)
        return ab_fail(err, AB_ERR_TOOBIG, "YAML of %zu bytes exceeds the limit of %zu", text.len,
                       limits->bytes_max);
    text = without_byte_order_mark(text);
    stream s = {.text = text, .limits = limits, .on_document = on_document, .arg = arg, .err = err};
    bool is_json = false;
    ab_err e = try_json(&s, &is_json);
    if (is_json)
        return e;
    if (!yaml_parser_initialize(&s.parser))
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for YAML");
    yaml_parser_set_encoding(&s.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&s.parser, (const unsigned char *)text.ptr, text.len);
    e = read_stream(&s);
    yaml_parser_delete(&s.parser);
    return e;
}
