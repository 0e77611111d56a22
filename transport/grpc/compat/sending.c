/* SPDX-License-Identifier: Apache-2.0
 *
 * As argocd-agent sends: per resource one event under way, which is sent again until it is
 * acknowledged. A peer that fails to put an event into effect for a while answers nothing; it must
 * not hold back others for it.
 */
#include "schema/attributes.h"
#include "transport/grpc/compat/compat_priv.h"

#include <stdlib.h>

/* The peer keeps 1,000 events that it has not looked at, and drops the oldest of more. */
#define UNDER_WAY_MAX 200
/* Sent again after 5 to 10 s, 20 to 40 s, 80 to 160 s, 120 to 240 s ... */
#define AGAIN_FIRST_MS 10000
#define AGAIN_MAX_MS   240000
#define ASIDE_MS       30000

#define MESSAGE_MAX (AB_EVENT_DATA_MAX + (4u << 20))
/* Resources beyond which the peer names none that is not known: each costs up to 2 KiB. */
#define RESOURCES_MAX 65536

static int64_t now_ms(const ab_compat *d)
{
    return ab_clock_mono_ms(d->env->env->clock);
}

void ab_compat_item_free(ab_compat_item *item)
{
    if (item == NULL)
        return;
    ab_event_unref(item->event);
    ab_buf_wipe(&item->data);
    free(item);
}

static void resource_free(void *value)
{
    ab_compat_resource *r = value;
    while (!TAILQ_EMPTY(&r->waiting)) {
        ab_compat_item *item = TAILQ_FIRST(&r->waiting);
        TAILQ_REMOVE(&r->waiting, item, at);
        ab_compat_item_free(item);
    }
    ab_compat_item_free(r->sent);
    free(r->uid);
    free(r->key);
    free(r);
}

void ab_compat_forget_resources(ab_compat *d)
{
    for (ab_map_iter i = ab_map_first(d->resources); i.entry != NULL; ab_map_next(&i))
        resource_free(ab_map_take(d->resources, i.key));
    STAILQ_INIT(&d->ready);
    TAILQ_INIT(&d->sent);
    d->under_way = 0;
}

ab_compat_resource *ab_compat_resource_for(ab_compat *d, ab_str key)
{
    ab_compat_resource *r = ab_map_find(d->resources, key);
    if (r != NULL)
        return r;
    r = calloc(1, sizeof(*r));
    if (r == NULL)
        return NULL;
    TAILQ_INIT(&r->waiting);
    r->key = ab_str_dup(key);
    if (r->key == NULL || ab_map_put(d->resources, key, r, NULL) != AB_ERR_OK) {
        resource_free(r);
        return NULL;
    }
    return r;
}

bool ab_compat_may_name(const ab_compat *d, ab_str key)
{
    return ab_map_count(d->resources) < RESOURCES_MAX || ab_map_find(d->resources, key) != NULL;
}

void ab_compat_each_present(ab_compat *d, void (*visit)(ab_compat *d, const ab_compat_resource *r))
{
    size_t count = ab_map_count(d->resources);
    ab_map_iter i = ab_map_first(d->resources);
    for (; i.entry != NULL && count > 0; ab_map_next(&i), count--) {
        const ab_compat_resource *r = i.value;
        if (r->present)
            visit(d, r);
    }
}

/* ----- what waits ----- */

/* The link need not wait for it any more, whatever becomes of it. */
static void acknowledge(ab_compat *d, ab_compat_item *item)
{
    if (!item->acknowledged && item->event != NULL)
        ab_compat_acknowledge(d, item->event);
    item->acknowledged = true;
}

static void end_item(ab_compat *d, ab_compat_item *item)
{
    acknowledge(d, item);
    ab_compat_item_free(item);
}

static void end_sent(ab_compat *d, ab_compat_resource *r)
{
    if (r->sent == NULL)
        return;
    TAILQ_REMOVE(&d->sent, r, sent_at);
    d->under_way -= r->aside ? 0 : 1;
    r->aside = false;
    end_item(d, r->sent);
    r->sent = NULL;
}

static void end_waiting(ab_compat *d, ab_compat_resource *r)
{
    while (!TAILQ_EMPTY(&r->waiting)) {
        ab_compat_item *item = TAILQ_FIRST(&r->waiting);
        TAILQ_REMOVE(&r->waiting, item, at);
        end_item(d, item);
    }
}

static void note_ready(ab_compat *d, ab_compat_resource *r)
{
    if (r->ready || r->sent != NULL || TAILQ_EMPTY(&r->waiting))
        return;
    r->ready = true;
    STAILQ_INSERT_TAIL(&d->ready, r, ready_at);
}

