/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of revoked certificates that is a ConfigMap in the principal's cluster, which the
 * principal watches; argocd-agent's form, so its tools and these can edit it in turn. The keys are
 * fingerprints. The value of one that is added here says whose certificate it is and when it was
 * revoked; argocd-agent writes none. Each change is a merge patch of these keys alone, so that two
 * who edit the list do not undo each other's work.
 */
#pragma once

#include "base/crypto/certificate.h"
#include "base/json/document.h"
#include "services/ctl/cluster/kubeconfig.h"
#include "services/ctl/pki/revocations.h"

#define AB_PKI_FLAGS_BLOCKLIST                                                                     \
    {"configmap", NULL, "the list is a ConfigMap in the principal's cluster, not a file"},         \
        {"name", "NAME", "of the ConfigMap (default: argocd-agent-tls-blocklist)"},                \
        {"namespace", "NAME", "of the ConfigMap (default: argocd)"}, AB_CLUSTER_FLAG_KUBECONFIG,   \
        AB_CLUSTER_FLAG_CONTEXT

/* A certificate that an operand names. */
typedef struct {
    uint8_t hash[AB_FINGERPRINT_BYTES];
    char hex[AB_FINGERPRINT_TEXT];
    char subject[AB_REVOCATION_SUBJECT]; /* "": only its fingerprint is known */
    bool was_there;                      /* the list had it already */
} ab_pki_named;

typedef struct {
    ab_pki_named cert[AB_CTL_OPERANDS_MAX];
    size_t count;
} ab_pki_all_named;

/** Whether the flags say that the list is the ConfigMap. @return INVALID: flags of both lists are
 *  given, or those of the ConfigMap without --configmap */
AB_MUST_USE ab_err ab_pki_blocklist_is_meant(const ab_ctl *ctl, bool *out, ab_error *err);

/* They wait for the API server. Each may fail with CONFIG (kubeconfig or context), UNAVAILABLE and
 * TIMEOUT (no API server answers), DENIED and others that the API server means, NOMEM. */

/** Add these certificates, and note which were there. Without a ConfigMap one is created. */
AB_MUST_USE ab_err ab_pki_blocklist_add(const ab_ctl *ctl, ab_pki_all_named *certs, ab_error *err);
/** Remove these certificates. @return NOTFOUND: one was not there; nothing was changed */
AB_MUST_USE ab_err ab_pki_blocklist_drop(const ab_ctl *ctl, ab_pki_all_named *certs, ab_error *err);
/** Append what is revoked to an array: objects with `fingerprint` and, if there is one, `note`. A
 * key that is not a fingerprint is told on standard error. */
AB_MUST_USE ab_err ab_pki_blocklist_list(const ab_ctl *ctl, cJSON *rows, ab_error *err);
