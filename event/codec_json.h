/* SPDX-License-Identifier: Apache-2.0
 *
 * CloudEvents JSON event format 1.0 (application/cloudevents+json).
 */
#pragma once

#include "event/event.h"

/** Append the event: data as `data` when datacontenttype is JSON (its text unchanged), else as
 * `data_base64` (§3.1). @return what `out` reports */
AB_MUST_USE ab_err ab_event_to_json(const ab_event *e, ab_buf *out);
/** @return PARSE, INVALID (says which member and why; both data and data_base64), TOOBIG, NOMEM */
AB_MUST_USE ab_err ab_event_from_json(ab_str text, ab_event **out, ab_error *err);
