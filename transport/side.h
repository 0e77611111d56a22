/* SPDX-License-Identifier: Apache-2.0
 *
 * Side calls of argocd-agent: for each log and each terminal that it is asked for, an agent opens a
 * call beside its stream, and the first message names the request. Only the transport that speaks
 * to argocd-agents has them; what the messages say is for live/gopeer.
 *
 * Loop thread; no call blocks, and no upcall is made from inside a call of these ops.
 */
#pragma once

#include "base/core/buf.h"
#include "base/core/error.h"

#include <stdbool.h>

typedef enum { AB_SIDE_LOGS, AB_SIDE_TERMINAL } ab_side_kind;

/* What happens on a side call. Functions of ab_side_ops may be called from all but on_end. */
typedef struct {
    /** One message; borrowed. */
    void (*on_message)(void *arg, ab_str bytes);
    /** After FULL: room again. */
    void (*on_writable)(void *arg);
    /** PRINCIPAL: the agent sends nothing more. Not at an agent. */
    void (*on_half_close)(void *arg);
    /** It was ended by the other end, was cut, or could not be begun: once, as the last.
     *  @param why  for people; borrowed */
    void (*on_end)(void *arg, const char *why);
} ab_side_handler;

/* One call; belongs to the transport. */
typedef struct ab_side {
    const struct ab_side_ops *ops;
    const ab_side_handler *handler; /* of who has it; NULL: nobody */
    void *arg;
} ab_side;

/* After `finish`, `cancel` and on_end it must not be used any more. */
typedef struct ab_side_ops {
    /** Queue one message; copied. @return FULL: not taken, on_writable follows; CLOSED: it is
     *  ending, on_end follows; TOOBIG, NOMEM */
    ab_err (*send)(ab_side *side, ab_str bytes);
    /** No on_message until `resume`; the peer waits by its window. */
    void (*pause)(ab_side *side);
    void (*resume)(ab_side *side);
    /** It went as it should: what is queued goes out. */
    void (*finish)(ab_side *side);
    /** Break it off; the peer is told that nobody waits for it any more. */
    void (*cancel)(ab_side *side);
} ab_side_ops;
