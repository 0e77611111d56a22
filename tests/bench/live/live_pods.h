/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods of kubelet-dev, which the agents' API server has as a node: they run a script each.
 */
#pragma once

#include "tests/bench/live/live_case.h"

#define AB_BENCH_LIVE_SPACE "/api/v1/namespaces/argobus-bench-live"
#define AB_BENCH_LIVE_SLEEP "echo ready; exec sleep 100000" /* a script */

/** Make one and wait until it has printed something; one of this name that still ends is waited
 * for.
 * @param script  of bash, without what JSON escapes. @return false; said on stderr */
bool ab_bench_live_pod_start(const ab_bench_live_case *c, const char *name, const char *script);
/** Begin to delete it. @return false; said on stderr */
bool ab_bench_live_pod_stop(const ab_bench_live_case *c, const char *name);
