/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/base/crypto/made_cert.h"

#include "base/core/file.h"
#include "base/crypto/pem.h"

#include <limits.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Also where assertions are off. */
static void must(bool done)
{
    if (!done)
        abort();
}

static EVP_PKEY *make_key(const char *type)
{
    EVP_PKEY *key = NULL;
    if (strncmp(type, "RSA-", 4) == 0)
        key = EVP_RSA_gen((unsigned int)strtoul(type + 4, NULL, 10));
    else if (strncmp(type, "EC-", 3) == 0)
        key = EVP_EC_gen(type + 3);
    else
        key = EVP_PKEY_Q_keygen(NULL, NULL, type);
    must(key != NULL);
    return key;
}

static char *bio_text(BIO *bio)
{
    char *bytes = NULL;
    long len = BIO_get_mem_data(bio, &bytes);
    char *text = ab_str_dup((ab_str){bytes, (size_t)len});
    must(text != NULL);
    BIO_free(bio);
    return text;
}

static void add_extension(X509 *cert, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    int added = e == NULL ? 0 : X509_add_ext(cert, e, -1);
    must(added == 1);
    X509_EXTENSION_free(e);
}

static void set_random_serial(X509 *cert)
{
    BIGNUM *serial = BN_new();
    int made = serial == NULL ? 0 : BN_rand(serial, 100, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY);
    must(made == 1);
    BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(cert));
    BN_free(serial);
}

static void set_names(X509 *cert, const made_cert_spec *spec, const X509 *issuer)
{
    X509_NAME *subject = X509_get_subject_name(cert);
    if (spec->name != NULL)
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)spec->name,
                                   -1, -1, 0);
    X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_UTF8, (const unsigned char *)"made", -1, -1,
                               0);
    X509_set_issuer_name(cert, issuer == NULL ? subject : X509_get_subject_name(issuer));
    if (spec->ca)
        add_extension(cert, NID_basic_constraints, "critical,CA:TRUE");
    if (spec->san != NULL)
        add_extension(cert, NID_subject_alt_name, spec->san);
    if (spec->usage != NULL)
        add_extension(cert, NID_key_usage, spec->usage);
    if (spec->extended_usage != NULL)
        add_extension(cert, NID_ext_key_usage, spec->extended_usage);
}

static void sign(X509 *cert, EVP_PKEY *key)
{
    const EVP_MD *md = EVP_PKEY_is_a(key, "ED25519") ? NULL : EVP_sha256();
    int size = X509_sign(cert, key, md);
    must(size > 0);
}

static void issue(X509 *cert, EVP_PKEY *own, const made_cert_spec *spec)
{
    STACK_OF(X509) *issuers = NULL;
    EVP_PKEY *key = NULL;
    if (spec->issuer != NULL) {
        ab_err e = ab_pem_certs(ab_str_of(spec->issuer->cert), &issuers);
        must(e == AB_ERR_OK);
        e = ab_pem_key(ab_str_of(spec->issuer->key), &key);
        must(e == AB_ERR_OK);
    }
    set_names(cert, spec, issuers == NULL ? NULL : sk_X509_value(issuers, 0));
    sign(cert, key == NULL ? own : key);
    sk_X509_pop_free(issuers, X509_free);
    EVP_PKEY_free(key);
}

static made_cert certify(EVP_PKEY *key, const made_cert_spec *spec)
{
    bool usual = spec->from_s == 0 && spec->until_s == 0;
    X509 *cert = X509_new();
    must(cert != NULL);
    X509_set_version(cert, X509_VERSION_3);
    set_random_serial(cert);
    X509_gmtime_adj(X509_getm_notBefore(cert), (long)(usual ? -3600 : spec->from_s));
    X509_gmtime_adj(X509_getm_notAfter(cert), (long)(usual ? 3600 : spec->until_s));
    X509_set_pubkey(cert, key);
    issue(cert, key, spec);
    BIO *cert_text = BIO_new(BIO_s_mem());
    BIO *key_text = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(cert_text, cert);
    PEM_write_bio_PrivateKey(key_text, key, NULL, NULL, 0, NULL, NULL);
    X509_free(cert);
    return (made_cert){.cert = bio_text(cert_text), .key = bio_text(key_text)};
}

made_cert make_cert(const made_cert_spec *spec)
{
    EVP_PKEY *key = make_key(spec->type);
    made_cert made = certify(key, spec);
    EVP_PKEY_free(key);
    return made;
}

made_cert renew_cert(const made_cert *of, const made_cert_spec *spec)
{
    EVP_PKEY *key = NULL;
    ab_err e = ab_pem_key(ab_str_of(of->key), &key);
    must(e == AB_ERR_OK);
    made_cert made = certify(key, spec);
    EVP_PKEY_free(key);
    return made;
}

void write_pem(const char *folder, const char *name, const char *text)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    must(ab_file_replace(path, ab_str_of(text), NULL) == AB_ERR_OK);
}

void made_cert_free(made_cert *m)
{
    free(m->cert);
    free(m->key);
    *m = (made_cert){0};
}
