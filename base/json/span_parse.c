/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser: one pass over a private copy of the text, a stack of open containers instead of
 * recursion. The copy ends with a NUL, which is valid nowhere in JSON, so one byte may always be
 * looked at.
 */
#include "base/core/hex.h"
#include "base/core/utf8.h"
#include "base/json/span_priv.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 16
/* Up to here comparing each name with each is cheaper than sorting. */
#define PAIRWISE_MAX 8

typedef struct {
    uint32_t node;
    uint32_t last_child; /* 0 = none yet; node 0 is the root and nobody's child */
    uint32_t count;
} open_container;

/* The name that the next value stands under. */
typedef struct {
    uint32_t start; /* 0 = none */
    bool escaped;
} pending_key;

typedef struct {
    ab_span *doc;
    size_t at;
    uint32_t room;
    pending_key key;
    open_container stack[AB_SPAN_DEPTH_MAX];
    size_t depth;
    ab_error *err;
} parser;

static ab_err fail_at(parser *p, size_t offset, ab_err code, const char *reason)
{
    size_t line = 1;
    size_t line_start = 0;
    for (size_t i = 0; i < offset; i++) {
        if (p->doc->text[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    return ab_fail(p->err, code, "JSON line %zu, column %zu: %s", line, offset - line_start + 1,
                   reason);
}

static ab_err fail_here(parser *p, const char *reason)
{
    if (p->at >= p->doc->len)
        reason = "the text ends unexpectedly";
    return fail_at(p, p->at, AB_ERR_PARSE, reason);
}

static char peek(const parser *p)
{
    return p->doc->text[p->at];
}

static void skip_space(parser *p)
{
    char c = peek(p);
    while (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
        p->at++;
        c = peek(p);
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static ab_err scan_escape(parser *p)
{
    p->at++;
    char kind = peek(p);
    if (kind == '\0' || strchr("\"\\/bfnrtu", kind) == NULL)
        return fail_here(p, "unknown escape in a string");
    p->at++;
    for (int i = 0; kind == 'u' && i < 4; i++) {
        if (ab_hex_digit(peek(p)) < 0)
            return fail_here(p, "\\u needs four hex digits");
        p->at++;
    }
    return AB_ERR_OK;
}

/* One character of a string, or one escape. */
static ab_err scan_character(parser *p, bool *escaped)
{
    unsigned char c = (unsigned char)peek(p);
    if (c == '\\') {
        *escaped = true;
        return scan_escape(p);
    }
    if (c < 0x20)
        return fail_here(p, "control characters in a string must be escaped");
    size_t length = ab_utf8_length((ab_str){p->doc->text + p->at, p->doc->len - p->at});
    if (length == 0)
        return fail_at(p, p->at, AB_ERR_PARSE, "invalid UTF-8");
    p->at += length;
    return AB_ERR_OK;
}

/* Nearly all of a text is these. */
static void skip_plain(parser *p)
{
    unsigned char c = (unsigned char)peek(p);
    while (c >= 0x20 && c < 0x80 && c != '"' && c != '\\')
        c = (unsigned char)p->doc->text[++p->at];
}

static ab_err scan_string(parser *p, bool *escaped)
{
    *escaped = false;
    p->at++;
    for (skip_plain(p); peek(p) != '"'; skip_plain(p)) {
        ab_err e = scan_character(p, escaped);
        if (e != AB_ERR_OK)
            return e;
    }
    p->at++;
    return AB_ERR_OK;
}

static ab_err scan_digits(parser *p)
{
    if (!is_digit(peek(p)))
        return fail_here(p, "a digit is missing in a number");
    while (is_digit(peek(p)))
        p->at++;
    return AB_ERR_OK;
}

static ab_err scan_number(parser *p)
{
    if (peek(p) == '-')
        p->at++;
    bool zero = peek(p) == '0';
    size_t start = p->at;
    ab_err e = scan_digits(p);
    if (e == AB_ERR_OK && zero && p->at - start > 1)
        return fail_at(p, start, AB_ERR_PARSE, "a number must not begin with 0");
    if (e == AB_ERR_OK && peek(p) == '.') {
        p->at++;
        e = scan_digits(p);
    }
    if (e == AB_ERR_OK && (peek(p) == 'e' || peek(p) == 'E')) {
        p->at++;
        if (peek(p) == '+' || peek(p) == '-')
            p->at++;
        e = scan_digits(p);
    }
    return e;
}

static ab_err scan_word(parser *p, const char *word)
{
    for (; *word != '\0'; word++) {
        if (peek(p) != *word)
            return fail_here(p, "a value is neither true, false, null, number, string, array nor "
                                "object");
        p->at++;
    }
    return AB_ERR_OK;
}

static ab_err grow_nodes(parser *p)
{
    if (p->room >= AB_SPAN_NODES_MAX)
        return fail_at(p, p->at, AB_ERR_TOOBIG, "too many values");
    uint32_t room = p->room == 0 ? FIRST_ROOM : p->room * 2;
    ab_span_node *nodes = realloc(p->doc->nodes, room * sizeof(*nodes));
    if (nodes == NULL)
        return ab_fail(p->err, AB_ERR_NOMEM, "out of memory for a JSON document");
    p->doc->nodes = nodes;
    p->room = room;
    return AB_ERR_OK;
}

/* Add the value that begins here, under the pending name, to the innermost open container. */
static ab_err add_node(parser *p, ab_span_type type, uint32_t *index)
{
    ab_err e = p->doc->count < p->room ? AB_ERR_OK : grow_nodes(p);
    if (e != AB_ERR_OK)
        return e;
    *index = p->doc->count++;
    p->doc->nodes[*index] = (ab_span_node){
        .start = (uint32_t)p->at & (AB_SPAN_SIZE_MAX - 1),
        .type = (unsigned)type & 7u,
        .key_escaped = p->key.escaped,
        .key = p->key.start,
    };
    p->key = (pending_key){0};
    if (p->depth > 0) {
        p->stack[p->depth - 1].last_child = *index;
        p->stack[p->depth - 1].count++;
    }
    return AB_ERR_OK;
}

static void end_node(parser *p, uint32_t index)
{
    ab_span_node *n = &p->doc->nodes[index];
    n->length = (uint32_t)p->at - n->start;
    n->next = p->doc->count;
}

static ab_err read_key(parser *p)
{
    skip_space(p);
    if (peek(p) != '"')
        return fail_here(p, "expected a member name in quotes");
    p->key.start = (uint32_t)p->at;
    ab_err e = scan_string(p, &p->key.escaped);
    if (e != AB_ERR_OK)
        return e;
    skip_space(p);
    if (peek(p) != ':')
        return fail_here(p, "expected ':' after a member name");
    p->at++;
    return AB_ERR_OK;
}

static ab_err fail_duplicate(parser *p, uint32_t node)
{
    return fail_at(p, p->doc->nodes[node].key, AB_ERR_PARSE, "a member name occurs twice");
}

static ab_err check_few_names(parser *p, uint32_t object)
{
    uint32_t end = p->doc->count;
    for (uint32_t a = object + 1; a < end; a = p->doc->nodes[a].next) {
        for (uint32_t b = p->doc->nodes[a].next; b < end; b = p->doc->nodes[b].next) {
            if (ab_span_key_cmp(p->doc, a, b) == 0)
                return fail_duplicate(p, b);
        }
    }
    return AB_ERR_OK;
}

static ab_err check_many_names(parser *p, uint32_t object, uint32_t count)
{
    uint32_t *members = ab_span_sorted_members((ab_spanv){p->doc, object}, count);
    if (members == NULL)
        return ab_fail(p->err, AB_ERR_NOMEM, "out of memory for a JSON document");
    ab_err e = AB_ERR_OK;
    for (uint32_t i = 1; i < count && e == AB_ERR_OK; i++) {
        if (ab_span_key_cmp(p->doc, members[i - 1], members[i]) == 0)
            e = fail_duplicate(p, members[i]);
    }
    free(members);
    return e;
}

static ab_err close_container(parser *p)
{
    const open_container *top = &p->stack[--p->depth];
    p->at++;
    end_node(p, top->node);
    if (top->count > 0)
        p->doc->nodes[top->last_child].last = 1;
    if (p->doc->nodes[top->node].type != AB_SPAN_OBJECT)
        return AB_ERR_OK;
    if (top->count <= PAIRWISE_MAX)
        return check_few_names(p, top->node);
    return check_many_names(p, top->node, top->count);
}

/* `*open` tells whether a first element or member follows. */
static ab_err open_container_here(parser *p, ab_span_type type, bool *open)
{
    if (p->depth == AB_SPAN_DEPTH_MAX)
        return fail_at(p, p->at, AB_ERR_TOOBIG, "nested too deeply");
    uint32_t index = 0;
    ab_err e = add_node(p, type, &index);
    if (e != AB_ERR_OK)
        return e;
    p->stack[p->depth++] = (open_container){.node = index};
    p->at++;
    skip_space(p);
    if (peek(p) == (type == AB_SPAN_OBJECT ? '}' : ']'))
        return close_container(p);
    *open = true;
    return type == AB_SPAN_OBJECT ? read_key(p) : AB_ERR_OK;
}

static ab_err scan_scalar(parser *p, ab_span_type type, bool *escaped)
{
    switch (type) {
    case AB_SPAN_STRING:
        return scan_string(p, escaped);
    case AB_SPAN_TRUE:
        return scan_word(p, "true");
    case AB_SPAN_FALSE:
        return scan_word(p, "false");
    case AB_SPAN_NULL:
        return scan_word(p, "null");
    case AB_SPAN_NUMBER:
        return scan_number(p);
    case AB_SPAN_NONE:
    case AB_SPAN_ARRAY:
    case AB_SPAN_OBJECT:
        break;
    }
    return fail_here(p, "expected a value");
}

static ab_err read_scalar(parser *p, ab_span_type type)
{
    uint32_t index = 0;
    ab_err e = add_node(p, type, &index);
    if (e != AB_ERR_OK)
        return e;
    bool escaped = false;
    e = scan_scalar(p, type, &escaped);
    if (e != AB_ERR_OK)
        return e;
    p->doc->nodes[index].escaped = escaped;
    end_node(p, index);
    return AB_ERR_OK;
}

static ab_span_type type_by_first_byte(char c)
{
    switch (c) {
    case '{':
        return AB_SPAN_OBJECT;
    case '[':
        return AB_SPAN_ARRAY;
    case '"':
        return AB_SPAN_STRING;
    case 't':
        return AB_SPAN_TRUE;
    case 'f':
        return AB_SPAN_FALSE;
    case 'n':
        return AB_SPAN_NULL;
    default:
        return c == '-' || is_digit(c) ? AB_SPAN_NUMBER : AB_SPAN_NONE;
    }
}

static ab_err read_value(parser *p, bool *open)
{
    skip_space(p);
    *open = false;
    ab_span_type type = type_by_first_byte(peek(p));
    if (type == AB_SPAN_OBJECT || type == AB_SPAN_ARRAY)
        return open_container_here(p, type, open);
    return read_scalar(p, type);
}

/* After a value: close what ends here, and stop at the next value or at the end of the root. */
static ab_err read_separators(parser *p)
{
    while (p->depth > 0) {
        bool in_object = p->doc->nodes[p->stack[p->depth - 1].node].type == AB_SPAN_OBJECT;
        skip_space(p);
        if (peek(p) == ',') {
            p->at++;
            return in_object ? read_key(p) : AB_ERR_OK;
        }
        if (peek(p) != (in_object ? '}' : ']'))
            return fail_here(p, in_object ? "expected ',' or '}'" : "expected ',' or ']'");
        ab_err e = close_container(p);
        if (e != AB_ERR_OK)
            return e;
    }
    return AB_ERR_OK;
}

static ab_err parse_document(parser *p)
{
    do {
        bool open = false;
        ab_err e = read_value(p, &open);
        if (e == AB_ERR_OK && !open)
            e = read_separators(p);
        if (e != AB_ERR_OK)
            return e;
    } while (p->depth > 0);
    p->doc->nodes[0].last = 1;
    skip_space(p);
    if (p->at < p->doc->len)
        return fail_here(p, "unexpected text after the document");
    return AB_ERR_OK;
}

/* Growth by doubling leaves up to half of the memory unused; documents are kept for long. */
static void trim_nodes(ab_span *doc)
{
    ab_span_node *nodes = realloc(doc->nodes, doc->count * sizeof(*nodes));
    if (nodes != NULL)
        doc->nodes = nodes;
}

ab_err ab_span_parse(ab_str text, ab_span **out, ab_error *err)
{
    if (text.len > AB_SPAN_SIZE_MAX)
        return ab_fail(err, AB_ERR_TOOBIG, "JSON text of %zu bytes exceeds the limit of %u",
                       text.len, AB_SPAN_SIZE_MAX);
    ab_span *doc = malloc(sizeof(*doc) + text.len + 1);
    if (doc == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for a JSON document");
    *doc = (ab_span){.len = (uint32_t)text.len};
    if (text.len > 0)
        memcpy(doc->text, text.ptr, text.len);
    doc->text[text.len] = '\0';
    parser p = {.doc = doc, .err = err};
    ab_err e = parse_document(&p);
    if (e != AB_ERR_OK) {
        ab_span_free(doc);
        return e;
    }
    trim_nodes(doc);
    *out = doc;
    return AB_ERR_OK;
}
