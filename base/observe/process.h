/* SPDX-License-Identifier: Apache-2.0
 *
 * What the process itself uses, under the names that Prometheus client libraries have for it.
 */
#pragma once

#include "base/observe/metrics.h"

/**
 * Show process_cpu_seconds_total, process_resident_memory_bytes and process_open_fds, brought up to
 * date before each rendering, and
 * process_start_time_seconds.
 *
 * @param now_us  wall clock, microseconds
 */
void ab_process_metrics(ab_metrics *m, int64_t now_us);
