/* SPDX-License-Identifier: Apache-2.0
 *
 * Events that arrive.
 */
#pragma once

#include "sync/principal/state.h"

/** The delivery is dealt with. */
void ab_principal_ack(const ab_principal *p, void *delivery);
/** Keep an event until the store is listed or the peer is ready. @return NOMEM */
AB_MUST_USE ab_err ab_principal_hold(struct peer *peer, ab_event *event, void *delivery);
/** Count and log an event that is not accepted. */
void ab_principal_refuse(const struct peer *peer, const ab_event *event, const char *reason);
/** An answer names the command by its key "ack/<id>". */
ab_str ab_principal_answered_id(const ab_event *event);
