/* SPDX-License-Identifier: Apache-2.0
 *
 * Empties one outbox into the transport: as fast as that takes events, again when it says so, again
 * after a pause.
 */
#pragma once

#include "base/core/list.h"
#include "services/traces.h"
#include "sync/outbox.h"
#include "transport/transport.h"

typedef struct {
    ab_transport *transport;
    const char *agent; /* NULL at an agent */
    ab_outbox *outbox;
    const ab_clock *clock;
    /* An event can never go: too big, refused. */
    void (*unsendable)(void *arg, const char *agent, const ab_event *event, const ab_error *err);
    void *arg;
    ab_traces *traces; /* borrowed; NULL: no traces */
    size_t in_flight;  /* sends whose outcome is to come */
    ab_link
        *unsent; /* its owner's list of those that have something to send; NULL: there is none */
    ab_link in_unsent;
} ab_sender;

/** Before all else. @param values  copied */
void ab_sender_init(ab_sender *p, const ab_sender *values);

/** Its outbox goes away: what is in flight ends without anybody hearing of it. `p` is freed (it is
 * of malloc) when nothing is in flight any more. */
void ab_sender_abandon(ab_sender *p);
/** Send what can be sent now. Call whenever there may be something. Loop thread. */
void ab_sender_run(ab_sender *p);
/** Run those of this list that have waited since the last call. */
void ab_sender_run_all(ab_link *unsent);
