/* SPDX-License-Identifier: Apache-2.0
 *
 * Many agents over Kafka in one process, which share librdkafka's handles: two producers, one
 * handle for commits, and a consumer for every 200 topics. An agent of argobus has a client of its
 * own, with 14 threads and 30 files: two cores carry 400 of them, and 3,000 are to be simulated.
 *
 * Principal and broker see what a real agent sends: the same events with the same headers, hellos
 * on the state topic and then on the live topic, commits of its own group after the effect. What
 * they do not see: members of the groups <prefix>.agent.<agent>.live, a log that is read at start
 * (the topics have just been made), and a second process of the same name. fleet_wire.c compares
 * what is written with a real agent's.
 */
#pragma once

#include "tests/bench/transport/member.h"

typedef struct ab_bench_shared_kafka ab_bench_shared_kafka;

/** The handles. `h->configure` gives the settings, those of an agent. Ends the process on failure.
 */
ab_bench_shared_kafka *ab_bench_shared_kafka_new(ab_bench_host *h);
/** As ab_bench_member, for an agent with empty logs; to be started. */
ab_transport *ab_bench_shared_kafka_member(ab_bench_shared_kafka *k, const char *agent,
                                           const ab_transport_events *events);
