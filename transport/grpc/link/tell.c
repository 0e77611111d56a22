/* SPDX-License-Identifier: Apache-2.0
 *
 * What a link tells those around it: that there is something to do, and trouble.
 */
#include "transport/grpc/link/link_priv.h"

void ab_grpc_tell_wake(ab_grpc_link *l)
{
    /* One that waits for its turn keeps its place. */
    if (!ab_link_is_in_use(&l->woken_at))
        ab_list_append(&l->env->woken, &l->woken_at);
    l->env->wake(l->env->arg);
}

void ab_grpc_tell_fatal(const ab_grpc_link *l, ab_err code, const char *what)
{
    const ab_transport_events *up = &l->env->env->events;
    ab_error err = {0};
    ab_fail(&err, code, "agent %s: %s: %s", l->agent, what, ab_err_text(code));
    up->on_fatal(up->arg, &err);
}

bool ab_grpc_link_may_log(ab_grpc_link *l, int64_t *held)
{
    return ab_log_quota_pass(&l->lines, ab_clock_mono_ms(l->env->env->clock), held);
}

bool ab_grpc_link_may_log_stream(ab_grpc_link *l, int64_t *held)
{
    return ab_log_quota_pass(&l->stream_lines, ab_clock_mono_ms(l->env->env->clock), held);
}

void ab_grpc_tell_refused(ab_grpc_link *l, const char *reason, const ab_error *err)
{
    int64_t held = 0;
    const ab_label label = {"reason", ab_str_of(reason)};
    ab_metric_add(ab_metric_get(l->env->env->metrics, AB_METRIC_COUNTER,
                                "argobus_events_refused_total",
                                "Received events that were not accepted.", &label, 1),
                  1);
    if (ab_grpc_link_may_log(l, &held))
        AB_WARN(l->env->env->log, TRANSPORT, "event refused",
                AB_KV("agent", (const char *)l->agent), AB_KV("reason", reason),
                AB_KV("why", err == NULL ? "" : (const char *)err->text), AB_KV("held_back", held));
}
