/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens: JWTs (RFC 7519) signed with RS512 (RFC 7518), with argocd-agent's claims and ours beside
 * them. Only what ab_jwt_sign writes is read: any other algorithm, header or form is refused.
 *
 *   iss  argocd-agent-server             aud  [argocd-agent-server-access | -refresh]
 *   sub  {"clientID":"w1","mode":"managed"} as a string      jti  a UUID
 *   iat, nbf, exp  seconds since 1970    amr  [the method]   mark  of the method
 *   cnf  {"x5t#S256": fingerprint of the certificate} when there was one (RFC 8705)
 *
 * Nothing here keeps state; any thread.
 */
#pragma once

#include "auth/auth.h"
#include "auth/reason.h"
#include "base/core/buf.h"

#include <openssl/evp.h>

/* Of a token; ours with a 4096-bit key has 1.3 KiB. */
#define AB_JWT_MAX 8192
/* Of a method's name, with the NUL. */
#define AB_JWT_METHOD_MAX 16

typedef enum { AB_JWT_ACCESS, AB_JWT_REFRESH } ab_jwt_use;

/* What a token says. */
typedef struct {
    char agent[AB_AUTH_AGENT_MAX];
    char mode[AB_AUTH_MODE_MAX];
    char method[AB_JWT_METHOD_MAX];
    int64_t issued_s;  /* seconds since 1970 */
    int64_t expires_s; /* seconds since 1970 */
    bool bound;
    uint8_t fingerprint[AB_AUTH_HASH_BYTES]; /* when bound */
    uint8_t mark[AB_AUTH_HASH_BYTES];
} ab_jwt_claims;

/** Append a token to `out`. @return NOMEM, TOOBIG of the buffer; FATAL: OpenSSL cannot sign */
AB_MUST_USE ab_err ab_jwt_sign(EVP_PKEY *key, ab_jwt_use use, const ab_jwt_claims *claims,
                               ab_buf *out);
/**
 * Read a token that somebody shows.
 * @param token  any bytes
 * @param out    untouched unless nothing is wrong
 * @return NONE: it is ours, for this use, in its time
 */
AB_MUST_USE ab_auth_reason ab_jwt_read(EVP_PKEY *key, ab_jwt_use use, ab_str token, int64_t now_s,
                                       ab_jwt_claims *out);
