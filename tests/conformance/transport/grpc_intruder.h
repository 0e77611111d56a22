/* SPDX-License-Identifier: Apache-2.0
 *
 * A process that calls a principal without being the agent that it says it is.
 */
#pragma once

#include "net/rpc/rpc.h"
#include "tests/conformance/transport/ends.h"

typedef struct {
    int port;             /* of the principal, in plaintext on this machine */
    const char *agent;    /* whose password it has; NULL: it does not log in */
    const char *instance; /* that it says it is; NULL: it says nothing */
} ab_grpc_intruder;

/** Log in, begin a call for live events, and wait for its end. @return the status that it got */
ab_rpc_status ab_grpc_intrude(ab_ends *ends, const ab_grpc_intruder *as);
