/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of the state database of a world's machine. For world.c.
 */
#pragma once

#include "base/core/map.h"
#include "sync/received_state.h"

struct world_row {
    ab_received_state kept;
    char *texts[5];
};

struct world_row *world_row_new(const ab_received_state *kept);
/** For ab_map_free; NULL is allowed. */
void world_row_free(void *value);
/** A map of copies of its rows. */
ab_map *world_rows_copy(const ab_map *rows);
