/* SPDX-License-Identifier: Apache-2.0
 *
 * The 128-bit digest by which argobus compares contents: the first 16 bytes of SHA-256 (FIPS
 * 180-4).
 */
#pragma once

#include "base/core/buf.h"

typedef struct {
    uint8_t bytes[16];
} ab_digest;

/* 32 hex digits and the NUL. */
#define AB_DIGEST_HEX 33

/** Digest of `data`. Any thread. @return FATAL when OpenSSL cannot compute it */
AB_MUST_USE ab_err ab_digest_of(ab_str data, ab_digest *out);
bool ab_digest_eq(const ab_digest *a, const ab_digest *b);
/** All bytes zero: the value of a digest that was never set. */
bool ab_digest_is_none(const ab_digest *d);
/** Lower-case hex, NUL-terminated. */
void ab_digest_format(const ab_digest *d, char out[AB_DIGEST_HEX]);
/** @return PARSE unless `text` is exactly 32 hex digits */
AB_MUST_USE ab_err ab_digest_parse(ab_str text, ab_digest *out);
/** A random version-4 UUID (RFC 9562 §5.4) as text. @return FATAL when there is no randomness */
AB_MUST_USE ab_err ab_uuid(char out[37]);
