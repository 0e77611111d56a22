/* SPDX-License-Identifier: Apache-2.0
 *
 * What a certificate says, as a document: for people, and for programs that look at it.
 */
#pragma once

#include "base/json/document.h"

#include <openssl/x509.h>

/**
 * subject, issuer, serial, names, usage, key, notBefore, notAfter, daysLeft, and fingerprint:
 * SHA-256 in upper-case hex, as `grpc.auth.revoked` and the blocklist of argocd-agent take it.
 * @return owned by the caller: cJSON_Delete; NULL when out of memory
 */
cJSON *ab_pki_describe(X509 *cert);
/** Why the first of these certificates is not signed by one of the roots, through the others. Dates
 * are not looked at. @return NULL: it is */
const char *ab_pki_chain_fault(STACK_OF(X509) * certs, STACK_OF(X509) * roots);
