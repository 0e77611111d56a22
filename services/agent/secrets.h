/* SPDX-License-Identifier: Apache-2.0
 *
 * What the agent opens sealed credentials with: the certificate that the principal seals to, and
 * its key; and those before them, for what was sealed before they changed.
 */
#pragma once

#include "base/config/config.h"
#include "base/core/file_stamp.h"
#include "base/crypto/seal.h"
#include "base/observe/log.h"

/* Zero-initialised: none. */
typedef struct {
    ab_file_stamps files; /* certificate and key; none: credentials cannot be received */
    char *certificate;    /* PEM without anything else of the file, for the hello; NULL: none */
    ab_seal_opener *opener;
    ab_seal_opener *former;
} ab_agent_secrets;

/**
 * Load what secrets.certificate and secrets.key name, else what the transport's connection uses.
 * Without any, or when the connection's cannot be used for it, that is logged: credentials cannot
 * be received then.
 *
 * @param config  borrowed until the free
 * @return CONFIG (secrets.* is set and cannot be used: says why), NOMEM
 */
AB_MUST_USE ab_err ab_agent_secrets_load(const ab_config *config, ab_log *log,
                                         ab_agent_secrets *out, ab_error *err);
/** Would secrets.certificate and secrets.key, where they are set, load? @return as the load */
AB_MUST_USE ab_err ab_agent_secrets_check(const ab_config *config, ab_error *err);
/** Load the files again if they have changed; those that cannot be used are logged and change
 * nothing. @return true: s->certificate is another one, and the former is freed */
bool ab_agent_secrets_renew(ab_agent_secrets *s, ab_log *log);
void ab_agent_secrets_free(ab_agent_secrets *s);
/** ab_agent_policy.open; `arg` is the ab_agent_secrets. */
ab_err ab_agent_secrets_open(void *arg, const ab_seal_binding *binding, ab_str sealed, ab_buf *out,
                             ab_error *err);
