/* SPDX-License-Identifier: Apache-2.0
 *
 * From YAML to JSON in two steps: libyaml's events become a flat tree of nodes, in which an alias
 * is one node; then the tree is written as JSON, where aliases and merge keys unfold. Each node
 * written or looked at for a merge counts, so a small text cannot cost much. Neither step recurses.
 */
#include "base/yaml.h"

#include "base/json_priv.h"
#include "base/map.h"
#include "base/yaml_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

const ab_yaml_limits ab_yaml_default_limits = {.bytes_max = 4u * 1024 * 1024,
                                               .nodes_max = 100000,
                                               .depth_max = AB_JSON_DEPTH_MAX,
                                               .documents_max = 1000};

typedef enum { NODE_SCALAR, NODE_SEQUENCE, NODE_MAPPING, NODE_ALIAS } node_kind;

typedef struct {
    node_kind kind;
    bool merge;    /* a plain "<<" */
    bool empty;    /* a plain scalar without text */
    uint32_t next; /* index of the node after this one and all it contains; 0 while it is open */
    uint32_t parent;
    uint32_t target;  /* of an alias */
    uint32_t text_at; /* of a scalar: its JSON in `text` */
    uint32_t text_len;
    uint32_t line; /* 1 = first */
    uint32_t column;
} node;

/* One document. */
typedef struct {
    const ab_yaml_limits *limits;
    ab_error *err;
    node *nodes;
    uint32_t count;
    uint32_t room;
    uint32_t open; /* innermost open container, when depth > 0 */
    size_t depth;
    ab_buf text;
    ab_map *anchors; /* name -> index of the node, plus 1, as a pointer */
} tree;

static ab_err fail_at(const tree *t, const node *n, ab_err code, const char *reason)
{
    return ab_fail(t->err, code, "YAML line %u, column %u: %s", n->line, n->column, reason);
}

static ab_err tree_init(tree *t, const ab_yaml_limits *limits, ab_error *err)
{
    *t = (tree){.limits = limits, .err = err, .anchors = ab_map_new()};
    size_t cap = limits->bytes_max < UINT32_MAX ? limits->bytes_max : UINT32_MAX;
    ab_buf_init(&t->text, cap);
    return t->anchors == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory for YAML") : AB_ERR_OK;
}

static void tree_fini(tree *t)
{
    free(t->nodes);
    ab_buf_fini(&t->text);
    ab_map_free(t->anchors, NULL);
}

static ab_err grow_nodes(tree *t, const node *n)
{
    if (t->count >= t->limits->nodes_max)
        return fail_at(t, n, AB_ERR_TOOBIG, "too many nodes in one document");
    if (t->count < t->room)
        return AB_ERR_OK;
    uint32_t room = t->room == 0 ? 64 : t->room * 2;
    node *nodes = realloc(t->nodes, room * sizeof(*nodes));
    if (nodes == NULL)
        return ab_fail(t->err, AB_ERR_NOMEM, "out of memory for YAML");
    t->nodes = nodes;
    t->room = room;
    return AB_ERR_OK;
}

static ab_err set_anchor(tree *t, const yaml_char_t *anchor, uint32_t index)
{
    if (anchor == NULL)
        return AB_ERR_OK;
    void *value = (void *)((uintptr_t)index + 1);
    if (ab_map_put(t->anchors, ab_str_of((const char *)anchor), value, NULL) != AB_ERR_OK)
        return ab_fail(t->err, AB_ERR_NOMEM, "out of memory for YAML");
    return AB_ERR_OK;
}

static ab_err add_node(tree *t, node n, const yaml_char_t *anchor)
{
    ab_err e = grow_nodes(t, &n);
    if (e != AB_ERR_OK)
        return e;
    uint32_t index = t->count++;
    bool container = n.kind == NODE_SEQUENCE || n.kind == NODE_MAPPING;
    n.parent = t->open;
    n.next = container ? 0 : t->count;
    t->nodes[index] = n;
    if (container && t->depth++ == t->limits->depth_max)
        return fail_at(t, &n, AB_ERR_TOOBIG, "nested too deeply");
    if (container)
        t->open = index;
    return set_anchor(t, anchor, index);
}

static void close_node(tree *t)
{
    node *n = &t->nodes[t->open];
    n->next = t->count;
    t->open = n->parent;
    t->depth--;
}

