/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/link/sendq.h"

#include "schema/attributes.h"

#include <assert.h>
#include <stdlib.h>

/* Keys differ in their ends. */
#define KEY_END 16

void ab_grpc_sendq_init(ab_grpc_sendq *q, ab_pending *pending)
{
    *q = (ab_grpc_sendq){.pending = pending};
    TAILQ_INIT(&q->items);
}

static ab_str key_of(const ab_event *event)
{
    return ab_event_attr(event, AB_CE_PARTITIONKEY);
}

/* Their order relative to objects counts, or they tell in order what belongs together. */
static bool keeps_place(ab_str key)
{
    return ab_str_starts(key, AB_KEY_COMMAND) || ab_str_starts(key, AB_KEY_ACK) ||
           ab_str_starts(key, AB_KEY_ERROR) || ab_str_starts(key, AB_KEY_CONTROL);
}

static unsigned bucket_of(ab_str key)
{
    unsigned hash = 0;
    for (size_t i = key.len > KEY_END ? key.len - KEY_END : 0; i < key.len; i++)
        hash = hash * 31 + (unsigned char)key.ptr[i];
    return hash % AB_GRPC_SENDQ_BUCKETS;
}

static ab_grpc_item *find_newest(const ab_grpc_sendq *q, unsigned bucket, ab_str key)
{
    ab_grpc_item *item = NULL;
    LIST_FOREACH(item, &q->newest[bucket], alike)
    {
        if (ab_str_eq(item->key, key))
            return item;
    }
    return NULL;
}

static void set_newest(ab_grpc_sendq *q, ab_grpc_item *item)
{
    item->newest = true;
    LIST_INSERT_HEAD(&q->newest[item->bucket], item, alike);
}

/* It is not to be replaced any more. */
static void fix(ab_grpc_item *item)
{
    if (item->newest)
        LIST_REMOVE(item, alike);
    item->newest = false;
}

static void *drop(ab_grpc_sendq *q, ab_grpc_item *item)
{
    void *token = item->token;
    size_t size = ab_event_size(item->event);
    if (q->next == item)
        q->next = TAILQ_NEXT(item, at);
    fix(item);
    TAILQ_REMOVE(&q->items, item, at);
    q->count--;
    q->sent -= item->sent ? 1 : 0;
    q->bytes -= size;
    q->waiting_bytes -= item->sent ? 0 : size;
    ab_event_unref(item->event);
    free(item);
    return token;
}

/* It leaves, and nothing newer takes its place. */
static void *end(ab_grpc_sendq *q, ab_grpc_item *item)
{
    if (q->pending != NULL)
        ab_pending_release(q->pending, item->event);
    return drop(q, item);
}

void ab_grpc_sendq_fini(ab_grpc_sendq *q)
{
    void *token;
    while (ab_grpc_sendq_pop(q, &token)) {
    }
}

static void append(ab_grpc_sendq *q, ab_grpc_item *item)
{
    item->place = ++q->last_place;
    if (keeps_place(item->key))
        q->fixed_place = item->place;
    TAILQ_INSERT_TAIL(&q->items, item, at);
    if (q->pending != NULL)
        ab_pending_hold_now(q->pending, item->event);
    if (q->next == NULL)
        q->next = item;
}

/* @return the token of `old` */
static void *replace(ab_grpc_sendq *q, ab_grpc_item *old, ab_grpc_item *item)
{
    item->place = old->place;
    TAILQ_INSERT_BEFORE(old, item, at);
    if (q->next == old)
        q->next = item;
    return drop(q, old);
}

/* @return NULL when out of memory */
static ab_grpc_item *new_item(ab_event *event, void *token, uint64_t epoch, uint64_t version)
{
    ab_grpc_item *item = malloc(sizeof(*item));
    if (item == NULL)
        return NULL;
    *item = (ab_grpc_item){.event = event,
                           .key = key_of(event),
                           .token = token,
                           .epoch = epoch,
                           .version = version,
                           .bucket = bucket_of(key_of(event))};
    return item;
}

ab_err ab_grpc_sendq_put(ab_grpc_sendq *q, ab_event *event, void *token, void **replaced)
{
    uint64_t epoch = 0, version = 0;
    *replaced = NULL;
    if (ab_event_attr_u64(event, AB_CE_WRITEREPOCH, &epoch) != AB_ERR_OK ||
        ab_event_attr_u64(event, AB_CE_OBJVERSION, &version) != AB_ERR_OK)
        return AB_ERR_INVALID;
    ab_grpc_item *item = new_item(event, token, epoch, version);
    if (item == NULL)
        return AB_ERR_NOMEM;
    ab_grpc_item *old = find_newest(q, item->bucket, item->key);
    if (old != NULL)
        fix(old);
    set_newest(q, item);
    ab_event_ref(event);
    q->count++;
    q->bytes += ab_event_size(event);
    q->waiting_bytes += ab_event_size(event);
    if (old != NULL && old->place > q->fixed_place)
        *replaced = replace(q, old, item);
    else
        append(q, item);
    return AB_ERR_OK;
}

ab_event *ab_grpc_sendq_next(const ab_grpc_sendq *q)
{
    return q->next == NULL ? NULL : q->next->event;
}

void ab_grpc_sendq_sent(ab_grpc_sendq *q)
{
    ab_grpc_item *item = q->next;
    assert(item != NULL);
    fix(item);
    item->sent = true;
    q->sent++;
    q->waiting_bytes -= ab_event_size(item->event);
    q->next = TAILQ_NEXT(item, at);
}

void *ab_grpc_sendq_skip(ab_grpc_sendq *q)
{
    assert(q->next != NULL);
    return end(q, q->next);
}

ab_err ab_grpc_sendq_ack(ab_grpc_sendq *q, ab_str key, uint64_t epoch, uint64_t version,
                         void **token)
{
    /* Peers acknowledge about in order: the search is short. */
    ab_grpc_item *item = NULL;
    TAILQ_FOREACH(item, &q->items, at)
    {
        if (!item->sent)
            return AB_ERR_NOTFOUND;
        if (item->version == version && item->epoch == epoch &&
            (key.ptr == NULL || ab_str_eq(item->key, key))) {
            *token = end(q, item);
            return AB_ERR_OK;
        }
    }
    return AB_ERR_NOTFOUND;
}

void ab_grpc_sendq_rewind(ab_grpc_sendq *q)
{
    ab_grpc_item *item = NULL;
    TAILQ_FOREACH_REVERSE(item, &q->items, ab_grpc_items, at)
    {
        item->sent = false;
        if (find_newest(q, item->bucket, item->key) == NULL)
            set_newest(q, item);
    }
    q->next = TAILQ_FIRST(&q->items);
    q->sent = 0;
    q->waiting_bytes = q->bytes;
}

bool ab_grpc_sendq_pop(ab_grpc_sendq *q, void **token)
{
    ab_grpc_item *first = TAILQ_FIRST(&q->items);
    if (first == NULL)
        return false;
    *token = end(q, first);
    return true;
}
