/* SPDX-License-Identifier: Apache-2.0
 *
 * Live access: requests and answers travel as single events, which are what live/gopeer makes and
 * reads. To the link they have a call of their own, as at an argobus peer; to the peer they are
 * events of the one stream. They are sent once: what a request has changed must not be changed
 * again, and whoever asked has gone when an answer is late. So the peer's acknowledgement of one
 * says nothing, and those of the peer are acknowledged when they have come.
 */
#include "schema/attributes.h"
#include "transport/grpc/compat/compat_priv.h"

#include <stdio.h>

#define MESSAGE_MAX (AB_EVENT_DATA_MAX + (4u << 20))

/* ----- out ----- */

static bool read_event(const ab_event *event, ab_go_event *go)
{
    ab_str target = ab_event_attr(event, AB_CE_DATASCHEMA);
    ab_str type = ab_event_attr(event, AB_CE_TYPE);
    snprintf(go->resourceid, sizeof(go->resourceid), "%.*s",
             AB_STR_ARG(ab_event_attr(event, AB_CE_RESOURCEID)));
    snprintf(go->eventid, sizeof(go->eventid), "%.*s",
             AB_STR_ARG(ab_event_attr(event, AB_CE_EVENTID)));
    go->data = ab_event_data(event);
    return ab_target_parse(target.ptr, target.len, &go->target) &&
           ab_type_parse(type.ptr, type.len, &go->type) && go->target != AB_TARGET_LIVE;
}

static ab_err transmit(const ab_compat *d, const ab_go_event *go)
{
    const char *source = ab_compat_is_principal(d) ? AB_GO_SOURCE_PRINCIPAL : AB_GO_SOURCE_AGENT;
    ab_buf message = ab_buf_up_to(MESSAGE_MAX);
    ab_go_event_write(go, source, &message);
    ab_err e = ab_buf_status(&message);
    if (e == AB_ERR_OK)
        e = d->ops->send(d->stream, ab_buf_str(&message), NULL);
    ab_buf_wipe(&message);
    return e;
}

static ab_err virtual_send(void *call, ab_str head, ab_event *event)
{
    ab_compat *d = call;
    ab_go_event go = {0};
    (void)head;
    if (d->stream == NULL)
        return AB_ERR_CLOSED;
    if (read_event(event, &go))
        return transmit(d, &go);
    ab_compat_drop(d, "live", event, NULL);
    return AB_ERR_OK;
}

/* What has come is acknowledged at once, so the link has no reason to pause it; it has let a call
 * go before it cuts it. */
static void virtual_pause(void *call)
{
    (void)call;
}

static void virtual_cut(void *call, const char *why)
{
    (void)call, (void)why;
}

static const ab_grpc_stream_ops virtual_ops = {virtual_send, virtual_pause, virtual_pause,
                                               virtual_cut,  NULL,          NULL};

void ab_compat_live_open(ab_compat *d)
{
    ab_grpc_link_attach_live(d->link, &virtual_ops, d);
}

/* ----- in ----- */

void ab_compat_live_take(ab_compat *d, const ab_event *go)
{
    static const char *const copied[] = {AB_CE_TYPE, AB_CE_DATASCHEMA, AB_CE_RESOURCEID,
                                         AB_CE_EVENTID};
    char id[37];
    ab_event *event = NULL;
    ab_event_draft draft = {.data = ab_event_data(go)};
    if (ab_uuid(id) != AB_ERR_OK) {
        ab_compat_fatal(d, "a name");
        return;
    }
    ab_event_set_text(&draft, AB_CE_ID, id);
    ab_event_set_text(&draft, AB_CE_SOURCE, d->source);
    for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++)
        ab_event_set(&draft, copied[i], ab_event_attr(go, copied[i]));
    ab_err e = ab_event_new(&draft, &event, NULL);
    ab_compat_report(d, e == AB_ERR_OK ? event : NULL);
}
