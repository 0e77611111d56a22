/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of an agent: how they name their object, what they say of it, and how they end.
 */
#include "sync/agent/agent_priv.h"

#include "schema/attributes.h"

#include <stdio.h>

bool ab_agent_is_remapped(const ab_agent *a, const ab_event *event)
{
    return a->env.policy.by_destination && ab_str_is(ab_event_attr(event, AB_CE_REMAPPED), "true");
}

ab_str ab_agent_source_uid(const ab_event *event)
{
    ab_str id = ab_event_attr(event, AB_CE_RESOURCEID);
    for (size_t i = id.len; i > 0; i--)
        if (id.ptr[i - 1] == '_')
            return (ab_str){id.ptr + i, id.len - i};
    return AB_STR_NONE;
}

void ab_agent_name_event(const ab_agent_object *o, bool remapped, ab_event_draft *draft,
                         ab_target target, ab_type type, char subject[AB_OBJECT_KEY_MAX])
{
    ab_str kind, ns, name;
    *draft = (ab_event_draft){0};
    ab_event_set_text(draft, AB_CE_TYPE, ab_type_name(type));
    ab_event_set_text(draft, AB_CE_DATASCHEMA, ab_target_name(target));
    if (remapped)
        ab_event_set_text(draft, AB_CE_REMAPPED, "true");
    if (ab_object_key_split(ab_str_of(o->key), &kind, &ns, &name) != AB_ERR_OK)
        return;
    snprintf(subject, AB_OBJECT_KEY_MAX, "%.*s/%.*s", AB_STR_ARG(ns), AB_STR_ARG(name));
    ab_event_set_text(draft, AB_CE_SUBJECT, subject);
}

void ab_agent_sent(ab_agent_object *o, ab_err e)
{
    if (e == AB_ERR_OK)
        ab_agent_wake(o->agent);
    else
        AB_ERROR(o->agent->env.log, SYNC, "cannot queue an event", AB_KV("object", o->key),
                 AB_KV("why", ab_err_text(e)));
}

ab_err ab_agent_end_anyway(ab_agent_object *o, ab_str key, ab_type type, bool remapped)
{
    ab_event_draft draft;
    char subject[AB_OBJECT_KEY_MAX];
    ab_agent_name_event(o, remapped, &draft, o->kind->target, type, subject);
    ab_err e = ab_writer_end_anyway(o->agent->writer, key, key, &draft, NULL);
    ab_agent_sent(o, e);
    return e;
}

void ab_agent_end_key(ab_agent_object *o, ab_str key, ab_type type, bool remapped)
{
    if (ab_writer_is_ready(o->agent->writer) && ab_writer_has_key(o->agent->writer, key))
        (void)ab_agent_end_anyway(o, key, type, remapped);
}

/* Only the owner deletes: of what a managed agent says nothing but the report ends. Who reads that
 * late, when the agent is autonomous, is not to take it for the end of a mirror. */
static ab_type end_type(const ab_agent_object *o)
{
    return ab_agent_publishes(o) ? AB_TYPE_DELETE : AB_TYPE_STATUS_UPDATE;
}

void ab_agent_end_up(ab_agent_object *o)
{
    ab_agent_end_key(o, ab_str_of(o->key), end_type(o), o->remapped);
}

ab_err ab_agent_confirm_gone(ab_agent_object *o)
{
    return ab_agent_end_anyway(o, ab_str_of(o->key), end_type(o), o->remapped);
}
