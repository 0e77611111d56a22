/* SPDX-License-Identifier: Apache-2.0
 *
 * The argobus peer that the link sees: what it says, and what is told of trouble with it.
 */
#include "schema/attributes.h"
#include "transport/grpc/compat/compat_priv.h"

#include <stdlib.h>

bool ab_compat_is_principal(const ab_compat *d)
{
    return d->env->env->role == AB_ROLE_PRINCIPAL;
}

/* The principal of managed agents, and an autonomous agent. */
bool ab_compat_is_source(const ab_compat *d)
{
    const char *mode = ab_compat_is_principal(d) ? d->mode : d->env->env->mode;
    return ab_compat_is_principal(d) == (strcmp(mode, "autonomous") != 0);
}

void ab_compat_wake(ab_compat *d)
{
    ab_list_append(&d->env->woken, &d->woken_at);
    d->env->wake(d->env->arg);
}

void ab_compat_fatal(const ab_compat *d, const char *what)
{
    const ab_transport_events *up = &d->env->env->events;
    ab_error err = {0};
    ab_fail(&err, AB_ERR_NOMEM, "agent %s: %s: out of memory", ab_grpc_link_agent(d->link), what);
    up->on_fatal(up->arg, &err);
}

void ab_compat_drop(ab_compat *d, const char *reason, const ab_event *event, const ab_error *err)
{
    const ab_label label = {"reason", ab_str_of(reason)};
    ab_metric_add(ab_metric_get(d->env->env->metrics, AB_METRIC_COUNTER,
                                "argobus_grpc_go_dropped_total",
                                "Events that cannot be converted between argocd-agent and argobus.",
                                &label, 1),
                  1);
    if (!ab_log_quota_pass(&d->lines, ab_clock_mono_ms(d->env->env->clock)))
        return;
    AB_WARN(d->env->env->log, TRANSPORT, "cannot convert an event to or from argocd-agent",
            AB_KV("agent", ab_grpc_link_agent(d->link)), AB_KV("reason", reason),
            AB_KV("subject", event == NULL ? AB_STR_NONE : ab_event_attr(event, AB_CE_SUBJECT)),
            AB_KV("type", event == NULL ? AB_STR_NONE : ab_event_attr(event, AB_CE_TYPE)),
            AB_KV("why", err == NULL ? "" : (const char *)err->text),
            AB_KV("held_back", d->lines.held_back));
}

ab_event *ab_compat_make(ab_compat *d, ab_event_draft *draft, const char *id)
{
    char uuid[37], time[AB_TIME_TEXT];
    ab_event *event = NULL;
    int64_t now = ab_clock_wall_us(d->env->env->clock);
    if (id == NULL && ab_uuid(uuid) != AB_ERR_OK)
        return NULL;
    d->version = (uint64_t)now > d->version ? (uint64_t)now : d->version + 1;
    ab_time_format(now, time);
    ab_event_set_text(draft, AB_CE_ID, id == NULL ? uuid : id);
    ab_event_set_text(draft, AB_CE_SOURCE, d->source);
    ab_event_set_text(draft, AB_CE_TIME, time);
    ab_event_set_u64(draft, AB_CE_WRITEREPOCH, d->epoch);
    ab_event_set_u64(draft, AB_CE_OBJVERSION, d->version);
    if (draft->data.ptr != NULL)
        ab_event_set_text(draft, AB_CE_DATACONTENTTYPE, "application/json");
    return ab_event_new(draft, &event, NULL) == AB_ERR_OK ? event : NULL;
}

void ab_compat_report(ab_compat *d, ab_event *event)
{
    ab_compat_word *word = event == NULL ? NULL : calloc(1, sizeof(*word));
    if (word == NULL) {
        ab_event_unref(event);
        ab_compat_fatal(d, "an event for the link");
        return;
    }
    word->event = event;
    STAILQ_INSERT_TAIL(&d->events_for_link, word, at);
    ab_compat_wake(d);
}

void ab_compat_acknowledge(ab_compat *d, const ab_event *event)
{
    static const char *const copied[] = {AB_CE_ID, AB_CE_PARTITIONKEY, AB_CE_WRITEREPOCH,
                                         AB_CE_OBJVERSION};
    ab_event *ack = NULL;
    ab_event_draft draft = {0};
    for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++)
        ab_event_set(&draft, copied[i], ab_event_attr(event, copied[i]));
    ab_event_set_text(&draft, AB_CE_SOURCE, d->source);
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(AB_TYPE_PROCESSED));
    ab_event_set_text(&draft, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_EVENT_PROCESSED));
    ab_event_set(&draft, AB_CE_ACKNOWLEDGES, ab_event_attr(event, AB_CE_ID));
    if (ab_event_new(&draft, &ack, NULL) != AB_ERR_OK)
        ack = NULL;
    ab_compat_report(d, ack);
}
