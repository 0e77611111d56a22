/* SPDX-License-Identifier: Apache-2.0
 *
 * Whom a certificate stands for, and whether we may believe it.
 */
#include "base/core/hex.h"
#include "base/crypto/pem.h"
#include "base/crypto/seal_priv.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#define RSA_BITS_MIN 2048

typedef STACK_OF(X509) certs;

static void free_certs(certs *c)
{
    sk_X509_pop_free(c, X509_free);
}

/* ----- its key ----- */

static ab_err check_key(X509 *cert, ab_error *err)
{
    EVP_PKEY *key = X509_get0_pubkey(cert);
    ERR_clear_error();
    if (key == NULL)
        return ab_fail(err, AB_ERR_INVALID, "the certificate's key cannot be read");
    if (EVP_PKEY_is_a(key, "EC"))
        return AB_ERR_OK;
    const char *type = EVP_PKEY_get0_type_name(key);
    if (!EVP_PKEY_is_a(key, "RSA"))
        return ab_fail(err, AB_ERR_INVALID,
                       "the certificate's key is %s, which cannot be used for encryption; use an "
                       "RSA or elliptic curve (ECDSA) key",
                       type == NULL ? "of an unknown type" : type);
    if (EVP_PKEY_get_bits(key) < RSA_BITS_MIN)
        return ab_fail(err, AB_ERR_INVALID,
                       "the certificate's RSA key has %d bits; at least %d are required",
                       EVP_PKEY_get_bits(key), RSA_BITS_MIN);
    return AB_ERR_OK;
}

/* ----- what it is for ----- */

static ab_err check_key_usage(X509 *cert, ab_error *err)
{
    bool is_rsa = EVP_PKEY_is_a(X509_get0_pubkey(cert), "RSA");
    uint32_t needed = is_rsa ? KU_KEY_ENCIPHERMENT | KU_DATA_ENCIPHERMENT : KU_KEY_AGREEMENT;
    uint32_t allowed = X509_get_key_usage(cert); /* all of them where it says nothing */
    ERR_clear_error();
    if ((allowed & needed) != 0)
        return AB_ERR_OK;
    return ab_fail(err, AB_ERR_DENIED,
                   "the certificate's key usage does not allow encryption: issue it with %s",
                   is_rsa ? "keyEncipherment" : "keyAgreement");
}

static ab_err check_extended_key_usage(X509 *cert, ab_error *err)
{
    uint32_t allowed = X509_get_extended_key_usage(cert);
    ERR_clear_error();
    if ((allowed & (XKU_SSL_CLIENT | XKU_ANYEKU)) != 0)
        return AB_ERR_OK;
    return ab_fail(err, AB_ERR_DENIED,
                   "the certificate is not an agent's: its extended key usage lacks clientAuth");
}

/* ----- its name ----- */

/* As long as the text that a name is read from. */
#define NAME_MAX_BYTES 4096

static ab_err check_name(X509 *cert, const ab_identity_rule *identity, const char *agent,
                         ab_error *err)
{
    ab_buf name = ab_buf_up_to(NAME_MAX_BYTES);
    ab_err e = ab_identity_rule_name(identity, cert, &name);
    if (e == AB_ERR_NOMEM)
        (void)ab_fail(err, e, "out of memory for the name in a certificate");
    else if (e != AB_ERR_OK)
        e = ab_fail(err, AB_ERR_DENIED,
                    "the certificate is not for agent %s: the identity rule finds no name in it",
                    agent);
    else if (!ab_str_is(ab_buf_str(&name), agent))
        e = ab_fail(err, AB_ERR_DENIED, "the certificate is not for agent %s: it names \"%.*s\"",
                    agent, AB_STR_ARG(ab_buf_str(&name)));
    ab_buf_fini(&name);
    return e;
}

/* ----- trust ----- */

static ab_err check_validity(const X509 *cert, ab_error *err)
{
    if (X509_cmp_current_time(X509_get0_notAfter(cert)) <= 0)
        return ab_fail(err, AB_ERR_DENIED, "the certificate has expired");
    if (X509_cmp_current_time(X509_get0_notBefore(cert)) >= 0)
        return ab_fail(err, AB_ERR_DENIED, "the certificate is not valid yet");
    return AB_ERR_OK;
}

static ab_err verify(X509_STORE *trusted, X509 *cert, certs *chain, ab_error *err)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    if (ctx == NULL || X509_STORE_CTX_init(ctx, trusted, cert, chain) != 1) {
        X509_STORE_CTX_free(ctx);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory verifying a certificate");
    }
    ab_err e = AB_ERR_OK;
    if (X509_verify_cert(ctx) != 1)
        e = ab_fail(err, AB_ERR_DENIED, "the certificate is not trusted: %s",
                    X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx)));
    X509_STORE_CTX_free(ctx);
    return e;
}

