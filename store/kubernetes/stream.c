/* SPDX-License-Identifier: Apache-2.0
 *
 * Only the outer layer of an answer is understood here; of the values in it only where they end.
 * Whether a value is JSON, its reader finds out. A value that lies within one piece is given out
 * from there; only one that is cut by the end of a piece is copied.
 */
#include "store/kubernetes/stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef enum {
    AT_START,       /* a document may begin */
    AT_KEY_OR_END,  /* after { of the list */
    AT_KEY,         /* after , between its members */
    AT_COLON,       /* after a member's name */
    AT_MEMBER,      /* before a member's value */
    AT_MEMBER_NEXT, /* after it */
    AT_ITEM_OR_END, /* after [ of the items */
    AT_ITEM,        /* after , between them */
    AT_ITEM_NEXT,   /* after one */
    AT_END,         /* nothing but white space may come */
    IN_VALUE,       /* in a document, an item, a member's name or its value */
} place;

/* How far a value is read. */
typedef struct {
    place from; /* where it began, which says what it is */
    bool word;  /* number, true, false, null: ends before the next delimiter */
    bool quoted;
    bool escaped;
    size_t depth;
} value_state;

struct ab_kube_stream {
    ab_kube_stream_env env;
    place at;
    value_state value;
    ab_buf head; /* what came of the value in earlier pieces */
    ab_buf key;  /* name of the member under way, with its quotes */
    ab_buf rest; /* the list without its items, as far as it came */
    bool has_items;
    uint64_t offset; /* bytes in earlier pieces */
    ab_err failed;
};

ab_kube_stream *ab_kube_stream_new(const ab_kube_stream_env *env)
{
    ab_kube_stream *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->env = *env;
    ab_buf_init_secret(&s->head, env->object_max);
    ab_buf_init_secret(&s->key, env->object_max);
    ab_buf_init_secret(&s->rest, env->object_max);
    return s;
}

