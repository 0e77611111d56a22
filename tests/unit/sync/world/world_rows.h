/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of the state database of a world's machine. For world.c and
 * testbed.c.
 */
#pragma once

#include "base/core/map.h"
#include "sync/reconcile/effects.h"

struct world_row {
    ab_received_state kept;
    char *texts[5];
};

struct world_row *world_row_new(const ab_received_state *kept);
/** For ab_map_free; NULL is allowed. */
void world_row_free(void *value);
/** A map of copies of its rows. */
ab_map *world_rows_copy(const ab_map *rows);

/* A state database: what it has, and what it was asked for and has not answered. */
struct world_keeping;
struct world_cache {
    ab_map *rows;
    struct world_keeping *keeping;
};

/** It is asked to write this row, which becomes its own, or to read one. @param row  NULL: read */
void world_cache_begin(struct world_cache *c, ab_str key, struct world_row *row, ab_asker *asker);
/** What it was asked first happens, and is answered; there must be something. */
void world_cache_step(struct world_cache *c, bool fails);
/** Is that a write? */
bool world_cache_is_writing(const struct world_cache *c);
/** That is not answered: who asked is gone. @param written  it happens all the same */
void world_cache_drop(struct world_cache *c, bool written);
