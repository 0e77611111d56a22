/* SPDX-License-Identifier: Apache-2.0
 *
 * A transport inside one process, for tests: a switch that a principal and any number of agents on
 * one loop attach to. It keeps what Kafka keeps (a durable, compacting log per agent and direction,
 * which outlives the ends) and loses what Kafka loses (the live lane), at once and without a
 * network.
 */
#pragma once

#include "transport/transport.h"

/* Sends in flight per agent and direction before FULL. */
#define AB_INPROC_QUEUE_MAX 64
/* Larger events are TOOBIG: bytes of attributes and data. */
#define AB_INPROC_EVENT_MAX (1024u * 1024)

typedef struct ab_inproc ab_inproc;

/** An empty switch, owned by the caller; NULL when out of memory. Loop thread; so all below. */
ab_inproc *ab_inproc_new(void);
/** Drop the switch and its logs. Every end must be freed first. NULL is allowed. */
void ab_inproc_free(ab_inproc *sw);
/** The ops whose ends attach to this switch, for ab_transport_new_with. Valid while the switch
 * lives. */
const ab_transport_ops *ab_inproc_transport(ab_inproc *sw);
/**
 * Cut or repair the line between the switch and one agent. While it is cut nothing reaches the
 * agent, its state sends wait (until FULL), its live sends fail with UNAVAILABLE, and both sides
 * see on_peer go.
 *
 * @param agent  a name that an end has been made for
 */
void ab_inproc_cut(ab_inproc *sw, const char *agent, bool cut);
/** Begin one agent's logs again, as when topics are deleted and made again: both sides see
 * RECREATED and read back. `agent` as for ab_inproc_cut. */
void ab_inproc_recreate(ab_inproc *sw, const char *agent);
