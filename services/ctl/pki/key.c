/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/pki/key.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>

#define RSA_BITS     3072
#define RSA_BITS_MIN 2048
/* Below are curves that nobody should use any more. */
#define EC_BITS_MIN 256

static ab_err finish_key(EVP_PKEY *key, EVP_PKEY **out, ab_error *err)
{
    ERR_clear_error();
    if (key == NULL)
        return ab_fail(err, AB_ERR_FATAL, "OpenSSL cannot make a key");
    *out = key;
    return AB_ERR_OK;
}

ab_err ab_pki_key_new(const char *type, EVP_PKEY **out, ab_error *err)
{
    if (type == NULL || strcmp(type, "ec") == 0)
        return finish_key(EVP_EC_gen("P-256"), out, err);
    if (strcmp(type, "rsa") == 0)
        return finish_key(EVP_RSA_gen((size_t)RSA_BITS), out, err);
    return ab_fail(err, AB_ERR_INVALID, "--key-type: \"%s\" is not ec or rsa", type);
}

ab_err ab_pki_key_new_like(const EVP_PKEY *old, EVP_PKEY **out, ab_error *err)
{
    char group[64];
    size_t len = 0;
    ab_err e = ab_pki_key_check(old, err);
    if (e != AB_ERR_OK)
        return e;
    if (EVP_PKEY_is_a(old, "RSA"))
        return finish_key(EVP_RSA_gen((size_t)EVP_PKEY_get_bits(old)), out, err);
    if (EVP_PKEY_get_group_name(old, group, sizeof(group), &len) != 1)
        return finish_key(NULL, out, err);
    return finish_key(EVP_EC_gen(group), out, err);
}

ab_err ab_pki_key_pem(const EVP_PKEY *key, ab_buf *out)
{
    char *text = NULL;
    BIO *bio = BIO_new(BIO_s_secmem());
    if (bio == NULL || PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1) {
        BIO_free(bio);
        ERR_clear_error();
        return AB_ERR_NOMEM;
    }
    long len = BIO_get_mem_data(bio, &text);
    ab_buf_put(out, (ab_str){text, (size_t)len});
    BIO_free(bio);
    return ab_buf_status(out);
}

/* The name that people and Kubernetes use, instead of OpenSSL's prime256v1. */
static const char *curve_name(const char *group)
{
    const char *nist = EC_curve_nid2nist(OBJ_txt2nid(group));
    return nist == NULL ? group : nist;
}

void ab_pki_key_name(const EVP_PKEY *key, char out[AB_PKI_KEY_NAME_MAX])
{
    char group[64];
    size_t len = 0;
    const char *type = EVP_PKEY_get0_type_name(key);
    if (EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, group, sizeof(group), &len) == 1)
        snprintf(out, AB_PKI_KEY_NAME_MAX, "EC %s", curve_name(group));
    else if (EVP_PKEY_is_a(key, "RSA"))
        snprintf(out, AB_PKI_KEY_NAME_MAX, "RSA %d", EVP_PKEY_get_bits(key));
    else
        snprintf(out, AB_PKI_KEY_NAME_MAX, "%.40s", type == NULL ? "unknown" : type);
    ERR_clear_error();
}

ab_err ab_pki_key_check(const EVP_PKEY *key, ab_error *err)
{
    char name[AB_PKI_KEY_NAME_MAX];
    int bits = EVP_PKEY_get_bits(key);
    if ((EVP_PKEY_is_a(key, "EC") && bits >= EC_BITS_MIN) ||
        (EVP_PKEY_is_a(key, "RSA") && bits >= RSA_BITS_MIN))
        return AB_ERR_OK;
    ab_pki_key_name(key, name);
    return ab_fail(err, AB_ERR_INVALID,
                   "the key is %s: use an elliptic curve key of %d bits, or an RSA key of %d bits, "
                   "or more",
                   name, EC_BITS_MIN, RSA_BITS_MIN);
}
