/* SPDX-License-Identifier: Apache-2.0
 *
 * The mass-deletion guard of whoever owns objects that another side has too: it lets deletions
 * through one by one, until there are so many of them that a lost store is more likely than a wish.
 * From then on it holds all of them back, until the objects are there again or the operator says
 * that it is meant.
 *
 * Pure: no clock; loop thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More deletions than `max`, and than so many percent of what there was, within the window. */
typedef struct {
    size_t max;
    unsigned percent;
    int64_t window_ms;
} ab_guard_limits;

typedef struct {
    ab_guard_limits limits;
    int64_t since;  /* mono_ms: when the window began */
    size_t total;   /* of the objects that there were then */
    size_t made;    /* deletions that were let through since */
    size_t held;    /* deletions that are held back now */
    int64_t due_at; /* mono_ms: when to look whether their objects are back */
    bool confirmed; /* by the operator: what is missing may go; its owner takes this back */
} ab_guard;

void ab_guard_init(ab_guard *g, ab_guard_limits limits);
/** Would a deletion now be the first of a window? Only then `total` of ab_guard_one is used. */
bool ab_guard_is_idle(const ab_guard *g, int64_t now_ms);
/** An object is seen to go. @param total  how many there were before. @return may it be ended? When
 * not it is held. */
bool ab_guard_one(ab_guard *g, int64_t now_ms, size_t total);
/** All that is missing was counted, what is held among it. @param total  how many objects there
 * were, the missing ones included. @return may they be ended? When not, all of them are held; when
 * so, none is any more */
bool ab_guard_all(ab_guard *g, int64_t now_ms, size_t missing, size_t total);
/** Is it time to count again what is missing, because something is held? True once a window. */
bool ab_guard_is_due(ab_guard *g, int64_t now_ms);
