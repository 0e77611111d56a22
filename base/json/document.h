/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON documents that argobus writes itself or only reads: cJSON, made strict. Objects that pass
 * through are not for it, because cJSON makes numbers doubles and forgets how they were written:
 * see base/json/span.h. Any thread.
 */
#pragma once

#include "base/core/buf.h"

#include <cjson/cJSON.h>

#define AB_DOC_DEPTH_MAX 32

/**
 * Parse one document; white space around it is allowed, anything else is not. Refused are duplicate
 * member names, invalid UTF-8, NUL bytes (also as \u0000, which would end a string) and deeper
 * nesting than AB_DOC_DEPTH_MAX.
 *
 * @param most  bytes that the text may have
 * @param out   owned by the caller: cJSON_Delete
 * @return PARSE, TOOBIG, NOMEM
 */
AB_MUST_USE ab_err ab_doc_parse(ab_str text, size_t most, cJSON **out, ab_error *err);

/** A string member, borrowed; absent when it is not there or not a string. */
ab_str ab_doc_text(const cJSON *object, const char *name);
/** True when the member is a string with exactly this content. */
bool ab_doc_is(const cJSON *object, const char *name, const char *text);
/** @return INVALID unless the member is an integer of at most 2^53, which doubles hold exactly */
AB_MUST_USE ab_err ab_doc_i64(const cJSON *object, const char *name, int64_t *out);

/* Each adds a member. @return false when memory runs out, or a text is absent or not UTF-8 */

bool ab_doc_add_str(cJSON *object, const char *name, ab_str text);
/** With all its digits. */
bool ab_doc_add_i64(cJSON *object, const char *name, int64_t value);
bool ab_doc_add_bool(cJSON *object, const char *name, bool value);

/**
 * Append the compact text of a document and free it.
 *
 * @param doc       NULL: it could not be made
 * @param complete  whether every member could be added
 * @return NOMEM, TOOBIG; also kept by the buffer
 */
ab_err ab_doc_finish(cJSON *doc, bool complete, ab_buf *out);