void ab_kube_stream_free(ab_kube_stream *s)
{
    if (s == NULL)
        return;
    ab_buf_fini(&s->head);
    ab_buf_fini(&s->key);
    ab_buf_fini(&s->rest);
    free(s);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool ends_word(char c)
{
    return is_space(c) || c == ',' || c == '}' || c == ']';
}

static void value_begin(ab_kube_stream *s, char first)
{
    s->value = (value_state){.from = s->at};
    s->value.word = first != '{' && first != '[' && first != '"';
    s->at = IN_VALUE;
    ab_buf_clear(&s->head);
}

/* True when the value ends with `c`. */
static bool value_step(value_state *v, char c)
{
    if (v->escaped) {
        v->escaped = false;
        return false;
    }
    if (v->quoted) {
        v->escaped = c == '\\';
        v->quoted = c != '"';
        return !v->quoted && v->depth == 0;
    }
    if (c == '"')
        v->quoted = true;
    else if (c == '{' || c == '[')
        v->depth++;
    else if (c == '}' || c == ']')
        return --v->depth == 0;
    return false;
}

/* Length of the part of `text` that belongs to the value; `*ended` when its end is there. */
static size_t value_scan(value_state *v, ab_str text, bool *ended)
{
    for (size_t i = 0; i < text.len; i++) {
        *ended = v->word ? ends_word(text.ptr[i]) : value_step(v, text.ptr[i]);
        if (*ended)
            return v->word ? i : i + 1;
    }
    return text.len;
}

static bool is_named(ab_str quoted, const char *name)
{
    return quoted.len >= 2 && ab_str_is((ab_str){quoted.ptr + 1, quoted.len - 2}, name);
}

static bool is_between(char c)
{
    return is_space(c) || c == ',' || c == ':';
}

ab_str ab_kube_member(ab_str object, const char *name)
{
    bool is_name = true;
    bool found = false;
    for (size_t i = 1; i < object.len && object.ptr[i] != '}';) {
        char c = object.ptr[i];
        value_state v = {.word = c != '{' && c != '[' && c != '"'};
        bool ended = false;
        if (is_between(c)) {
            i++;
            continue;
        }
        size_t len = value_scan(&v, (ab_str){object.ptr + i, object.len - i}, &ended);
        ab_str value = {object.ptr + i, len};
        if (!ended || len == 0)
            return AB_STR_NONE;
        if (!is_name && found)
            return value;
        found = is_name && is_named(value, name);
        is_name = !is_name;
        i += len;
    }
    return AB_STR_NONE;
}

static ab_err put_member(ab_kube_stream *s, ab_str value)
{
    ab_buf_putc(&s->rest, s->rest.len == 0 ? '{' : ',');
    ab_buf_put(&s->rest, ab_buf_str(&s->key));
    ab_buf_putc(&s->rest, ':');
    ab_buf_put(&s->rest, value);
    return ab_buf_status(&s->rest);
}

static ab_err take_member(ab_kube_stream *s, ab_str value)
{
    s->at = AT_MEMBER_NEXT;
    if (!ab_str_is(ab_buf_str(&s->key), "\"items\""))
        return put_member(s, value);
    s->has_items = true;
    return ab_str_is(value, "null") ? AB_ERR_OK : AB_ERR_PARSE;
}

static ab_err take_key(ab_kube_stream *s, ab_str key)
{
    s->at = AT_COLON;
    ab_buf_clear(&s->key);
    ab_buf_put(&s->key, key);
    if (s->has_items && ab_str_is(key, "\"items\""))
        return AB_ERR_PARSE;
    return ab_buf_status(&s->key);
}

static ab_err take_value(ab_kube_stream *s, ab_str value)
{
    if (value.len > s->env.object_max)
        return AB_ERR_TOOBIG;
    if (s->value.from == AT_KEY)
        return take_key(s, value);
    if (s->value.from == AT_MEMBER)
        return take_member(s, value);
    if (s->value.from == AT_ITEM)
        s->at = AT_ITEM_NEXT;
    else
        s->at = s->env.shape == AB_KUBE_WATCH ? AT_START : AT_END;
    return s->env.on_value(s->env.arg, value);
}

/* The value under way goes on with `text`; `*used` bytes of it belong to the value. */
static ab_err feed_value(ab_kube_stream *s, ab_str text, size_t *used)
{
    bool ended = false;
    *used = value_scan(&s->value, text, &ended);
    ab_str part = {text.ptr, *used};
    if (ended && s->head.len == 0)
        return take_value(s, part);
    ab_buf_put(&s->head, part);
    ab_err e = ab_buf_status(&s->head);
    return e == AB_ERR_OK && ended ? take_value(s, ab_buf_str(&s->head)) : e;
}

static ab_err end_list(ab_kube_stream *s)
{
    /* Taken for an empty list, an answer of another kind would delete everything. */
    if (!s->has_items)
        return AB_ERR_PARSE;
    s->at = AT_END;
    ab_buf_puts(&s->rest, s->rest.len == 0 ? "{}" : "}");
    ab_err e = ab_buf_status(&s->rest);
    return e == AB_ERR_OK ? s->env.on_rest(s->env.arg, ab_buf_str(&s->rest)) : e;
}

/* A value begins, if it begins with one of `firsts`. It is then read from this same byte. */
static ab_err begin(ab_kube_stream *s, char c, const char *firsts)
{
    if (c == '\0' || strchr(firsts, c) == NULL)
        return AB_ERR_PARSE;
    value_begin(s, c);
    return AB_ERR_OK;
}

static ab_err step_to(ab_kube_stream *s, place next)
{
    s->at = next;
    return AB_ERR_OK;
}

static ab_err begin_member(ab_kube_stream *s, char c)
{
    if (c != '[' || !ab_str_is(ab_buf_str(&s->key), "\"items\""))
        return begin(s, c, "{[\"-0123456789tfn");
    s->has_items = true;
    return step_to(s, AT_ITEM_OR_END);
}

static ab_err begin_after(ab_kube_stream *s, char c, place at, const char *firsts)
{
    s->at = at;
    return begin(s, c, firsts);
}

/* One byte outside of values that is not white space. */
static ab_err step(ab_kube_stream *s, char c)
{
    switch (s->at) {
    case AT_START:
        if (s->env.shape == AB_KUBE_LIST)
            return c == '{' ? step_to(s, AT_KEY_OR_END) : AB_ERR_PARSE;
        return begin(s, c, "{");
    case AT_KEY_OR_END:
        return c == '}' ? end_list(s) : begin_after(s, c, AT_KEY, "\"");
    case AT_KEY:
        return begin(s, c, "\"");
    case AT_COLON:
        return c == ':' ? step_to(s, AT_MEMBER) : AB_ERR_PARSE;
    case AT_MEMBER:
        return begin_member(s, c);
    case AT_MEMBER_NEXT:
        if (c == '}')
            return end_list(s);
        return c == ',' ? step_to(s, AT_KEY) : AB_ERR_PARSE;
    case AT_ITEM_OR_END:
        return c == ']' ? step_to(s, AT_MEMBER_NEXT) : begin_after(s, c, AT_ITEM, "{");
    case AT_ITEM:
        return begin(s, c, "{");
    case AT_ITEM_NEXT:
        if (c == ']')
            return step_to(s, AT_MEMBER_NEXT);
        return c == ',' ? step_to(s, AT_ITEM) : AB_ERR_PARSE;
    case AT_END:
    case IN_VALUE:
        break;
    }
    return AB_ERR_PARSE;
}

static ab_err fail(ab_kube_stream *s, ab_err code, uint64_t at, ab_error *err)
{
    s->failed = code;
    if (code == AB_ERR_PARSE)
        return ab_fail(err, code,
                       "byte %" PRIu64 " of the response: not a valid watch event or list", at);
    if (code == AB_ERR_TOOBIG)
        return ab_fail(err, code,
                       "byte %" PRIu64 " of the response: an object of more than %zu bytes", at,
                       s->env.object_max);
    return ab_fail(err, code, "byte %" PRIu64 " of the response: %s", at, ab_err_text(code));
}

ab_err ab_kube_stream_feed(ab_kube_stream *s, ab_str piece, ab_error *err)
{
    if (s->failed != AB_ERR_OK)
        return ab_fail(err, s->failed, "reading the response stopped after an earlier error");
    for (size_t i = 0; i < piece.len;) {
        ab_err e = AB_ERR_OK;
        size_t used = 1;
        if (s->at != IN_VALUE && !is_space(piece.ptr[i])) {
            e = step(s, piece.ptr[i]);
            used = s->at == IN_VALUE ? 0 : 1;
        } else if (s->at == IN_VALUE) {
            e = feed_value(s, (ab_str){piece.ptr + i, piece.len - i}, &used);
        }
        if (e != AB_ERR_OK)
            return fail(s, e, s->offset + i, err);
        i += used;
    }
    s->offset += piece.len;
    return AB_ERR_OK;
}

ab_err ab_kube_stream_end(ab_kube_stream *s, ab_error *err)
{
    if (s->failed != AB_ERR_OK)
        return ab_fail(err, s->failed, "reading the response stopped after an earlier error");
    if (s->at == (s->env.shape == AB_KUBE_WATCH ? AT_START : AT_END))
        return AB_ERR_OK;
    s->failed = AB_ERR_PARSE;
    return ab_fail(err, AB_ERR_PARSE, "the response is truncated after %" PRIu64 " bytes",
                   s->offset);
}
