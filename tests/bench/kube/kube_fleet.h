/* SPDX-License-Identifier: Apache-2.0
 *
 * Many agents at one principal, whose hub is an API server. The agents have directory stores, so
 * that one machine can carry them.
 */
#pragma once

#include "tests/bench/base/api.h"
#include "tests/bench/base/site.h"

typedef struct {
    uv_loop_t loop;
    ab_bench_api hub;
    ab_bench_site site;
    bool opened;
} ab_bench_fleet;

/** Make the site, connect to the hub, empty the agents' namespaces there. @return false; said on
 * stderr */
bool ab_bench_fleet_open(ab_bench_fleet *f, const ab_bench_options *o, unsigned agents);
/** Stop the daemons, empty the namespaces; also after a failed open. @param ok  else logs stay */
void ab_bench_fleet_close(ab_bench_fleet *f, bool ok);
/** Start principal and agents; returns when nothing moves any more. */
bool ab_bench_fleet_start(ab_bench_fleet *f);
/** Create so many Applications for each agent; returns when they are there. */
bool ab_bench_fleet_bring(ab_bench_fleet *f, size_t each, size_t bytes);
