/* SPDX-License-Identifier: Apache-2.0
 *
 * Certificates are looked at when they are read, so that a broken one is said by its name and not
 * by a failed handshake. Errors never show the text.
 */
#include "store/kubernetes/access/access_cert.h"
#include "base/crypto/pem.h"
#include "store/kubernetes/access/access_file.h"

#include <openssl/err.h>
#include <time.h>

static ab_err read_cert(ab_str pem, X509 **out, ab_error *err)
{
    STACK_OF(X509) *certs = NULL;
    ab_err e = ab_pem_certs(pem, &certs);
    if (e != AB_ERR_OK)
        return ab_fail(err, e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG,
                       "the certificate is not in PEM format");
    *out = sk_X509_shift(certs);
    sk_X509_pop_free(certs, X509_free);
    return AB_ERR_OK;
}

static ab_err read_key(ab_str pem, EVP_PKEY **out, ab_error *err)
{
    ab_err e = ab_pem_key(pem, out);
    if (e != AB_ERR_OK)
        return ab_fail(err, e == AB_ERR_NOMEM ? e : AB_ERR_CONFIG,
                       "the key is not in PEM format, or it is encrypted");
    return AB_ERR_OK;
}

static ab_err expiry(const X509 *cert, int64_t *out, ab_error *err)
{
    struct tm tm = {0};
    if (ASN1_TIME_to_tm(X509_get0_notAfter(cert), &tm) != 1)
        return ab_fail(err, AB_ERR_CONFIG, "the certificate does not say when it expires");
    *out = (int64_t)timegm(&tm);
    return AB_ERR_OK;
}

ab_err ab_kube_check_pair(ab_str cert, ab_str key, int64_t *until_s, ab_error *err)
{
    X509 *x = NULL;
    EVP_PKEY *k = NULL;
    ab_err e = read_cert(cert, &x, err);
    if (e == AB_ERR_OK)
        e = read_key(key, &k, err);
    if (e == AB_ERR_OK && X509_check_private_key(x, k) != 1)
        e = ab_fail(err, AB_ERR_CONFIG, "the key does not belong to the certificate");
    if (e == AB_ERR_OK)
        e = expiry(x, until_s, err);
    ERR_clear_error();
    EVP_PKEY_free(k);
    X509_free(x);
    return e;
}

ab_err ab_kube_check_ca(ab_str ca, ab_error *err)
{
    X509 *x = NULL;
    ab_err e = read_cert(ca, &x, err);
    X509_free(x);
    return e;
}
