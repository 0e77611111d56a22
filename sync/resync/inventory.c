/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/resync/inventory.h"

#include "base/json/object.h"
#include "schema/attributes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* How full a page is on average when we choose: far enough from the bound that none exceeds it. */
#define PAGE_AIM (AB_INVENTORY_PAGE_MAX / 2)

struct ab_inventory {
    ab_inventory_entry *entries;
    size_t room;
    ab_err status;
    size_t *first;      /* of each page, and behind the last: where its entries begin */
    ab_digest *digests; /* the summary's */
    ab_inventory_summary sum;
};

ab_inventory *ab_inventory_new(void)
{
    return calloc(1, sizeof(ab_inventory));
}

static void free_key(ab_str key)
{
    free((void *)(uintptr_t)key.ptr);
}

void ab_inventory_free(ab_inventory *inv)
{
    if (inv == NULL)
        return;
    for (size_t i = 0; i < inv->sum.count; i++)
        free_key(inv->entries[i].key);
    free(inv->entries);
    free(inv->first);
    free(inv->digests);
    free(inv);
}

/* FNV-1a. */
static uint32_t mix_of(ab_str key)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < key.len; i++)
        h = (h ^ (uint8_t)key.ptr[i]) * 16777619u;
    return h;
}

static ab_err make_room(ab_inventory *inv)
{
    if (inv->sum.count < inv->room)
        return AB_ERR_OK;
    size_t room = inv->room == 0 ? 64 : 2 * inv->room;
    ab_inventory_entry *grown = realloc(inv->entries, room * sizeof(*grown));
    if (grown == NULL)
        return AB_ERR_NOMEM;
    inv->entries = grown;
    inv->room = room;
    return AB_ERR_OK;
}

void ab_inventory_note_version(ab_inventory *inv, ab_version version)
{
    if (ab_version_cmp(version, inv->sum.newest) > 0)
        inv->sum.newest = version;
}

void ab_inventory_add(ab_inventory *inv, const ab_inventory_entry *entry)
{
    assert(inv->first == NULL);
    char *key = make_room(inv) == AB_ERR_OK ? ab_str_dup(entry->key) : NULL;
    if (key == NULL) {
        inv->status = AB_ERR_NOMEM;
        return;
    }
    ab_inventory_entry *added = &inv->entries[inv->sum.count++];
    *added = *entry;
    added->key.ptr = key;
    added->mix = mix_of(entry->key);
    ab_inventory_note_version(inv, entry->version);
}

void ab_inventory_add_error(ab_inventory *inv, const char *about, const ab_digest *hash)
{
    char key[sizeof(AB_KEY_ERROR) + AB_OBJECT_KEY_MAX];
    snprintf(key, sizeof(key), AB_KEY_ERROR "%s", about);
    ab_inventory_add(inv, &(ab_inventory_entry){.key = ab_str_of(key), .hash = *hash});
}

/* --- pages --- */

bool ab_inventory_is_pages(size_t pages)
{
    return pages > 0 && pages <= AB_INVENTORY_PAGES_MAX && (pages & (pages - 1)) == 0;
}

size_t ab_inventory_page_of(ab_str key, size_t pages)
{
    return mix_of(key) % pages;
}

static int by_page_and_key(const void *a, const void *b, void *arg)
{
    const ab_inventory_entry *x = a, *y = b;
    const size_t *pages = arg;
    size_t px = x->mix % *pages, py = y->mix % *pages;
    if (px != py)
        return (px > py) - (px < py);
    int by_key = ab_str_cmp(x->key, y->key);
    return by_key != 0 ? by_key : ab_version_cmp(y->version, x->version);
}

/* Learn where each page begins. @return how many entries the fullest has */
static size_t lay_out(ab_inventory *inv)
{
    size_t most = 0;
    memset(inv->first, 0, (inv->sum.pages + 1) * sizeof(*inv->first));
    for (size_t i = 0; i < inv->sum.count; i++)
        inv->first[inv->entries[i].mix % inv->sum.pages + 1]++;
    for (size_t i = 1; i <= inv->sum.pages; i++) {
        if (inv->first[i] > most)
            most = inv->first[i];
        inv->first[i] += inv->first[i - 1];
    }
    return most;
}