static ab_err add_scalar(tree *t, node n, const yaml_event_t *event)
{
    ab_str text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    const char *tag = (const char *)event->data.scalar.tag;
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    const char *reason = "larger than the limit";
    n.kind = NODE_SCALAR;
    n.merge = plain && tag == NULL && ab_str_is(text, "<<");
    n.empty = plain && tag == NULL && text.len == 0;
    n.text_at = (uint32_t)t->text.len;
    ab_err e = ab_yaml_scalar(text, tag, plain, &t->text, &reason);
    if (e == AB_ERR_NOMEM)
        return ab_fail(t->err, e, "out of memory for YAML");
    if (e != AB_ERR_OK)
        return fail_at(t, &n, e, reason);
    n.text_len = (uint32_t)t->text.len - n.text_at;
    return add_node(t, n, event->data.scalar.anchor);
}

static ab_err add_alias(tree *t, node n, const yaml_event_t *event)
{
    ab_str name = ab_str_of((const char *)event->data.alias.anchor);
    uintptr_t found = (uintptr_t)ab_map_find(t->anchors, name);
    if (found == 0)
        return fail_at(t, &n, AB_ERR_PARSE, "alias of an anchor that does not exist");
    n.kind = NODE_ALIAS;
    n.target = (uint32_t)(found - 1);
    if (t->nodes[n.target].next == 0)
        return fail_at(t, &n, AB_ERR_PARSE, "alias inside of what it stands for");
    return add_node(t, n, NULL);
}

static ab_err add_container(tree *t, node n, node_kind kind, const yaml_char_t *tag,
                            const yaml_char_t *anchor)
{
    const char *own = kind == NODE_SEQUENCE ? YAML_SEQ_TAG : YAML_MAP_TAG;
    if (tag != NULL && strcmp((const char *)tag, own) != 0 && strcmp((const char *)tag, "!") != 0)
        return fail_at(t, &n, AB_ERR_PARSE, "unknown tag");
    n.kind = kind;
    return add_node(t, n, anchor);
}

static ab_err add_event(tree *t, const yaml_event_t *event)
{
    node n = {.line = (uint32_t)event->start_mark.line + 1,
              .column = (uint32_t)event->start_mark.column + 1};
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return add_scalar(t, n, event);
    case YAML_ALIAS_EVENT:
        return add_alias(t, n, event);
    case YAML_SEQUENCE_START_EVENT:
        return add_container(t, n, NODE_SEQUENCE, event->data.sequence_start.tag,
                             event->data.sequence_start.anchor);
    case YAML_MAPPING_START_EVENT:
        return add_container(t, n, NODE_MAPPING, event->data.mapping_start.tag,
                             event->data.mapping_start.anchor);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_node(t);
        return AB_ERR_OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    return AB_ERR_OK;
}

/* What is being written. */
typedef struct {
    uint32_t container;
    uint32_t at; /* next child to look at */
    uint32_t
        owner; /* frame of the JSON object that a mapping adds to: its own, or one that merges it */
    bool merged;  /* a mapping, or a list of mappings, merged into another */
    bool merging; /* own members are done, merge keys are worked on */
    bool comma;
    ab_map *keys; /* names in the JSON object; only in the owner */
} frame;

typedef struct {
    const tree *t;
    ab_buf out;
    ab_buf name; /* of a member whose key is no string */
    frame *stack;
    size_t depth;
    size_t visited;
} writer;

static const node *node_at(const writer *w, uint32_t index)
{
    return &w->t->nodes[index];
}

static uint32_t resolve_alias(const writer *w, uint32_t index)
{
    const node *n = node_at(w, index);
    return n->kind == NODE_ALIAS ? n->target : index;
}

static ab_err count_visit(writer *w, uint32_t index)
{
    if (w->visited++ < w->t->limits->nodes_max)
        return AB_ERR_OK;
    return fail_at(w->t, node_at(w, index), AB_ERR_TOOBIG,
                   "too many nodes in one document, aliases unfolded");
}

static ab_err push_frame(writer *w, uint32_t container, bool merged)
{
    if (w->depth == w->t->limits->depth_max)
        return fail_at(w->t, node_at(w, container), AB_ERR_TOOBIG, "nested too deeply");
    frame f = {.container = container, .at = container + 1, .merged = merged};
    f.owner = merged ? w->stack[w->depth - 1].owner : (uint32_t)w->depth;
    if (!merged && node_at(w, container)->kind == NODE_MAPPING) {
        f.keys = ab_map_new();
        if (f.keys == NULL)
            return ab_fail(w->t->err, AB_ERR_NOMEM, "out of memory for YAML");
    }
    w->stack[w->depth++] = f;
    return AB_ERR_OK;
}

