/* SPDX-License-Identifier: Apache-2.0
 *
 * Events through a broker: how many a second, and how long one takes.
 */
#pragma once

#include "tests/bench/base/report.h"

/* What the user asked for. */
typedef struct {
    const char *broker; /* host:port */
    ab_bench_format format;
    unsigned rounds;
    const char *programs; /* folder of the daemons */
    const char *hub;      /* kubeconfig of an API server; NULL: none */
    const char *spoke;    /* of another */
    const char *grpc_go;  /* tests/support/grpc/grpc-go; NULL: do not measure it */
    const char *agents;   /* sizes of fleets: "100,300,1000" */
    unsigned seconds;     /* of each window of a fleet */
} ab_bench_options;

/** librdkafka alone. @return false when it failed; said on stderr */
bool ab_bench_flow_raw(const ab_bench_options *o);
/** Our transport and librdkafka in turn, so that both see the same machine. */
bool ab_bench_flow_transport(const ab_bench_options *o);
