/* SPDX-License-Identifier: Apache-2.0
 *
 * Certificates and keys out of PEM text (RFC 7468), for OpenSSL. Never asks for a passphrase. Any
 * thread; OpenSSL's queue of errors is empty afterwards.
 */
#pragma once

#include "base/core/buf.h"

#include <openssl/x509.h>

/* Of a file of certificates or keys. */
#define AB_PEM_MAX ((size_t)1024 * 1024)

/** Every certificate in the text, in order, at least one.
 *  @param out  owned by the caller: sk_X509_pop_free(out, X509_free)
 *  @return PARSE: there is none, or one is broken; TOOBIG: more than 256; NOMEM */
AB_MUST_USE ab_err ab_pem_certs(ab_str pem, STACK_OF(X509) * *out);
/** Append the certificates of the text as PEM, and nothing else that it holds: a file of
 * certificates may have their private key in it, too. Wipe `pem` after use.
 *  @return as ab_pem_certs, then `out` is as it was; what `out` reports */
AB_MUST_USE ab_err ab_pem_copy_certs(ab_str pem, ab_buf *out);
/** The first private key in the text.
 *  @param out  owned by the caller: EVP_PKEY_free
 *  @return PARSE: there is none, it is broken, or it is encrypted; NOMEM */
AB_MUST_USE ab_err ab_pem_key(ab_str pem, EVP_PKEY **out);
