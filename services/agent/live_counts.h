/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports to the principal how much the cache of this cluster holds, for the control plane's page
 * of clusters: when a principal connects, and when it changes. Loop thread.
 */
#pragma once

#include "services/service.h"

typedef struct ab_agent_live_counts ab_agent_live_counts;

/** @param service  borrowed; its transport is made
 *  @param source   of events; borrowed
 *  @param out      owned by the caller: ab_agent_live_counts_free; NULL when live.redis.address is
 *                  not set
 *  @return CONFIG, NOMEM */
AB_MUST_USE ab_err ab_agent_live_counts_new(ab_service *service, const char *source,
                                            ab_agent_live_counts **out, ab_error *err);
/** Read nothing any more: before the transport is closed. NULL is allowed, here and below. */
void ab_agent_live_counts_stop(ab_agent_live_counts *c);
/** After the transport was freed. */
void ab_agent_live_counts_free(ab_agent_live_counts *c);
/** A principal is there, which may know nothing. */
void ab_agent_live_counts_connected(ab_agent_live_counts *c);
