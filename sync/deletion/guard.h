/* SPDX-License-Identifier: Apache-2.0
 *
 * The mass-deletion guard of the owner of objects that another side has too. It judges deletions
 * that are only inferred: from a list made after a gap of the watch, from an inventory, at a start.
 * All that are missing are judged together, those without a proof too: when there are too many of
 * them, a lost store is more likely than a deletion, and all are held back until the objects are
 * there again or the operator says that the deletion is meant.
 *
 * A deletion that the store observed (AB_STORE_DELETED in store/store.h says what that means) does
 * not come here, unless `observed` is set: somebody deleted this very object, which is proof,
 * however many they are. Its owner passes it at once, or as soon as the proof is complete:
 * ab_principal_note_missing (sweep.c) and ab_agent_note_missing (publish.c) say under which
 * conditions.
 *
 * Pure: no clock; loop thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More deletions than `max`, and than so many percent of the objects, within the window. */
typedef struct {
    size_t max;
    unsigned percent;
    int64_t window_ms;
    bool observed; /* judge observed deletions as if they were inferred */
} ab_guard_limits;

typedef struct {
    ab_guard_limits limits;
    int64_t since;  /* mono_ms: when the window began */
    size_t total;   /* of the objects that there were then */
    size_t made;    /* deletions that were let through since */
    size_t held;    /* deletions that are held back now */
    int64_t due_at; /* mono_ms: when to look whether their objects are back */
} ab_guard;

void ab_guard_init(ab_guard *g, ab_guard_limits limits);
/** All that is missing was counted, what is held among it. @param missing  whose deletion is proved
 * @param unproved  missing, too, and held anyway @param total  how many objects there were, both
 * included @return may what is proved be ended? When not, all of it is held; when so, none is any
 * more */
bool ab_guard_all(ab_guard *g, int64_t now_ms, size_t missing, size_t unproved, size_t total);
/** The operator confirmed so many deletions, which are made now. What goes missing within a window
 * from now is one deletion with them, and was not seen by the operator. @param total  as above */
void ab_guard_note_confirmed(ab_guard *g, int64_t now_ms, size_t count, size_t total);
/** Is it time to count again what is missing, because something is held? True once a window. */
bool ab_guard_is_due(ab_guard *g, int64_t now_ms);
