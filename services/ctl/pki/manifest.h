/* SPDX-License-Identifier: Apache-2.0
 *
 * Secrets and ConfigMaps of certificates, as YAML for `kubectl apply`. The names inside are those
 * that argocd-agent reads too.
 */
#pragma once

#include "base/core/buf.h"

/* Absent texts are left out. */
typedef struct {
    const char *name;
    const char *namespace_name;
    ab_str cert; /* tls.crt, PEM */
    ab_str key;  /* tls.key, PEM */
    ab_str ca;   /* ca.crt, PEM */
} ab_pki_manifest;

/** Append a Secret: kubernetes.io/tls when it has a key, Opaque otherwise.
 *  @return INVALID: name or namespace; NOMEM, TOOBIG */
AB_MUST_USE ab_err ab_pki_manifest_secret(const ab_pki_manifest *m, ab_buf *out, ab_error *err);
/** Append a ConfigMap of the CA's certificates. @return as ab_pki_manifest_secret */
AB_MUST_USE ab_err ab_pki_manifest_configmap(const ab_pki_manifest *m, ab_buf *out, ab_error *err);
