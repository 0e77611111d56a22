/* SPDX-License-Identifier: Apache-2.0
 *
 * Payloads of shared objects (AppProject, Secret, ConfigMap): what an agent is to have of the hub's
 * object. Pure functions from JSON to JSON; equal desired states give equal text.
 */
#pragma once

#include "base/json/object.h"

/** Member "metadata": identity, labels and the user's annotations. */
void ab_render_metadata(ab_spanw *w, const ab_object *hub);
/** The whole object, without .status: the same for every agent. @return what `out` reports */
AB_MUST_USE ab_err ab_render_whole(const ab_object *hub, const char *agent,
                                   bool destination_mapping, ab_buf *out);
