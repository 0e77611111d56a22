/* SPDX-License-Identifier: Apache-2.0
 *
 * What decoders add to a draft, where ab_event_set would let a second value replace the first
 * unseen.
 */
#pragma once

#include "event/event.h"

/** As {0}, without touching the room for attributes, which is large. */
void ab_draft_init(ab_event_draft *d);
/** As ab_event_set_typed. @return INVALID when the attribute is set already, TOOBIG when there are
 * too many */
AB_MUST_USE ab_err ab_draft_add(ab_event_draft *d, ab_str name, ab_str value, ab_attr_type type,
                                ab_error *err);
/** Value of an attribute, absent when not set. Borrowed. */
ab_str ab_draft_get(const ab_event_draft *d, const char *name);
