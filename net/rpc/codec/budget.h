/* SPDX-License-Identifier: Apache-2.0
 *
 * How many bytes peers may make us keep, each and together. Pure; loop thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Bytes that may be kept. What a child takes counts in its parents, too. */
typedef struct ab_rpc_budget {
    size_t used;
    size_t max;
    struct ab_rpc_budget *parent; /* NULL: none */
    bool shared; /* no child may have more than a third of what is free: one alone gets a quarter,
                    n get 1/(n+3) each, and there is always something left for one more */
} ab_rpc_budget;

/** Count `bytes` in. @return false, and nothing is counted, past the maximum or the share of it or
 *  of a parent */
bool ab_rpc_budget_take(ab_rpc_budget *b, size_t bytes);
/** Count `bytes` in, whether there is room or not. */
void ab_rpc_budget_add(ab_rpc_budget *b, size_t bytes);
void ab_rpc_budget_give(ab_rpc_budget *b, size_t bytes);
/** What it has counts elsewhere from now on, whether that has room or not. */
void ab_rpc_budget_move(ab_rpc_budget *b, ab_rpc_budget *parent);
/** How much it could take now. */
size_t ab_rpc_budget_room(const ab_rpc_budget *b);
/** The most that a child could take, if it were alone. */
size_t ab_rpc_budget_most(const ab_rpc_budget *b);
