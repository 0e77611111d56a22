/* SPDX-License-Identifier: Apache-2.0
 *
 * Heads of HTTP/1.1 messages: the first line and the fields, read strictly (RFC 9112). Two programs
 * that read one head differently are how a request gets past a check, so whatever can be read in
 * two ways is refused: a line without CR, a folded field, a space before the colon, two lengths, a
 * length beside a transfer coding. Any thread.
 */
#pragma once

#include "base/core/buf.h"

#define AB_HTTP_FIELDS_MAX 100

/* A field of a head: names in lower case, values without the spaces around them. */
typedef struct {
    ab_str name;
    ab_str value;
} ab_http_field;

/* Borrows from the bytes it was read from. */
typedef struct {
    ab_str method;        /* of a request */
    ab_str path;          /* of a request: as it was sent, see ab_http_path_refusal */
    ab_str query;         /* of a request: as it was sent, without its "?"; absent: none */
    int status;           /* of an answer */
    int64_t length_bytes; /* of the body; -1: not announced */
    bool chunked;         /* the body comes in chunks */
    bool close;           /* the connection ends with this message */
    bool old;             /* a request of HTTP/1.0: no chunks may be sent, and `close` is set */
    size_t field_count;
    ab_http_field fields[AB_HTTP_FIELDS_MAX];
} ab_http_head;

/** Bytes of a head that is whole, with the empty line at its end; 0: more has to come.
 *  @param seen  so many were looked at before, in vain */
size_t ab_http_head_len(ab_str bytes, size_t seen);
/**
 * Read the head of a request of HTTP/1.1, or 1.0.
 *
 * @param bytes  whole, as ab_http_head_len found it; names become lower case in their place
 * @param why    set to a static text for people when it is refused
 * @return 0, or the status to refuse it with (400, 431, 501, 505)
 */
int ab_http_head_read_request(char *bytes, size_t len, ab_http_head *out, const char **why);
/** Read the head of an answer. @return NULL, or why it is none (static) */
const char *ab_http_head_read_answer(char *bytes, size_t len, ab_http_head *out);
/** The value of the first field of this name (lower case), absent when there is none. */
ab_str ab_http_field_find(const ab_http_field *fields, size_t count, const char *name);
/** The same of all fields of a head. */
ab_str ab_http_head_find(const ab_http_head *head, const char *name);
/** Without the spaces and tabs around it. */
ab_str ab_http_trim(ab_str s);
/** Are they the same, whether upper or lower case? */
bool ab_http_is_same(ab_str a, const char *b);
/** Is `word` one of the list "a, b, c"? Upper and lower case are the same. */
bool ab_http_list_has(ab_str list, const char *word);

/** A name or a value that may be sent as a field: no line ends, no controls. */
bool ab_http_field_is_good(ab_str name, ab_str value);
/**
 * Whether a path can be forwarded as it is, because everybody reads it the same way. Refused are
 * those that do not begin with "/", have an empty segment in the middle, a segment "." or ".."
 * (encoded or not), an encoded "/", "\" or NUL, a "\", a "%" without two hexadecimal digits, or any
 * byte that a URL does not have.
 *
 * @return NULL: it can; else why not (static)
 */
const char *ab_http_path_refusal(ab_str path);
