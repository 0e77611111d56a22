/* SPDX-License-Identifier: Apache-2.0
 *
 * A map from byte-string keys to pointers. Keys are copied, values are the caller's, or made by the
 * map. Wraps uthash so that only one file sees its macros. Not thread-safe.
 */
#pragma once

#include "base/core/buf.h"

typedef struct ab_map ab_map;

/** @return an empty map owned by the caller, NULL when out of memory */
ab_map *ab_map_new(void);
/** Free the map; `free_value` (may be NULL) is called for each value left. NULL map is allowed. */
void ab_map_free(ab_map *m, void (*free_value)(void *value));
/** The value under `key`, NULL if absent. Borrowed. */
void *ab_map_find(const ab_map *m, ab_str key);
/** Set `key` to `value` (not NULL); an earlier value is given back in `old` (NULL allowed; NULL if
 * none).
 *  @return NOMEM, and the map is unchanged */
AB_MUST_USE ab_err ab_map_put(ab_map *m, ab_str key, void *value, void **old);
/** Remove `key` and give its value back, NULL if absent. */
void *ab_map_take(ab_map *m, ab_str key);

/* Values that the map holds itself, one allocation each: a map has only such ones, or only those of
 * ab_map_put. */
/**
 * The value under `key`. One that is absent is made: `size` zeroed bytes, aligned for anything,
 * which stay where they are until ab_map_drop or ab_map_free. Borrowed.
 * @return NULL when out of memory
 */
void *ab_map_make(ab_map *m, ab_str key, size_t size);
/** Remove such a value and its key, without a search for it. */
void ab_map_drop(ab_map *m, void *made);

size_t ab_map_count(const ab_map *m);

/* Keys end with a NUL byte that is not counted. Iteration in insertion order: for (ab_map_iter i =
 * ab_map_first(m); i.entry; ab_map_next(&i)). The current entry may be removed with ab_map_take
 * or ab_map_drop during it, others may not. */
typedef struct {
    void *entry;
    void *next;
    ab_str key;
    void *value;
} ab_map_iter;
ab_map_iter ab_map_first(const ab_map *m);
/** At a value that the map has made (ab_map_make). */
ab_map_iter ab_map_at(void *made);
void ab_map_next(ab_map_iter *i);
