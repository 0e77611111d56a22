/* SPDX-License-Identifier: Apache-2.0
 *
 * Random histories of a hub with several agents: what is drawn by lot, and what may befall any
 * agent.
 */
#pragma once

#include "tests/unit/sync/world/hub.h"

/** One of 0 to below - 1; moves `*random` on, which a seed begins. */
size_t fleet_draw(uint64_t *random, size_t below);
/** Seeds 1 to `seeds`, or SYNC_MODEL_SEEDS of them from SYNC_MODEL_SEED. */
void fleet_each_seed(uint64_t seeds, void (*run)(uint64_t seed));

/** The link of a served agent is cut, or mended. */
void fleet_cut_or_mend(hub *h, const char *agent);
/** It is served no more, or again. */
void fleet_take_or_bring(hub *h, const char *agent);
/** What was sent to it is lost, if it is connected; all happens that can. */
void fleet_lose_log(hub *h, const char *agent);
/** All agents are served and connected; all happens that can, for longer than anything waits. */
void fleet_mend(hub *h);
