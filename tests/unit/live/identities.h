/* SPDX-License-Identifier: Apache-2.0
 *
 * Certificates of a principal and an agent, and what they seal sessions with. What fails here fails
 * the test.
 */
#pragma once

#include "net/tls/tls.h"

typedef struct {
    char folder[64];       /* of the files; "": there are none */
    ab_tls_context tls[2]; /* of the principal, of the agent */
} identities;

/** @param agent    the name in the agent's certificate; the principal's is "principal"
 *  @param trusted  one authority has issued both */
void identities_open(identities *i, const char *agent, bool trusted);
/** Also of zeros. */
void identities_close(identities *i);
