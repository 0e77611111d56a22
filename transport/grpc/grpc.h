/* SPDX-License-Identifier: Apache-2.0
 *
 * The gRPC transport: the agent dials the principal, over argocd-agent's services. It keeps nothing
 * beyond the process: what the other side lacks after a restart is brought by a resync.
 */
#pragma once

#include "transport/transport.h"

/* Of grpc.address and grpc.listen, where they name none. */
#define AB_GRPC_PORT 443

/** The ops and options of `transport: grpc`. */
extern const ab_transport_ops ab_grpc_transport;
/** grpc.* save for grpc.auth.*. */
extern const ab_options ab_grpc_options;