static ab_err check_chain(X509 *cert, certs *chain, ab_str ca, ab_error *err)
{
    certs *roots = NULL;
    ab_err e = ab_pem_certs(ca, &roots);
    if (e != AB_ERR_OK)
        return ab_fail(err, e == AB_ERR_NOMEM ? e : AB_ERR_INVALID,
                       "the trusted CAs are not a PEM file of certificates");
    X509_STORE *trusted = X509_STORE_new();
    bool added = trusted != NULL;
    for (int i = 0; added && i < sk_X509_num(roots); i++)
        added = X509_STORE_add_cert(trusted, sk_X509_value(roots, i)) == 1;
    e = added ? verify(trusted, cert, chain, err)
              : ab_fail(err, AB_ERR_NOMEM, "out of memory for the trusted CAs");
    X509_STORE_free(trusted);
    free_certs(roots);
    ERR_clear_error();
    return e;
}

static ab_err check_itself(X509 *cert, ab_error *err)
{
    ab_err e = check_key(cert, err);
    if (e == AB_ERR_OK)
        e = check_key_usage(cert, err);
    return e == AB_ERR_OK ? check_validity(cert, err) : e;
}

static ab_err check_trust(certs *chain, ab_str ca, const ab_identity_rule *identity,
                          const char *agent, ab_error *err)
{
    X509 *cert = sk_X509_value(chain, 0);
    ab_err e = check_chain(cert, chain, ca, err);
    if (e == AB_ERR_OK)
        e = check_extended_key_usage(cert, err);
    return e == AB_ERR_OK ? check_name(cert, identity, agent, err) : e;
}

/* ----- objects ----- */

static ab_err set_id(ab_seal_recipient *r)
{
    uint8_t digest[AB_FINGERPRINT_BYTES];
    ab_err e = ab_certificate_fingerprint(r->cert, digest);
    if (e == AB_ERR_OK)
        *ab_hex_write(r->id, digest, sizeof(digest)) = '\0';
    return e;
}

static ab_err make(certs *chain, ab_seal_recipient **out, ab_error *err)
{
    ab_seal_recipient *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for a recipient");
    r->cert = sk_X509_shift(chain);
    if (set_id(r) != AB_ERR_OK) {
        ab_seal_recipient_free(r);
        return ab_fail(err, AB_ERR_NOMEM, "cannot compute a certificate's digest");
    }
    *out = r;
    return AB_ERR_OK;
}

ab_err ab_seal_recipient_new(ab_str cert, ab_str ca, const ab_identity_rule *identity,
                             const char *agent, ab_seal_recipient **out, ab_error *err)
{
    certs *chain = NULL;
    ab_err e = ab_pem_certs(cert, &chain);
    if (e != AB_ERR_OK)
        return ab_fail(err, e == AB_ERR_NOMEM ? e : AB_ERR_INVALID,
                       "the certificate is not in PEM format");
    e = check_itself(sk_X509_value(chain, 0), err);
    if (e == AB_ERR_OK && ca.ptr != NULL)
        e = check_trust(chain, ca, identity, agent, err);
    if (e == AB_ERR_OK)
        e = make(chain, out, err);
    free_certs(chain);
    return e;
}

void ab_seal_recipient_free(ab_seal_recipient *r)
{
    if (r != NULL)
        X509_free(r->cert);
    free(r);
}

const char *ab_seal_recipient_id(const ab_seal_recipient *r)
{
    return r->id;
}

int64_t ab_seal_recipient_expires_s(const ab_seal_recipient *r)
{
    return ab_certificate_expires_s(r->cert);
}

bool ab_seal_recipient_is_revoked(const ab_seal_recipient *r, const ab_revoked *revoked)
{
    uint8_t fingerprint[AB_FINGERPRINT_BYTES];
    return ab_certificate_fingerprint(r->cert, fingerprint) != AB_ERR_OK ||
           ab_revoked_has(revoked, fingerprint);
}

static ab_err read_opener(ab_str cert, ab_str key, ab_seal_opener *o, ab_error *err)
{
    certs *chain = NULL;
    ab_err e = ab_pem_certs(cert, &chain);
    if (e != AB_ERR_OK)
        return ab_fail(err, e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG,
                       "the certificate is not in PEM format");
    o->cert = sk_X509_shift(chain);
    free_certs(chain);
    e = ab_pem_key(key, &o->key);
    if (e != AB_ERR_OK)
        return ab_fail(err, e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG,
                       "the key is not in PEM format, or it is encrypted");
    bool pair = X509_check_private_key(o->cert, o->key) == 1;
    ERR_clear_error();
    if (!pair)
        return ab_fail(err, AB_ERR_CONFIG, "the key does not belong to the certificate");
    e = check_key(o->cert, err);
    return e == AB_ERR_OK ? e : AB_ERR_CONFIG;
}

ab_err ab_seal_opener_new(ab_str cert, ab_str key, ab_seal_opener **out, ab_error *err)
{
    ab_seal_opener *o = calloc(1, sizeof(*o));
    if (o == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for an opener");
    ab_err e = read_opener(cert, key, o, err);
    if (e == AB_ERR_OK)
        *out = o;
    else
        ab_seal_opener_free(o);
    return e;
}

void ab_seal_opener_free(ab_seal_opener *o)
{
    if (o == NULL)
        return;
    X509_free(o->cert);
    EVP_PKEY_free(o->key);
    free(o);
}
