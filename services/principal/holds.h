/* SPDX-License-Identifier: Apache-2.0
 *
 * The deletions that are held back, shown where people look: a line of /readyz, and, where the
 * store is Kubernetes, an Event in the agent's namespace. An annotation on the agent's cluster
 * Secret confirms them, beside argobusctl.
 *
 * Loop thread.
 */
#pragma once

#include "base/observe/log.h"
#include "store/store.h"

typedef struct ab_holds ab_holds;

typedef struct {
    const ab_clock *clock;
    ab_log *log;
    const char *namespace; /* the principal's own; borrowed */
    bool by_agent;         /* namespace mapping: Events go to the namespace of the agent's name */
} ab_holds_env;

/** @return NULL when out of memory */
ab_holds *ab_holds_new(const ab_holds_env *env);
/** NULL is allowed. */
void ab_holds_free(ab_holds *h);
/** Events are written to this store, which is borrowed and ends first, from now on. */
void ab_holds_use(ab_holds *h, ab_store *store);
/** So many deletions are held back for the agent, 0: none is any more. @param token  confirms them
 */
void ab_holds_note(ab_holds *h, const char *agent, size_t count, const char *token);
/** The agent is served no more: nothing is said of it any more. */
void ab_holds_forget(ab_holds *h, const char *agent);
/** An Event lasts an hour: as long as something is held it is written again. */
void ab_holds_tick(ab_holds *h);
/** Lines for /readyz; nothing when nothing is held. */
void ab_holds_show(const ab_holds *h, ab_buf *out);
/** What confirms the deletions that are held back for this agent; NULL when none is. Borrowed until
 * the next change. */
const char *ab_holds_token(const ab_holds *h, const char *agent);
