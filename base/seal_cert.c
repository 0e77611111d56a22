/* SPDX-License-Identifier: Apache-2.0
 *
 * Whom a certificate stands for, and whether we may believe it.
 */
#include "base/pem.h"
#include "base/seal_priv.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
                       "the certificate's key is %s, which cannot receive; use RSA or an elliptic "
                       "curve (ECDSA) key",
                       type == NULL ? "of an unknown type" : type);
    if (EVP_PKEY_get_bits(key) < RSA_BITS_MIN)
        return ab_fail(err, AB_ERR_INVALID, "the certificate's RSA key has %d bits; %d are needed",
                       EVP_PKEY_get_bits(key), RSA_BITS_MIN);
    return AB_ERR_OK;
}

/* ----- its name ----- */

static bool is_text(const ASN1_STRING *s, const char *text)
{
    ab_str bytes = {(const char *)ASN1_STRING_get0_data(s), (size_t)ASN1_STRING_length(s)};
    return ab_str_is(bytes, text);
}

/* "spiffe://example.org/ns/argocd/west" is "west". */
static bool ends_with_segment(const ASN1_STRING *uri, const char *text)
{
    ab_str s = {(const char *)ASN1_STRING_get0_data(uri), (size_t)ASN1_STRING_length(uri)};
    const char *slash = s.len == 0 ? NULL : memrchr(s.ptr, '/', s.len);
    const char *scheme = s.len == 0 ? NULL : memmem(s.ptr, s.len, "://", 3);
    /* The slash must begin a path, not the host. */
    if (slash == NULL || scheme == NULL || slash <= scheme + 2)
        return false;
    return ab_str_is((ab_str){slash + 1, (size_t)(s.ptr + s.len - slash - 1)}, text);
}

static bool has_common_name(X509 *cert, const char *name)
{
    X509_NAME *subject = X509_get_subject_name(cert);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at < 0)
        return false;
    unsigned char *utf8 = NULL;
    int len =
        ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    bool equal = len >= 0 && ab_str_is((ab_str){(const char *)utf8, (size_t)len}, name);
    OPENSSL_free(utf8);
    return equal;
}

static bool has_alternative_name(X509 *cert, const char *name)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    bool found = false;
    for (int i = 0; !found && i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *n = sk_GENERAL_NAME_value(names, i);
        if (n->type == GEN_DNS)
            found = is_text(n->d.dNSName, name);
        else if (n->type == GEN_URI)
            found = ends_with_segment(n->d.uniformResourceIdentifier, name);
    }
    GENERAL_NAMES_free(names);
    return found;
}

static ab_err check_name(X509 *cert, const char *agent, ab_error *err)
{
    bool named = has_common_name(cert, agent) || has_alternative_name(cert, agent);
    ERR_clear_error();
    if (named)
        return AB_ERR_OK;
    return ab_fail(err, AB_ERR_DENIED,
                   "the certificate is not for agent %s: neither its common name, nor a DNS name, "
                   "nor the last segment of a URI in it",
                   agent);
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
        return ab_fail(err, AB_ERR_NOMEM, "no memory to verify a certificate");
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
                       "the trusted CAs are no PEM text of certificates");
    X509_STORE *trusted = X509_STORE_new();
    bool added = trusted != NULL;
    for (int i = 0; added && i < sk_X509_num(roots); i++)
        added = X509_STORE_add_cert(trusted, sk_X509_value(roots, i)) == 1;
    e = added ? verify(trusted, cert, chain, err)
              : ab_fail(err, AB_ERR_NOMEM, "no memory for the trusted CAs");
    X509_STORE_free(trusted);
    free_certs(roots);
    ERR_clear_error();
    return e;
}

static ab_err check(certs *chain, ab_str ca, const char *agent, ab_error *err)
{
    X509 *cert = sk_X509_value(chain, 0);
    ab_err e = check_key(cert, err);
    if (e == AB_ERR_OK)
        e = check_validity(cert, err);
    if (e == AB_ERR_OK && ca.ptr != NULL)
        e = check_chain(cert, chain, ca, err);
    if (e == AB_ERR_OK && ca.ptr != NULL)
        e = check_name(cert, agent, err);
    return e;
}

/* ----- objects ----- */

static bool set_id(ab_seal_recipient *r)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int len = 0;
    if (X509_digest(r->cert, EVP_sha256(), digest, &len) != 1)
        return false;
    for (size_t i = 0; i < 32; i++)
        (void)snprintf(r->id + 2 * i, 3, "%02x", digest[i]);
    return true;
}

static ab_err make(certs *chain, ab_seal_recipient **out, ab_error *err)
{
    ab_seal_recipient *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "no memory for a recipient");
    r->cert = sk_X509_shift(chain);
    if (!set_id(r)) {
        ab_seal_recipient_free(r);
        return ab_fail(err, AB_ERR_NOMEM, "cannot compute a certificate's digest");
    }
    *out = r;
    return AB_ERR_OK;
}

ab_err ab_seal_recipient_new(ab_str cert, ab_str ca, const char *agent, ab_seal_recipient **out,
                             ab_error *err)
{
    certs *chain = NULL;
    ab_err e = ab_pem_certs(cert, &chain);
    if (e != AB_ERR_OK)
        return ab_fail(err, e == AB_ERR_NOMEM ? e : AB_ERR_INVALID,
                       "the certificate is no PEM text of one");
    e = check(chain, ca, agent, err);
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

static ab_err read_opener(ab_str cert, ab_str key, ab_seal_opener *o, ab_error *err)
{
    certs *chain = NULL;
    ab_err e = ab_pem_certs(cert, &chain);
    if (e != AB_ERR_OK)
        return ab_fail(err, e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG,
                       "the certificate is no PEM text of one");
    o->cert = sk_X509_shift(chain);
    free_certs(chain);
    e = ab_pem_key(key, &o->key);
    if (e != AB_ERR_OK)
        return ab_fail(err, e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG,
                       "the key is no PEM text of one, or it is encrypted");
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
        return ab_fail(err, AB_ERR_NOMEM, "no memory for an opener");
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
