/* SPDX-License-Identifier: Apache-2.0
 *
 * The query of a request to a Kubernetes API: its parameters are read as Go's url.ParseQuery reads
 * them, so that argobus and the API server agree on what was asked. What the two could read
 * differently is refused. Any thread.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/error.h"

/** Undo percent-encoding, and with `plus` turn + into a space (queries, not paths).
 *  @return INVALID for an incomplete or wrong escape; what the buffer says */
AB_MUST_USE ab_err ab_resource_query_decode(ab_str text, bool plus, ab_buf *out);
/** Check that each name and value can be decoded to UTF-8 without control characters and holds no
 * semicolon, which Go refuses. @return INVALID with what is wrong in `err`; NOMEM */
AB_MUST_USE ab_err ab_resource_query_check(ab_str query, ab_error *err);
/**
 * Find a parameter of a checked query.
 *
 * @param out    receives its decoded value; NULL: not wanted
 * @param count  how often it is there (0: `out` stays empty); the value is that of the first
 * @return NOMEM, TOOBIG of `out`
 */
AB_MUST_USE ab_err ab_resource_query_find(ab_str query, const char *name, ab_buf *out,
                                          size_t *count);
/** Find a parameter that is true or false; false when it is not there.
 *  @return INVALID when it is there twice, or not one of true, 1, false, 0; NOMEM */
AB_MUST_USE ab_err ab_resource_query_bool(ab_str query, const char *name, bool *out, ab_error *err);
/** Append `query` without the parameters whose names `left_out` lists (ends with NULL), each as it
 * is written there. */
void ab_resource_query_without(ab_str query, const char *const *left_out, ab_buf *out);
/** Append `text` percent-encoded (RFC 3986): all but letters, digits and - . _ ~ : */
void ab_resource_query_encode(ab_str text, ab_buf *out);
