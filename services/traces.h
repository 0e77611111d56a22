/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace of one change, to which both daemons add:
 *
 *      send           producer, at the writer: from queueing the event until the transport has it
 *       |- apply      consumer, at the receiver: from receiving it until the store is written
 *       |   `- write  client: the last write to the store
 *       `- wait       at the principal, of what goes down: until it is in effect at the agent
 *
 * The event carries the trace in attribute traceparent. Loop thread.
 */
#pragma once

#include "services/daemon/daemon.h"
#include "sync/trace.h"

typedef struct ab_traces ab_traces;

/**
 * @param agent  the name of the agent that this is; NULL: it is a principal. Borrowed
 * @param out    NULL when nothing is traced
 * @return CONFIG, NOMEM
 */
AB_MUST_USE ab_err ab_traces_new(const ab_daemon *d, const char *agent, ab_traces **out,
                                 ab_error *err);
/** NULL is allowed. */
void ab_traces_free(ab_traces *t);
/** What the sync machine is given; borrowed. @param t  NULL: gives NULL */
const ab_trace *ab_traces_of_sync(const ab_traces *t);

/** Is what goes down to `agent` under `key` not in effect there yet? */
typedef bool (*ab_traces_waits)(void *arg, const char *agent, ab_str key);
/** PRINCIPAL: how to find out. @param t  NULL is allowed */
void ab_traces_ask(ab_traces *t, ab_traces_waits waits, void *arg);

/**
 * The send of an event ended with this code. One that is to be sent again is told of at its end.
 * @param t      NULL is allowed
 * @param agent  that it went to; NULL: the principal
 */
void ab_traces_sent(ab_traces *t, const char *agent, const ab_event *event, ab_err code);
/** Time has passed. NULL is allowed. */
void ab_traces_tick(ab_traces *t);
