/* SPDX-License-Identifier: Apache-2.0
 *
 * The objects of a hub in one file, so that neither their number nor their form is what a fleet's
 * principal is measured by: one slot for each, JSON text behind its length. The principal's process
 * reads and writes it (hub_store.c); while that does not run, the bench does. Beside it there is a
 * FIFO by which the bench has Applications changed.
 */
#pragma once

#include "base/core/buf.h"

#include <limits.h>
#include <stdbool.h>

/* A new revision (payload.h) of app-<app> in namespace w<agent>. */
typedef struct {
    unsigned agent;
    unsigned app;
    unsigned revision;
} ab_bench_hub_change;

#define AB_BENCH_HUB_BYTES (3 * 1024) /* of an Application */

/** Open both in this folder, making them if need be. @return false: errno says why */
bool ab_bench_hub_file_open(const char *folder, int *file, int *changes);
/** How many slots there are. */
size_t ab_bench_hub_file_count(int file);
/** Write a slot; empty text: the object is gone. @return false: errno says why */
bool ab_bench_hub_file_put(int file, size_t slot, ab_str text);
/** Append the text of a slot; nothing when its object is gone. @return false: errno says why */
bool ab_bench_hub_file_get(int file, size_t slot, ab_buf *out);
