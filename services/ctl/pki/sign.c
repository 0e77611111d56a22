/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/pki/sign.h"

#include "services/ctl/command.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <time.h>

#define SERIAL_BYTES 16
/* Clocks of other machines may be behind ours. */
#define BACKDATED_S (5 * 60)

static ab_err fail_openssl(ab_error *err, const char *what)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);
    ERR_clear_error();
    return ab_fail(err, AB_ERR_FATAL, "%s: %s", what,
                   reason == NULL ? "rejected by OpenSSL" : reason);
}

/* ----- names ----- */

ab_err ab_pki_subject_new(const char *common_name, X509_NAME **out, ab_error *err)
{
    X509_NAME *name = X509_NAME_new();
    if (name == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for a subject");
    if (common_name[0] == '\0' || !ab_str_is_utf8(ab_str_of(common_name)) ||
        X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8,
                                   (const unsigned char *)common_name, -1, -1, 0) != 1) {
        ERR_clear_error();
        X509_NAME_free(name);
        return ab_fail(err, AB_ERR_INVALID, "\"%s\" is not a common name: 1 to 64 characters",
                       common_name);
    }
    *out = name;
    return AB_ERR_OK;
}

static bool is_dns_name(ab_str text)
{
    if (ab_str_starts(text, "*."))
        text = ab_str_skip(text, 2);
    return ab_str_is_dns_subdomain(text);
}

/* "10.0.0.1" as its 4 bytes, "fd00::1" as its 16. */
static bool read_address(const char *text, unsigned char out[16], int *len)
{
    *len = strchr(text, ':') == NULL ? 4 : 16;
    return inet_pton(*len == 4 ? AF_INET : AF_INET6, text, out) == 1;
}

static ASN1_STRING *new_string(int type, const void *bytes, int len)
{
    ASN1_STRING *s = ASN1_STRING_type_new(type);
    if (s != NULL && ASN1_STRING_set(s, bytes, len) == 1)
        return s;
    ASN1_STRING_free(s);
    return NULL;
}

static ab_err push_name(GENERAL_NAMES *names, int type, ASN1_STRING *value, ab_error *err)
{
    GENERAL_NAME *name = value == NULL ? NULL : GENERAL_NAME_new();
    if (name == NULL) {
        ASN1_STRING_free(value);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for a name");
    }
    GENERAL_NAME_set0_value(name, type, value);
    if (sk_GENERAL_NAME_push(names, name) > 0)
        return AB_ERR_OK;
    GENERAL_NAME_free(name);
    return ab_fail(err, AB_ERR_NOMEM, "out of memory for a name");
}

static ab_err add_name(GENERAL_NAMES *names, int type, const char *text, ab_error *err)
{
    unsigned char address[16];
    int len = 0;
    if (type == GEN_IPADD) {
        if (!read_address(text, address, &len))
            return ab_fail(err, AB_ERR_INVALID, "--ip: \"%s\" is not an IP address", text);
        return push_name(names, type, new_string(V_ASN1_OCTET_STRING, address, len), err);
    }
    /* Four numbers would pass for labels. */
    bool is_address = read_address(text, address, &len);
    if (is_address || !is_dns_name(ab_str_of(text)))
        return ab_fail(err, AB_ERR_INVALID, "--dns: \"%s\" is not a DNS name%s", text,
                       is_address ? ": use --ip for addresses" : "");
    return push_name(names, type, new_string(V_ASN1_IA5STRING, text, -1), err);
}

ab_err ab_pki_names_add(GENERAL_NAMES *names, int type, const char *list, ab_error *err)
{
    ab_err e = AB_ERR_OK;
    ab_str rest = ab_str_of(list);
    while (rest.ptr != NULL && e == AB_ERR_OK) {
        char *name = ab_str_dup(ab_str_cut(&rest, ','));
        e = name == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory for a name")
                         : add_name(names, type, name, err);
        free(name);
    }
    return e;
}

/* ----- what is in a certificate ----- */

static bool set_serial(X509 *cert)
{
    unsigned char bytes[SERIAL_BYTES];
    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        return false;
    BIGNUM *number = BN_bin2bn(bytes, sizeof(bytes), NULL);
    bool set = number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;
    BN_free(number);
    return set;
}

/* No certificate outlives the one of the CA: it would fail to verify then, and nobody would have
 * seen that coming. */
static bool set_validity(X509 *cert, int64_t days, const X509 *ca)
{
    time_t now = time(NULL);
    ASN1_TIME *end = X509_getm_notAfter(cert);
    if (X509_time_adj_ex(X509_getm_notBefore(cert), 0, -BACKDATED_S, &now) == NULL ||
        X509_time_adj_ex(end, (int)days, 0, &now) == NULL)
        return false;
    if (ca == NULL || ASN1_TIME_compare(end, X509_get0_notAfter(ca)) <= 0)
        return true;
    return X509_set1_notAfter(cert, X509_get0_notAfter(ca)) == 1;
}

