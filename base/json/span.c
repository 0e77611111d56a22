/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/span.h"

#include "base/core/hex.h"
#include "base/core/utf8.h"
#include "base/json/span_priv.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT 0xFFFDu
#define END_OF_TEXT UINT32_MAX

void ab_span_free(ab_span *doc)
{
    if (doc == NULL)
        return;
    free(doc->nodes);
    free(doc);
}

void ab_span_wipe(ab_span *doc)
{
    if (doc != NULL)
        explicit_bzero(doc->text, doc->len);
    ab_span_free(doc);
}

size_t ab_span_node_count(const ab_span *doc)
{
    size_t count = doc->count;
    for (uint32_t i = 0; i < doc->count; i++)
        count += doc->nodes[i].key != 0;
    return count;
}

const ab_span_node *ab_span_node_of(ab_spanv v)
{
    assert(v.doc != NULL && v.node < v.doc->count);
    return &v.doc->nodes[v.node];
}

ab_spanv ab_span_root(const ab_span *doc)
{
    return (ab_spanv){doc, 0};
}

ab_span_type ab_span_typeof(ab_spanv v)
{
    return v.doc == NULL ? AB_SPAN_NONE : (ab_span_type)ab_span_node_of(v)->type;
}

bool ab_span_present(ab_spanv v)
{
    return v.doc != NULL;
}

static bool is_container(ab_spanv v)
{
    ab_span_type type = ab_span_typeof(v);
    return type == AB_SPAN_ARRAY || type == AB_SPAN_OBJECT;
}

ab_spanv ab_span_first(ab_spanv container)
{
    if (!is_container(container) || ab_span_node_of(container)->next == container.node + 1)
        return (ab_spanv){0};
    return (ab_spanv){container.doc, container.node + 1};
}

ab_spanv ab_span_next(ab_spanv v)
{
    if (v.doc == NULL || ab_span_node_of(v)->last)
        return (ab_spanv){0};
    return (ab_spanv){v.doc, ab_span_node_of(v)->next};
}

size_t ab_span_count(ab_spanv container)
{
    size_t count = 0;
    for (ab_spanv v = ab_span_first(container); v.doc != NULL; v = ab_span_next(v))
        count++;
    return count;
}

ab_str ab_span_raw(ab_spanv v)
{
    if (v.doc == NULL)
        return AB_STR_NONE;
    const ab_span_node *n = ab_span_node_of(v);
    return (ab_str){v.doc->text + n->start, n->length};
}

/* The parser has made sure that the closing quote is there. */
static ab_str key_text(const ab_span *doc, const ab_span_node *n)
{
    const char *start = doc->text + n->key;
    const char *at = start + 1;
    while (*at != '"')
        at += *at == '\\' ? 2 : 1;
    return (ab_str){start, (size_t)(at - start) + 1};
}

ab_str ab_span_raw_key(ab_spanv v)
{
    if (v.doc == NULL || ab_span_node_of(v)->key == 0)
        return AB_STR_NONE;
    return key_text(v.doc, ab_span_node_of(v));
}

static ab_str without_quotes(ab_str raw)
{
    return (ab_str){raw.ptr + 1, raw.len - 2};
}

ab_str ab_span_plain(ab_spanv v)
{
    if (ab_span_typeof(v) != AB_SPAN_STRING || ab_span_node_of(v)->escaped)
        return AB_STR_NONE;
    return without_quotes(ab_span_raw(v));
}

ab_str ab_span_plain_key(ab_spanv v)
{
    ab_str raw = ab_span_raw_key(v);
    if (raw.ptr == NULL || ab_span_node_of(v)->key_escaped)
        return AB_STR_NONE;
    return without_quotes(raw);
}

static uint32_t hex4(const char *digits)
{
    uint32_t value = 0;
    for (size_t i = 0; i < 4; i++)
        value = value << 4 | (uint32_t)ab_hex_digit(digits[i]);
    return value;
}

/* Read the escape whose backslash is at `*at`; a lone surrogate is given as it is. */
static uint32_t read_escape(const char **at)
{
    static const char names[] = "bfnrt";
    static const char values[] = "\b\f\n\r\t";
    char kind = (*at)[1];
    if (kind != 'u') {
        const char *name = strchr(names, kind);
        *at += 2;
        return (unsigned char)(name == NULL ? kind : values[name - names]);
    }
    uint32_t high = hex4(*at + 2);
    *at += 6;
    if (high < 0xD800 || high > 0xDBFF || (*at)[0] != '\\' || (*at)[1] != 'u')
        return high;
    uint32_t low = hex4(*at + 2);
    if (low < 0xDC00 || low > 0xDFFF)
        return high;
    *at += 6;
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

static bool is_surrogate(uint32_t code_point)
{
    return code_point >= 0xD800 && code_point <= 0xDFFF;
}

bool ab_span_unescape(ab_str content, ab_buf *out)
{
    bool exact = true;
    const char *at = content.ptr;
    const char *end = content.ptr + content.len;
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        const char *run_end = escape == NULL ? end : escape;
        ab_buf_put(out, (ab_str){at, (size_t)(run_end - at)});
        at = run_end;
        if (escape == NULL)
            break;
        char character[4];
        uint32_t code_point = read_escape(&at);
        exact = exact && !is_surrogate(code_point);
        size_t len = ab_utf8_encode(is_surrogate(code_point) ? REPLACEMENT : code_point, character);
        ab_buf_put(out, (ab_str){character, len});
    }
    return exact;
}

