/* SPDX-License-Identifier: Apache-2.0
 *
 * Events that arrive.
 */
#pragma once

#include "sync/principal/state.h"

/** The version that an event of an agent has. @return false: it has none, or one that cannot be
 *  (schema/epoch.h) */
bool ab_principal_read_version(const ab_principal *p, const ab_event *event, ab_version *out);
/** The delivery is dealt with. */
void ab_principal_ack(const ab_principal *p, void *delivery);
/** Keep an event until the store is listed or the peer is ready. @return NOMEM */
AB_MUST_USE ab_err ab_principal_hold(struct peer *peer, ab_event *event, void *delivery);
/** May a line that the peer has caused go into the log? Asked before each, so that a peer cannot
 * fill it. The line tells peer->lines.held_back. */
bool ab_principal_may_log(struct peer *peer);
/** Count an event that is not accepted, and log it. */
void ab_principal_refuse(struct peer *peer, const ab_event *event, const char *reason);
/** The same, and acknowledge it. Short of memory (reason "memory") it is not dealt with:
 * unacknowledged, it comes again after a restart. */
void ab_principal_refuse_delivery(struct peer *peer, const ab_event *event, void *delivery,
                                  const char *reason);
/** An answer names the command by its key "ack/<id>". */
ab_str ab_principal_answered_id(const ab_event *event);
/** An event about an object that is not, or no more, the sender's. An answer ends its command all
 * the same, or it would stand in both logs for ever. @return why it is refused; NULL: it is not */
const char *ab_principal_take_stray(struct peer *peer, ab_event *event, void *delivery,
                                    ab_type type, const char *key);
