/* SPDX-License-Identifier: Apache-2.0
 *
 * Shows how many changes are not in effect yet, for each agent and direction, and what its outbox
 * holds. What is in the log or
 * on its way the transport accounts for; what waits in an outbox is added to that here, so that an
 * object that is in both counts once.
 */
#pragma once

#include "base/observe/metrics.h"
#include "sync/outbox.h"
#include "sync/principal/principal.h"
#include "transport/transport.h"

typedef struct ab_changes ab_changes;

/**
 * @param machine  queues what goes down; borrowed; NULL: what does is queued elsewhere
 * @return NULL when out of memory
 */
ab_changes *ab_changes_new(ab_metrics *metrics, const ab_principal *machine);
/** NULL is allowed. */
void ab_changes_free(ab_changes *c);
/**
 * Show this agent, which `transport` serves.
 * @param outbox  what goes down to it; borrowed
 * @return NOMEM
 */
AB_MUST_USE ab_err ab_changes_add(ab_changes *c, const char *agent, ab_transport *transport,
                                  ab_outbox *outbox);
/** Before the transport stops serving it; its series are dropped by the caller. Unknown agents are
 * ignored. */
void ab_changes_remove(ab_changes *c, const char *agent);
/** This agent has deferred the object of `key`, or has not any more: ab_pending_defer, downwards.
 * Unknown agents are ignored. */
void ab_changes_defer(const ab_changes *c, const char *agent, ab_str key, bool deferred);
/** What is pending for this agent in one direction. @return NULL: unknown agent. Borrowed until
 * ab_changes_remove */
const ab_pending *ab_changes_of(const ab_changes *c, const char *agent, ab_direction direction);
/** Do the figures of ab_changes_of say all? Not while its agent's position is not known, or what it
 * is to have is not queued. */
bool ab_changes_are_known(const ab_changes *c, const char *agent, ab_direction direction);
/** Bring the gauges up to date, before they are shown. */
void ab_changes_measure(const ab_changes *c);
