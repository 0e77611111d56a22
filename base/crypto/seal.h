/* SPDX-License-Identifier: Apache-2.0
 *
 * Sealing: text that only one receiver can read, whoever keeps or carries it (broker, backup,
 * console). CMS AuthEnvelopedData (RFC 5083) with AES-256-GCM (RFC 5084), the content key for the
 * receiver's certificate: RSA-OAEP, or ECDH for an elliptic curve key. The content is
 * {"agent","key","version","context","payload"}, so that what was sealed for one place does not
 * open in another, or beside other labels. Content without "context", as it was made before there
 * was one, opens in any context: nothing can take it out of a seal.
 *
 * Pure CPU work, any thread; an object of these types is used by one thread at a time.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/crypto/certificate.h"
#include "base/crypto/revoked.h"

typedef struct ab_seal_recipient ab_seal_recipient; /* seals to one certificate */
typedef struct ab_seal_opener ab_seal_opener;       /* opens with one certificate and key */

/* What a sealed payload is bound to; compared byte for byte when it is opened. */
typedef struct {
    ab_str agent;
    ab_str key;     /* record key */
    ab_str version; /* "<writerepoch>.<objversion>" */
    ab_str context; /* tells what travels in the clear beside the seal: a digest of it */
} ab_seal_binding;

/**
 * A recipient from its certificate, checked: its key can receive and its key usage allows it, and
 * it is valid now. With `ca` also: its chain, that its extended key usage (where it has one) names
 * clientAuth, and that its name by `identity` is `agent`.
 *
 * @param cert      PEM: the certificate, perhaps followed by intermediates
 * @param ca        PEM of trusted CAs; absent: the certificate was given by the operator and is
 *                  trusted as it is
 * @param identity  the rule of logins; not used without `ca`
 * @return DENIED (not trusted, expired, not for this, other name: says which), INVALID (unreadable,
 *         or a key that cannot receive), NOMEM
 */
AB_MUST_USE ab_err ab_seal_recipient_new(ab_str cert, ab_str ca, const ab_identity_rule *identity,
                                         const char *agent, ab_seal_recipient **out, ab_error *err);
void ab_seal_recipient_free(ab_seal_recipient *r);
/** SHA-256 of the certificate as hex, NUL-terminated, borrowed: to see whether it changed. */
const char *ab_seal_recipient_id(const ab_seal_recipient *r);
/** End of the certificate's validity, seconds since 1970; 0 when that cannot be read. */
int64_t ab_seal_recipient_expires_s(const ab_seal_recipient *r);
bool ab_seal_recipient_is_revoked(const ab_seal_recipient *r, const ab_revoked *revoked);
/** Append the base64 text of the sealed payload. @return NOMEM, TOOBIG, FATAL (OpenSSL's text) */
AB_MUST_USE ab_err ab_seal(const ab_seal_recipient *r, const ab_seal_binding *binding,
                           ab_str payload, ab_buf *out, ab_error *err);

/** @param cert, key  PEM. @return CONFIG (unreadable, or they do not belong together), NOMEM */
AB_MUST_USE ab_err ab_seal_opener_new(ab_str cert, ab_str key, ab_seal_opener **out, ab_error *err);
void ab_seal_opener_free(ab_seal_opener *o);
/**
 * Open a sealed payload; appends the payload.
 * @return DENIED: not for this key, changed on the way, or bound to something else (says which);
 *         PARSE: not base64 or not CMS; NOMEM, TOOBIG
 */
AB_MUST_USE ab_err ab_seal_open(const ab_seal_opener *o, const ab_seal_binding *binding,
                                ab_str sealed, ab_buf *payload, ab_error *err);
