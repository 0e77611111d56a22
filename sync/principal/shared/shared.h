/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared objects: AppProjects, repository Secrets and the GPG keys of the hub go to every agent
 * that they concern.
 */
#pragma once

#include "sync/principal/state.h"

/* shared.c: who gets what */
/** The store has shown an object that may be shared; others are ignored. */
void ab_principal_shared_on_updated(ab_principal *p, ab_object *object);
/** It is gone. @param observed  as ab_principal_on_deleted */
void ab_principal_shared_on_deleted(ab_principal *p, const ab_object *object, bool observed);
enum verdict { NOT_FOR_IT, FOR_IT, NOT_KNOWN_YET };
/** Is this object for that agent? */
enum verdict ab_principal_shared_verdict(const struct peer *peer, ab_str key);
/** Show how many Secrets wait for a certificate: agents that are too many for one tick are counted
 * in the next ones, in turn. */
void ab_principal_shared_tick(ab_principal *p);

/* record.c: they are looked at again */
/** Does the hub have this object? */
bool ab_principal_shared_exists(const ab_principal *p, ab_str key);
/** Look at all again, for all agents. */
void ab_principal_shared_requeue_all(ab_principal *p);
/** The agent takes the hub's objects from now on: look at all again, for it. */
void ab_principal_shared_open(struct peer *peer);
/** It takes them no more. */
void ab_principal_shared_close(struct peer *peer);
/** Look at those again, for this agent, that depend on this project. */
void ab_principal_shared_requeue_project(struct peer *peer, ab_str key);
/** Look at one again, for this agent. */
void ab_principal_shared_requeue(struct peer *peer, ab_str key);
/** Free what a record has, for ab_map_free. */
void ab_principal_shared_fini(void *value);

/* error.c: what agents cannot do with them; there is no status to show it */
/** Is this event about such an error? */
bool ab_principal_shared_is_error(const ab_event *event);
/** Learn what the agent says is wrong, or is not wrong any more. */
void ab_principal_shared_note_error(struct peer *peer, const ab_event *event);
/** Add what is held of the agent's errors, for a resync with it. */
void ab_principal_shared_hold_errors(const struct peer *peer, ab_inventory *inv);
/** It can never be sent to this agent as it is. */
void ab_principal_shared_note_unsendable(struct peer *peer, ab_str key, const ab_error *err);
/** Something else of this key is to be sent. */
void ab_principal_shared_note_queued(struct peer *peer, ab_str key);
/** Free an error, for ab_map_free. */
void ab_principal_shared_error_free(void *value);
