/* SPDX-License-Identifier: Apache-2.0
 *
 * What may befall any of a hub's agents.
 */
#pragma once

#include "tests/unit/sync/world/hub.h"

/** The link of a served agent is cut, or mended. */
void fleet_cut_or_mend(hub *h, const char *agent);
/** It is served no more, or again. */
void fleet_take_or_bring(hub *h, const char *agent);
/** What was sent to it is lost, if it is connected; all happens that can. */
void fleet_lose_log(hub *h, const char *agent);
/** All agents are served and connected; all happens that can, for longer than anything waits. */
void fleet_mend(hub *h);
