/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/keys.h"

#include "auth/file.h"
#include "base/crypto/pem.h"

#include <openssl/err.h>
#include <openssl/rsa.h>

#define BITS_MIN 2048
#define FILE_MAX (64u * 1024)

ab_err ab_auth_keys_make(ab_auth_keys *k, ab_error *err)
{
    k->present = EVP_RSA_gen(BITS_MIN);
    ERR_clear_error();
    return k->present == NULL ? ab_fail(err, AB_ERR_FATAL, "cannot generate an RSA key")
                              : AB_ERR_OK;
}

static ab_err read_key(const char *path, EVP_PKEY **out, ab_error *err)
{
    ab_buf text = ab_buf_secret_up_to(FILE_MAX);
    ab_err e = ab_file_read(path, &text, NULL, err);
    if (e == AB_ERR_OK && (e = ab_pem_key(ab_buf_str(&text), out)) != AB_ERR_OK)
        (void)ab_fail(err, e, "%s: not a PEM private key without a password", path);
    ab_buf_wipe(&text);
    if (e == AB_ERR_OK)
        return e;
    ab_error_prefix(err, "grpc.auth.token.key");
    return e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG;
}

static void put(ab_auth_keys *k, EVP_PKEY *key)
{
    if (k->present != NULL && EVP_PKEY_eq(k->present, key) == 1) {
        EVP_PKEY_free(key);
        return;
    }
    EVP_PKEY_free(k->former);
    k->former = k->present;
    k->present = key;
}

ab_err ab_auth_keys_read(ab_auth_keys *k, const char *path, ab_error *err)
{
    EVP_PKEY *key = NULL;
    ab_err e = read_key(path, &key, err);
    if (e != AB_ERR_OK)
        return e;
    if (!EVP_PKEY_is_a(key, "RSA") || EVP_PKEY_get_bits(key) < BITS_MIN) {
        EVP_PKEY_free(key);
        return ab_fail(err, AB_ERR_CONFIG,
                       "grpc.auth.token.key: %s: expected an RSA key of at least %d bits", path,
                       BITS_MIN);
    }
    put(k, key);
    return AB_ERR_OK;
}

void ab_auth_keys_fini(ab_auth_keys *k)
{
    EVP_PKEY_free(k->present);
    EVP_PKEY_free(k->former);
    *k = (ab_auth_keys){0};
}

ab_auth_reason ab_auth_keys_check(const ab_auth_keys *k, ab_jwt_use use, ab_str token,
                                  int64_t now_s, ab_jwt_claims *out)
{
    ab_auth_reason r = ab_jwt_read(k->present, use, token, now_s, out);
    return r == AB_AUTH_TOKEN_SIGNATURE && k->former != NULL
               ? ab_jwt_read(k->former, use, token, now_s, out)
               : r;
}
