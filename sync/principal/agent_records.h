/* SPDX-License-Identifier: Apache-2.0
 *
 * What belongs to one agent.
 */
#pragma once

#include "sync/principal/state.h"

/** The records of this agent, made if need be, for one more user. @return NULL when out of memory
 */
struct agent_records *ab_agent_records_use(ab_principal *p, ab_str agent);
/** One user less; the last one frees it. NULL is allowed. */
void ab_agent_records_leave(struct agent_records *r);
/** A record of it has a delivery that is not dealt with, or has none. @param counted  whether it
 * is counted as one that has; kept by the record */
void ab_agent_records_count(struct agent_records *r, bool *counted, bool has);
/** Has any record of it a delivery that is not dealt with? */
bool ab_agent_records_are_done(const struct agent_records *r);
