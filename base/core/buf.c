/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/buf.h"

#include "base/core/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM        64
#define DNS_LABEL_MAX     63
#define DNS_SUBDOMAIN_MAX 253

ab_str ab_str_cut(ab_str *rest, char c)
{
    ab_str part = *rest;
    const char *end = part.len == 0 ? NULL : memchr(part.ptr, c, part.len);
    *rest = AB_STR_NONE;
    if (end == NULL)
        return part;
    size_t len = (size_t)(end - part.ptr);
    *rest = ab_str_skip(part, len + 1);
    return (ab_str){part.ptr, len};
}

int ab_str_cmp(ab_str a, ab_str b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter == 0 ? 0 : memcmp(a.ptr, b.ptr, shorter);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

char *ab_str_dup(ab_str s)
{
    if (s.ptr == NULL)
        return NULL;
    char *copy = malloc(s.len + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, s.ptr, s.len);
    copy[s.len] = '\0';
    return copy;
}

ab_err ab_str_replace(char **text, ab_str by)
{
    char *former = *text;
    *text = by.len == 0 ? NULL : ab_str_dup(by);
    free(former);
    return by.len > 0 && *text == NULL ? AB_ERR_NOMEM : AB_ERR_OK;
}

ab_err ab_str_to_u64(ab_str s, uint64_t *out)
{
    uint64_t value = 0;
    if (s.len == 0)
        return AB_ERR_PARSE;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return AB_ERR_PARSE;
        unsigned digit = (unsigned)(s.ptr[i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return AB_ERR_PARSE;
        value = value * 10 + digit;
    }
    *out = value;
    return AB_ERR_OK;
}

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool ab_str_is_dns_label(ab_str s)
{
    if (s.len == 0 || s.len > DNS_LABEL_MAX)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (!is_lower_alnum(s.ptr[i]) && s.ptr[i] != '-')
            return false;
    }
    return is_lower_alnum(s.ptr[0]) && is_lower_alnum(s.ptr[s.len - 1]);
}

/* Kubernetes bounds the whole subdomain, not its labels. */
bool ab_str_is_dns_subdomain(ab_str s)
{
    if (s.len == 0 || s.len > DNS_SUBDOMAIN_MAX)
        return false;
    bool edge = true; /* at the start of a label */
    for (size_t i = 0; i < s.len; i++) {
        bool alnum = is_lower_alnum(s.ptr[i]);
        bool before_dot = i + 1 == s.len || s.ptr[i + 1] == '.';
        if (!alnum && s.ptr[i] != '-' && s.ptr[i] != '.')
            return false;
        if (!alnum && (edge || (before_dot && s.ptr[i] == '-') || i + 1 == s.len))
            return false;
        edge = s.ptr[i] == '.';
    }
    return true;
}

/* Of each byte of a word, the highest bit: set where it is none of ASCII's. */
#define HIGH_BITS UINT64_C(0x8080808080808080)
#define EACH_BYTE UINT64_C(0x0101010101010101)

static uint64_t word_at(const char *ptr)
{
    uint64_t word;
    memcpy(&word, ptr, sizeof(word));
    return word;
}

/* A byte below the space borrows, and DEL carries, into its highest bit. What they do to the bytes
 * beside them does not matter: the answer is known to be no already. */
static bool is_printable_word(uint64_t word)
{
    return ((word | (word - 0x20 * EACH_BYTE) | (word + EACH_BYTE)) & HIGH_BITS) == 0;
}

bool ab_str_is_printable(ab_str s)
{
    size_t i = 0;
    for (; s.len - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
        if (!is_printable_word(word_at(s.ptr + i)))
            return false;
    }
    if (i > 0 && i < s.len) /* the last word, of which some bytes have been seen */
        return is_printable_word(word_at(s.ptr + s.len - sizeof(uint64_t)));
    for (; i < s.len; i++) {
        if (s.ptr[i] < ' ' || s.ptr[i] > '~')
            return false;
    }
    return true;
}

bool ab_str_is_utf8(ab_str s)
{
    while (s.len > 0) {
        size_t length = sizeof(uint64_t);
        if (s.len < length || (word_at(s.ptr) & HIGH_BITS) != 0)
            length = ab_utf8_length(s);
        if (length == 0)
            return false;
        s.ptr += length;
        s.len -= length;
    }
    return true;
}

void ab_buf_init(ab_buf *b, size_t cap)
{
    *b = ab_buf_up_to(cap);
}

void ab_buf_init_secret(ab_buf *b, size_t cap)
{
    *b = ab_buf_secret_up_to(cap);
}

static void release(ab_buf *b, bool wiped)
{
    if (wiped && b->ptr != NULL)
        explicit_bzero(b->ptr, b->room);
    free(b->ptr);
    *b = (ab_buf){.cap = b->cap, .secret = b->secret};
}

void ab_buf_fini(ab_buf *b)
{
    release(b, b->secret);
}

void ab_buf_wipe(ab_buf *b)
{
    release(b, true);
}

void ab_buf_clear(ab_buf *b)
{
    b->len = 0;
    b->status = AB_ERR_OK;
    if (b->ptr != NULL)
        b->ptr[0] = '\0';
}

ab_err ab_buf_status(const ab_buf *b)
{
    return b->status;
}

/* realloc may leave a copy behind. */
static char *grow(ab_buf *b, size_t room)
{
    if (!b->secret)
        return realloc(b->ptr, room);
    char *grown = malloc(room);
    if (grown == NULL)
        return NULL;
    if (b->ptr != NULL) {
        memcpy(grown, b->ptr, b->len + 1);
        explicit_bzero(b->ptr, b->room);
    }
    free(b->ptr);
    return grown;
}

/* Make room for `more` bytes and the NUL. */
static bool reserve(ab_buf *b, size_t more)
{
    if (b->status != AB_ERR_OK)
        return false;
    if (more > b->cap || b->len > b->cap - more) {
        b->status = AB_ERR_TOOBIG;
        return false;
    }
    size_t need = b->len + more + 1;
    if (need <= b->room)
        return true;
    size_t room = b->room == 0 ? FIRST_ROOM : b->room;
    while (room < need)
        room = room > SIZE_MAX / 2 ? need : room * 2;
    if (room - 1 > b->cap)
        room = b->cap + 1;
    char *grown = grow(b, room);
    if (grown == NULL) {
        b->status = AB_ERR_NOMEM;
        return false;
    }
    b->ptr = grown;
    b->room = room;
    return true;
}

char *ab_buf_extend(ab_buf *b, size_t len)
{
    if (!reserve(b, len))
        return NULL;
    b->len += len;
    b->ptr[b->len] = '\0';
    return b->ptr + b->len - len;
}

void ab_buf_put(ab_buf *b, ab_str bytes)
{
    char *to = ab_buf_extend(b, bytes.len);
    if (to != NULL && bytes.len > 0)
        memcpy(to, bytes.ptr, bytes.len);
}

void ab_buf_putc(ab_buf *b, char c)
{
    ab_buf_put(b, (ab_str){&c, 1});
}

void ab_buf_puts(ab_buf *b, const char *text)
{
    ab_buf_put(b, ab_str_of(text));
}

void ab_buf_printf(ab_buf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (length < 0) {
        if (b->status == AB_ERR_OK)
            b->status = AB_ERR_INVALID;
        return;
    }
    if (!reserve(b, (size_t)length))
        return;
    va_start(args, fmt);
    (void)vsnprintf(b->ptr + b->len, (size_t)length + 1, fmt, args);
    va_end(args);
    b->len += (size_t)length;
}

ab_str ab_buf_str(const ab_buf *b)
{
    return b->ptr == NULL ? AB_STR("") : (ab_str){b->ptr, b->len};
}

char *ab_buf_take(ab_buf *b)
{
    char *bytes = NULL;
    if (reserve(b, 0)) {
        bytes = b->ptr;
        bytes[b->len] = '\0';
        b->ptr = NULL;
    }
    ab_buf_fini(b);
    return bytes;
}