/* Write a scalar whole; of a container only the beginning. */
static ab_err write_value(writer *w, uint32_t index)
{
    ab_err e = count_visit(w, index);
    if (e != AB_ERR_OK)
        return e;
    uint32_t target = resolve_alias(w, index);
    const node *n = node_at(w, target);
    if (n->kind == NODE_SCALAR) {
        ab_buf_put(&w->out, (ab_str){w->t->text.ptr + n->text_at, n->text_len});
        return AB_ERR_OK;
    }
    ab_buf_putc(&w->out, n->kind == NODE_SEQUENCE ? '[' : '{');
    return push_frame(w, target, false);
}

/* The member name as a JSON string; numbers and booleans give their text, as kubectl has it. */
static ab_err key_json(writer *w, uint32_t index, ab_str *out)
{
    const node *n = node_at(w, resolve_alias(w, index));
    ab_str json = {w->t->text.ptr + n->text_at, n->text_len};
    if (n->kind != NODE_SCALAR || ab_str_is(json, "null"))
        return fail_at(w->t, node_at(w, index), AB_ERR_PARSE,
                       "a key must be a string, a number or a boolean");
    *out = json;
    if (json.ptr[0] == '"')
        return AB_ERR_OK;
    ab_buf_clear(&w->name);
    ab_json_put_string(&w->name, json);
    *out = ab_buf_str(&w->name);
    return ab_buf_status(&w->name);
}

static void separate(writer *w, frame *f)
{
    if (f->comma)
        ab_buf_putc(&w->out, ',');
    f->comma = true;
}

static ab_err write_member(writer *w, frame *f, uint32_t key, uint32_t value)
{
    frame *owner = &w->stack[f->owner];
    ab_str name = AB_STR_NONE;
    ab_err e = count_visit(w, key);
    if (e == AB_ERR_OK)
        e = key_json(w, key, &name);
    if (e != AB_ERR_OK)
        return e;
    if (ab_map_find(owner->keys, name) != NULL) {
        if (f->merged) /* what a mapping says itself, or merged earlier, counts */
            return AB_ERR_OK;
        return fail_at(w->t, node_at(w, key), AB_ERR_PARSE, "duplicate key");
    }
    if (ab_map_put(owner->keys, name, owner, NULL) != AB_ERR_OK)
        return ab_fail(w->t->err, AB_ERR_NOMEM, "out of memory for YAML");
    separate(w, owner);
    ab_buf_put(&w->out, name);
    ab_buf_putc(&w->out, ':');
    return write_value(w, value);
}

static ab_err merge_from(writer *w, uint32_t source, bool list_allowed)
{
    ab_err e = count_visit(w, source);
    if (e != AB_ERR_OK)
        return e;
    uint32_t target = resolve_alias(w, source);
    node_kind kind = node_at(w, target)->kind;
    if (kind == NODE_MAPPING || (kind == NODE_SEQUENCE && list_allowed))
        return push_frame(w, target, true);
    return fail_at(w->t, node_at(w, source), AB_ERR_PARSE,
                   "a merge key wants a mapping or a list of mappings");
}

static void pop_frame(writer *w)
{
    frame *f = &w->stack[--w->depth];
    ab_map_free(f->keys, NULL);
    if (!f->merged)
        ab_buf_putc(&w->out, node_at(w, f->container)->kind == NODE_SEQUENCE ? ']' : '}');
}

static ab_err step_sequence(writer *w, frame *f)
{
    uint32_t element = f->at;
    f->at = node_at(w, element)->next;
    if (f->merged)
        return merge_from(w, element, false);
    separate(w, f);
    return write_value(w, element);
}

static ab_err step_mapping(writer *w, frame *f)
{
    uint32_t key = f->at;
    uint32_t value = node_at(w, key)->next;
    bool merge = node_at(w, key)->merge;
    f->at = node_at(w, value)->next;
    if (f->merging != merge)
        return AB_ERR_OK;
    return merge ? merge_from(w, value, true) : write_member(w, f, key, value);
}

static ab_err step(writer *w)
{
    frame *f = &w->stack[w->depth - 1];
    bool mapping = node_at(w, f->container)->kind == NODE_MAPPING;
    if (f->at != node_at(w, f->container)->next)
        return mapping ? step_mapping(w, f) : step_sequence(w, f);
    if (mapping && !f->merging) {
        f->merging = true;
        f->at = f->container + 1;
        return AB_ERR_OK;
    }
    pop_frame(w);
    return AB_ERR_OK;
}

