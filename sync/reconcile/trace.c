/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/reconcile/trace_priv.h"

static int64_t now_us(const ab_record *r)
{
    return ab_clock_wall_us(r->reconciler->clock);
}

static bool is_told(const ab_record *r)
{
    return r->reconciler->effects->trace != NULL;
}

void ab_reconcile_trace_received(const ab_record *r, ab_task *task)
{
    if (is_told(r))
        task->received_us = now_us(r);
}

void ab_reconcile_trace_asked(const ab_record *r)
{
    if (is_told(r) && r->inbox.head != NULL) {
        r->inbox.head->asked_us = now_us(r);
        r->inbox.head->answered_us = 0;
    }
}

void ab_reconcile_trace_answered(const ab_record *r)
{
    if (is_told(r) && r->inbox.head != NULL)
        r->inbox.head->answered_us = now_us(r);
}

void ab_reconcile_trace_end(const ab_record *r, const ab_error *err)
{
    const ab_trace *trace = r->reconciler->effects->trace;
    const ab_task *head = r->inbox.head;
    if (trace == NULL)
        return;
    const ab_trace_outcome outcome = {.event = head->event,
                                      .key = r->key,
                                      .received_us = head->received_us,
                                      .asked_us = head->asked_us,
                                      .answered_us = head->answered_us,
                                      .err = err};
    trace->end(trace->arg, &outcome);
}
