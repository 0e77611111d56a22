/* SPDX-License-Identifier: Apache-2.0
 *
 * Events that are not accepted, or not followed: counted, logged, and reported on their object.
 */
#include "sync/agent/agent_priv.h"

#include "schema/attributes.h"

void ab_agent_note_refused(ab_agent *a, const ab_event *event, const char *reason, const char *why)
{
    ab_label label = {"reason", ab_str_of(reason)};
    ab_metric_add(ab_metric_get(a->env.metrics, AB_METRIC_COUNTER, "argobus_events_refused_total",
                                "Received events that were not accepted.", &label, 1),
                  1);
    if (ab_agent_may_log(a))
        AB_WARN(a->env.log, SYNC, "event refused", AB_KV("reason", reason),
                AB_KV("key", ab_event_attr(event, AB_CE_PARTITIONKEY)),
                AB_KV("id", ab_event_attr(event, AB_CE_ID)), AB_KV("why", why),
                AB_KV("held_back", a->lines.held_back));
}

void ab_agent_refuse_head(ab_agent_object *o, const char *reason, const ab_error *err)
{
    ab_agent_note_refused(o->agent, o->record.inbox.head->event, reason, err->text);
    ab_agent_report_error(o, err);
    ab_reconcile_finish_head(&o->record);
}

void ab_agent_refuse_namespace(ab_agent_object *o, const ab_event *event)
{
    ab_error err = {0};
    (void)ab_fail(&err, AB_ERR_DENIED,
                  "the agent is not allowed to create Applications in this namespace: add the "
                  "namespace to the agent's option namespaces");
    if (event != NULL)
        ab_agent_note_refused(o->agent, event, "namespace", err.text);
    ab_agent_report_error(o, &err);
}
