/* SPDX-License-Identifier: Apache-2.0
 *
 * Why the certificate of the peer was refused. OpenSSL says only that a name does not match or that
 * something has expired, and forgets the certificate with the handshake; so the certificate is kept
 * when it is refused.
 */
#pragma once

#include "services/ctl/check/findings.h"
#include "services/ctl/check/setup.h"

#include <openssl/ssl.h>

typedef struct {
    X509 *cert; /* the refused one, of the peer or one that signed it; NULL: none was refused */
    int reason; /* X509_V_ERR_… */
} ab_peer_certificate;

/**
 * Keep what the handshake of this client refuses.
 * @param out  outlives the handshake; to be given to fini
 */
void ab_peer_certificate_watch(SSL *ssl, ab_peer_certificate *out);
void ab_peer_certificate_fini(ab_peer_certificate *p);
/**
 * Add the finding, with the names or the date in the certificate, and a remedy.
 * @param where  the address of the peer
 * @param host   what the certificate must name
 * @return false: the certificate was refused for another reason, or not at all; nothing was added
 */
bool ab_peer_certificate_explain(const ab_peer_certificate *p, const ab_setup *s, const char *where,
                                 const char *host, ab_findings *out);
/**
 * The handshake failed, and the peer's certificate was not refused: if this client's own has
 * expired, add that, with its date and a remedy.
 * @return false: it has not, or there is none; nothing was added
 */
bool ab_own_certificate_explain(const SSL *ssl, const ab_setup *s, ab_findings *out);
