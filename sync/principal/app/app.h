/* SPDX-License-Identifier: Apache-2.0
 *
 * An Application of the hub: what it says goes down to its agent, what the agent reports comes into
 * its status.
 */
#pragma once

#include "sync/principal/state.h"

/** The store has shown it, or has read it again. */
void ab_principal_app_on_updated(ab_principal *p, ab_object *object);
/** It is gone, or is nobody's any more. @param observed  as ab_principal_on_deleted */
void ab_principal_app_on_deleted(ab_principal *p, const ab_object *object, bool observed);
/** Free what a record has, for ab_map_free. */
void ab_principal_app_fini(void *value);
