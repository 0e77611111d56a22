/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/client/offsets.h"

#include <assert.h>
#include <stdlib.h>

#define FIRST_ROOM 16u

void ab_offsets_init(ab_offsets *o, int64_t start)
{
    *o = (ab_offsets){.next = start};
}

void ab_offsets_fini(ab_offsets *o)
{
    free(o->ring);
    *o = (ab_offsets){0};
}

static ab_offsets_slot *slot(const ab_offsets *o, uint64_t number)
{
    return &o->ring[number & (o->room - 1)];
}

static ab_err grow(ab_offsets *o)
{
    ab_offsets bigger = *o;
    bigger.room = o->room == 0 ? FIRST_ROOM : 2 * o->room;
    bigger.ring = calloc(bigger.room, sizeof(*bigger.ring));
    if (bigger.ring == NULL)
        return AB_ERR_NOMEM;
    for (uint64_t n = o->first; n < o->first + o->count; n++)
        *slot(&bigger, n) = *slot(o, n);
    free(o->ring);
    *o = bigger;
    return AB_ERR_OK;
}

ab_err ab_offsets_open(ab_offsets *o, int64_t offset, uint64_t *number)
{
    if (offset < o->next)
        return AB_ERR_INVALID;
    if (o->count == o->room) {
        ab_err e = grow(o);
        if (e != AB_ERR_OK)
            return e;
    }
    *number = o->first + o->count;
    *slot(o, *number) = (ab_offsets_slot){.offset = offset};
    o->count++;
    o->open++;
    o->next = offset + 1;
    return AB_ERR_OK;
}

void ab_offsets_pass(ab_offsets *o, int64_t next)
{
    if (next > o->next)
        o->next = next;
}

void ab_offsets_done(ab_offsets *o, uint64_t number)
{
    assert(number >= o->first && number - o->first < o->count && !slot(o, number)->done);
    slot(o, number)->done = true;
    o->open--;
    while (o->count > 0 && slot(o, o->first)->done) {
        o->first++;
        o->count--;
    }
}

int64_t ab_offsets_position(const ab_offsets *o)
{
    return o->count == 0 ? o->next : slot(o, o->first)->offset;
}
