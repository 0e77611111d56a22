/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/resync/inventory.h"

#include <assert.h>
#include <stdlib.h>

/* How full a page is on average when we choose: far enough from the bound that none exceeds it. */
#define PAGE_AIM (AB_INVENTORY_PAGE_MAX / 2)

struct page {
    size_t first;
    size_t count;
    ab_digest digest;
};

struct ab_inventory {
    ab_inventory_entry *entries;
    size_t count;
    size_t room;
    struct page *pages;
    size_t page_count; /* 0 until it is divided */
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
    for (size_t i = 0; i < inv->count; i++)
        free_key(inv->entries[i].key);
    free(inv->entries);
    free(inv->pages);
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

ab_err ab_inventory_add(ab_inventory *inv, const ab_inventory_entry *entry)
{
    assert(inv->page_count == 0);
    if (inv->count == inv->room) {
        size_t room = inv->room == 0 ? 64 : 2 * inv->room;
        ab_inventory_entry *grown = realloc(inv->entries, room * sizeof(*grown));
        if (grown == NULL)
            return AB_ERR_NOMEM;
        inv->entries = grown;
        inv->room = room;
    }
    char *key = ab_str_dup(entry->key);
    if (key == NULL)
        return AB_ERR_NOMEM;
    inv->entries[inv->count] = *entry;
    inv->entries[inv->count].mix = mix_of(entry->key);
    inv->entries[inv->count++].key = (ab_str){key, entry->key.len};
    return AB_ERR_OK;
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

/* Count the entries of each page. @return how many the fullest has */
static size_t fill(ab_inventory *inv)
{
    size_t most = 0;
    for (size_t i = 0; i < inv->page_count; i++)
        inv->pages[i] = (struct page){0};
    for (size_t i = 0; i < inv->count; i++) {
        struct page *p = &inv->pages[inv->entries[i].mix % inv->page_count];
        if (++p->count > most)
            most = p->count;
    }
    for (size_t i = 1; i < inv->page_count; i++)
        inv->pages[i].first = inv->pages[i - 1].first + inv->pages[i - 1].count;
    return most;
}

static ab_err choose_pages(ab_inventory *inv, size_t pages)
{
    bool free_choice = pages == 0;
    size_t n = free_choice ? 1 : pages;
    while (free_choice && n < AB_INVENTORY_PAGES_MAX && inv->count / n > PAGE_AIM)
        n *= 2;
    inv->pages = calloc(free_choice ? AB_INVENTORY_PAGES_MAX : n, sizeof(*inv->pages));
    if (inv->pages == NULL)
        return AB_ERR_NOMEM;
    inv->page_count = n;
    /* What the other side chose may be too few for us: then the pages differ, and are big. */
    while (fill(inv) > AB_INVENTORY_PAGE_MAX && free_choice) {
        if (inv->page_count == AB_INVENTORY_PAGES_MAX)
            return AB_ERR_TOOBIG;
        inv->page_count *= 2;
    }
    return AB_ERR_OK;
}

static ab_err digest_page(const ab_inventory *inv, const struct page *p, ab_buf *text,
                          ab_digest *out)
{
    char hash[AB_DIGEST_HEX];
    ab_buf_clear(text);
    for (size_t i = p->first; i < p->first + p->count; i++) {
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
    ab_err e = AB_ERR_OK;
    ab_buf text;
    ab_buf_init(&text, AB_EVENT_DATA_MAX);
    for (size_t i = 0; i < inv->page_count && e == AB_ERR_OK; i++)
        e = digest_page(inv, &inv->pages[i], &text, &inv->pages[i].digest);
    ab_buf_fini(&text);
    return e;
}

/* Keep the first of those with one key. */
static void drop_doubles(ab_inventory *inv)
{
    size_t kept = 0;
    for (size_t i = 0; i < inv->count; i++) {
        if (kept > 0 && ab_str_eq(inv->entries[kept - 1].key, inv->entries[i].key))
            free_key(inv->entries[i].key);
        else
            inv->entries[kept++] = inv->entries[i];
    }
    inv->count = kept;
}

ab_err ab_inventory_divide(ab_inventory *inv, size_t pages)
{
    assert(inv->page_count == 0);
    if (pages != 0 && !ab_inventory_is_pages(pages))
        return AB_ERR_INVALID;
    ab_err e = choose_pages(inv, pages);
    if (e != AB_ERR_OK)
        return e;
    if (inv->count > 0)
        qsort_r(inv->entries, inv->count, sizeof(*inv->entries), by_page_and_key, &inv->page_count);
    drop_doubles(inv);
    (void)fill(inv);
    return digest_pages(inv);
}

size_t ab_inventory_count(const ab_inventory *inv)
{
    return inv->count;
}

ab_version ab_inventory_newest(const ab_inventory *inv)
{
    ab_version newest = {0};
    for (size_t i = 0; i < inv->count; i++)
        if (ab_version_cmp(inv->entries[i].version, newest) > 0)
            newest = inv->entries[i].version;
    return newest;
}

size_t ab_inventory_pages(const ab_inventory *inv)
{
    return inv->page_count;
}

const ab_digest *ab_inventory_digest(const ab_inventory *inv, size_t page)
{
    assert(page < inv->page_count);
    return &inv->pages[page].digest;
}

const ab_inventory_entry *ab_inventory_page(const ab_inventory *inv, size_t page, size_t *count)
{
    assert(page < inv->page_count);
    *count = inv->pages[page].count;
    return *count == 0 ? NULL : inv->entries + inv->pages[page].first;
}

const ab_inventory_entry *ab_inventory_find(const ab_inventory *inv, ab_str key)
{
    assert(inv->page_count > 0);
    const struct page *p = &inv->pages[ab_inventory_page_of(key, inv->page_count)];
    size_t low = p->first, high = p->first + p->count;
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
