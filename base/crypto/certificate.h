/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client certificate says, and the rule by which an agent's name is read from it: one rule
 * for logins and for the certificates that Secrets are sealed to. It comes from an authority that
 * we trust, but its names may have been chosen by others: no part of one can look like another.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/error.h"

#include <openssl/x509.h>

/* SHA-256. */
#define AB_FINGERPRINT_BYTES 32

typedef struct ab_identity_rule ab_identity_rule;

/** SHA-256 of the certificate (DER). @return FATAL when OpenSSL cannot */
AB_MUST_USE ab_err ab_certificate_fingerprint(const X509 *cert, uint8_t out[AB_FINGERPRINT_BYTES]);
/** End of its validity, seconds since 1970; 0 when that cannot be read. */
int64_t ab_certificate_expires_s(const X509 *cert);
/**
 * Append the subject as RFC 4514 text, the last name first, "CN=w1,OU=edge,O=example". In a value,
 * every character that could end it or begin another (=, too) is written as a backslash and two hex
 * digits, so "CN=" is a common name wherever it stands.
 * @return PARSE: a value that is not text; NOMEM, TOOBIG
 */
AB_MUST_USE ab_err ab_certificate_subject(const X509 *cert, ab_buf *out);
/** Call `fn` for each URI among the alternative names until it returns true.
 *  @return whether it did; also false when memory runs out */
bool ab_certificate_each_uri(const X509 *cert, bool (*fn)(void *arg, ab_str uri), void *arg);

/**
 * A rule from its text: "subject:" or "uri:" and a POSIX extended regular expression whose first
 * group is the name, in the subject as ab_certificate_subject writes it, or in the first URI among
 * the alternative names that matches.
 * @param out  owned by the caller: ab_identity_rule_free
 * @return INVALID with what is wrong in `err`; NOMEM
 */
AB_MUST_USE ab_err ab_identity_rule_new(ab_str text, ab_identity_rule **out, ab_error *err);
/** NULL is allowed. */
void ab_identity_rule_free(ab_identity_rule *r);
/** Append the name that the rule reads from the certificate. It may be any text.
 *  @return DENIED: there is none; NOMEM, TOOBIG */
AB_MUST_USE ab_err ab_identity_rule_name(const ab_identity_rule *r, const X509 *cert, ab_buf *out);
