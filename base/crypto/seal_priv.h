/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by base/crypto/seal.c (messages) and base/crypto/seal_cert.c (who they are for).
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
