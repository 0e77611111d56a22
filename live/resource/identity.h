/* SPDX-License-Identifier: Apache-2.0
 *
 * Who asks for live access, and whose API server it may reach: by a bearer token of the file
 * live.resource.tokens, or by the common name of a verified client certificate, which is the name
 * of one agent. Loop thread.
 *
 * A line of the file is `TOKEN AGENT`, or `TOKEN *` for one who reaches every agent and names it by
 * a path /agents/NAME/. Empty lines, and those that begin with #, count for nothing. The file is
 * read again when it changed.
 */
#pragma once

#include "base/core/clock.h"
#include "base/observe/log.h"
#include "live/resource/agent_key.h"

typedef struct ab_resource_identities ab_resource_identities;

#define AB_RESOURCE_AGENT_MAX 64 /* a DNS label, NUL included */

/**
 * @param path   file of tokens, copied; NULL: none
 * @param clock  borrowed
 * @return CONFIG with file and line: it cannot be read, or a line is wrong; NOMEM
 */
AB_MUST_USE ab_err ab_resource_identities_new(const char *path, const ab_clock *clock, ab_log *log,
                                              ab_resource_identities **out, ab_error *err);
/** Accept tokens made with this key too (live/resource/agent_key.h). @param key  taken over; NULL:
 * none */
void ab_resource_identities_use(ab_resource_identities *ids, ab_agent_key *key);
/** NULL is allowed. */
void ab_resource_identities_free(ab_resource_identities *ids);
/**
 * Which agent may be asked?
 *
 * @param authorization  the field, absent when there is none; it goes before the certificate
 * @param common_name    of the verified certificate; "": none
 * @param agent          the agent's name, "*" for all; empty: nobody that is known
 */
void ab_resource_identities_find(ab_resource_identities *ids, ab_str authorization,
                                 const char *common_name, char agent[AB_RESOURCE_AGENT_MAX]);

/* The token by which a request was let in, while it is open. Zero-initialised: there is none. */
typedef struct {
    ab_resource_identities *ids;
    uint64_t version; /* of the tokens, when it was good last */
    ab_buf authorization;
    char agent[AB_RESOURCE_AGENT_MAX];
} ab_resource_grant;

/** @param ids            borrowed, must outlive it
 *  @param authorization  absent: it was let in without a token, and stays so; copied
 *  @param agent          as ab_resource_identities_find has said */
void ab_resource_grant_take(ab_resource_grant *g, ab_resource_identities *ids, ab_str authorization,
                            const char *agent);
/** Whether the token is still there, and for that agent; the files are looked at once a second. */
bool ab_resource_grant_holds(ab_resource_grant *g);
/** Wipe it. */
void ab_resource_grant_fini(ab_resource_grant *g);
