/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may register, and as what: the options registration.names, mode, modes and
 * labels.
 */
#pragma once

#include "base/config/config.h"
#include "base/core/pattern.h"

typedef struct {
    ab_patterns *names;
    ab_patterns *labels;   /* keys of those that an agent may bring */
    const char *mode;      /* by default; borrowed of the configuration, or a literal */
    const char *claims[2]; /* modes that an agent may choose; NULL: none */
} ab_registration_policy;

/** @param out  zeroed; to be released by ab_registration_policy_fini, also after a failure
 *  @return CONFIG naming the option, NOMEM */
AB_MUST_USE ab_err ab_registration_policy_init(const ab_config *config, ab_registration_policy *out,
                                               ab_error *err);
void ab_registration_policy_fini(ab_registration_policy *p);
/** Whether an agent of this name may register. */
bool ab_registration_policy_allows(const ab_registration_policy *p, const char *agent);
/** "managed" or "autonomous". @param claimed  what the agent says; any text, may be NULL */
const char *ab_registration_policy_mode(const ab_registration_policy *p, const char *claimed);
/** Whether an agent may bring this label. Never one that Argo CD, argobus or Kubernetes reads: an
 *  agent could approve itself, or take another's place. Any texts. */
bool ab_registration_policy_takes(const ab_registration_policy *p, ab_str key, ab_str value);
