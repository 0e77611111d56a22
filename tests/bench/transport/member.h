/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes with one or more transports, gRPC or Kafka, that run until they are killed.
 */
#pragma once

#include "tests/bench/base/settings.h"
#include "transport/transport.h"

/* What the transports of a process share. */
typedef struct {
    const char *certs;                                    /* gRPC: folder (certs.h) */
    int port;                                             /* gRPC: of the principal */
    void (*configure)(void *arg, ab_bench_settings *out); /* other than gRPC: all settings */
    void *configure_arg;
    uv_loop_t loop;
    ab_log *log; /* errors only: that agents lose their principal may be what is measured */
    ab_metrics *metrics;
} ab_bench_host;

/** Fill in all but those above `loop`; allow as many files as may be. Ends the process on failure.
 */
void ab_bench_host_init(ab_bench_host *h);
/**
 * Make a transport; to be started. Ends the process on failure, and when the transport cannot go
 * on.
 *
 * @param agent   NULL: the principal
 * @param events  upcalls; those that are NULL are passed over
 */
ab_transport *ab_bench_member(ab_bench_host *h, const char *agent,
                              const ab_transport_events *events);
/** The same of a transport that no configuration names. @param ops  NULL: as ab_bench_member */
ab_transport *ab_bench_member_of(ab_bench_host *h, const ab_transport_ops *ops, const char *agent,
                                 const ab_transport_events *events);
/** Run the loop. */
int ab_bench_host_run(ab_bench_host *h);
/** End the process with code 1. */
void ab_bench_die(const char *what, const char *why) __attribute__((noreturn));
/** The same unless `code` is OK. */
void ab_bench_must(ab_err code, const char *what, const ab_error *err);
