/* SPDX-License-Identifier: Apache-2.0
 *
 * Private keys: elliptic curve or RSA. Repository credentials are sealed to an agent's key, which
 * only these two can do (base/crypto/seal.h); so no other type is made or signed.
 */
#pragma once

#include "base/core/buf.h"

#include <openssl/evp.h>

/* Of the text of a key, "RSA 16384". */
#define AB_PKI_KEY_NAME_MAX 80

/** A new key. @param type  "ec" (P-256) or "rsa" (3072 bits); NULL: "ec"
 *  @param out  owned by the caller: EVP_PKEY_free
 *  @return INVALID: another type; FATAL when OpenSSL cannot */
AB_MUST_USE ab_err ab_pki_key_new(const char *type, EVP_PKEY **out, ab_error *err);
/** A new key of the same type, curve and size. @return as ab_pki_key_new */
AB_MUST_USE ab_err ab_pki_key_new_like(const EVP_PKEY *old, EVP_PKEY **out, ab_error *err);
/** Append the PEM text (PKCS #8, not encrypted). @return NOMEM, TOOBIG */
AB_MUST_USE ab_err ab_pki_key_pem(const EVP_PKEY *key, ab_buf *out);
/** Type and curve or size, "EC P-256", "RSA 3072". */
void ab_pki_key_name(const EVP_PKEY *key, char out[AB_PKI_KEY_NAME_MAX]);
/** Whether a certificate for it should be signed. @return INVALID: says why not */
AB_MUST_USE ab_err ab_pki_key_check(const EVP_PKEY *key, ab_error *err);
