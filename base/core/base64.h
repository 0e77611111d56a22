/* SPDX-License-Identifier: Apache-2.0
 *
 * Base64 (RFC 4648 §4), with all its padding and in one line. Only the one canonical text of some
 * bytes is read, so that equal bytes have equal texts. Any thread.
 */
#pragma once

#include "base/core/buf.h"

/** Append the base64 text of `bytes`; the buffer keeps a failure. */
void ab_base64_encode(ab_str bytes, ab_buf *out);
/** Append the bytes of a base64 text; the buffer keeps a failure.
 *  @return false when it is none (then some bytes may have been appended) */
bool ab_base64_decode(ab_str text, ab_buf *out);
/** Would ab_base64_decode take it? */
bool ab_base64_is(ab_str text);

/** As ab_base64_encode, with the alphabet for URLs and without padding (RFC 4648 section 5). */
void ab_base64url_encode(ab_str bytes, ab_buf *out);
/** As ab_base64_decode, of such a text. An empty one is none. */
bool ab_base64url_decode(ab_str text, ab_buf *out);
