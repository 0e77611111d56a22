/* SPDX-License-Identifier: Apache-2.0
 *
 * A certificate authority in a folder: ca.crt and ca.key, or tls.crt and tls.key as a Secret of
 * argocd-agent has them. ca.crt may have several certificates, while a CA is being replaced; the
 * one that ca.key belongs to signs.
 */
#pragma once

#include "services/ctl/pki/sign.h"

typedef struct {
    STACK_OF(X509) * certs; /* all that are trusted */
    ab_pki_signer signer;   /* its certificate is one of them */
} ab_pki_authority;

/**
 * @param with_key  to sign; otherwise the key is not looked at, and `signer` stays empty
 * @param out       owned by the caller: ab_pki_authority_fini
 * @return NOTFOUND: what to do; INVALID: key and certificates do not belong together, or the
 *         certificate is not a CA's; those of ab_pki_read_certs
 */
AB_MUST_USE ab_err ab_pki_authority_read(const char *folder, bool with_key, ab_pki_authority *out,
                                         ab_error *err);
void ab_pki_authority_fini(ab_pki_authority *a);
/** Append all certificates as PEM text, and nothing else that is in the file. @return NOMEM */
AB_MUST_USE ab_err ab_pki_authority_pem(const ab_pki_authority *a, ab_buf *out);
/** Append a certificate that it has signed, and after it the signer's own, when that is signed by
 *  another CA: who trusts only the other one needs both. @return NOMEM */
AB_MUST_USE ab_err ab_pki_chain_pem(const ab_pki_authority *a, X509 *cert, ab_buf *out);