static ab_err write_tree(writer *w)
{
    ab_err e = write_value(w, 0);
    while (e == AB_ERR_OK && w->depth > 0) {
        e = step(w);
        if (e == AB_ERR_OK && ab_buf_status(&w->out) != AB_ERR_OK)
            e = fail_at(w->t, node_at(w, 0), ab_buf_status(&w->out),
                        "the document grows too large");
    }
    while (w->depth > 0)
        pop_frame(w);
    return e;
}

static ab_err give_document(const tree *t, size_t line, ab_yaml_document on_document, void *arg)
{
    writer w = {.t = t, .stack = calloc(t->limits->depth_max + 1, sizeof(*w.stack))};
    if (w.stack == NULL)
        return ab_fail(t->err, AB_ERR_NOMEM, "out of memory for YAML");
    ab_buf_init(&w.out, t->limits->bytes_max);
    ab_buf_init(&w.name, t->limits->bytes_max);
    ab_err e = write_tree(&w);
    if (e == AB_ERR_OK)
        e = on_document(arg, ab_buf_str(&w.out), line);
    ab_buf_fini(&w.out);
    ab_buf_fini(&w.name);
    free(w.stack);
    return e;
}

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

static ab_err parser_failed(const stream *s)
{
    const yaml_parser_t *p = &s->parser;
    yaml_mark_t mark = p->problem_mark;
    if (p->error == YAML_MEMORY_ERROR)
        return ab_fail(s->err, AB_ERR_NOMEM, "out of memory for YAML");
    if (p->error == YAML_READER_ERROR)
        locate(s->text, p->problem_offset, &mark);
    const char *problem = p->problem == NULL ? "not YAML" : p->problem;
    return ab_fail(s->err, AB_ERR_PARSE, "YAML line %zu, column %zu: %s%s%s", mark.line + 1,
                   mark.column + 1, problem, p->context == NULL ? "" : " ",
                   p->context == NULL ? "" : p->context);
}

/* Read events up to the end of the document into `t`. */
static ab_err read_tree(stream *s, tree *t)
{
    bool done = false;
    while (!done) {
        yaml_event_t event;
        if (!yaml_parser_parse(&s->parser, &event))
            return parser_failed(s);
        done = event.type == YAML_DOCUMENT_END_EVENT;
        ab_err e = done ? AB_ERR_OK : add_event(t, &event);
        yaml_event_delete(&event);
        if (e != AB_ERR_OK)
            return e;
    }
    return AB_ERR_OK;
}

static bool is_empty(const tree *t)
{
    return t->count == 1 && t->nodes[0].empty;
}

static ab_err read_document(stream *s, size_t line)
{
    tree t;
    ab_err e = tree_init(&t, s->limits, s->err);
    if (e == AB_ERR_OK)
        e = read_tree(s, &t);
    if (e == AB_ERR_OK && !is_empty(&t)) {
        if (s->documents++ == s->limits->documents_max)
            e = ab_fail(s->err, AB_ERR_TOOBIG, "YAML line %zu: more than %zu documents", line,
                        s->limits->documents_max);
        else
            e = give_document(&t, line, s->on_document, s->arg);
    }
    tree_fini(&t);
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

static ab_err give_json(const stream *s, const ab_json *doc, size_t line)
{
    ab_buf out;
    ab_buf_init(&out, s->limits->bytes_max);
    ab_err e = doc->count > s->limits->nodes_max
                   ? AB_ERR_TOOBIG
                   : compact(ab_json_raw(ab_json_root(doc)), s->limits->depth_max, &out);
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
    ab_json *doc = NULL;
    ab_err e = ab_json_parse(s->text, &doc, NULL);
    *is_json = e != AB_ERR_PARSE;
    if (e != AB_ERR_OK)
        return ab_fail(*is_json ? s->err : NULL, e, "JSON document: %s", ab_err_text(e));
    e = give_json(s, doc, line);
    ab_json_free(doc);
    return e;
}

ab_err ab_yaml_to_json(ab_str text, const ab_yaml_limits *limits, ab_yaml_document on_document,
                       void *arg, ab_error *err)
{
    if (text.len > limits->bytes_max || text.len > UINT32_MAX)
        return ab_fail(err, AB_ERR_TOOBIG, "YAML of %zu bytes, at most %zu are read", text.len,
                       limits->bytes_max);
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
