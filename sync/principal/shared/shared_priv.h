/* SPDX-License-Identifier: Apache-2.0
 *
 * A shared object, and how the sources of this folder find it and look at it again.
 */
#pragma once

#include "sync/principal/shared/shared.h"

/* An object of the hub that goes to every agent that it concerns. */
struct shared {
    ab_record record; /* first */
    ab_principal *principal;
    const ab_kind *kind;
    char *key;
    char *version; /* resourceVersion that the store has shown last */
    bool exists;
    bool deleting;       /* AppProject: its finalizers are to be dropped */
    ab_project *project; /* AppProject: which agents it is for */
    char *scope;         /* Secret: key of its project; NULL: it is for no agent */
    bool requeued;
    bool for_all;         /* requeued: every agent is to be sent it; else those that asked since: */
    uint64_t informed_at; /* principal.asks, when agents were told last */
};

/* record.c */
/** NULL when the hub has none of this key, and had none lately. */
struct shared *ab_principal_shared_find(const ab_principal *p, ab_str key);
/** How many Secrets wait for the agent's certificate is to be counted. */
void ab_principal_shared_count_again(struct peer *peer);
/** Look at those again that depend on the project of key `scope`: for all agents, or those that
 * asked. */
void ab_principal_shared_requeue_secrets(const ab_principal *p, const char *scope, bool for_all);
