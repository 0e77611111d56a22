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

static const ab_log_quota *pass(const ab_grpc_link *l, ab_log_quota *lines)
{
    return ab_log_quota_pass(lines, ab_clock_mono_ms(l->env->env->clock)) ? lines : NULL;
}

const ab_log_quota *ab_grpc_link_may_log(ab_grpc_link *l)
{
    return pass(l, &l->lines);
}

const ab_log_quota *ab_grpc_link_may_log_stream(ab_grpc_link *l)
{
    return pass(l, &l->stream_lines);
}

void ab_grpc_tell_refused(ab_grpc_link *l, const char *reason, const ab_error *err)
{
    const ab_label label = {"reason", ab_str_of(reason)};
    ab_metric_add(ab_metric_get(l->env->env->metrics, AB_METRIC_COUNTER,
                                "argobus_events_refused_total",
                                "Received events that were not accepted.", &label, 1),
                  1);
    const ab_log_quota *lines = ab_grpc_link_may_log(l);
    if (lines != NULL)
        AB_WARN(l->env->env->log, TRANSPORT, "event refused", AB_KV("agent", l->agent),
                AB_KV("reason", reason), AB_KV("why", err == NULL ? "" : (const char *)err->text),
                AB_KV("held_back", lines->held_back));
}
