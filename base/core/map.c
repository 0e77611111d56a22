/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/map.h"

#include "base/core/siphash.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Behind it: the value, where the map has made it, and the key. */
typedef struct {
    _Alignas(max_align_t) UT_hash_handle hh;
    void *value;
} map_entry;

struct ab_map {
    map_entry *entries;
};

ab_map *ab_map_new(void)
{
    return calloc(1, sizeof(ab_map));
}

void ab_map_free(ab_map *m, void (*free_value)(void *value))
{
    if (m == NULL)
        return;
    map_entry *entry = NULL;
    map_entry *next = NULL;
    HASH_ITER(hh, m->entries, entry, next)
    {
        HASH_DEL(m->entries, entry);
        if (free_value != NULL)
            free_value(entry->value);
        free(entry);
    }
    free(m);
}

/* Names come from peers. uthash's own hash is known to all, and it stops adding buckets when names
 * were chosen for that: then each of 60,000 was compared with all others. */
static unsigned hash_of(ab_str key)
{
    return (unsigned)ab_siphash(ab_siphash_own_key(), key);
}

static map_entry *find_hashed(const ab_map *m, ab_str key, unsigned hash)
{
    map_entry *entry = NULL;
    const char *bytes = key.len == 0 ? "" : key.ptr;
    HASH_FIND_BYHASHVALUE(hh, m->entries, bytes, key.len, hash, entry);
    return entry;
}

static map_entry *find_entry(const ab_map *m, ab_str key)
{
    return m->entries == NULL ? NULL : find_hashed(m, key, hash_of(key));
}

void *ab_map_find(const ab_map *m, ab_str key)
{
    const map_entry *entry = find_entry(m, key);
    return entry == NULL ? NULL : entry->value;
}

/* @param size  bytes for a value of the map's own. @return NULL when out of memory */
static map_entry *add_entry(ab_map *m, ab_str key, unsigned hash, size_t size)
{
    map_entry *entry = calloc(1, sizeof(*entry) + size + key.len + 1);
    if (entry == NULL)
        return NULL;
    char *copy = (char *)(entry + 1) + size;
    if (key.len > 0)
        memcpy(copy, key.ptr, key.len);
    entry->value = entry + 1;
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, m->entries, copy, key.len, hash, entry);
    if (entry->hh.tbl != NULL)
        return entry;
    free(entry); /* how uthash reports that it had no memory */
    return NULL;
}

ab_err ab_map_put(ab_map *m, ab_str key, void *value, void **old)
{
    assert(value != NULL);
    unsigned hash = hash_of(key);
    map_entry *entry = find_hashed(m, key, hash);
    bool found = entry != NULL;
    if (!found)
        entry = add_entry(m, key, hash, 0);
    if (entry == NULL)
        return AB_ERR_NOMEM;
    if (old != NULL)
        *old = found ? entry->value : NULL;
    entry->value = value;
    return AB_ERR_OK;
}

void *ab_map_make(ab_map *m, ab_str key, size_t size)
{
    unsigned hash = hash_of(key);
    map_entry *entry = find_hashed(m, key, hash);
    if (entry == NULL)
        entry = add_entry(m, key, hash, size);
    return entry == NULL ? NULL : entry->value;
}

void ab_map_drop(ab_map *m, void *made)
{
    map_entry *entry = (map_entry *)made - 1;
    HASH_DEL(m->entries, entry);
    free(entry);
}

void *ab_map_take(ab_map *m, ab_str key)
{
    map_entry *entry = find_entry(m, key);
    if (entry == NULL)
        return NULL;
    void *value = entry->value;
    HASH_DEL(m->entries, entry);
    free(entry);
    return value;
}

size_t ab_map_count(const ab_map *m)
{
    return HASH_COUNT(m->entries);
}

static ab_map_iter iter_at(map_entry *entry)
{
    if (entry == NULL)
        return (ab_map_iter){0};
    return (ab_map_iter){.entry = entry,
                         .next = entry->hh.next,
                         .key = {entry->hh.key, entry->hh.keylen},
                         .value = entry->value};
}

ab_map_iter ab_map_first(const ab_map *m)
{
    return iter_at(m->entries);
}

ab_map_iter ab_map_at(void *made)
{
    return iter_at((map_entry *)made - 1);
}

void ab_map_next(ab_map_iter *i)
{
    *i = iter_at(i->next);
}
