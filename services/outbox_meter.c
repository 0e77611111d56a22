/* SPDX-License-Identifier: Apache-2.0 */
#include "services/outbox_meter.h"

ab_outbox_meter ab_outbox_meter_make(const ab_outbox *outbox, ab_metrics *metrics,
                                     const char *agent)
{
    const ab_label label = {"agent", ab_str_of(agent)};
    return (ab_outbox_meter){
        .outbox = outbox,
        .events = ab_metric_get(metrics, AB_METRIC_GAUGE, "argobus_outbox_events",
                                "Events that the transport has not accepted yet.", &label, 1),
        .bytes = ab_metric_get(metrics, AB_METRIC_GAUGE, "argobus_outbox_bytes",
                               "Bytes of the events of argobus_outbox_events.", &label, 1)};
}

void ab_outbox_meter_measure(const ab_outbox_meter *m)
{
    ab_metric_set(m->events, (double)ab_outbox_count(m->outbox));
    ab_metric_set(m->bytes, (double)ab_outbox_bytes(m->outbox));
}
