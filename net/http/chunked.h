/* SPDX-License-Identifier: Apache-2.0
 *
 * A body in chunks (RFC 9112, section 7.1), read strictly and never kept. Extensions and trailers
 * are dropped. Any thread.
 */
#pragma once

#include "base/core/buf.h"

typedef struct {
    int state; /* zeroed: at the beginning */
    uint64_t left;
    size_t dropped; /* bytes of extensions and trailers */
} ab_http_chunked;

/**
 * Read on.
 *
 * @param in     what is there; what was read is cut off its front
 * @param piece  set to bytes of the body, borrowed; absent: more has to come, or it has ended
 * @param ended  set when the body is whole
 * @return PARSE: these are no chunks
 */
AB_MUST_USE ab_err ab_http_chunked_next(ab_http_chunked *c, ab_str *in, ab_str *piece, bool *ended);
