/* SPDX-License-Identifier: Apache-2.0
 *
 * The identity of a principal's installation: a UUID kept in its store, in ConfigMap
 * argocd-agent-principal-identity under principal-uid, made once.
 */
#pragma once

#include "store/store.h"

typedef struct ab_identity ab_identity;

/**
 * Read it, or make it when there is none. The store must be synced. Store trouble is
 * retried with growing delays.
 *
 * @param known  called once, later, with the 36-character UUID (borrowed until free)
 * @return NOMEM
 */
AB_MUST_USE ab_err ab_identity_new(ab_store *store, const char *namespace, const ab_clock *clock,
                                   ab_log *log, void (*known)(void *arg, const char *uid),
                                   void *arg, ab_identity **out);
/** Time has passed: try again if it is time to. Loop thread. */
void ab_identity_tick(ab_identity *id);
/** NULL is allowed; the store must be stopped. */
void ab_identity_free(ab_identity *id);
