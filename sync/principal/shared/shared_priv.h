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
    const char *key; /* the map's */
    char *version;   /* resourceVersion that the store has shown last */
    bool exists;
    bool deleting;       /* AppProject: its finalizers are to be dropped */
    ab_project *project; /* AppProject: which agents it is for */
    char *scope;         /* Secret: key of its project; NULL: it is for no agent */
    bool requeued;
    bool for_all;         /* requeued: every agent is to be sent it; else those that asked since: */
    uint64_t informed_at; /* principal.asks, when agents were told last */
    uint64_t noted;       /* the number of the version that the store has shown last */
    uint64_t reading;     /* principal.notes, when the read under way began */
    uint64_t confirmed;   /* the same, of the last read that gave the version shown last of an
                             AppProject, or that found no project of a Secret */
    bool unconfirmed;     /* Secret: it waits until its project is confirmed */
    bool sought; /* AppProject that the store has not shown: a Secret waits to know if it exists */
};

/* record.c */
/** NULL when the hub has none of this key, and had none lately. */
struct shared *ab_principal_shared_find(const ab_principal *p, ab_str key);
/** As ab_principal_shared_find, but it is made if there is none. @return NULL without memory */
struct shared *ab_principal_shared_for(ab_principal *p, ab_str key, const ab_record_type *type);
/** Look at it again, for all agents, or those that asked. */
void ab_principal_shared_look_again(struct shared *s, bool for_all);
/** Remember which agents the AppProject is for, and tell of denials that cannot be evaluated.
 *  @return NOMEM */
AB_MUST_USE ab_err ab_principal_shared_note_project(struct shared *s, const ab_object *hub);
/** How many Secrets wait for the agent's certificate is to be counted. */
void ab_principal_shared_count_again(struct peer *peer);
/** Look at those again that depend on the project of key `scope`: for all agents, or those that
 * asked. */
void ab_principal_shared_requeue_secrets(const ab_principal *p, ab_str scope, bool for_all);

/* confirm.c */
/** The store has shown another version of it. */
void ab_principal_shared_note_version(struct shared *s);
/** Was the Secret's project read since the Secret is as it is, one that the store has not shown,
 * too? */
bool ab_principal_shared_is_confirmed(const struct shared *secret);
/** It was not: it is to be read, and the Secret is looked at again then. */
void ab_principal_shared_seek_project(struct shared *secret);
/** A read of it begins. */
void ab_principal_shared_note_reading(struct shared *s);
/** Has a Secret's project not changed since that? If it has, the Secret, which may be gone since,
 * is read again. */
bool ab_principal_shared_is_read_in_time(struct shared *s);
/** What was read is what the store has shown: Secrets may go to whom it says. */
void ab_principal_shared_confirm(struct shared *project);
/** One that is sought was read. @param hub  NULL: the store has none */
void ab_principal_shared_note_sought(struct shared *project, const ab_object *hub);

/* render.c */
/** Do Secrets go to this agent as they are, not sealed? */
bool ab_principal_shared_is_in_clear(const struct peer *peer);
/** Payload for this agent, and the digest by which it is compared; the payload stays empty when the
 * agent has it already, sealed.
 *  @return CLOSED until the agent has a certificate to seal it to; else the error of sealing or of
 * `payload` */
AB_MUST_USE ab_err ab_principal_shared_render(const struct shared *s, const struct peer *peer,
                                              const ab_object *hub, ab_buf *payload,
                                              ab_digest *digest, ab_error *err);
