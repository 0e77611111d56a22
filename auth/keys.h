/* SPDX-License-Identifier: Apache-2.0
 *
 * The key that tokens are signed with, and the one before it, whose tokens are taken until they
 * end. Loop thread, but for what is said of a key's references.
 */
#pragma once

#include "auth/jwt.h"

typedef struct {
    EVP_PKEY *present; /* a thread of the pool that signs has a reference of its own */
    EVP_PKEY *former;  /* NULL: there is none */
} ab_auth_keys;

/** Make one, which nobody else has. @return FATAL */
AB_MUST_USE ab_err ab_auth_keys_make(ab_auth_keys *k, ab_error *err);
/**
 * Read the key of grpc.auth.token.key; where it is another one, the present one becomes the former.
 * @return CONFIG naming option and file, NOMEM: the keys stay as they are
 */
AB_MUST_USE ab_err ab_auth_keys_read(ab_auth_keys *k, const char *path, ab_error *err);
void ab_auth_keys_fini(ab_auth_keys *k);
/** As ab_jwt_read, by either key. */
AB_MUST_USE ab_auth_reason ab_auth_keys_check(const ab_auth_keys *k, ab_jwt_use use, ab_str token,
                                              int64_t now_s, ab_jwt_claims *out);