static ab_err choose_pages(ab_inventory *inv, size_t pages)
{
    bool free_choice = pages == 0;
    size_t n = free_choice ? 1 : pages;
    while (free_choice && n < AB_INVENTORY_PAGES_MAX && inv->sum.count / n > PAGE_AIM)
        n *= 2;
    inv->first = calloc((free_choice ? AB_INVENTORY_PAGES_MAX : n) + 1, sizeof(*inv->first));
    if (inv->first == NULL)
        return AB_ERR_NOMEM;
    inv->sum.pages = n;
    /* What the other side chose may be too few for us: then the pages differ, and are big. */
    while (lay_out(inv) > AB_INVENTORY_PAGE_MAX && free_choice) {
        if (inv->sum.pages == AB_INVENTORY_PAGES_MAX)
            return AB_ERR_TOOBIG;
        inv->sum.pages *= 2;
    }
    return AB_ERR_OK;
}

static ab_err digest_page(const ab_inventory *inv, size_t page, ab_buf *text, ab_digest *out)
{
    char hash[AB_DIGEST_HEX];
    ab_buf_clear(text);
    for (size_t i = inv->first[page]; i < inv->first[page + 1]; i++) {
        ab_digest_format(&inv->entries[i].hash, hash);
        ab_buf_put(text, inv->entries[i].key);
        ab_buf_putc(text, ' ');
        ab_buf_puts(text, hash);
        ab_buf_putc(text, '\n');
    }
    ab_err e = ab_buf_status(text);
    return e == AB_ERR_OK ? ab_digest_of(ab_buf_str(text), out) : e;
}

static ab_err digest_pages(ab_inventory *inv)
{
    inv->digests = calloc(inv->sum.pages, sizeof(*inv->digests));
    if (inv->digests == NULL)
        return AB_ERR_NOMEM;
    inv->sum.digests = inv->digests;
    ab_err e = AB_ERR_OK;
    ab_buf text = ab_buf_up_to(AB_EVENT_DATA_MAX);
    for (size_t i = 0; i < inv->sum.pages && e == AB_ERR_OK; i++)
        e = digest_page(inv, i, &text, &inv->digests[i]);
    ab_buf_fini(&text);
    return e;
}

/* Keep the first of those with one key. */
static void drop_doubles(ab_inventory *inv)
{
    size_t kept = 0;
    for (size_t i = 0; i < inv->sum.count; i++) {
        if (kept > 0 && ab_str_eq(inv->entries[kept - 1].key, inv->entries[i].key))
            free_key(inv->entries[i].key);
        else
            inv->entries[kept++] = inv->entries[i];
    }
    inv->sum.count = kept;
}

ab_err ab_inventory_divide(ab_inventory *inv, size_t pages)
{
    assert(inv->first == NULL);
    if (pages != 0 && !ab_inventory_is_pages(pages))
        return AB_ERR_INVALID;
    ab_err e = inv->status;
    if (e == AB_ERR_OK)
        e = choose_pages(inv, pages);
    if (e != AB_ERR_OK)
        return e;
    if (inv->sum.count > 0)
        qsort_r(inv->entries, inv->sum.count, sizeof(*inv->entries), by_page_and_key,
                &inv->sum.pages);
    drop_doubles(inv);
    (void)lay_out(inv);
    return digest_pages(inv);
}

ab_inventory_summary ab_inventory_sum(const ab_inventory *inv)
{
    assert(inv->first != NULL);
    return inv->sum;
}

const ab_inventory_entry *ab_inventory_page(const ab_inventory *inv, size_t page, size_t *count)
{
    assert(page < inv->sum.pages);
    *count = inv->first[page + 1] - inv->first[page];
    return *count == 0 ? NULL : inv->entries + inv->first[page];
}

size_t ab_inventory_bytes(const ab_inventory *inv)
{
    size_t bytes = inv->sum.count * sizeof(*inv->entries);
    for (size_t i = 0; i < inv->sum.count; i++)
        bytes += inv->entries[i].key.len + 1;
    return bytes;
}

const ab_inventory_entry *ab_inventory_find(const ab_inventory *inv, ab_str key)
{
    size_t page = ab_inventory_page_of(key, inv->sum.pages);
    size_t low = inv->first[page], high = inv->first[page + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = ab_str_cmp(inv->entries[middle].key, key);
        if (order == 0)
            return &inv->entries[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
