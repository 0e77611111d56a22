/* SPDX-License-Identifier: Apache-2.0
 *
 * One call, for its carrier: its life, what comes in, what goes out, what its headers say.
 */
#pragma once

#include "net/rpc/state.h"

/* call.c */

/** A call on `stream`, without handler. @return NULL when out of memory */
ab_rpc_call *ab_rpc_call_new(ab_rpc_conn *conn, int32_t stream);
/** It has a deadline now, or none any more (0). */
void ab_rpc_call_set_deadline(ab_rpc_call *call, int64_t deadline_ms);
/** Keep what on_end will tell, unless something is kept. `text` is copied. */
void ab_rpc_call_set_fate(ab_rpc_call *call, ab_rpc_status status, ab_str text);
/** It ends here and now for this reason: the peer is told. */
void ab_rpc_call_cut(ab_rpc_call *call, ab_rpc_status status, const char *text);
/** The carrier has closed its stream. */
void ab_rpc_call_stream_closed(ab_rpc_call *call, uint32_t code);
/** on_end, unless `silent`, and free. */
void ab_rpc_call_free(ab_rpc_call *call, bool silent);

/* call_in.c */

/** Server: what the call and its headers, of so many bytes, keep in memory.
 *  @return false: too much; the call is cut */
bool ab_rpc_call_charge(ab_rpc_call *call, size_t bytes);
/** Take bytes of messages in. */
void ab_rpc_call_receive(ab_rpc_call *call, ab_str bytes);
/** The peer sends nothing more. */
void ab_rpc_call_peer_closed(ab_rpc_call *call);
/** Deliver what was held while it was paused. It may be gone afterwards. From the top. */
void ab_rpc_call_go_on(ab_rpc_call *call);

/* call_out.c */

/** Bytes of the first message that is queued, with its prefix; 0: there is none. */
size_t ab_rpc_call_next(const ab_rpc_call *call);
/** Take off what is queued. @return how many bytes; less than `room`: there are no more */
size_t ab_rpc_call_pull(ab_rpc_call *call, uint8_t *into, size_t room);
void ab_rpc_call_drop_queue(ab_rpc_call *call);
/** Server: all that was queued is taken off, or dropped: give the trailers to the carrier. */
void ab_rpc_call_trail(ab_rpc_call *call);
/** There may be room again. */
void ab_rpc_call_drained(ab_rpc_call *call);
/** Tell calls that were refused for the budget, when it has room. From the top. */
void ab_rpc_call_feed(ab_rpc_endpoint *endpoint);

/* heads.c */

/** Server: what a call begins with. */
void ab_rpc_heads_request(ab_rpc_call *call, ab_rpc_head_in *head);
/** Client: headers of the answer. @param last  nothing follows them */
void ab_rpc_heads_response(ab_rpc_call *call, ab_rpc_head_in *head, bool last);
