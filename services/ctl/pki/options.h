/* SPDX-License-Identifier: Apache-2.0
 *
 * Flags that several commands have, and how a command ends.
 */
#pragma once

#include "base/core/buf.h"
#include "services/ctl/command.h"

#include <stdint.h>

#define AB_PKI_FLAG_CA_DIR                                                                         \
    {                                                                                              \
        "ca-dir", "DIR", "folder of the CA: ca.crt and ca.key (default: ca)"                       \
    }
#define AB_PKI_FLAG_SECRET                                                                         \
    {                                                                                              \
        "kubernetes-secret", "NAME", "print a Secret for kubectl instead of writing files"         \
    }
#define AB_PKI_FLAG_NAMESPACE                                                                      \
    {                                                                                              \
        "namespace", "NAME", "of the Secret (default: argocd)"                                     \
    }
#define AB_PKI_FLAG_KEY_TYPE                                                                       \
    {                                                                                              \
        "key-type", "TYPE", "ec (P-256, default) or rsa (3072 bits)"                               \
    }

/** The value of a flag, or `otherwise`. */
const char *ab_pki_value(const ab_ctl *ctl, const char *flag, const char *otherwise);
/** --days. @return INVALID unless it is a whole number from 1 to 36500 */
AB_MUST_USE ab_err ab_pki_days(const ab_ctl *ctl, int64_t otherwise, int64_t *out, ab_error *err);
/** Print what a command has made, all of it. @return IO */
AB_MUST_USE ab_err ab_pki_print(ab_str text, ab_error *err);
/** Print the Secret of --kubernetes-secret. @return INVALID: its name or namespace; IO; NOMEM */
AB_MUST_USE ab_err ab_pki_print_secret(const ab_ctl *ctl, ab_str cert, ab_str key, ab_str ca,
                                       ab_error *err);
/** How a command ends: says on standard error what went wrong. */
int ab_pki_end(ab_err code, const ab_error *err);
