/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes with a length: ab_str borrows them, ab_buf owns and grows them up to a cap that its maker
 * declares.
 */
#pragma once

#include "base/core/error.h"

#include <stdint.h>
#include <string.h>

/* Borrowed bytes, not NUL-terminated. ptr NULL means absent, which differs from empty. */
typedef struct {
    const char *ptr;
    size_t len;
} ab_str;

#define AB_STR(literal) ((ab_str){(literal), sizeof(literal) - 1})
#define AB_STR_NONE     ((ab_str){NULL, 0})
/* For printf's "%.*s". */
#define AB_STR_ARG(s) (int)(s).len, (s).ptr == NULL ? "" : (s).ptr

/* These are inline because most texts that they are given are literals, whose length the compiler
 * knows. */

/** Borrow a NUL-terminated string; NULL gives AB_STR_NONE. */
static inline ab_str ab_str_of(const char *text)
{
    return text == NULL ? AB_STR_NONE : (ab_str){text, strlen(text)};
}

/** Same bytes; two absent ones are equal, absent and empty are not. */
static inline bool ab_str_eq(ab_str a, ab_str b)
{
    /* The length first: most that differ do so in that. */
    return a.len == b.len && (a.ptr == NULL) == (b.ptr == NULL) &&
           (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/** Same bytes as the NUL-terminated `text`. */
static inline bool ab_str_is(ab_str s, const char *text)
{
    return ab_str_eq(s, ab_str_of(text));
}

/** Is it in this list, which ends with NULL? */
static inline bool ab_str_is_one_of(ab_str s, const char *const *list)
{
    while (*list != NULL && !ab_str_is(s, *list))
        list++;
    return *list != NULL;
}

static inline bool ab_str_starts(ab_str s, const char *prefix)
{
    size_t len = strlen(prefix);
    return s.ptr != NULL && s.len >= len && memcmp(s.ptr, prefix, len) == 0;
}

/** What stands behind its first `len` bytes; there must be as many. */
static inline ab_str ab_str_skip(ab_str s, size_t len)
{
    return (ab_str){s.ptr + len, s.len - len};
}

/** What stands behind `prefix`; absent when `s` does not begin with it. */
static inline ab_str ab_str_after(ab_str s, const char *prefix)
{
    return ab_str_starts(s, prefix) ? ab_str_skip(s, strlen(prefix)) : AB_STR_NONE;
}

/** Cut what stands before the first `c` off `rest`, and `c` itself. Without one that is all there
 * is, and `rest` is absent then. */
ab_str ab_str_cut(ab_str *rest, char c);
/** Order by bytes, shorter first where one begins the other; for qsort and sorted output. */
int ab_str_cmp(ab_str a, ab_str b);
/** NUL-terminated copy, owned by the caller (free()); NULL when out of memory or `s` is absent. */
char *ab_str_dup(ab_str s);
/** Free `*text`, and put a NUL-terminated copy of `by` in its place; NULL when `by` is empty or
 * absent. `by` may be a part of it. @return NOMEM; `*text` is NULL then */
AB_MUST_USE ab_err ab_str_replace(char **text, ab_str by);
/** Decimal digits only, no sign or space. @return PARSE for anything else or overflow */
AB_MUST_USE ab_err ab_str_to_u64(ab_str s, uint64_t *out);
/** True for a DNS-1123 label (RFC 1123, at most 63 of a-z 0-9 -, ends alphanumeric). */
bool ab_str_is_dns_label(ab_str s);
/** True for a DNS-1123 subdomain (labels joined by dots, at most 253): what Kubernetes object names
 * are. */
bool ab_str_is_dns_subdomain(ab_str s);
/** True when all bytes are well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms). */
bool ab_str_is_utf8(ab_str s);
/** True when all bytes are ASCII from space to tilde: UTF-8 without control characters, seen soon.
 */
bool ab_str_is_printable(ab_str s);

/* Growable bytes. After the first failure every call keeps failing with the same code, so a caller
 * may write a whole document and check once with ab_buf_status. */
typedef struct {
    char *ptr; /* NUL-terminated when not NULL; the NUL is not counted in len */
    size_t len;
    size_t room;
    size_t cap;
    ab_err status;
    bool secret; /* wiped wherever it is left */
} ab_buf;

/** An empty buffer that never grows past `cap` bytes. Nothing is allocated yet. */
static inline ab_buf ab_buf_up_to(size_t cap)
{
    return (ab_buf){.cap = cap};
}

/** The same for a secret: growing and fini leave none of its bytes in freed memory. */
static inline ab_buf ab_buf_secret_up_to(size_t cap)
{
    return (ab_buf){.cap = cap, .secret = true};
}

/** Make `b` an empty buffer, as ab_buf_up_to does. */
void ab_buf_init(ab_buf *b, size_t cap);
/** Make `b` an empty buffer for a secret, as ab_buf_secret_up_to does. */
void ab_buf_init_secret(ab_buf *b, size_t cap);
/** Release the bytes; `b` is again as after init. */
void ab_buf_fini(ab_buf *b);
/** As fini, with the bytes wiped first: for secrets. */
void ab_buf_wipe(ab_buf *b);
/** Drop the content and the failure, keep the memory. */
void ab_buf_clear(ab_buf *b);
/** OK, NOMEM or TOOBIG: the first failure since init or clear. */
AB_MUST_USE ab_err ab_buf_status(const ab_buf *b);
void ab_buf_put(ab_buf *b, ab_str bytes);
/** Append `len` bytes that the caller writes next. @return where; NULL after a failure */
char *ab_buf_extend(ab_buf *b, size_t len);
void ab_buf_putc(ab_buf *b, char c);
void ab_buf_puts(ab_buf *b, const char *text);
void ab_buf_printf(ab_buf *b, const char *fmt, ...) AB_PRINTF(2, 3);
/** Borrow the content; valid until the next change of `b`. Empty (not absent) for a new buffer. */
ab_str ab_buf_str(const ab_buf *b);
/** Move the bytes out as a NUL-terminated string owned by the caller (free()); `b` becomes empty.
 *  NULL after a failure. */
char *ab_buf_take(ab_buf *b);
