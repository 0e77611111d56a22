/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose certificates the listeners for clients (live.resource, fleet) refuse: those that may not
 * log in over gRPC either, whichever transport is in use. Logins have their own copy of the file's
 * list, in auth/. Loop thread.
 */
#pragma once

#include "services/principal/blocklist.h"

/* `log` and `blocklist` (borrowed) are set, everything else zero-initialised. */
typedef struct {
    ab_log *log;
    const ab_blocklist *blocklist;
    ab_revoked_file file; /* of grpc.auth.revoked */
} ab_revocations;

/** Whether ab_revocations_open would succeed. @return CONFIG naming option and file, NOMEM */
AB_MUST_USE ab_err ab_revocations_check(const ab_config *config, ab_error *err);
/** Read the list, where it matters. @return CONFIG naming option and file, NOMEM */
AB_MUST_USE ab_err ab_revocations_open(ab_revocations *r, const ab_config *config, ab_error *err);
/** Read it again if it is another one; what cannot be read is logged. */
void ab_revocations_renew(ab_revocations *r);
/** For listeners; `r` must outlive them. */
ab_revoked_ask ab_revocations_ask(ab_revocations *r);
void ab_revocations_fini(ab_revocations *r);