static bool is_same(const ab_compat_item *a, const ab_compat_item *b)
{
    return a->event != NULL && a->epoch == b->epoch && a->version == b->version;
}

/* The link sends again what was not acknowledged: on each new stream. */
static bool is_known(const ab_compat_resource *r, const ab_compat_item *item)
{
    const ab_compat_item *other = NULL;
    TAILQ_FOREACH(other, &r->waiting, at)
    {
        if (is_same(other, item))
            return true;
    }
    return r->sent != NULL && is_same(r->sent, item) && !r->sent->acknowledged;
}

static bool is_carried(const ab_compat_resource *r, const ab_compat_item *item)
{
    return item->epoch == r->epoch && item->version <= r->version;
}

void ab_compat_put(ab_compat *d, ab_compat_resource *r, ab_compat_item *item, bool alone)
{
    if (item->event != NULL && is_known(r, item)) {
        ab_compat_item_free(item);
        return;
    }
    if (item->event != NULL && is_carried(r, item)) {
        end_item(d, item);
        return;
    }
    if (alone) {
        end_sent(d, r);
        end_waiting(d, r);
    }
    ab_compat_item *last = TAILQ_LAST(&r->waiting, ab_compat_items);
    if (last != NULL && last->newest && item->newest) {
        TAILQ_REMOVE(&r->waiting, last, at);
        end_item(d, last);
    }
    TAILQ_INSERT_TAIL(&r->waiting, item, at);
    note_ready(d, r);
    ab_compat_wake(d);
}

/* ----- to the stream ----- */

static ab_err transmit(const ab_compat *d, ab_compat_item *item)
{
    const char *source = ab_compat_is_principal(d) ? AB_GO_SOURCE_PRINCIPAL : AB_GO_SOURCE_AGENT;
    if (item->go.sentat[0] == '\0')
        ab_time_format(ab_clock_wall_us(d->env->env->clock), item->go.sentat);
    item->go.data = item->data.len == 0 ? AB_STR_NONE : ab_buf_str(&item->data);
    ab_buf message = ab_buf_up_to(MESSAGE_MAX);
    ab_go_event_write(&item->go, source, &message);
    ab_err e = ab_buf_status(&message);
    if (e == AB_ERR_OK)
        e = d->ops->send(d->stream, ab_buf_str(&message), NULL);
    ab_buf_wipe(&message);
    return e;
}

static void schedule(const ab_compat *d, ab_compat_resource *r)
{
    r->due_ms = now_ms(d) + ab_backoff_next(&r->backoff);
    (void)ab_backoff_next(&r->backoff); /* delays grow fourfold */
}

static void refuse_too_big(ab_compat *d, ab_compat_item *item)
{
    ab_error err = {0};
    ab_fail(&err, AB_ERR_TOOBIG, "an event of %zu bytes is too large for the stream",
            item->data.len);
    ab_compat_drop(d, "size", item->event, &err);
    end_item(d, item);
}

static ab_err send_first(ab_compat *d, ab_compat_resource *r)
{
    ab_compat_item *item = TAILQ_FIRST(&r->waiting);
    ab_err e = transmit(d, item);
    if (e != AB_ERR_OK && e != AB_ERR_TOOBIG)
        return e;
    STAILQ_REMOVE_HEAD(&d->ready, ready_at);
    r->ready = false;
    TAILQ_REMOVE(&r->waiting, item, at);
    if (e == AB_ERR_TOOBIG) {
        refuse_too_big(d, item);
        note_ready(d, r);
        return AB_ERR_OK;
    }
    r->sent = item;
    r->since_ms = now_ms(d);
    ab_backoff_init(&r->backoff, AGAIN_FIRST_MS, AGAIN_MAX_MS);
    schedule(d, r);
    TAILQ_INSERT_TAIL(&d->sent, r, sent_at);
    d->under_way++;
    return AB_ERR_OK;
}

static ab_err send_due(ab_compat *d)
{
    ab_compat_resource *r = NULL;
    TAILQ_FOREACH(r, &d->sent, sent_at)
    {
        if (r->due_ms > now_ms(d))
            continue;
        ab_err e = transmit(d, r->sent);
        if (e != AB_ERR_OK)
            return e;
        schedule(d, r);
    }
    return AB_ERR_OK;
}

