/* SPDX-License-Identifier: Apache-2.0
 *
 * Kubernetes objects that pass through byte for byte: a document is its text plus an index of spans
 * into it. Integers past 2^53, exponents, \u0000, unknown members and the order of everything stay
 * as others wrote them. Changing an object means writing a new text from old spans and new pieces
 * (ab_spanw). Documents that argobus writes itself or only reads are cJSON's: base/json/document.h.
 * What still uses this for those: docs/decisions/0001.
 *
 * The parser does not recurse; nesting, size and node count are bounded. Duplicate member names are
 * an error, because two readers would see two different objects. Invalid UTF-8 is an error.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/digest.h"

typedef struct ab_span ab_span;

typedef enum {
    AB_SPAN_NONE, /* absent: the value of a member that is not there */
    AB_SPAN_NULL,
    AB_SPAN_FALSE,
    AB_SPAN_TRUE,
    AB_SPAN_NUMBER,
    AB_SPAN_STRING,
    AB_SPAN_ARRAY,
    AB_SPAN_OBJECT,
} ab_span_type;

/* A value inside a document; valid as long as the document. Zero-initialised means absent. Every
 * function below accepts an absent value and answers absent. */
typedef struct {
    const ab_span *doc;
    uint32_t node;
} ab_spanv;

#define AB_SPAN_DEPTH_MAX 100
#define AB_SPAN_SIZE_MAX  (64u * 1024 * 1024)
/* Values in one document; each costs 16 bytes beside its text. */
#define AB_SPAN_NODES_MAX (4u * 1024 * 1024)

/**
 * Parse one document; white space around it is allowed, anything else is not.
 *
 * @param text  copied, so the document stands alone
 * @param out   owned by the caller; free with ab_span_free
 * @return PARSE with line and column in `err`, TOOBIG (size, depth, values), NOMEM
 */
AB_MUST_USE ab_err ab_span_parse(ab_str text, ab_span **out, ab_error *err);
/** NULL is allowed. */
void ab_span_free(ab_span *doc);
/** As free, with the text wiped first: for secrets. */
void ab_span_wipe(ab_span *doc);
/** Values and member names, of containers within containers too. */
size_t ab_span_node_count(const ab_span *doc);

ab_spanv ab_span_root(const ab_span *doc);
ab_span_type ab_span_typeof(ab_spanv v);
bool ab_span_present(ab_spanv v);
/** Member `name` of an object; names are compared after unescaping. */
ab_spanv ab_span_get(ab_spanv object, const char *name);
ab_spanv ab_span_get_str(ab_spanv object, ab_str name);
/** Nested members, NULL-terminated list of names: ab_span_path(v, "metadata", "labels", NULL). */
ab_spanv ab_span_path(ab_spanv object, ...) __attribute__((sentinel));
/** First element or member value of a container, absent when empty. */
ab_spanv ab_span_first(ab_spanv container);
/** Next sibling, absent at the end. */
ab_spanv ab_span_next(ab_spanv v);
/** Number of elements or members. */
size_t ab_span_count(ab_spanv container);
/** Original text of the value, quotes and all. Borrowed from the document. */
ab_str ab_span_raw(ab_spanv v);
/** Original text of the member name that `v` stands under, with its quotes; absent for array
 * elements. */
ab_str ab_span_raw_key(ab_spanv v);
/**
 * Content of a string when its text has no escape (borrowed), else absent. Use it for names and
 * enumerations that never need escapes; ab_span_copy for the rest.
 */
ab_str ab_span_plain(ab_spanv v);
/** As ab_span_plain, for the member name that `v` stands under. */
ab_str ab_span_plain_key(ab_spanv v);
/** True when `v` stands under exactly this member name, however that is written. */
bool ab_span_key_is(ab_spanv v, const char *name);
/** Append the unescaped content of a string to `out` (may contain NUL bytes; a lone surrogate
 * becomes U+FFFD). @return INVALID when `v` is not a string; NOMEM, TOOBIG of the buffer */
AB_MUST_USE ab_err ab_span_copy(ab_spanv v, ab_buf *out);
/** True when `v` is a string with exactly this content. */
bool ab_span_is(ab_spanv v, const char *text);
/** @return INVALID unless `v` is an integer number without fraction or exponent that fits */
AB_MUST_USE ab_err ab_span_i64(ab_spanv v, int64_t *out);

/**
 * Append the canonical text: members sorted by name, no white space, escapes only where RFC 8259
 * demands them and then in one way, numbers as they stand. Equal contents have equal canonical text
 * (numbers are compared by their text: 1.0 and 1 differ). Appends nothing for an absent value.
 */
AB_MUST_USE ab_err ab_span_canonical(ab_spanv v, ab_buf *out);
/** Digest of the canonical text; of the empty text for an absent value. */
AB_MUST_USE ab_err ab_span_digest(ab_spanv v, ab_digest *out);
/** The same of the document that is this text. @return also what ab_span_parse returns */
AB_MUST_USE ab_err ab_span_digest_text(ab_str text, ab_digest *out);
/** Same canonical text. False when memory runs out. */
bool ab_span_same(ab_spanv a, ab_spanv b);

/* Writer of compact JSON into a buffer; commas are its business. Failures stick in the buffer
 * (ab_buf_status). Nesting must be balanced by the caller (asserted). */
typedef struct {
    ab_buf *buf;
    bool comma;
    uint32_t depth;
} ab_spanw;

ab_spanw ab_spanw_to(ab_buf *buf);
/** A writer of an object, which begins here. */
ab_spanw ab_spanw_object_to(ab_buf *buf);
void ab_spanw_object(ab_spanw *w);
void ab_spanw_object_end(ab_spanw *w);
void ab_spanw_array(ab_spanw *w);
void ab_spanw_array_end(ab_spanw *w);
/** A member name, escaped as needed. */
void ab_spanw_key(ab_spanw *w, ab_str name);
/** A string value, escaped as needed; invalid UTF-8 sets the buffer's status to INVALID. */
void ab_spanw_str(ab_spanw *w, ab_str value);
void ab_spanw_int(ab_spanw *w, int64_t value);
/** A value as text that is JSON already; absent text writes null. */
void ab_spanw_raw(ab_spanw *w, ab_str json);
/** Copy a value's original text; an absent value writes null. */
void ab_spanw_value(ab_spanw *w, ab_spanv v);
/** Copy a member, name and value, as it stands in its document; an absent one writes nothing. */
void ab_spanw_member(ab_spanw *w, ab_spanv v);
/** The members of `object` but these, however their names are written; `left_out` ends with NULL.
 * An absent object has none. */
void ab_spanw_members(ab_spanw *w, ab_spanv object, const char *const *left_out);
/** Short forms for a member with a string value, or JSON text. Absent values write nothing. */
void ab_spanw_key_str(ab_spanw *w, const char *name, ab_str value);
void ab_spanw_key_raw(ab_spanw *w, const char *name, ab_str json);
/** A member whose value is a number, or an object or array that begins here. */
void ab_spanw_key_int(ab_spanw *w, const char *name, int64_t value);
void ab_spanw_key_object(ab_spanw *w, const char *name);
void ab_spanw_key_array(ab_spanw *w, const char *name);

/* Strings of JSON, for those who write or read them without a document. */
/** Append the content of a string, given without its quotes, unescaped.
 *  @return false when a lone surrogate was replaced by U+FFFD */
bool ab_span_unescape(ab_str content, ab_buf *out);
/** Append `content`, which is UTF-8, as a JSON string in its one canonical form. */
void ab_span_put_string(ab_buf *out, ab_str content);
