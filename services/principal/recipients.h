/* SPDX-License-Identifier: Apache-2.0
 *
 * The certificates that Secrets are sealed to, one per agent: given in the configuration, where
 * they are trusted as they are, or told by the agent in its hello, where they must come from the
 * authorities of secrets.ca and carry the agent's name by the rule of logins. A revoked one is
 * used in neither case. Each change of the one in use is logged with both fingerprints, and its end
 * of validity shown: argobus_agent_certificate_expiry_timestamp_seconds.
 */
#pragma once

#include "base/config/config.h"
#include "base/crypto/seal.h"
#include "base/observe/log.h"
#include "base/observe/metrics.h"

typedef struct ab_recipients ab_recipients;

/** @return CONFIG (secrets.ca, secrets.identity or secrets.revoked cannot be used), NOMEM */
AB_MUST_USE ab_err ab_recipients_new(const ab_config *config, ab_log *log, ab_metrics *metrics,
                                     const ab_clock *clock, ab_recipients **out, ab_error *err);
/** Would a start take all files, those of option agents, too? @return as new and configure; CONFIG
 * also where secrets.ca has no certificate */
AB_MUST_USE ab_err ab_recipients_check(const ab_config *config, ab_error *err);
/** NULL is allowed. */
void ab_recipients_free(ab_recipients *r);

/** The certificate of this file is the agent's; NULL: none is given, what it told counts. A revoked
 *  one is logged, and the agent has none then.
 *  @return CONFIG (unreadable, expired, cannot receive), NOMEM; then nothing has changed */
AB_MUST_USE ab_err ab_recipients_configure(ab_recipients *r, const char *agent, const char *file,
                                           ab_error *err);
/** The agent says that this is its certificate (PEM; "": it has none). One that is not trusted is
 * logged and changes nothing. Of what an agent tells in a minute the first ten are checked at once,
 * and of the others the last, by ab_recipients_reload when the minute is over.
 * @return true when Secrets are sealed to another one from now on */
bool ab_recipients_offer(ab_recipients *r, const char *agent, const char *certificate);
/** Read again those of the files that have changed, of more than 100 certificates of agents the 100
 * that were looked at longest ago, and check what agents told that has not been checked; what
 * cannot be used is logged and changes nothing. When the authorities have changed, what each agent
 * told last is judged by them, and nothing else counts: of many agents 20 at each call, and one
 * that waits for that before a Secret is sealed to it. `changed` is called for every agent whose
 * Secrets are sealed to another certificate from now on. */
void ab_recipients_reload(ab_recipients *r, void (*changed)(void *arg, const char *agent),
                          void *arg);
/** Those of `blocked` (borrowed) are revoked, too, and they are others than before: none of them is
 * used from now on. Those that are revoked no more are, once ab_recipients_reload has looked at
 * them. `changed` is called as by that. */
void ab_recipients_block(ab_recipients *r, const ab_revoked *blocked,
                         void (*changed)(void *arg, const char *agent), void *arg);
/** Forget an agent. */
void ab_recipients_forget(ab_recipients *r, const char *agent);

/** For people: the fingerprint of the certificate in use, as it was judged last, and when it ends,
 * seconds since 1970. @return NULL: there is none, and `expires_s` is untouched; borrowed */
const char *ab_recipients_show(const ab_recipients *r, const char *agent, int64_t *expires_s);

/* What ab_principal_sealing asks; `arg` is the ab_recipients. */
const char *ab_recipients_id(void *arg, const char *agent);
ab_err ab_recipients_seal(void *arg, const char *agent, const ab_seal_binding *binding,
                          ab_str payload, ab_buf *out, ab_error *err);
