/* SPDX-License-Identifier: Apache-2.0
 *
 * Agents and objects by their names.
 */
#pragma once

#include "sync/principal/state.h"

/** The record of an Application; NULL when there is none. */
ab_principal_app *ab_principal_find(const ab_principal *p, ab_str key);
struct peer *ab_principal_peer(const ab_principal *p, ab_str agent);
/** It takes the hub's objects: managed, and its writer is ready. */
bool ab_principal_takes_state(const struct peer *peer);
/** Its agent is served and takes events. */
bool ab_principal_is_open(const ab_principal_app *app);
/** Is it the key of an object? The log has others too. */
bool ab_principal_is_object(ab_str key);
