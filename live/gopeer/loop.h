/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of live sessions between a hub and a spoke of one process, in place of a transport: each
 * is delivered in a later turn of the loop, in order. Loop thread; upcalls come from the loop, and
 * from ab_gopeer_loop_drop.
 */
#pragma once

#include "event/event.h"
#include "transport/transport.h"

typedef struct ab_gopeer_loop ab_gopeer_loop;

/** @param out  owned by the caller; ab_gopeer_loop_free. @return NOMEM */
AB_MUST_USE ab_err ab_gopeer_loop_new(uv_loop_t *loop, ab_gopeer_loop **out);
/** After what is queued was dropped for everyone. The uv loop must be run afterwards. NULL is
 * allowed. */
void ab_gopeer_loop_free(ab_gopeer_loop *l);
/**
 * Queue an event.
 *
 * @param to       for `deliver`; borrowed until ab_gopeer_loop_drop
 * @param deliver  takes the event, borrowed
 * @param done     as of ab_transport_send: OK after `deliver`
 * @return NOMEM; unless OK, `done` never runs
 */
AB_MUST_USE ab_err ab_gopeer_loop_put(ab_gopeer_loop *l, void *to,
                                      void (*deliver)(void *to, const ab_event *event),
                                      ab_event *event, ab_sent done, void *arg);
/** Deliver nothing more of what is queued for `to`: it ends as UNAVAILABLE, now. */
void ab_gopeer_loop_drop(ab_gopeer_loop *l, const void *to);
