/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

typedef struct {
    UT_hash_handle hh;
    void *value;
    char key[]; /* hh.keylen bytes */
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

static unsigned hash_of(ab_str key)
{
    unsigned hash = 0;
    const char *bytes = key.len == 0 ? "" : key.ptr;
    HASH_VALUE(bytes, key.len, hash);
    return hash;
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

static ab_err add_entry(ab_map *m, ab_str key, unsigned hash, void *value)
{
    map_entry *entry = calloc(1, sizeof(*entry) + key.len + 1);
    if (entry == NULL)
        return AB_ERR_NOMEM;
    if (key.len > 0)
        memcpy(entry->key, key.ptr, key.len);
    entry->value = value;
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, m->entries, entry->key, key.len, hash, entry);
    if (entry->hh.tbl == NULL) { /* how uthash reports that it had no memory */
        free(entry);
        return AB_ERR_NOMEM;
    }
    return AB_ERR_OK;
}

ab_err ab_map_put(ab_map *m, ab_str key, void *value, void **old)
{
    assert(value != NULL);
    unsigned hash = hash_of(key);
    map_entry *entry = find_hashed(m, key, hash);
    if (entry == NULL) {
        ab_err e = add_entry(m, key, hash, value);
        if (e == AB_ERR_OK && old != NULL)
            *old = NULL;
        return e;
    }
    if (old != NULL)
        *old = entry->value;
    entry->value = value;
    return AB_ERR_OK;
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
                         .key = {entry->key, entry->hh.keylen},
                         .value = entry->value};
}

ab_map_iter ab_map_first(const ab_map *m)
{
    return iter_at(m->entries);
}

void ab_map_next(ab_map_iter *i)
{
    *i = iter_at(i->next);
}
