/* SPDX-License-Identifier: Apache-2.0
 *
 * What a link tells of trouble.
 */
#include "transport/grpc/link_priv.h"

void ab_grpc_tell_fatal(const ab_grpc_link *l, ab_err code, const char *what)
{
    const ab_transport_events *up = &l->env->env->events;
    ab_error err = {0};
    ab_fail(&err, code, "agent %s: %s: %s", l->agent, what, ab_err_text(code));
    up->on_fatal(up->arg, &err);
}

void ab_grpc_tell_refused(const ab_grpc_link *l, const char *reason, const ab_error *err)
{
    const ab_label label = {"reason", ab_str_of(reason)};
    ab_metric_add(ab_metric_get(l->env->env->metrics, AB_METRIC_COUNTER,
                                "argobus_events_refused_total",
                                "Received events that were not accepted.", &label, 1),
                  1);
    AB_WARN(l->env->env->log, TRANSPORT, "event refused", AB_KV("agent", (const char *)l->agent),
            AB_KV("reason", reason), AB_KV("why", err == NULL ? "" : (const char *)err->text));
}
