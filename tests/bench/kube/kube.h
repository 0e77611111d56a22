/* SPDX-License-Identifier: Apache-2.0
 *
 * Hub to spoke and back over two real API servers, with the real programs and a real broker between
 * them. Each returns false when it failed; said on stderr.
 */
#pragma once

#include "tests/bench/transport/flow.h"

/** 1,000 Applications created at the hub until they are at the spoke, against creating them at
 * both. */
bool ab_bench_kube_create(const ab_bench_options *o);
/** 1,000 statuses written at the spoke until they are at the hub, against writing them at both. */
bool ab_bench_kube_status(const ab_bench_options *o);
/** One Application, and one status, at a time; the requests that each costs. */
bool ab_bench_kube_change(const ab_bench_options *o);
/** 1,500 Applications changed and 150 deleted while the agent is away, until the spoke is right. */
bool ab_bench_kube_catch_up(const ab_bench_options *o);
/** Statuses a second when each answer of the hub takes 100 ms more. */
bool ab_bench_kube_slow(const ab_bench_options *o);
/** Memory of the principal with 10,000 Applications of 10 KiB over 20 agents; of an agent with
 * 1,000. */
bool ab_bench_kube_memory(const ab_bench_options *o);
/** A principal that starts again while nothing has changed: what it writes and sends. */
bool ab_bench_kube_restart(const ab_bench_options *o);
/** All of these. */
bool ab_bench_kube(const ab_bench_options *o);
