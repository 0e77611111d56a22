/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sync/world/fake_log.h"

#include "schema/attributes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define IN_FLIGHT_MAX 16

struct record {
    size_t offset;
    ab_event *event;
};

struct fake_delivery {
    fake_delivery *next;
    size_t offset;
    ab_event *event;
    bool acked;
    bool orphan; /* of before a replay: its acknowledgement means nothing any more */
};

struct fake_log {
    struct record *records;
    size_t count;
    size_t room;
    size_t appended;
    uint64_t epoch;
    size_t position;  /* offset of the next delivery */
    size_t committed; /* all below are acknowledged */
    fake_delivery *deliveries;
};

fake_log *fake_log_new(void)
{
    fake_log *l = calloc(1, sizeof(*l));
    assert_true(l != NULL);
    return l;
}

static void free_deliveries(fake_log *l)
{
    while (l->deliveries != NULL) {
        fake_delivery *d = l->deliveries;
        l->deliveries = d->next;
        ab_event_unref(d->event);
        free(d);
    }
}

void fake_log_free(fake_log *l)
{
    free_deliveries(l);
    for (size_t i = 0; i < l->count; i++)
        ab_event_unref(l->records[i].event);
    free(l->records);
    free(l);
}

void fake_log_append(fake_log *l, ab_event *event)
{
    if (l->count == l->room) {
        l->room = l->room == 0 ? 64 : 2 * l->room;
        struct record *grown = realloc(l->records, l->room * sizeof(*grown));
        assert_true(grown != NULL);
        l->records = grown;
    }
    uint64_t epoch = 0;
    if (ab_event_attr_u64(event, AB_CE_WRITEREPOCH, &epoch) == AB_ERR_OK && epoch > l->epoch)
        l->epoch = epoch;
    l->records[l->count++] = (struct record){l->appended++, ab_event_ref(event)};
}

uint64_t fake_log_next_epoch(fake_log *l)
{
    return ++l->epoch;
}

static ab_str key_of(const ab_event *event)
{
    return ab_event_attr(event, AB_CE_PARTITIONKEY);
}

static bool is_newest(const fake_log *l, size_t i)
{
    for (size_t k = i + 1; k < l->count; k++)
        if (ab_str_eq(key_of(l->records[k].event), key_of(l->records[i].event)))
            return false;
    return true;
}

static bool is_tombstone(const ab_event *event)
{
    return ab_event_data(event).ptr == NULL;
}

void fake_log_heads(const fake_log *l, void (*visit)(void *arg, const ab_event *head), void *arg)
{
    for (size_t i = 0; i < l->count; i++)
        if (is_newest(l, i) && !is_tombstone(l->records[i].event))
            visit(arg, l->records[i].event);
}

size_t fake_log_open(const fake_log *l)
{
    size_t open = 0;
    for (const fake_delivery *d = l->deliveries; d != NULL; d = d->next)
        open += !d->acked;
    return open;
}

static const struct record *at_position(const fake_log *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->records[i].offset >= l->position)
            return &l->records[i];
    return NULL;
}

bool fake_log_has_next(const fake_log *l)
{
    return at_position(l) != NULL && fake_log_open(l) < IN_FLIGHT_MAX;
}

fake_delivery *fake_log_next(fake_log *l)
{
    const struct record *r = at_position(l);
    fake_delivery *d = calloc(1, sizeof(*d));
    assert_true(r != NULL && d != NULL);
    *d = (fake_delivery){.offset = r->offset, .event = ab_event_ref(r->event)};
    fake_delivery **end = &l->deliveries;
    while (*end != NULL)
        end = &(*end)->next;
    *end = d;
    l->position = r->offset + 1;
    return d;
}

ab_event *fake_delivery_event(const fake_delivery *d)
{
    return d->event;
}

/* Acknowledged deliveries at the front are done with: the offset moves past them. */
static void commit(fake_log *l)
{
    while (l->deliveries != NULL && l->deliveries->acked) {
        fake_delivery *d = l->deliveries;
        if (!d->orphan)
            l->committed = d->offset + 1;
        l->deliveries = d->next;
        ab_event_unref(d->event);
        free(d);
    }
}

void fake_log_ack(fake_log *l, fake_delivery *d)
{
    assert_true(!d->acked);
    d->acked = true;
    commit(l);
}

void fake_log_reader_restarts(fake_log *l)
{
    free_deliveries(l);
    l->position = l->committed;
}

void fake_log_replay(fake_log *l)
{
    for (fake_delivery *d = l->deliveries; d != NULL; d = d->next)
        d->orphan = true;
    l->position = l->committed = 0;
}

void fake_log_compact(fake_log *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++) {
        struct record r = l->records[i];
        bool passed = r.offset < l->committed;
        if (is_newest(l, i) && !(is_tombstone(r.event) && passed))
            l->records[kept++] = r;
        else
            ab_event_unref(r.event);
    }
    l->count = kept;
}

void fake_log_lose(fake_log *l)
{
    for (size_t i = 0; i < l->count; i++)
        ab_event_unref(l->records[i].event);
    l->count = 0;
    fake_log_replay(l);
}

size_t fake_log_appended(const fake_log *l)
{
    return l->appended;
}
