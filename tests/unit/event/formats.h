/* SPDX-License-Identifier: Apache-2.0
 *
 * Events as peers write them and whole messages of them: argobus itself writes no JSON event, and
 * its protobuf messages stand in others. For the tests of the readers.
 */
#pragma once

#include "event/codec_json.h"
#include "event/codec_protobuf.h"

/** Append the event: data as `data` when datacontenttype is JSON (its text unchanged), else as
 * `data_base64` (CloudEvents JSON format, 3.1). @return what `out` reports */
AB_MUST_USE ab_err event_to_json(const ab_event *e, ab_buf *out);
/** Append the message's bytes. @return what `out` reports, NOMEM */
AB_MUST_USE ab_err event_to_protobuf(const ab_event *e, ab_buf *out);
/** @param lenient  as in ab_event_from_message
 *  @return PARSE, INVALID, TOOBIG, NOMEM */
AB_MUST_USE ab_err event_from_protobuf(ab_str bytes, bool lenient, ab_event **out, ab_error *err);
