/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of revoked certificates: a SHA-256 fingerprint of 64 hex digits a line, in any case,
 * with or without colons, or just as `openssl x509 -noout -fingerprint -sha256` prints it. Comments
 * begin with #.
 */
#pragma once

#include "base/buf.h"
#include "transport/grpc/auth/auth.h"

typedef struct {
    uint8_t (*hashes)[AB_AUTH_HASH_BYTES]; /* sorted */
    size_t count;
} ab_auth_revoked;

/** Read a list. @param out  owned by the caller; untouched on failure
 *  @return PARSE with the line; NOMEM */
AB_MUST_USE ab_err ab_auth_revoked_parse(ab_str text, ab_auth_revoked *out, ab_error *err);
void ab_auth_revoked_fini(ab_auth_revoked *r);
bool ab_auth_revoked_has(const ab_auth_revoked *r, const uint8_t hash[AB_AUTH_HASH_BYTES]);
