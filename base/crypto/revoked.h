/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of revoked certificates: a SHA-256 fingerprint of 64 hex digits a line, in any case,
 * with or without colons, or just as `openssl x509 -noout -fingerprint -sha256` prints it. Comments
 * begin with #.
 */
#pragma once

#include "base/core/buf.h"
#include "base/crypto/certificate.h"

typedef struct {
    uint8_t (*hashes)[AB_FINGERPRINT_BYTES]; /* sorted */
    size_t count;
} ab_revoked;

/** A fingerprint in any form that the list may have it in. @param out  untouched on failure
 *  @return false: it is none */
bool ab_fingerprint_parse(ab_str text, uint8_t out[AB_FINGERPRINT_BYTES]);
/** Read a list. @param out  owned by the caller; untouched on failure
 *  @return PARSE with the line; NOMEM */
AB_MUST_USE ab_err ab_revoked_parse(ab_str text, ab_revoked *out, ab_error *err);
/** Read the list that a file holds, of 8 MiB at most. @param out  owned by the caller; untouched on
 *  failure. @return PARSE with path and line; those of ab_file_read */
AB_MUST_USE ab_err ab_revoked_read(const char *path, ab_revoked *out, ab_error *err);
void ab_revoked_fini(ab_revoked *r);
/** Do both have the same fingerprints, each as often? */
bool ab_revoked_same(const ab_revoked *a, const ab_revoked *b);
bool ab_revoked_has(const ab_revoked *r, const uint8_t hash[AB_FINGERPRINT_BYTES]);
