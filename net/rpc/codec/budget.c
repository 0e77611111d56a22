/* SPDX-License-Identifier: Apache-2.0 */
#include "net/rpc/codec/budget.h"

#include <assert.h>
#include <stdint.h>

/* See ab_rpc_budget.shared. */
#define SHARE 3

static size_t left_of(size_t max, size_t used)
{
    return used < max ? max - used : 0;
}

/* Without looking at what its parents have. */
static size_t own_room(const ab_rpc_budget *b)
{
    const ab_rpc_budget *p = b->parent;
    size_t own = left_of(b->max, b->used);
    if (p == NULL || !p->shared)
        return own;
    size_t share = left_of(left_of(p->max, p->used) / SHARE, b->used);
    return share < own ? share : own;
}

size_t ab_rpc_budget_room(const ab_rpc_budget *b)
{
    size_t room = SIZE_MAX;
    for (; b != NULL; b = b->parent) {
        size_t own = own_room(b);
        room = own < room ? own : room;
    }
    return room;
}

void ab_rpc_budget_add(ab_rpc_budget *b, size_t bytes)
{
    for (; b != NULL; b = b->parent)
        b->used += bytes;
}

bool ab_rpc_budget_take(ab_rpc_budget *b, size_t bytes)
{
    if (bytes > ab_rpc_budget_room(b))
        return false;
    ab_rpc_budget_add(b, bytes);
    return true;
}

void ab_rpc_budget_give(ab_rpc_budget *b, size_t bytes)
{
    for (ab_rpc_budget *p = b; p != NULL; p = p->parent) {
        assert(p->used >= bytes);
        p->used -= bytes;
    }
}

void ab_rpc_budget_move(ab_rpc_budget *b, ab_rpc_budget *parent)
{
    ab_rpc_budget_give(b->parent, b->used);
    b->parent = parent;
    ab_rpc_budget_add(parent, b->used);
}

size_t ab_rpc_budget_most(const ab_rpc_budget *b)
{
    return b->shared ? b->max / (SHARE + 1) : b->max;
}
