/* SPDX-License-Identifier: Apache-2.0
 *
 * One run: a sending and a receiving process, with a broker between them or connected to each
 * other. What carries the events is our transport or something that is its limit; everything else
 * is the same.
 */
#pragma once

#include "tests/bench/base/payload.h"

/* Events sent one at a time, each timed. The first ones warm up and do not count. */
#define AB_BENCH_WARM_UP 50
#define AB_BENCH_SAMPLES 1000
#define AB_BENCH_TIMED   (AB_BENCH_WARM_UP + AB_BENCH_SAMPLES)

/* Events to one agent that may wait for their acknowledgement: default of transport.inflight. */
#define AB_BENCH_WINDOW 1024

enum { AB_BENCH_SENDER, AB_BENCH_RECEIVER };

/* Memory that both processes see. */
typedef struct {
    int64_t begun_ns;  /* before the first event is sent */
    int64_t ended_ns;  /* the last one is acknowledged by the receiver */
    int64_t cpu_ns[2]; /* AB_BENCH_SENDER, _RECEIVER: used from its first event to its last; gRPC */
    int64_t sent_ns[AB_BENCH_TIMED];
    int64_t arrived_ns[AB_BENCH_TIMED];
} ab_bench_track;

typedef struct {
    const char *broker;  /* host:port; Kafka */
    const char *certs;   /* folder of certificates (certs.h); gRPC */
    const char *grpc_go; /* program of tests/support/grpc */
    int port;            /* where the principal listens; gRPC */
    char name[64];       /* of this run alone: names of topics are <name>.<...> */
    const ab_bench_pool *pool;
    size_t count;
    unsigned streams; /* agents, each of which takes an equal share of the events */
    bool one_by_one;  /* the next event is sent when the last one has arrived */
    bool round_trip;  /* gRPC: from an agent to the principal, and it has arrived when that is known
                       */
    int go_fd; /* eventfd, the sender waits for it: the receiver is ready (for the next one) */
    ab_bench_track *track;
} ab_bench_run;

/* Both run in processes of their own and give its exit code. */
typedef struct {
    const char *name;
    int (*send)(const void *run);
    int (*receive)(const void *run);
} ab_bench_carrier;

extern const ab_bench_carrier ab_bench_raw;
extern const ab_bench_carrier ab_bench_raw_headers;
extern const ab_bench_carrier ab_bench_transport;
extern const ab_bench_carrier ab_bench_grpc_bare;
extern const ab_bench_carrier ab_bench_grpc_go;
extern const ab_bench_carrier ab_bench_grpc;

/** The receiver will get whatever is sent from now on. */
void ab_bench_go(const ab_bench_run *run);
/** The sender is about to send the i-th event. */
void ab_bench_sending(const ab_bench_run *run, size_t i);
/** The receiver has the i-th event; of a round trip: the sender knows. */
void ab_bench_arrived(const ab_bench_run *run, size_t i);
/** The receiver has acknowledged the i-th event. @return true when it was the last one */
bool ab_bench_acknowledged(const ab_bench_run *run, size_t i);
/** The sender is done; for those who fill `cpu_ns`. */
void ab_bench_sent(const ab_bench_run *run);
/** The key of the i-th event: no two events of a run have the same. */
void ab_bench_key(size_t i, char out[32]);
