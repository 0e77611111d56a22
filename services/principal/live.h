/* SPDX-License-Identifier: Apache-2.0
 *
 * The control plane's half of live access: the sessions with agents, and who uses them.
 */
#pragma once

#include "live/lane/hub.h"
#include "services/live.h"

typedef struct ab_principal_live ab_principal_live;

/** After the transport was made. @param out  owned by the caller; ab_principal_live_free
 *  @return CONFIG, UNAVAILABLE (an address cannot be bound), NOMEM */
AB_MUST_USE ab_err ab_principal_live_new(ab_service *service, ab_principal_live **out,
                                         ab_error *err);
/** Before the transport is closed: end what is open. NULL is allowed. */
void ab_principal_live_stop(ab_principal_live *l);
/** After the transport was freed. NULL is allowed. The loop must be run afterwards. */
void ab_principal_live_free(ab_principal_live *l);
/** The sessions with agents; borrowed. */
ab_live_hub *ab_principal_live_hub(ab_principal_live *l);
