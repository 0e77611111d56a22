/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes certificates: what is in them, and nothing about files. A certificate says only what a
 * program of argobus or a broker looks at; its names come from the operator, never from a request
 * of somebody else.
 */
#pragma once

#include "base/core/buf.h"

#include <openssl/x509v3.h>

/* The usage of a key (extended key usage). */
enum { AB_PKI_CLIENT = 1, AB_PKI_SERVER = 2 };

typedef struct {
    const X509_NAME *subject;   /* borrowed */
    const GENERAL_NAMES *names; /* alternative names; borrowed; NULL or empty: none */
    unsigned usage;             /* AB_PKI_CLIENT, AB_PKI_SERVER */
    int64_t days;               /* it is valid for; less when the CA's certificate ends before */
} ab_pki_request;

/* Who signs. */
typedef struct {
    X509 *cert;
    EVP_PKEY *key;
} ab_pki_signer;

/** A subject of one common name. @param out  owned by the caller: X509_NAME_free
 *  @return INVALID: empty, longer than 64 bytes, or not text; NOMEM */
AB_MUST_USE ab_err ab_pki_subject_new(const char *common_name, X509_NAME **out, ab_error *err);
/**
 * Add names to a list.
 *
 * @param names  of the caller's, grows
 * @param type   GEN_DNS or GEN_IPADD
 * @param list   separated by commas; NULL: none
 * @return INVALID: quotes the name that is not one; NOMEM
 */
AB_MUST_USE ab_err ab_pki_names_add(GENERAL_NAMES *names, int type, const char *list,
                                    ab_error *err);
/**
 * A certificate for `key` (only its public half is used). Says on standard error when the CA's ends
 * days before the time that is asked for.
 *
 * @param ca   who signs; borrowed
 * @param out  owned by the caller: X509_free
 * @return INVALID: the CA has expired; FATAL: OpenSSL's reason
 */
AB_MUST_USE ab_err ab_pki_sign(const ab_pki_request *request, EVP_PKEY *key,
                               const ab_pki_signer *ca, X509 **out, ab_error *err);
/** The certificate of a new CA, signed by its own key. `names` and `usage` of the request are
 *  ignored. @param out  owned by the caller: X509_free @return FATAL: OpenSSL's reason */
AB_MUST_USE ab_err ab_pki_sign_itself(const ab_pki_request *request, EVP_PKEY *key, X509 **out,
                                      ab_error *err);
/** Append the PEM text. @return NOMEM, TOOBIG */
AB_MUST_USE ab_err ab_pki_cert_pem(X509 *cert, ab_buf *out);
