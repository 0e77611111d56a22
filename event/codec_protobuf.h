/* SPDX-License-Identifier: Apache-2.0
 *
 * CloudEvents protobuf event format 1.0 (message io.cloudevents.v1.CloudEvent), as argocd-agent's
 * peers encode it: dataschema as ce_uri, every extension as ce_string, data as binary_data;
 * text_data and proto_data are read too. The bytes are protobuf-c's (schema/proto); here is what
 * each field of the message means to an event.
 */
#pragma once

#include "event/event.h"
#include "schema/protobuf.h"

struct Io__Cloudevents__V1__CloudEvent; /* schema/proto/cloudevents.pb-c.h */

/**
 * @param arena    where the message lies; large data is taken out of it
 * @param lenient  accept what Go peers leave out: empty id and source become "-" (they never set
 * id, and the principal's source is empty)
 * @return INVALID, TOOBIG, NOMEM
 */
AB_MUST_USE ab_err ab_event_from_message(const struct Io__Cloudevents__V1__CloudEvent *message,
                                         ab_pb_arena *arena, bool lenient, ab_event **out,
                                         ab_error *err);
/**
 * Initialise the arena and read into it a message that is an event or holds one.
 *
 * @param arena  to be released whatever is returned
 * @param out    lies in the arena
 * @return PARSE, TOOBIG, NOMEM
 */
AB_MUST_USE ab_err ab_event_unpack(ab_pb_arena *arena, const ProtobufCMessageDescriptor *type,
                                   ab_str bytes, const ProtobufCMessage **out, ab_error *err);

/** Append all of the message but its end, which is the bytes of the event's data.
 *  @return what `out` reports, NOMEM */
AB_MUST_USE ab_err ab_event_to_protobuf_head(const ab_event *e, ab_buf *out);
