/* SPDX-License-Identifier: Apache-2.0
 *
 * What one side holds of the other's objects: a set of keys, each with version and content hash, in
 * pages that can be compared by their digests. Which page a key is on follows from the key and the
 * number of pages alone, so that both ends divide alike whatever else they have.
 *
 * Pure; loop thread.
 */
#pragma once

#include "base/core/digest.h"
#include "sync/version.h"

/* Entries of one page, at most. */
#define AB_INVENTORY_PAGE_MAX  1000
#define AB_INVENTORY_PAGES_MAX 4096

typedef struct {
    ab_str key;         /* as the hub names the object; "error/" before it: an error that it has */
    ab_version version; /* none: not known; of two under one key the newer counts */
    ab_digest hash;     /* none: not known */
    uint32_t mix;       /* of the key; set when it is added */
} ab_inventory_entry;

/* What one side tells the other of an inventory before its pages. */
typedef struct {
    size_t count; /* entries, over all pages */
    size_t pages;
    const ab_digest *digests; /* of each page, over its lines "<key> <hash>\n"; borrowed */
    ab_version newest;        /* of all entries, and of what else was received */
} ab_inventory_summary;

typedef struct ab_inventory ab_inventory;

/** @return an empty one, owned by the caller; NULL when out of memory */
ab_inventory *ab_inventory_new(void);
/** NULL is allowed. */
void ab_inventory_free(ab_inventory *inv);
/** A version that nothing older takes effect after, perhaps of what is no entry. Before it is
 * divided.
 */
void ab_inventory_note_version(ab_inventory *inv, ab_version version);
/** Before it is divided. The key is copied. A failure is kept until then. */
void ab_inventory_add(ab_inventory *inv, const ab_inventory_entry *entry);
/** The same of an error that the object of key `about` has. */
void ab_inventory_add_error(ab_inventory *inv, const char *about, const ab_digest *hash);
/**
 * Sort it, divide it into pages and take their digests; nothing is added any more.
 *
 * @param pages  a power of two up to AB_INVENTORY_PAGES_MAX; 0: as many as keep every page below
 *               AB_INVENTORY_PAGE_MAX
 * @return INVALID (no such number of pages), TOOBIG (cannot be divided so), NOMEM, FATAL
 */
AB_MUST_USE ab_err ab_inventory_divide(ab_inventory *inv, size_t pages);

/* Below: of a divided one. What is borrowed lives as long as the inventory. */
ab_inventory_summary ab_inventory_sum(const ab_inventory *inv);
/** The entries of one page, sorted by key. Borrowed. */
const ab_inventory_entry *ab_inventory_page(const ab_inventory *inv, size_t page, size_t *count);
/** Bytes of memory that all entries take. */
size_t ab_inventory_bytes(const ab_inventory *inv);
/** NULL when it is not in it. Borrowed. */
const ab_inventory_entry *ab_inventory_find(const ab_inventory *inv, ab_str key);

/** Can an inventory have this number of pages? */
bool ab_inventory_is_pages(size_t pages);
/** The page of a key: FNV-1a-32 of it, modulo `pages`. */
size_t ab_inventory_page_of(ab_str key, size_t pages);
