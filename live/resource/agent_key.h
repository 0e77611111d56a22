/* SPDX-License-Identifier: Apache-2.0
 *
 * Bearer tokens of agents' clusters that need no file of tokens: a token is NAME.MAC, the agent's
 * name and an HMAC-SHA256 over it, in base64url, by a key that only the principal has. The token of
 * each agent can be made again at any time, so none is stored here; another key ends all of them at
 * once. Loop thread.
 */
#pragma once

#include "base/core/clock.h"
#include "base/observe/log.h"

typedef struct ab_agent_key ab_agent_key;

/* A DNS label, a point, 43 characters and the NUL. */
#define AB_AGENT_TOKEN_MAX 108
#define AB_AGENT_KEY_BYTES 32 /* at least */

/**
 * @param path   file whose whole content is the key; copied; read again when it changes. One that
 *               cannot be used then leaves the former key in use, with a warning
 * @param clock  borrowed
 * @param out    owned by the caller: ab_agent_key_free
 * @return CONFIG with the file: it cannot be read, or has too few or too many bytes; NOMEM
 */
AB_MUST_USE ab_err ab_agent_key_new(const char *path, const ab_clock *clock, ab_log *log,
                                    ab_agent_key **out, ab_error *err);
/** NULL is allowed. */
void ab_agent_key_free(ab_agent_key *k);
/** Read the file again if it changed. @return a number that is another one with every new key */
uint64_t ab_agent_key_refresh(ab_agent_key *k);
/** The token of an agent. @param agent  a DNS label. @return FATAL when OpenSSL cannot compute it
 */
AB_MUST_USE ab_err ab_agent_key_token(const ab_agent_key *k, ab_str agent,
                                      char out[AB_AGENT_TOKEN_MAX]);
/** Whose token is it? Takes as long for a wrong one as for the right one.
 *  @return the name, borrowed from `token`; absent: it was not made with this key */
ab_str ab_agent_key_find(ab_agent_key *k, ab_str token);
