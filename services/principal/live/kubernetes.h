/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the principal serves the Kubernetes APIs of its agents: the options live.resource.*. Loop
 * thread.
 */
#pragma once

#include "live/resource/front/front.h"
#include "services/service.h"

/** The options live.resource.*. */
extern const ab_options ab_principal_live_kubernetes_options;

/** Whether the front could be started: options, certificates and tokens. Nothing is listened on.
 *  @return CONFIG naming the option, NOMEM */
AB_MUST_USE ab_err ab_principal_live_kubernetes_check(const ab_config *config, ab_error *err);
/**
 * Listen, where live.resource.listen says so.
 *
 * @param hub      borrowed; must outlive the front
 * @param revoked  certificates of clients
 * @param out      NULL when it is not set; ab_resource_front_free
 * @return CONFIG, UNAVAILABLE (the address cannot be bound), NOMEM
 */
AB_MUST_USE ab_err ab_principal_live_kubernetes_start(const ab_daemon *daemon, ab_live_hub *hub,
                                                      ab_revoked_ask revoked,
                                                      ab_resource_front **out, ab_error *err);
