/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client certificate says. It comes from an authority that we trust, but its names may have
 * been chosen by others: no part of one can look like another.
 */
#pragma once

#include "base/buf.h"
#include "transport/grpc/auth/auth.h"

#include <openssl/x509.h>

/** SHA-256 of the certificate (DER). @return FATAL when OpenSSL cannot */
AB_MUST_USE ab_err ab_certificate_fingerprint(const X509 *cert, uint8_t out[AB_AUTH_HASH_BYTES]);
/** End of its validity, seconds since 1970; 0 when that cannot be read. */
int64_t ab_certificate_expires_s(const X509 *cert);
/**
 * Append the subject as RFC 4514 text, the last name first, "CN=w1,OU=edge,O=example". In a value,
 * every character that could end it or begin another (=, too) is written as a backslash and two hex
 * digits, so "CN=" is a common name wherever it stands.
 * @return PARSE: a value that is no text; NOMEM, TOOBIG
 */
AB_MUST_USE ab_err ab_certificate_subject(const X509 *cert, ab_buf *out);
/** Call `fn` for each URI among the alternative names until it returns true.
 *  @return whether it did; also false when memory runs out */
bool ab_certificate_each_uri(const X509 *cert, bool (*fn)(void *arg, ab_str uri), void *arg);