static bool add_extension(X509 *cert, X509 *ca, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, ca, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool added = extension != NULL && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

/* An agent's key also receives sealed credentials: by agreement or by encipherment. */
static const char *key_usage(const EVP_PKEY *key)
{
    return EVP_PKEY_is_a(key, "RSA") ? "critical,digitalSignature,keyEncipherment"
                                     : "critical,digitalSignature,keyAgreement";
}

static const char *extended_usage(unsigned usage)
{
    if (usage == (AB_PKI_CLIENT | AB_PKI_SERVER))
        return "serverAuth,clientAuth";
    return usage == AB_PKI_SERVER ? "serverAuth" : "clientAuth";
}

static bool add_extensions(X509 *cert, const ab_pki_request *request, const EVP_PKEY *key, X509 *ca)
{
    bool named = request->names != NULL && sk_GENERAL_NAME_num(request->names) > 0;
    return add_extension(cert, ca, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(cert, ca, NID_key_usage, key_usage(key)) &&
           add_extension(cert, ca, NID_ext_key_usage, extended_usage(request->usage)) &&
           add_extension(cert, ca, NID_subject_key_identifier, "hash") &&
           add_extension(cert, ca, NID_authority_key_identifier, "keyid,issuer") &&
           (!named || X509_add1_ext_i2d(cert, NID_subject_alt_name,
                                        (void *)(uintptr_t)request->names, 0, 0) == 1);
}

static bool add_authority_extensions(X509 *cert)
{
    return add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
           add_extension(cert, cert, NID_subject_key_identifier, "hash");
}

static X509 *begin(const ab_pki_request *request, EVP_PKEY *key, const X509 *ca)
{
    X509 *cert = X509_new();
    if (cert != NULL && X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) &&
        set_validity(cert, request->days, ca) &&
        X509_set_subject_name(cert, request->subject) == 1 && X509_set_pubkey(cert, key) == 1 &&
        X509_set_issuer_name(cert, ca == NULL ? request->subject : X509_get_subject_name(ca)) == 1)
        return cert;
    X509_free(cert);
    return NULL;
}

/* @param cert  NULL: it could not be made; freed on failure */
static ab_err sign(X509 *cert, bool complete, EVP_PKEY *key, X509 **out, ab_error *err)
{
    /* These two have a digest of their own. */
    bool pure = EVP_PKEY_is_a(key, "ED25519") || EVP_PKEY_is_a(key, "ED448");
    if (complete && X509_sign(cert, key, pure ? NULL : EVP_sha256()) > 0) {
        *out = cert;
        return AB_ERR_OK;
    }
    X509_free(cert);
    return fail_openssl(err, "cannot make a certificate");
}

/* A certificate of a few days looks like any other, and its renewals last as long as it did. */
static void warn_of_ca(const X509 *cert, const ab_pki_request *request)
{
    int days = 0;
    int seconds = 0;
    time_t end = time(NULL) + (time_t)request->days * 24 * 60 * 60;
    ASN1_TIME *wanted = ASN1_TIME_set(NULL, end);
    if (wanted != NULL && ASN1_TIME_diff(&days, &seconds, X509_get0_notAfter(cert), wanted) == 1 &&
        days > 0)
        (void)ab_ctl_fail(AB_CTL_OK,
                          "the certificate ends with that of the CA, %d days before the %lld days "
                          "are over: make a new CA soon (pki init)",
                          days, (long long)request->days);
    ASN1_TIME_free(wanted);
    ERR_clear_error();
}

ab_err ab_pki_sign(const ab_pki_request *request, EVP_PKEY *key, const ab_pki_signer *ca,
                   X509 **out, ab_error *err)
{
    if (X509_cmp_current_time(X509_get0_notAfter(ca->cert)) <= 0)
        return ab_fail(err, AB_ERR_INVALID,
                       "the certificate of the CA has expired: make a new CA (pki init)");
    X509 *cert = begin(request, key, ca->cert);
    bool complete = cert != NULL && add_extensions(cert, request, key, ca->cert);
    ab_err e = sign(cert, complete, ca->key, out, err);
    if (e == AB_ERR_OK)
        warn_of_ca(*out, request);
    return e;
}

ab_err ab_pki_sign_itself(const ab_pki_request *request, EVP_PKEY *key, X509 **out, ab_error *err)
{
    X509 *cert = begin(request, key, NULL);
    return sign(cert, cert != NULL && add_authority_extensions(cert), key, out, err);
}

ab_err ab_pki_cert_pem(X509 *cert, ab_buf *out)
{
    char *text = NULL;
    BIO *bio = BIO_new(BIO_s_mem());
    if (bio == NULL || PEM_write_bio_X509(bio, cert) != 1) {
        BIO_free(bio);
        ERR_clear_error();
        return AB_ERR_NOMEM;
    }
    long len = BIO_get_mem_data(bio, &text);
    ab_buf_put(out, (ab_str){text, (size_t)len});
    BIO_free(bio);
    return ab_buf_status(out);
}
