/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether an object of the control plane is a mirror, by its annotations. Users copy objects with
 * them, from cluster to cluster, from namespace to namespace, and under another name (kubectl get
 * -o yaml, kubectl apply): a copy is an object of its own, and no mirror.
 */
#pragma once

#include "base/json/object.h"

/** The agent whose mirror it is; borrowed from `hub`, absent: it is none, or another program's,
 * which does not name the agent. */
ab_str ab_mirror_owner(const ab_object *hub);
/** Is it a mirror, ours or another program's? */
bool ab_mirror_is_one(const ab_object *hub);
/** Is it none only because it has another name than the mirror that it was copied from? */
bool ab_mirror_is_renamed_copy(const ab_object *hub);
