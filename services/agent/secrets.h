/* SPDX-License-Identifier: Apache-2.0
 *
 * What the agent opens sealed credentials with: the certificate that the principal seals to, and
 * its key.
 */
#pragma once

#include "base/config.h"
#include "base/log.h"
#include "base/seal.h"

/* Zero-initialised: none. */
typedef struct {
    char *certificate; /* PEM, for the hello; NULL: none */
    ab_seal_opener *opener;
} ab_agent_secrets;

/**
 * Load what secrets.certificate and secrets.key name, else what the Kafka connection uses. Without
 * any, or when the connection's cannot be used for it, that is logged: credentials cannot be
 * received then.
 *
 * @return CONFIG (secrets.* is set and cannot be used: says why), NOMEM
 */
AB_MUST_USE ab_err ab_agent_secrets_load(const ab_config *config, ab_log *log,
                                         ab_agent_secrets *out, ab_error *err);
void ab_agent_secrets_free(ab_agent_secrets *s);
/** ab_agent_policy.open; `arg` is the ab_seal_opener. */
ab_err ab_agent_secrets_open(void *arg, const ab_seal_binding *binding, ab_str sealed, ab_buf *out,
                             ab_error *err);
