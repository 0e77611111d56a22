/* SPDX-License-Identifier: Apache-2.0
 *
 * What the hub's store tells the principal of a world. For world.c.
 */
#pragma once

#include "tests/unit/sync/world/world.h"

/** For fake_events.on_change. */
void world_hub_change(void *arg, fake_change change, ab_object *object);
/** Is its watch interrupted, and was every change told? */
bool world_hub_can_resume(const world *w);
void world_resume_hub(world *w);