ab_err ab_span_copy(ab_spanv v, ab_buf *out)
{
    if (ab_span_typeof(v) != AB_SPAN_STRING)
        return AB_ERR_INVALID;
    ab_str content = without_quotes(ab_span_raw(v));
    if (ab_span_node_of(v)->escaped)
        (void)ab_span_unescape(content, out);
    else
        ab_buf_put(out, content);
    return ab_buf_status(out);
}

/* The next character of a string whose text `*at` stands in, END_OF_TEXT at its closing quote. */
static uint32_t next_character(const char **at)
{
    if (**at == '"')
        return END_OF_TEXT;
    if (**at == '\\') {
        uint32_t code_point = read_escape(at);
        return is_surrogate(code_point) ? REPLACEMENT : code_point;
    }
    ab_str rest = {*at, 4}; /* well-formed, so no more is read than there is */
    *at += ab_utf8_length(rest);
    return ab_utf8_decode(rest);
}

/* Order of code points is the order of UTF-8 bytes. */
static int string_cmp(const char *a, const char *b)
{
    for (;;) {
        uint32_t ca = next_character(&a);
        uint32_t cb = next_character(&b);
        if (ca == END_OF_TEXT || cb == END_OF_TEXT)
            return (ca != END_OF_TEXT) - (cb != END_OF_TEXT);
        if (ca != cb)
            return ca < cb ? -1 : 1;
    }
}

static int plain_cmp(const char *a, const char *b)
{
    while (*a == *b && *a != '"') {
        a++;
        b++;
    }
    if (*a == '"' || *b == '"')
        return (*a != '"') - (*b != '"');
    return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

int ab_span_key_cmp(const ab_span *doc, uint32_t a, uint32_t b)
{
    const ab_span_node *na = &doc->nodes[a];
    const ab_span_node *nb = &doc->nodes[b];
    const char *text_a = doc->text + na->key + 1;
    const char *text_b = doc->text + nb->key + 1;
    if (na->key_escaped || nb->key_escaped)
        return string_cmp(text_a, text_b);
    return plain_cmp(text_a, text_b);
}

static int member_cmp(const void *a, const void *b, void *doc)
{
    return ab_span_key_cmp(doc, *(const uint32_t *)a, *(const uint32_t *)b);
}

uint32_t *ab_span_sorted_members(ab_spanv object, size_t count)
{
    uint32_t *members = malloc((count + 1) * sizeof(*members));
    if (members == NULL)
        return NULL;
    size_t i = 0;
    for (ab_spanv v = ab_span_first(object); v.doc != NULL; v = ab_span_next(v))
        members[i++] = v.node;
    assert(i == count);
    /* qsort_r takes no const pointer though member_cmp only reads. */
    qsort_r(members, count, sizeof(*members), member_cmp, (void *)(uintptr_t)object.doc);
    return members;
}

/* The text of a string, from after its opening quote, has exactly the content `wanted`. */
static bool content_is(const char *text, bool escaped, ab_str wanted)
{
    if (!escaped) {
        for (size_t i = 0; i < wanted.len; i++) {
            if (text[i] != wanted.ptr[i] || text[i] == '"')
                return false;
        }
        return text[wanted.len] == '"';
    }
    while (wanted.len > 0) {
        size_t length = ab_utf8_length(wanted);
        if (length == 0 || next_character(&text) != ab_utf8_decode(wanted))
            return false;
        wanted.ptr += length;
        wanted.len -= length;
    }
    return *text == '"';
}

static bool key_is(ab_spanv v, ab_str name)
{
    const ab_span_node *n = ab_span_node_of(v);
    return content_is(v.doc->text + n->key + 1, n->key_escaped, name);
}

bool ab_span_key_is(ab_spanv v, const char *name)
{
    return v.doc != NULL && ab_span_node_of(v)->key != 0 && key_is(v, ab_str_of(name));
}

ab_spanv ab_span_get_str(ab_spanv object, ab_str name)
{
    if (ab_span_typeof(object) != AB_SPAN_OBJECT)
        return (ab_spanv){0};
    for (ab_spanv v = ab_span_first(object); v.doc != NULL; v = ab_span_next(v)) {
        if (key_is(v, name))
            return v;
    }
    return (ab_spanv){0};
}

ab_spanv ab_span_get(ab_spanv object, const char *name)
{
    return ab_span_get_str(object, ab_str_of(name));
}

ab_spanv ab_span_path(ab_spanv object, ...)
{
    va_list names;
    va_start(names, object);
    const char *name = va_arg(names, const char *);
    while (name != NULL) {
        object = ab_span_get(object, name);
        name = va_arg(names, const char *);
    }
    va_end(names);
    return object;
}

bool ab_span_is(ab_spanv v, const char *text)
{
    if (ab_span_typeof(v) != AB_SPAN_STRING)
        return false;
    const ab_span_node *n = ab_span_node_of(v);
    return content_is(v.doc->text + n->start + 1, n->escaped, ab_str_of(text));
}

ab_err ab_span_i64(ab_spanv v, int64_t *out)
{
    if (ab_span_typeof(v) != AB_SPAN_NUMBER)
        return AB_ERR_INVALID;
    ab_str digits = ab_span_raw(v);
    bool negative = digits.ptr[0] == '-';
    if (negative) {
        digits.ptr++;
        digits.len--;
    }
    uint64_t magnitude = 0;
    uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    if (ab_str_to_u64(digits, &magnitude) != AB_ERR_OK || magnitude > limit)
        return AB_ERR_INVALID;
    /* -INT64_MIN is not an int64_t, so the sign goes on in unsigned arithmetic. */
    *out = (int64_t)(negative ? ~magnitude + 1 : magnitude);
    return AB_ERR_OK;
}
