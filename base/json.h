/* SPDX-License-Identifier: Apache-2.0
 *
 * Kubernetes objects that pass through byte for byte: a document is its text plus an index of spans
 * into it. Integers past 2^53, exponents, \u0000, unknown members and the order of everything stay
 * as others wrote them. Changing an object means writing a new text from old spans and new pieces
 * (ab_jsonw). Documents that argobus writes itself or only reads are cJSON's: base/document.h. What
 * still uses this for those: docs/decisions/0001.
 *
 * The parser does not recurse; nesting, size and node count are bounded. Duplicate member names are
 * an error, because two readers would see two different objects. Invalid UTF-8 is an error.
 */
#pragma once

#include "base/buf.h"
#include "base/digest.h"

typedef struct ab_json ab_json;

typedef enum {
    AB_JSON_NONE, /* absent: the value of a member that is not there */
    AB_JSON_NULL,
    AB_JSON_FALSE,
    AB_JSON_TRUE,
    AB_JSON_NUMBER,
    AB_JSON_STRING,
    AB_JSON_ARRAY,
    AB_JSON_OBJECT,
} ab_json_type;

/* A value inside a document; valid as long as the document. Zero-initialised means absent. Every
 * function below accepts an absent value and answers absent. */
typedef struct {
    const ab_json *doc;
    uint32_t node;
} ab_jsonv;

#define AB_JSON_DEPTH_MAX 100
#define AB_JSON_SIZE_MAX  (64u * 1024 * 1024)
/* Values in one document; each costs 16 bytes beside its text. */
#define AB_JSON_NODES_MAX (4u * 1024 * 1024)

/**
 * Parse one document; white space around it is allowed, anything else is not.
 *
 * @param text  copied, so the document stands alone
 * @param out   owned by the caller; free with ab_json_free
 * @return PARSE with line and column in `err`, TOOBIG (size, depth, values), NOMEM
 */
AB_MUST_USE ab_err ab_json_parse(ab_str text, ab_json **out, ab_error *err);
/** NULL is allowed. */
void ab_json_free(ab_json *doc);
/** As free, with the text wiped first: for secrets. */
void ab_json_wipe(ab_json *doc);
/** Bytes of memory the document holds, for accounting. */
size_t ab_json_memory(const ab_json *doc);

ab_jsonv ab_json_root(const ab_json *doc);
ab_json_type ab_json_typeof(ab_jsonv v);
bool ab_json_present(ab_jsonv v);
/** Member `name` of an object; names are compared after unescaping. */
ab_jsonv ab_json_get(ab_jsonv object, const char *name);
ab_jsonv ab_json_get_str(ab_jsonv object, ab_str name);
/** Nested members, NULL-terminated list of names: ab_json_path(v, "metadata", "labels", NULL). */
ab_jsonv ab_json_path(ab_jsonv object, ...) __attribute__((sentinel));
/** First element or member value of a container, absent when empty. */
ab_jsonv ab_json_first(ab_jsonv container);
/** Next sibling, absent at the end. */
ab_jsonv ab_json_next(ab_jsonv v);
/** Number of elements or members. */
size_t ab_json_count(ab_jsonv container);
/** Original text of the value, quotes and all. Borrowed from the document. */
ab_str ab_json_raw(ab_jsonv v);
/** Original text of the member name that `v` stands under, with its quotes; absent for array
 * elements. */
ab_str ab_json_raw_key(ab_jsonv v);
/**
 * Content of a string when its text has no escape (borrowed), else absent. Use it for names and
 * enumerations that never need escapes; ab_json_copy for the rest.
 */
ab_str ab_json_plain(ab_jsonv v);
/** As ab_json_plain, for the member name that `v` stands under. */
ab_str ab_json_plain_key(ab_jsonv v);
/** Append the unescaped content of a string to `out` (may contain NUL bytes; a lone surrogate
 * becomes U+FFFD). @return INVALID when `v` is no string; NOMEM, TOOBIG of the buffer */
AB_MUST_USE ab_err ab_json_copy(ab_jsonv v, ab_buf *out);
/** True when `v` is a string with exactly this content. */
bool ab_json_is(ab_jsonv v, const char *text);
/** @return INVALID unless `v` is an integer number without fraction or exponent that fits */
AB_MUST_USE ab_err ab_json_i64(ab_jsonv v, int64_t *out);

/**
 * Append the canonical text: members sorted by name, no white space, escapes only where RFC 8259
 * demands them and then in one way, numbers as they stand. Equal contents have equal canonical text
 * (numbers are compared by their text: 1.0 and 1 differ). Appends nothing for an absent value.
 */
AB_MUST_USE ab_err ab_json_canonical(ab_jsonv v, ab_buf *out);
/** Digest of the canonical text; of the empty text for an absent value. */
AB_MUST_USE ab_err ab_json_digest(ab_jsonv v, ab_digest *out);
/** Same canonical text. False when memory runs out. */
bool ab_json_same(ab_jsonv a, ab_jsonv b);

/* Writer of compact JSON into a buffer; commas are its business. Failures stick in the buffer
 * (ab_buf_status). Nesting must be balanced by the caller (asserted). */
typedef struct {
    ab_buf *buf;
    bool comma;
    uint32_t depth;
} ab_jsonw;

ab_jsonw ab_jsonw_to(ab_buf *buf);
void ab_jsonw_object(ab_jsonw *w);
void ab_jsonw_object_end(ab_jsonw *w);
void ab_jsonw_array(ab_jsonw *w);
void ab_jsonw_array_end(ab_jsonw *w);
/** A member name, escaped as needed. */
void ab_jsonw_key(ab_jsonw *w, ab_str name);
/** A string value, escaped as needed; invalid UTF-8 sets the buffer's status to INVALID. */
void ab_jsonw_str(ab_jsonw *w, ab_str value);
void ab_jsonw_int(ab_jsonw *w, int64_t value);
void ab_jsonw_bool(ab_jsonw *w, bool value);
void ab_jsonw_null(ab_jsonw *w);
/** A value as text that is JSON already; absent text writes null. */
void ab_jsonw_raw(ab_jsonw *w, ab_str json);
/** Copy a value's original text; an absent value writes null. */
void ab_jsonw_value(ab_jsonw *w, ab_jsonv v);
/** Copy a member, name and value, as it stands in its document; an absent one writes nothing. */
void ab_jsonw_member(ab_jsonw *w, ab_jsonv v);
/** Short forms for a member with a string value, or JSON text. Absent values write nothing. */
void ab_jsonw_key_str(ab_jsonw *w, const char *name, ab_str value);
void ab_jsonw_key_raw(ab_jsonw *w, const char *name, ab_str json);
