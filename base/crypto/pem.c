/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto/pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#define CERTS_MAX 256

/* Instead of OpenSSL's, which would ask at the terminal. */
static int no_passphrase(char *out, int size, int for_writing, void *arg)
{
    (void)out;
    (void)size;
    (void)for_writing;
    (void)arg;
    return -1;
}

static BIO *open_text(ab_str pem)
{
    return pem.len > INT_MAX ? NULL : BIO_new_mem_buf(pem.ptr == NULL ? "" : pem.ptr, (int)pem.len);
}

static ab_err read_certs(BIO *bio, STACK_OF(X509) * certs)
{
    X509 *cert;
    ERR_clear_error();
    while ((cert = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL)) != NULL) {
        if (sk_X509_num(certs) == CERTS_MAX || sk_X509_push(certs, cert) <= 0) {
            X509_free(cert);
            return sk_X509_num(certs) == CERTS_MAX ? AB_ERR_TOOBIG : AB_ERR_NOMEM;
        }
    }
    bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    return at_end && sk_X509_num(certs) > 0 ? AB_ERR_OK : AB_ERR_PARSE;
}

ab_err ab_pem_certs(ab_str pem, STACK_OF(X509) * *out)
{
    BIO *bio = open_text(pem);
    STACK_OF(X509) *certs = sk_X509_new_null();
    ab_err e = bio == NULL || certs == NULL ? AB_ERR_NOMEM : read_certs(bio, certs);
    BIO_free(bio);
    ERR_clear_error();
    if (e == AB_ERR_OK)
        *out = certs;
    else
        sk_X509_pop_free(certs, X509_free);
    return e;
}

static ab_err put_certs(const STACK_OF(X509) * certs, ab_buf *out)
{
    char *text = NULL;
    BIO *bio = BIO_new(BIO_s_mem());
    bool written = bio != NULL;
    for (int i = 0; written && i < sk_X509_num(certs); i++)
        written = PEM_write_bio_X509(bio, sk_X509_value(certs, i)) == 1;
    long len = written ? BIO_get_mem_data(bio, &text) : 0;
    ab_buf_put(out, (ab_str){text, (size_t)len});
    BIO_free(bio);
    ERR_clear_error();
    return written ? ab_buf_status(out) : AB_ERR_NOMEM;
}

ab_err ab_pem_copy_certs(ab_str pem, ab_buf *out)
{
    STACK_OF(X509) *certs = NULL;
    ab_err e = ab_pem_certs(pem, &certs);
    if (e == AB_ERR_OK)
        e = put_certs(certs, out);
    sk_X509_pop_free(certs, X509_free);
    return e;
}

ab_err ab_pem_key(ab_str pem, EVP_PKEY **out)
{
    BIO *bio = open_text(pem);
    if (bio == NULL)
        return AB_ERR_NOMEM;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
    BIO_free(bio);
    ERR_clear_error();
    if (key == NULL)
        return AB_ERR_PARSE;
    *out = key;
    return AB_ERR_OK;
}
