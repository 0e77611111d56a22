/* SPDX-License-Identifier: Apache-2.0
 *
 * What the fleet page shows is the state of the fleet that argobusctl shows.
 */
#pragma once

#include "services/principal/state.h"

/** Serve the fleet page, where the configuration says so. @return CONFIG, UNAVAILABLE, NOMEM */
AB_MUST_USE ab_err ab_fleet_page_start(service *s, ab_error *err);
