/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of the log about agents that connect and disconnect. Each agent causes as many a minute as
 * of ab_log_quota, so that one that does so all the time does not fill the log, and a whole fleet
 * that comes back has its lines. What was logged last about an agent is true when its minute is
 * over: a change that was held back is logged then. Agents that are not served share their lines:
 * an authority may have made certificates for any number of them. Loop thread.
 */
#pragma once

#include "base/core/clock.h"
#include "base/observe/log.h"
#include "base/observe/log_quota.h"
#include "transport/transport.h"

typedef struct ab_presence_log ab_presence_log;

/** Both are borrowed. @return owned by the caller: ab_presence_log_free; NULL when out of memory */
ab_presence_log *ab_presence_log_new(ab_log *log, const ab_clock *clock);
/** NULL is allowed. */
void ab_presence_log_free(ab_presence_log *l);
/** The agent has connected, or disconnected. @param peer  what it says of itself; NULL: gone */
void ab_presence_log_note(ab_presence_log *l, const char *agent, const ab_peer *peer);
/** May another line that follows from that go into the log? @return the agent's quota, whose
 * `held_back` the line tells; NULL: it may not */
const ab_log_quota *ab_presence_log_may(ab_presence_log *l, const char *agent);
/** The agent has logged in, and is not served: logged once, and of all such agents as many lines a
 * minute as of ab_log_quota. */
void ab_presence_log_note_unserved(ab_presence_log *l, const char *agent);
/** Log what was held back for a minute. */
void ab_presence_log_tick(ab_presence_log *l);
/** The agent is not served any more. */
void ab_presence_log_forget(ab_presence_log *l, const char *agent);