ab_err ab_compat_send_ready(ab_compat *d)
{
    ab_err e = send_due(d);
    while (e == AB_ERR_OK && !STAILQ_EMPTY(&d->ready) && d->under_way < UNDER_WAY_MAX) {
        ab_compat_resource *r = STAILQ_FIRST(&d->ready);
        if (TAILQ_EMPTY(&r->waiting) || r->sent != NULL) {
            STAILQ_REMOVE_HEAD(&d->ready, ready_at);
            r->ready = false;
        } else {
            e = send_first(d, r);
        }
    }
    return e;
}

void ab_compat_send_again(ab_compat *d)
{
    ab_compat_resource *r = NULL;
    TAILQ_FOREACH(r, &d->sent, sent_at)
    {
        ab_backoff_reset(&r->backoff);
        r->due_ms = 0;
    }
}

/* ----- what became of it ----- */

/* The peer answers a request by its acknowledgement alone. */
static void answer(ab_compat *d, const ab_event *command)
{
    char key[sizeof(AB_KEY_ACK) + AB_EVENT_ATTR_NAME_MAX];
    ab_str id = ab_event_attr(command, AB_CE_ID);
    ab_buf data = ab_buf_up_to(1024);
    ab_spanw w = ab_spanw_object_to(&data);
    ab_spanw_key_str(&w, "id", id);
    ab_spanw_object_end(&w);
    snprintf(key, sizeof(key), AB_KEY_ACK "%.*s", AB_STR_ARG(id));
    ab_event_draft draft = {.data = ab_buf_str(&data)};
    ab_event_set_text(&draft, AB_CE_TYPE, ab_type_name(AB_TYPE_PROCESSED));
    ab_event_set_text(&draft, AB_CE_DATASCHEMA, ab_target_name(AB_TARGET_EVENT_PROCESSED));
    ab_event_set(&draft, AB_CE_SUBJECT, ab_event_attr(command, AB_CE_SUBJECT));
    ab_event_set(&draft, AB_CE_REMAPPED, ab_event_attr(command, AB_CE_REMAPPED));
    ab_event_set_text(&draft, AB_CE_PARTITIONKEY, key);
    ab_compat_report(d, ab_compat_make(d, &draft, NULL));
    ab_buf_fini(&data);
}

/* The peer has the object as it was sent. */
static void note_state(ab_compat_resource *r, const ab_compat_item *item)
{
    r->present = item->go.type != AB_TYPE_DELETE;
    r->summed = item->summed;
    memcpy(r->checksum, item->checksum, sizeof(r->checksum));
    r->hash = ab_event_content_hash(item->event);
}

static void carried(ab_compat *d, ab_compat_resource *r, const ab_compat_item *item)
{
    bool state = item->go.type == AB_TYPE_CREATE || item->go.type == AB_TYPE_SPEC_UPDATE ||
                 item->go.type == AB_TYPE_DELETE;
    if (item->event == NULL)
        return;
    if (ab_str_starts(ab_event_attr(item->event, AB_CE_PARTITIONKEY), AB_KEY_COMMAND))
        answer(d, item->event);
    else if (state)
        note_state(r, item);
}

void ab_compat_acknowledged(ab_compat *d, const ab_event *ack)
{
    ab_compat_resource *r = NULL;
    ab_str resource = ab_event_attr(ack, AB_CE_RESOURCEID);
    ab_str event = ab_event_attr(ack, AB_CE_EVENTID);
    TAILQ_FOREACH(r, &d->sent, sent_at)
    {
        if (ab_str_is(event, r->sent->go.eventid) && ab_str_is(resource, r->sent->go.resourceid))
            break;
    }
    if (r == NULL)
        return; /* of an event that was sent twice */
    if (r->sent->event != NULL) {
        r->epoch = r->sent->epoch;
        r->version = r->sent->version;
    }
    carried(d, r, r->sent);
    end_sent(d, r);
    note_ready(d, r);
    ab_compat_wake(d);
}

void ab_compat_check_sent(ab_compat *d)
{
    ab_compat_resource *next = NULL;
    int64_t now = now_ms(d);
    for (ab_compat_resource *r = TAILQ_FIRST(&d->sent); r != NULL; r = next) {
        next = TAILQ_NEXT(r, sent_at);
        if (!r->aside && now - r->since_ms >= ASIDE_MS) {
            r->aside = true;
            d->under_way--;
            acknowledge(d, r->sent);
        }
        if (r->due_ms > now)
            continue;
        const ab_compat_item *newer = TAILQ_FIRST(&r->waiting);
        if (newer != NULL && newer->newest && r->sent->newest) {
            end_sent(d, r);
            note_ready(d, r);
        }
        ab_compat_wake(d);
    }
}
