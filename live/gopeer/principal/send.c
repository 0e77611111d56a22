/* SPDX-License-Identifier: Apache-2.0
 *
 * What is asked of the spoke, and what is sent to argocd-agent's principal. A response waits here
 * while the transport is full.
 */
#include "base/core/digest.h"
#include "live/gopeer/principal/principal_priv.h"

#include <stdlib.h>

#define WAITING_MAX  (128u * 1024 * 1024)
#define ANSWERED_MAX 1024

/* An event that the transport has not taken. */
typedef struct {
    ab_link at;
    ab_event *event;
} parcel;

bool ab_gopeer_principal_knows(const ab_gopeer_principal *p, ab_str id)
{
    return ab_map_find(p->asked, id) != NULL || ab_map_find(p->answered, id) != NULL;
}

void ab_gopeer_principal_finish(ab_gopeer_principal *p, const char *id)
{
    (void)ab_map_take(p->asked, ab_str_of(id));
    if (ab_map_put(p->answered, ab_str_of(id), p, NULL) != AB_ERR_OK)
        return; /* a repetition is then made again */
    if (ab_map_count(p->answered) > ANSWERED_MAX)
        (void)ab_map_take(p->answered, ab_map_first(p->answered).key);
}

ab_err ab_gopeer_principal_ask(ab_gopeer_principal *p, const ab_live_request *request,
                               const ab_live_handler *handler, void *arg, ab_live_stream **out,
                               ab_error *err)
{
    return ab_live_hub_request(p->hub, AB_GOPEER_PRINCIPAL_NAME, request, handler, arg, out, err);
}

static void free_parcel(ab_gopeer_principal *p, parcel *q)
{
    ab_link_remove(&q->at);
    p->waiting_bytes -= ab_event_size(q->event);
    ab_event_unref(q->event);
    free(q);
}

void ab_gopeer_principal_writable(ab_gopeer_principal *p)
{
    while (ab_link_is_in_use(&p->waiting)) {
        parcel *q = AB_LINK_OF(p->waiting.next, parcel, at);
        if (p->env.send(p->env.arg, q->event) == AB_ERR_FULL)
            return;
        free_parcel(p, q); /* what cannot be sent, nobody waits for any more */
    }
}

static void queue(ab_gopeer_principal *p, ab_event *event)
{
    bool fits = p->waiting_bytes + ab_event_size(event) <= WAITING_MAX;
    parcel *q = fits ? calloc(1, sizeof(*q)) : NULL;
    if (q == NULL) {
        AB_WARN(p->env.log, LIVE, "response to argocd-agent's principal dropped: too many wait",
                AB_KV("bytes", (int64_t)ab_event_size(event)));
        return;
    }
    q->event = ab_event_ref(event);
    p->waiting_bytes += ab_event_size(event);
    ab_link_init(&q->at);
    ab_list_append(&p->waiting, &q->at);
    ab_gopeer_principal_writable(p);
}

void ab_gopeer_principal_respond(ab_gopeer_principal *p, ab_target target, ab_type type,
                                 const char *id, ab_str data)
{
    char own[37];
    ab_event *event = NULL;
    ab_event_draft draft = {.data = data};
    if (!p->connected || ab_uuid(own) != AB_ERR_OK)
        return;
    ab_event_set_text(&draft, AB_CE_ID, own);
    ab_event_set_text(&draft, AB_CE_SOURCE, p->env.source);
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(type));
    ab_event_set_text(&draft, AB_CE_DATASCHEMA, ab_target_name(target));
    ab_event_set_text(&draft, AB_CE_RESOURCEID, own);
    ab_event_set_text(&draft, AB_CE_EVENTID, id);
    if (ab_event_new(&draft, &event, NULL) == AB_ERR_OK)
        queue(p, event);
    ab_event_unref(event);
}

void ab_gopeer_principal_forget(ab_gopeer_principal *p)
{
    while (ab_link_is_in_use(&p->waiting))
        free_parcel(p, AB_LINK_OF(p->waiting.next, parcel, at));
}
