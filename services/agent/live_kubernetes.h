/* SPDX-License-Identifier: Apache-2.0
 *
 * The workload cluster's API server, as live access may use it: the policy of the options
 * live.kubernetes.*, and who the agent is there, as for the store. Loop thread.
 */
#pragma once

#include "live/resource/spoke/spoke.h"
#include "services/daemon/daemon.h"

typedef struct ab_agent_live_kubernetes ab_agent_live_kubernetes;

/** The options live.kubernetes.*, live.exec and live.terminal.*. */
extern const ab_options ab_agent_live_kubernetes_options;

/** Whether the options are good. @return CONFIG naming the option, NOMEM */
AB_MUST_USE ab_err ab_agent_live_kubernetes_check(const ab_config *config, ab_error *err);
/** The API server is that of store.kind kubernetes, or of store.kubernetes.kubeconfig beside
 * another store. Without one every request is refused.
 *  @return CONFIG, NOMEM; `out` is to be freed all the same */
AB_MUST_USE ab_err ab_agent_live_kubernetes_new(ab_daemon *daemon, ab_agent_live_kubernetes **out,
                                                ab_error *err);
/** After every stream is over. NULL is allowed. The loop must be run afterwards. */
void ab_agent_live_kubernetes_free(ab_agent_live_kubernetes *k);
/** As ab_live_service.serve, for AB_RESOURCE_SERVICE. @param arg  what new has made */
void ab_agent_live_kubernetes_serve(void *arg, ab_live_stream *s, const ab_live_request *request);
/** The same for AB_RESOURCE_EXEC_SERVICE. */
void ab_agent_live_kubernetes_serve_terminal(void *arg, ab_live_stream *s,
                                             const ab_live_request *request);
