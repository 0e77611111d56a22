/* SPDX-License-Identifier: Apache-2.0
 *
 * Events to an agent.
 */
#pragma once

#include "sync/principal/state.h"

/** Something can be sent to it. */
void ab_principal_wake(const struct peer *peer);
/** Begin an event about an object of the hub: type, target, subject and whether it is remapped.
 * `subject` must live as long as the draft. */
void ab_principal_address(const ab_principal *p, ab_str key, ab_type type, ab_event_draft *draft,
                          char subject[AB_OBJECT_KEY_MAX]);
/** Queue an object's payload for an agent that takes events. */
void ab_principal_queue(struct peer *peer, const ab_object *hub, ab_type type, ab_str payload,
                        const ab_digest *digest);
/** The store has the object of this key, and the agent's log as well: nothing is queued, but the
 * deletion is proved from now on. */
void ab_principal_confirm_owned(struct peer *peer, ab_str key);
/** End the object's key, if the log has it. @param orphan  what it deployed stays */
void ab_principal_end(struct peer *peer, ab_str key, bool orphan);
/** End an object's key so that nothing is deleted for it: the agent owns the object now. Other keys
 * are left alone. */
void ab_principal_give_up(struct peer *peer, ab_str key);
/** As ab_principal_end, whatever the log has: the agent holds it. */
void ab_principal_end_anyway(struct peer *peer, ab_str key, bool orphan);
