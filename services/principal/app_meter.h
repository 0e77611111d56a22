/* SPDX-License-Identifier: Apache-2.0
 *
 * Shows how many Applications of each agent are in which state. Loop thread.
 */
#pragma once

#include "base/core/map.h"
#include "base/observe/metrics.h"
#include "sync/principal/principal.h"

typedef struct {
    ab_metrics *metrics;         /* borrowed */
    const ab_principal *machine; /* borrowed */
    ab_map *agents;              /* name -> struct shown: those that have, or had, Applications */
} ab_app_meter;

/** @return NOMEM */
AB_MUST_USE ab_err ab_app_meter_init(ab_app_meter *m, ab_metrics *metrics,
                                     const ab_principal *machine);
/** Also of a zeroed one. */
void ab_app_meter_fini(ab_app_meter *m);
/** It is served no more; its series are dropped by the caller. */
void ab_app_meter_remove(ab_app_meter *m, const char *agent);
/** Bring the gauges of these agents up to date, before they are shown. @param agents  by name */
void ab_app_meter_measure(ab_app_meter *m, const ab_map *agents);
