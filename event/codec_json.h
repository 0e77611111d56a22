/* SPDX-License-Identifier: Apache-2.0
 *
 * CloudEvents JSON event format 1.0 (application/cloudevents+json), which is read only.
 */
#pragma once

#include "event/event.h"

/** @param partitionkey  unless absent, takes the place of what the text says
 *  @return PARSE, INVALID (says which member and why; both data and data_base64), TOOBIG, NOMEM */
AB_MUST_USE ab_err ab_event_from_json(ab_str text, ab_str partitionkey, ab_event **out,
                                      ab_error *err);
