/* SPDX-License-Identifier: Apache-2.0
 *
 * Mirrors: what exists at the hub for the objects of autonomous agents. A mirror follows its source
 * and nothing else: what users change of it is undone, and what they ask for becomes a command.
 */
#pragma once

#include "sync/principal/state.h"

/** How the engine reconciles mirrors. */
extern const ab_record_type ab_mirror_type;
/** Free what a record has, for ab_map_free. */
void ab_mirror_fini(void *value);

/** An object of the hub was seen; of interest if it is a mirror, or where one is to be. */
void ab_mirror_on_updated(ab_principal *p, ab_object *object);
/** It is there no more. @param observed  as ab_principal_on_deleted */
void ab_mirror_on_deleted(ab_principal *p, const ab_object *object, bool observed);
/** Deal with what an autonomous agent says. The delivery is acknowledged when that is kept. */
void ab_mirror_take(struct peer *peer, ab_event *event, void *delivery);
/** An agent is served from now on, or no more. */
void ab_mirror_agents_changed(const ab_principal *p, const char *agent);

/** Look again at those of one agent. */
void ab_mirror_requeue_agent(const struct agent_records *r);
/** Look again at all. */
void ab_mirror_requeue_all(ab_principal *p);

/** Is there a mirror here, or what was one? */
bool ab_mirror_exists(const ab_principal *p, ab_str key);
/** Add what is held of this agent's objects, and of their errors, for a resync with it. */
void ab_mirror_hold_all(const struct agent_records *r, ab_inventory *inv);
/** Does a mirror of this agent ask for command `id`, and has no answer? */
bool ab_mirror_ask_for(const struct agent_records *r, ab_str id);
