/* SPDX-License-Identifier: Apache-2.0
 *
 * What a credential plugin gives.
 */
#pragma once

#include "base/core/buf.h"

/* What a plugin gives. Every text is owned and wiped. */
typedef struct {
    char *token;      /* NULL: none */
    char *cert, *key; /* PEM; NULL: none */
    int64_t until_us; /* wall clock; INT64_MAX: not said */
} ab_kube_credential;

void ab_kube_credential_fini(ab_kube_credential *c);
/**
 * Read what a plugin printed. Errors never show it.
 * @param api  the version that was asked for
 * @return UNAVAILABLE: no ExecCredential of that version; DENIED: one without credentials; NOMEM
 */
AB_MUST_USE ab_err ab_kube_credential_read(ab_str json, const char *api, ab_kube_credential *out,
                                           ab_error *err);
