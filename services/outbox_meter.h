/* SPDX-License-Identifier: Apache-2.0
 *
 * Shows what waits in an outbox or is on its way: argobus_outbox_events and argobus_outbox_bytes.
 * The outbox keeps both sums, so measuring costs the same however much waits. Loop thread.
 */
#pragma once

#include "base/observe/metrics.h"
#include "sync/outbox.h"

typedef struct {
    const ab_outbox *outbox;
    ab_metric *events;
    ab_metric *bytes;
} ab_outbox_meter;

/**
 * Make the two gauges of this agent.
 * @param outbox  of what goes to the agent, at an agent of what goes up; borrowed until the last
 *                ab_outbox_meter_measure, so are the gauges
 */
ab_outbox_meter ab_outbox_meter_make(const ab_outbox *outbox, ab_metrics *metrics,
                                     const char *agent);
/** Bring the gauges up to date, before they are shown. */
void ab_outbox_meter_measure(const ab_outbox_meter *m);
