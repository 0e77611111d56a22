/* SPDX-License-Identifier: Apache-2.0
 *
 * The fleet as a principal tells it (services/principal/fleet/view.h), and what tables show of it.
 */
#pragma once

#include "services/ctl/fleet/ask.h"
#include "services/ctl/output.h"

/** Ask for the state of all agents; as ab_ctl_ask, and FAILED for a response without "agents". */
AB_MUST_USE int ab_ctl_ask_fleet(const ab_ctl *ctl, cJSON **answer);
/** Ask for the state of one agent and its objects; as ab_ctl_ask, and FAILED for a response without
 * "objects". */
AB_MUST_USE int ab_ctl_ask_agent(const ab_ctl *ctl, const char *agent, cJSON **answer);

/* Cells of an agent's row. */
/** How many changes wait on the way down, with the age of the oldest; "?" while it is not known. */
void ab_ctl_put_down(const cJSON *agent, ab_buf *cell);
void ab_ctl_put_down_age(const cJSON *agent, ab_buf *cell);
/** The same on the way up. */
void ab_ctl_put_up(const cJSON *agent, ab_buf *cell);
void ab_ctl_put_up_age(const cJSON *agent, ab_buf *cell);
/** "yes", "no", or "never": not since the principal started. */
void ab_ctl_put_connected(const cJSON *agent, ab_buf *cell);
/** How many deletions are held back; nothing when none is. */
void ab_ctl_put_held(const cJSON *agent, ab_buf *cell);
/** How long ago it connected or disconnected. */
void ab_ctl_put_since(const cJSON *agent, ab_buf *cell);
