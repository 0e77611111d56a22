/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by base/crypto/seal.c (messages), base/crypto/seal_form.c (which ones OpenSSL may decrypt)
 * and base/crypto/seal_cert.c (who they are for).
 */
#pragma once

#include "base/crypto/seal.h"

#include <openssl/x509.h>

struct ab_seal_recipient {
    X509 *cert;
    char id[65];
};

struct ab_seal_opener {
    X509 *cert;
    EVP_PKEY *key;
};

/** Whether the CMS message `der` has the form and the algorithms of a seal, before OpenSSL acts on
 *  what it names. @return NULL, or what it has instead: static text for an error */
const char *ab_seal_form_fault(ab_str der);
