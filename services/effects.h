/* SPDX-License-Identifier: Apache-2.0
 *
 * What the sync machines ask for, done by the store, the state database and the transport of a
 * daemon.
 */
#pragma once

#include "services/service.h"
#include "sync/reconcile/effects.h"

/** All but `wake` and what only a principal has. @param s  borrowed; the `arg` of all effects,
 * which may so be a daemon's own state */
ab_effects ab_service_effects(ab_service *s);
